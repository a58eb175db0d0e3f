"""Commands that a reader would copy: a wrong one fails the build, wherever it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.site.builder import Builder
from tests.site.faults import PAGE, append, fence, refused, replace, run

pytestmark = pytest.mark.site

SNIPPET: Final = "snippets/guide/launch.sh"
PAGE_FILE: Final = f"docs/{PAGE}"
DCP: Final = "dcp-needs-tp-above-kv-heads"
SENTENCE: Final = (
    "Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` (8) to be greater "
    "than the model's total number of KV heads (8). Increase `--tensor-parallel-size` or set "
    "`--decode-context-parallel-size 1`."
)
LLAMA: Final = "meta-llama/Llama-3.1-70B-Instruct"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFault:
    """Faults planted together, each with the words of its complaint: one build shows them all."""

    name: str
    edits: tuple[Callable[[Path], None], ...]
    says: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def blocks(*fences: str) -> Callable[[Path], None]:
    """Fences at the end of the page, the first header on line 49."""
    return append(PAGE_FILE, "\n" + "\n\n".join(fences) + "\n")


FAULTS: Final = (
    CommandFault(
        name="flags in a page",
        edits=(
            blocks(
                fence("bash", "vllm serve m \\", "  --tensor-paralel-size 8"),
                fence("bash", "vllm serve m --swap-space 4"),
                fence("bash", "vllm serve m --dtype fp16"),
                fence("bash", "vllm serve m --max-num-seqs many"),
                fence("console", "$ vllm bench serve --model m --num-promts 8", "done"),
                fence("text", "vllm serve m --tensor-parallel 8"),
                fence("bash", "vllm serve m --port 8000 ", "  --seed 1"),
                fence("bash", "vllm server m"),
                fence("bash", "vllm serve m --eplb-config.num_redundant_expert 4"),
                fence("bash", 'vllm serve "m -tp 2'),
                fence("bash", "vllm-parallel plan llama-3.1-8b --gpus-per-nod 2"),
                fence('python why="a call"', 'run("vllm serve m --sede 1")'),
                fence("bash", "vllm-parallel plan llama-3.1-8b -tp eight"),
                fence("bash", "vllm serve meta-llama/Llama-3.1-70B-Instrukt -tp 8"),
                fence("bash", "vllm bench serve --model Qwen/Qwen3-33B"),
                fence("bash", "vllm-parallel layouts llama-3.1-71b --gpus 8 --gpu h200-141gb"),
            ),
        ),
        says=(
            (
                f"{PAGE}:51: --tensor-paralel-size is no option of vllm serve; "
                "did you mean --tensor-parallel-size"
            ),
            f"{PAGE}:55: --swap-space is no option of vllm serve",
            f"{PAGE}:59: --dtype is 'fp16', which is none of auto, bfloat16",
            f"{PAGE}:63: --max-num-seqs is 'many'; it should be a whole number",
            f"{PAGE}:67: --num-promts is no option of vllm bench serve; did you mean --num-prompts",
            f"{PAGE}:72: --tensor-parallel is short for --tensor-parallel-size; write it out",
            f"{PAGE}:77: --seed begins a line of its own",
            f"{PAGE}:81: vllm server is no command of vLLM; did you mean serve",
            (
                f"{PAGE}:85: --eplb-config.num_redundant_expert is no key of it; "
                "did you mean num_redundant_experts"
            ),
            f"{PAGE}:89: opens a quote that is never closed",
            f"{PAGE}:93: --gpus-per-nod is no option; did you mean --gpus-per-node",
            f"{PAGE}:97: --sede is no option of vllm serve; did you mean --seed",
            f"{PAGE}:101: --tensor-parallel-size is 'eight'; it should be a whole number",
            f"{PAGE}:105: meta-llama/Llama-3.1-70B-Instrukt is no model of the catalog; did",
            f"{PAGE}:109: Qwen/Qwen3-33B is no model of the catalog; did you mean Qwen/Qwen3-32B",
            f"{PAGE}:113: llama-3.1-71b is no model of the catalog; did you mean llama-3.1-70b",
            f"{PAGE}:113: h200-141gb is no GPU of the catalog; did you mean",
        ),
    ),
    CommandFault(
        name="flag in a snippet",
        edits=(replace(SNIPPET, "python -m tiny", "vllm serve m --max-model-length 9"),),
        says=(
            (
                f"{SNIPPET}:2 (shown by {PAGE}:25): --max-model-length is no option of vllm serve; "
                "did you mean --max-model-len"
            ),
        ),
    ),
    CommandFault(
        name="flag in the README",
        edits=(append("README.md", fence("bash", "", "vllm serve m --hots x")),),
        says=("README.md:3: --hots is no option of vllm serve; did you mean --host",),
    ),
    CommandFault(
        name="flags in built pages",
        edits=(
            blocks(
                run("print('`vllm serve m --prot 1`')"),
                "So `vllm serve m -tpp 2` is, `vllm serve` is not.",
                f"<pre><code>vllm serve {LLAMA} -tp 3</code></pre>",
                "<pre data-refused='heads-divide-by-tp'><code>vllm serve m -tp 3</code></pre>",
                f"<pre data-gpu='rtx-4090'><code>vllm serve {LLAMA} -tp 2</code></pre>",
                f"`vllm-parallel check -- vllm serve {LLAMA} -tp 5`",
            ),
            replace("src/tiny/__init__.py", "    >>>", "    `vllm serve m --pots 1`\n\n    >>>"),
        ),
        says=(
            f"{PAGE}: --prot is no option of vllm serve; did you mean --port",
            f"{PAGE}: -tpp is no option of vllm serve; did you mean -tp",
            f"{PAGE}: vLLM refuses vllm serve {LLAMA} -tp 3 at config",
            f'{PAGE}: what is marked refused="heads-divide-by-tp" cannot be judged',
            f"{PAGE}: vLLM refuses vllm serve {LLAMA} -tp 5 at config",
            f"{PAGE}: vLLM refuses vllm serve {LLAMA} -tp 2 at memory",
            "api.md: --pots is no option of vllm serve",
        ),
    ),
    CommandFault(
        name="refused layout that is not marked",
        edits=(
            blocks(
                fence("bash", f"M={LLAMA}", "TP=8"),
                fence("bash", 'vllm serve "$M" -tp $TP -dcp 2'),
                fence('bash model="llama-3.1-70b"', 'vllm serve "$PRIVATE" -tp 3'),
            ),
        ),
        says=(
            (
                f"{PAGE}:55: vLLM refuses vllm serve {LLAMA} -tp 8 -dcp 2 at config: {SENTENCE} "
                "Way out: drop --decode-context-parallel-size"
            ),
            f'or mark it refused="{DCP}"',
            f"{PAGE}:59: vLLM refuses",
        ),
    ),
    CommandFault(
        name="refused layout of a snippet that is not marked",
        edits=(replace(SNIPPET, "python -m tiny", f"vllm serve {LLAMA} -dcp 2"),),
        says=(f"{PAGE}:25 ({SNIPPET}:2): vLLM refuses", f'or mark it refused="{DCP}"'),
    ),
    CommandFault(
        name="refused layout of a snippet that no page shows",
        edits=(append("snippets/other.sh", f"vllm serve {LLAMA} -tp 3\n"),),
        says=("snippets/other.sh:1: vLLM refuses",),
    ),
    CommandFault(
        name="marks that are wrong",
        edits=(
            blocks(
                fence(f'bash refused="{DCP}"', f"vllm serve {LLAMA} -tp 16 -dcp 2"),
                fence(f'bash refused="{DCP}"', f"vllm serve {LLAMA} -tp 3"),
                fence(
                    'bash refused="dcp-needs-tp-above-heads"', f"vllm serve {LLAMA} -tp 8 -dcp 2"
                ),
                fence(f'bash refused="{DCP}"', "vllm serve /private -tp 8 -dcp 2"),
            ),
        ),
        says=(
            f'{PAGE}:49: what is marked refused="{DCP}" is accepted by vLLM',
            f"{PAGE}:54: vLLM refuses vllm serve {LLAMA} -tp 3 at config",
            f"{PAGE}:57: refused='dcp-needs-tp-above-heads' is no rule; did you mean {DCP}",
            f"{PAGE}:61: what is marked refused=\"{DCP}\" cannot be judged: model '/private'",
        ),
    ),
    CommandFault(
        name="refusal that is not quoted",
        edits=(blocks(fence(f'bash refused="{DCP}"', f"vllm serve {LLAMA} -tp 8 -dcp 2")),),
        says=(f"{PAGE}:50: the page does not quote the refusal: {SENTENCE}",),
    ),
)

GOOD: Final = (
    fence("bash", f"M={LLAMA}", "COMMON=(--port 8000", "  --max-model-len 8k)"),
    fence("bash", 'vllm serve "$M" "${COMMON[@]}" \\', "  -tp 4 -pp 2 2>&1 | tee a.log"),
    fence(
        'bash model="llama-3.1-70b"', "for TP in 1 2 4 8; do", '  vllm serve "$X" -tp $TP', "done"
    ),
    fence("bash", "vllm serve --help=all > help.txt", "vllm serve <model> -tp <n> ..."),
    fence(
        "console", "$ vllm-parallel plan llama-3.1-8b -tp 2 \\", ">   --gpu h100-80gb", "vllm 8."
    ),
    fence(f'bash refused="{DCP}"', f"vllm serve {LLAMA} -tp 8 -dcp 2"),
    f"<pre data-refused='{DCP}'><code>vllm serve {LLAMA} -tp 8 -dcp 4</code></pre>",
    f"It says: {SENTENCE}",
)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_build_refuses(fault: CommandFault, mini: Path, builder: Builder) -> None:
    for edit in fault.edits:
        edit(mini)
    refused(builder.build(mini, mini.with_name("site")), 1, *fault.says)


def test_build_accepts(mini: Path, builder: Builder) -> None:
    """Commands that vLLM takes, and a refused one that is marked and quoted."""
    blocks(*GOOD)(mini)
    replace(SNIPPET, "python -m tiny", f"vllm serve {LLAMA}")(mini)
    append("README.md", "# Small\n\n" + fence("bash", "vllm serve m -tp 2") + "\n")(mini)
    built = builder.build(mini, mini.with_name("site"))
    assert built.code == 0, built.output
    assert " refused=" not in built.page("guide/estimate/index.html")


def test_a_marked_section_of_a_snippet_knows_what_stands_above_it(
    mini: Path, builder: Builder
) -> None:
    """The page shows one section; the model is set in another."""
    snippet = mini / SNIPPET
    snippet.write_text(
        f"M={LLAMA}\n# --8<-- [start:tp2]\nvllm serve $M -tp 8 -dcp 2\n# --8<-- [end:tp2]\n",
        encoding="utf-8",
    )
    replace(PAGE_FILE, 'bash title="launch.sh"', f'bash title="launch.sh" refused="{DCP}"')(mini)
    append(PAGE_FILE, f"\nIt says: {SENTENCE}\n")(mini)
    built = builder.build(mini, mini.with_name("site"))
    assert built.code == 0, built.output
