"""What log lines say of a command: Python values as vLLM prints them, key by key."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

CONFIG_KEYS: Final = (
    "model", "dtype", "max_seq_len", "tensor_parallel_size", "pipeline_parallel_size",
    "data_parallel_size", "decode_context_parallel_size", "quantization", "enforce_eager",
    "kv_cache_dtype", "enable_prefix_caching", "block_size",
)  # fmt: skip
CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
DEEPEST: Final = 24
KEY: Final = re.compile(r"\s*(?:'(?P<quoted>\w+)'\s*:|(?P<bare>\w+)=)\s*")
LONGEST_VALUE: Final = 2**14


def spoken_args(text: str) -> dict[str, object]:
    """The arguments in a printed dictionary or namespace; what is no plain value is left out.

    >>> spoken_args("{'model': 'm', 'max_model_len': 8192, 'compilation_config': Config(a=[1, 2])}")
    {'model': 'm', 'max_model_len': 8192}
    >>> spoken_args("port=8000, model='a, b', dtype='auto'")
    {'port': 8000, 'model': 'a, b', 'dtype': 'auto'}
    """
    found: dict[str, object] = {}
    for part in _parts(text.strip().removeprefix("{").removesuffix("}")):
        key = KEY.match(part)
        if key is None or len(part) > LONGEST_VALUE:
            continue
        try:
            value = ast.literal_eval(part[key.end() :].strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(value, str | int | float | bool | dict | list | tuple | None):
            found[key["quoted"] or key["bare"]] = value
    return found


def spoken_config(text: str) -> dict[str, str]:
    """The words of an engine's config that tell how it was launched; each ends at a comma.

    >>> spoken_config("model='m', dtype=torch.bfloat16, max_seq_len=8192, quantization=None, x=1")
    {'model': 'm', 'dtype': 'bfloat16', 'max_seq_len': '8192', 'quantization': 'None'}
    """
    found = {}
    for name in CONFIG_KEYS:
        value = re.search(rf"(?:^|[ ,]){name}=(?:'([^']*)'|([^,\s()]+)),", text)
        if value:
            found[name] = (value[1] or value[2] or "").removeprefix("torch.")
    return found


def _parts(text: str) -> Iterator[str]:
    """Text cut at the commas outside quotes and brackets; nothing, where it nests too deep."""
    start, waits, quote, escaped = 0, [""], "", False
    for number, letter in enumerate(text):
        if quote:
            quote = quote if escaped or letter != quote else ""
            escaped = letter == "\\" and not escaped
        elif letter in "'\"":
            quote = letter
        elif letter in CLOSING:
            waits.append(CLOSING[letter])
            if len(waits) > DEEPEST:
                return
        elif letter == waits[-1]:
            waits.pop()
        elif letter == "," and len(waits) == 1:
            yield text[start:number]
            start = number + 1
    yield text[start:]
