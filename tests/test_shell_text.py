"""Commands in shell text: found as a shell would come by them, without running anything."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.guide_text import LAUNCHES, LOAD, LONG_CONTEXT, section
from vllm_parallel.engine.commands import find, of_words
from vllm_parallel.errors import ParseError

# Shell text, and the commands in it: line, command.
FOUND: Final[tuple[tuple[str, list[str]], ...]] = (
    ("vllm serve m -tp 8", ["1: vllm serve m -tp 8"]),
    ("# vllm serve m\n\n  vllm serve n # -tp 8", ["3: vllm serve n"]),
    ("vllm serve m \\\n  -tp 8 \\\n  --port 1", ["1: vllm serve m -tp 8 --port 1"]),
    ("vllm serve m \\\r\n  -tp 8\r\n", ["1: vllm serve m -tp 8"]),
    ("A=1 CUDA_VISIBLE_DEVICES=0,1 vllm serve m", ["1: vllm serve m"]),
    ("vllm serve m 2>&1 | tee x; vllm serve n &> y &", ["1: vllm serve m", "1: vllm serve n"]),
    ("vllm serve m < a > b 2>> c && echo vllm serve n", ["1: vllm serve m"]),
    ("vllm serve 'a b' \"c d\" e\\ f", ["1: vllm serve 'a b' 'c d' 'e f'"]),
    ("vllm serve m --x '{\"a\": 1}'", ["1: vllm serve m --x '{\"a\": 1}'"]),
    ("vllm serve m --x \"{\\\"a\\\": 1}\" \"\"", ["1: vllm serve m --x '{\"a\": 1}' ''"]),
    ("vllm serve $'it\\'s'", ["1: vllm serve 'it'\"'\"'s'"]),
    ("M=/m\nvllm serve $M", ["2: vllm serve /m"]),
    ("export M=/m; readonly N=2\nvllm serve ${M} -tp $N", ["2: vllm serve /m -tp 2"]),
    ("vllm serve $M -tp \"${TP}\"", ['1: vllm serve "$M" -tp "${TP}"']),
    ("vllm serve m -tp ${TP:-8} -pp ${PP-2}", ["1: vllm serve m -tp 8 -pp 2"]),
    ("TP=4; vllm serve m -tp ${TP:-8} ${TP:+-pp 2}", ["1: vllm serve m -tp 4 -pp 2"]),
    (": ${TP:=8}\nvllm serve m -tp $TP", ["2: vllm serve m -tp 8"]),
    ("A='-tp 8'; vllm serve m $A \"$A\"", ["1: vllm serve m -tp 8 '-tp 8'"]),
    ("A=(-tp 8 # eight\n '--x y')\nvllm serve m \"${A[@]}\"", ["3: vllm serve m -tp 8 '--x y'"]),
    ("A=(1); A+=(2 3)\nvllm serve ${A[@]} ${#A[@]} $A", ['2: vllm serve 1 2 3 "${#A[@]}" 1']),
    ("A=()\nvllm serve m \"${A[@]}\" \"${B[@]}\"", ['2: vllm serve m "${B[@]}"']),
    ("C=16; vllm serve m --n $(( C * 4 + 1 ))", ["1: vllm serve m --n 65"]),
    ("vllm serve m --n $((C*4))", ['1: vllm serve m --n "$((C*4))"']),
    ("N=$(( 3 > 2 ? 7 % 4 : 1 )); vllm serve m --n $N", ["1: vllm serve m --n 3"]),
    ("for N in 1 2; do\n  vllm serve $N\ndone", ["2: vllm serve 1", "2: vllm serve 2"]),
    ("for N in {1..3}; do vllm serve $N; done", [f"1: vllm serve {n}" for n in (1, 2, 3)]),
    ("for N in $(seq 8); do vllm serve m -tp $N; done", ['1: vllm serve m -tp "$N"']),
    ("for N; do vllm serve m -tp $N; done", ['1: vllm serve m -tp "$N"']),
    ("for ((i=0; i<2; i++)); do vllm serve m -r $i; done", ['1: vllm serve m -r "$i"']),
    ("f() { vllm serve \"$@\"; }\nf a\nf b -tp 4", ["1: vllm serve a", "1: vllm serve b -tp 4"]),
    ("f() {\n local t=$1; shift\n vllm serve m -tp $t $#; }\nf 8 a", ["3: vllm serve m -tp 8 1"]),
    ("function f { vllm serve m $1; }", ['1: vllm serve m "$1"']),
    ("if [ $1 = a ]; then A=1; else A=2; fi; vllm serve m -tp $A", ['1: vllm serve m -tp "$A"']),
    ("case $1 in a) vllm serve a;; b|c) vllm serve b;; esac",
     ["1: vllm serve a", "1: vllm serve b"]),
    ("while [[ $a < b && -n $c ]]; do vllm serve m; done", ["1: vllm serve m"]),
    ("(A=1; vllm serve $A); vllm serve $A", ["1: vllm serve 1", '1: vllm serve "$A"']),
    ("P=$(vllm serve m & echo $!)", ["1: vllm serve m"]),
    ("cat > a.sh <<'EOF'\nvllm serve m\nEOF\nvllm serve n", ["2: vllm serve m", "4: vllm serve n"]),
    ("cat <<-EOF\n\tit's no shell\n\tEOF\nvllm serve n", ["4: vllm serve n"]),
    ("bash -c 'cd /\nvllm serve m'", ["2: vllm serve m"]),
    ("ssh n1 \"vllm serve $M -tp 2\"", ['1: vllm serve "$M" -tp 2']),
    ("nohup env A=1 timeout 9 /opt/bin/vllm serve m", ["1: vllm serve m"]),
    ("docker run --gpus all vllm/vllm-openai:v0.32.0 --model m", ["1: vllm serve --model m"]),
    ("python3 -m vllm.entrypoints.openai.api_server --model m", ["1: vllm serve --model m"]),
    ("uv run vllm-parallel plan m -tp 2", ["1: vllm-parallel plan m -tp 2"]),
    (
        "vllm bench sweep serve --serve-cmd 'vllm serve m' --bench-cmd='vllm bench serve'",
        [
            "1: vllm bench sweep serve --serve-cmd 'vllm serve m' '--bench-cmd=vllm bench serve'",
            "1: vllm serve m",
            "1: vllm bench serve",
        ],
    ),
    ("vllm-parallel check --json -- vllm serve m",
     ["1: vllm-parallel check --json -- vllm serve m", "1: vllm serve m"]),
    ("vllm serve <model> --url=http://<host>:1", ["1: vllm serve '<model>' '--url=http://<host>:1'"]),
    ("pip install vllm serve\necho 'vllm serve m'\ngrep vllm serve.log", []),
)  # fmt: skip


@pytest.mark.parametrize("text, expected", FOUND, ids=[text[:40] for text, _ in FOUND])
def test_commands_are_found(text: str, expected: list[str]) -> None:
    assert [f"{command.line}: {command.text}" for command in find(text)] == expected


@pytest.mark.parametrize(
    "text, says",
    [
        ("a\necho 'b", "line 2 opens a quote that is never closed; close it with '"),
        ('a\n\n"b', 'line 3 opens a quote that is never closed; close it with "'),
        ("A=(1\n2", "line 1 opens a list that is never closed; close it with )"),
        ("echo $(a", "line 1 opens a ( that is never closed; close it with )"),
        ("echo ${a", "line 1 opens a { that is never closed; close it with }"),
        ("\nif a; then b", "line 2 opens a block that is never closed; close it with fi"),
        ("for a in b; do c", "line 1 opens a block that is never closed; close it with done"),
        ("case a in b) c", "line 1 opens a block that is never closed; close it with esac"),
        ("a\ndone", "line 2 has 'done' without its beginning; drop it"),
        ("{ " * 5000, "line 1 begins a text nested too deep; simplify it"),
        ("$((" + "(" * 9000, "line 1 opens a ( that is never closed; close it with )"),
        ("x" * 2**19, "line 1 begins a text of 524288 characters; at most 262144 are read"),
        ("for a in {1..200}; do for b in {1..200}; do c; done; done", "after 65536 words"),
        ("A=xx; for a in {1..40}; do A=$A$A; done", "makes a word of"),
        ("A=(x y); for a in {1..40}; do A+=(${A[@]}); done", "shorten the loops"),
    ],
)  # fmt: skip
def test_text_that_is_unreadable_or_endless(text: str, says: str) -> None:
    with pytest.raises(ParseError) as caught:
        find(text)
    assert says in str(caught.value)


def test_call_in_words_or_in_one() -> None:
    for words in (["vllm", "serve", "m", "-tp", "2"], ["vllm serve m -tp 2"]):
        assert [command.text for command in of_words(words)] == ["vllm serve m -tp 2"]
    assert [command.text for command in of_words(["A=1", "vllm", "serve", "a b"])] == [
        "vllm serve 'a b'"
    ]
    assert of_words(["ls"]) == ()


BASH: Final = shutil.which("bash")
# Texts that leave nothing open, so that a shell can be asked.
WHOLE: Final = (
    "".join(section(LAUNCHES, name) for name in ("shared", "tp8", "tp4pp2", "tp4dp2", "instances")),
    section(LOAD, "manual"),
    LONG_CONTEXT.read_text(encoding="utf-8"),
    "vllm serve 'a b' \"c d\" e\\ f 'it'\\''s' \"\" $'a\\'b' \"\\$x \\\"y\\\" \\z\"",
    'A=\'-tp  8 \'; B="x${A}y"; vllm serve m $A "$A" a$A $B "$B"',
    'A=(1 \'2 3\' "4"); A+=(5); vllm serve ${A[@]} "${A[@]}" "a${A[@]}b" $A "${A[*]}" ${A[0]}',
    'E=; A=(); vllm serve $E "$E" "${A[@]}" a$E"" ${E:-b} ${E-c} ${U:-d e} "${U:-f g}" ${E:+h}',
    "N=7; M=$(( (N + 1) * 2 - N % 4 / 2 )); vllm serve $M $((M>9?1:0)) $((!N)) $((-7/2)) $((-7%3))",
    "for A in 1 '2 3' $'4'; do for B in {3..1}; do vllm serve \"$A\" $B; done; done; vllm serve $A",
    'f() { local a=$1; shift; vllm serve $a "$@" $#; }; f 1 \'2 3\'; f 4; g() { f 5 "$@"; }; g 6',
    "A=1; (A=2; vllm serve $A); vllm serve $A; { A=3; }; vllm serve $A; A=4 vllm serve $A",
    'A=a; A+=b; export B="$A c"; vllm serve "$B" # $A\nvllm serve a#b \'#c\' \\# ${A}#d',
    "cat <<EOF > /dev/null\nvllm '\nEOF\nvllm serve a \\\n  b 2>&1 > /dev/null \\\n  c",
    "true && vllm serve 1; ! vllm serve 2; if true; then vllm serve 3 | cat; fi",
)


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize("text", WHOLE, ids=range(len(WHOLE)))
def test_bash_passes_the_same_words(text: str, tmp_path: Path) -> None:
    """The oracle: a shell that runs the text, with a `vllm` that only writes down its words."""
    for name in ("h100-llama70b", "h200-qwen235b"):
        (tmp_path / "results" / name).mkdir(parents=True)
    log = tmp_path / "log"
    stub = f'vllm() {{ printf "%s\\0" "$@" END >> {log}; }}\n'
    run = [str(BASH), "-c", f"{stub}{text}"]
    subprocess.run(run, cwd=tmp_path, env={"PATH": ""}, capture_output=True, check=False)
    passed = [call.split("\0")[:-1] for call in log.read_text("utf-8").split("END\0")[:-1]]
    ours = [[*one.name.split(), *(word.text for word in one.words)] for one in find(text)]
    assert passed == ours
