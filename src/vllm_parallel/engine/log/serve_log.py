"""A log of `vllm serve` as a value, from bytes or a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from vllm_parallel.engine.inputs import CHUNK, Watch, shown
from vllm_parallel.engine.log.drafts import STATS_KEPT, Start
from vllm_parallel.engine.log.nouns import EnginePool, Refusal, ServeLog
from vllm_parallel.engine.log.reader import Reader
from vllm_parallel.engine.log.signs import signs_of
from vllm_parallel.errors import ParseError
from vllm_parallel.term import RELEASE

PACKED: Final = {b"\x1f\x8b": "gzip -dc", b"\x28\xb5\x2f\xfd": "zstd -dc", b"BZh": "bzip2 -dc",
                 b"\xfd7zXZ": "xz -dc", b"PK\x03\x04": "unzip -p"}  # fmt: skip
ROUNDING: Final = 0.0051  # of a concurrency with two decimals


def read(chunks: Iterable[bytes], name: str = "the log") -> ServeLog:
    r"""The last start that a log holds; `name` stands in errors.

    Memory is bounded, whatever the chunks hold.

    Raises:
        ParseError: nothing in it is a line of vLLM.

    >>> line = b"(EngineCore pid=9) INFO 11-30 20:26:22 [kv_cache_utils.py:2327] CPU KV cache " \
    ...     b"size: 2,048 tokens, Maximum concurrency for 1,024 tokens per request: 2.00x\n"
    >>> read([line]).engines[0].kv_tokens
    2048
    """
    reader = Reader()
    reader.read(_unpacked(chunks, name))
    if not reader.known and not any(start.failures.tells for start in reader.starts):
        what = (
            "its only line is none"
            if reader.lines == 1
            else f"none of its {reader.lines:,} lines is one"
        )
        problem = f"is no log of vLLM: {what} that vLLM prints"
        if not reader.any_text:
            problem = "is empty"
        raise ParseError(place=name, problem=problem, fix="give what `vllm serve` printed")
    chosen = next((one for one in reversed(reader.starts) if not one.is_empty), reader.start)
    return _finished(chosen, reader)


def read_file(path: Path, watch: Watch | None = None) -> ServeLog:
    """The log in a file; `watch` is told how many bytes were read, each time.

    Raises:
        ParseError: the file cannot be opened, or is no log.
    """
    return read(_chunks(path, watch), shown(path))


def _chunks(path: Path, watch: Watch | None) -> Iterator[bytes]:
    """The bytes of a file, which may be UTF-16 too."""
    try:
        with path.open("rb") as file:
            while piece := file.read(CHUNK):
                if watch is not None:
                    watch(len(piece))
                yield piece
    except (OSError, ValueError) as error:
        problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ParseError(place=shown(path), problem=problem, fix="give a file") from None


def _unpacked(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The chunks, once the first has shown that they are text."""
    for number, chunk in enumerate(chunks):
        if number == 0:
            for magic, tool in PACKED.items():
                if chunk.startswith(magic):
                    fix = f"unpack it first: {tool}"
                    raise ParseError(place=name, problem="is packed", fix=fix)
        yield chunk


def _finished(start: Start, reader: Reader) -> ServeLog:
    refusal = None if start.ready else start.failures.refusal()
    pools = start.finished_pools()
    workers = start.finished_workers()
    notes = (*_about_starts(start, reader), *_about(start, reader, refusal), *_odd(start, pools))
    return ServeLog(
        vllm_version=start.version,
        asked=start.asked(),
        engines=pools,
        workers=workers,
        layer_split=start.layer_split,
        stats=tuple(start.stats),
        refusal=refusal,
        signs=signs_of(start, refusal),
        notes=(*notes, *start.notes),
        starts=reader.count,
        ready=start.ready,
    )


def _about_starts(start: Start, reader: Reader) -> Iterator[str]:
    """That there are several starts, and what the others said."""
    if reader.count == 1:
        return
    which = "the last" if start is reader.start else "the last that got further than its options"
    yield f"the file holds {reader.count} starts; this is {which}"
    for other in reader.starts:
        if other is not start and other.pools:
            tokens = sum(pool.kv_tokens for pool in other.finished_pools())
            yield f"another start of the file printed {tokens:,} KV tokens"


def _about(start: Start, reader: Reader, refusal: Refusal | None) -> Iterator[str]:
    """What is to be known of the whole log before its figures are used."""
    if start.version is None:
        yield f"no line names the release; lines are read as those of {RELEASE} and before it"
    elif not is_current(start.version):
        yield (
            f"the log is of vLLM {start.version}, not {RELEASE}: figures are as that release "
            "prints them, which may be computed otherwise"
        )
    if reader.cut:
        yield f"line {reader.cut} is too long; what stands after its 65,536th character is not read"
    if start.stats_seen > STATS_KEPT:
        yield f"of {start.stats_seen:,} lines of statistics the last {STATS_KEPT:,} are kept"
    if start.crashed and (ended := start.failures.refusal()):
        yield f"line {ended.line}: after it had started, the service ended: {ended.sentence}"
    lends = start.args.get("headless") or start.args.get("node_rank")
    if not start.ready and refusal is None and not lends:
        yield "no line says `Application startup complete`: the log is cut, or the start failed"


def _odd(start: Start, pools: tuple[EnginePool, ...]) -> Iterator[str]:
    """Pools whose tokens and concurrency tell different stories, and engines that print none."""
    for pool in pools:
        if pool.max_concurrency is None or not pool.max_model_len:
            yield f"engine {pool.engine} prints no concurrency beside its {pool.kv_tokens:,} tokens"
            continue
        least, most = (
            int((pool.max_concurrency + end) * pool.max_model_len) for end in (-ROUNDING, ROUNDING)
        )
        block = 256 * max(1, _width(start, "decode_context_parallel_size"))
        if not least - block <= pool.kv_tokens <= most + block:
            full = int(pool.max_concurrency * pool.max_model_len)
            why = "here the two are not of one line"
            if start.version is None or not is_current(start.version):
                why = (
                    "before 0.21 vLLM counted tokens by blocks, which is another number where "
                    "layers are unlike; the concurrency holds"
                )
            yield (
                f"engine {pool.engine}: {pool.kv_tokens:,} tokens, but {pool.max_concurrency:g} "
                f"requests of {pool.max_model_len:,} are {full:,}: {why}"
            )
    engines = _width(start, "data_parallel_size")
    if pools and len(pools) < engines and not start.args.get("data_parallel_size_local"):
        yield f"{len(pools)} of {engines} engines print a pool; the total is of those"


def _width(start: Start, name: str) -> int:
    """A width as it was asked for, else as the engine's config has it."""
    asked = start.args.get(name)
    if isinstance(asked, int) and not isinstance(asked, bool):
        return asked
    said = start.config.get(name, "")
    return int(said) if re.fullmatch(r"\d{1,6}", said) else 1


def is_current(version: str) -> bool:
    """Whether a version is the release that this package speaks of, whatever it was built for.

    >>> is_current(RELEASE), is_current(f"{RELEASE}+cpu"), is_current(f"{RELEASE}rc1")
    (True, True, False)
    """
    return version.partition("+")[0] == RELEASE
