"""Commands made from fields: printed, they are read as the same; what vLLM refuses is refused."""

from __future__ import annotations

from typing import Final

import pytest

from tests.guide_text import LOAD, section
from tests.test_commands import reading
from vllm_parallel.engine.arguments import Arguments
from vllm_parallel.engine.bench_command import BenchCommand, Endpoint, Kept, RandomLoad
from vllm_parallel.engine.commands import find
from vllm_parallel.engine.launch_command import LaunchCommand
from vllm_parallel.engine.options import commands, options
from vllm_parallel.engine.reading import Reading
from vllm_parallel.engine.values import Unknown
from vllm_parallel.errors import ParseError
from vllm_parallel.layout import Layout
from vllm_parallel.render.shell import shell
from vllm_parallel.settings import ExpertSettings, Settings

DEFAULT: Final = Arguments(layout=Layout(), settings=Settings())


def test_every_option_prints_and_reads_back() -> None:
    """A value of each option's own kind, through the renderer and back."""
    samples: dict[str, object] = {
        "int": 7, "human_int": 8192, "human_int_or_auto": -1, "float": -0.5, "json": {"a": [1]},
        "object": {}, "json_or_str": "x", "str": "it's 1 $x",
    }  # fmt: skip
    for name in ("bench serve", "serve"):
        for option in options(name).values():
            if option.dest == "model" or (name == "serve" and option.dest == "config"):
                continue
            value = option.choices[0] if option.choices else samples.get(option.kind, True)
            if option.choices and option.kind == "int":
                value = int(option.choices[0])
            if option.keys:
                value = {}
            given = {option.dest: [value] if option.nargs in ("*", "+") else value}
            command = (
                BenchCommand(endpoint=Endpoint(model="m"), extra=given)
                if name != "serve"
                else LaunchCommand(model_word="m", arguments=DEFAULT, extra=given)
            )
            read = reading(shell(command))
            assert read.faults == (), option.dest
            assert read.values[option.dest] == given[option.dest]


def test_launch_command_is_read_as_the_same_arguments() -> None:
    settings = Settings(
        max_model_len=8192,
        prefix_caching=False,
        experts=ExpertSettings(eplb=True, redundant_experts=4),
    )
    arguments = Arguments(layout=Layout(tp=4, dp=2, expert_parallel=True), settings=settings)
    extra = {"port": 8001, "served_model_name": ["a", "b c"], "api_key": ["$KEY"]}
    text = shell(LaunchCommand(model_word='"$MODEL"', arguments=arguments, extra=extra))
    assert text.splitlines()[-1] == "  --api-key '$KEY'"
    read = reading(f"MODEL=/m\n{text}")
    assert read.model is not None
    assert read.model.text == "/m"
    values = read.values
    assert {name: values.pop(name) for name in extra} == extra
    assert Arguments.of(values) == arguments


def test_bench_command_of_the_guide() -> None:
    """The guide's own call, from fields."""
    command = BenchCommand(
        endpoint=Endpoint(
            backend="openai",
            base_url="http://127.0.0.1:8000",
            endpoint="/v1/completions",
            model="llama70b",
            tokenizer=Unknown(text="$MODEL"),
        ),
        load=RandomLoad(
            random_input_len=2048,
            random_output_len=256,
            num_prompts=Unknown(text="$N"),
            num_warmups=8,
            max_concurrency=Unknown(text="$C"),
            request_rate=float("inf"),
            temperature=0.0,
            ignore_eos=True,
            seed=42,
        ),
        kept=Kept(
            percentile_metrics="ttft,tpot,itl",
            metric_percentiles="50,99",
            metadata=(
                Unknown(text="layout=$LAYOUT"),
                "gpus=8",
                Unknown(text="start=$START"),
                Unknown(text="trial=$TRIAL"),
            ),
            save_result=True,
            result_dir=Unknown(text="$RUN"),
            result_filename=Unknown(text="$FILE.json"),
        ),
    )
    shown = section(LOAD, "manual")
    before = shown[: shown.index("curl")]
    once = f"{before}TRIAL=1; C=64; N=512; FILE=tp8-c64-r1\n{shell(command)}"
    assert reading(once).values == Reading.of(find(shown)[2]).values


@pytest.mark.parametrize(
    "extra, says",
    [
        ({"prot": 1}, "prot is no option of vllm serve; did you mean port?"),
        ({"port": "x"}, "--port is 'x'; it should be a whole number"),
        ({"port": True}, "--port is true; it should be a whole number"),
        ({"port": None}, "--port is null; it should be a whole number"),
        ({"host": 8}, "--host is 8; it should be a string"),
        ({"dtype": "fp16"}, "--dtype is 'fp16', which is none of"),
        ({"enable_eplb": 1}, "--enable-eplb is 1; it should be true or false"),
        ({"disable_log_stats": False}, "--disable-log-stats is false; it should be true or false"),
        ({"kv_transfer_config": {"zzz": 1}}, "--kv-transfer-config.zzz is no key of it"),
        ({"tensor_parallel_size": 8}, "tensor_parallel_size is given twice"),
    ],
)
def test_command_nouns_refuse_what_vllm_does(extra: dict[str, object], says: str) -> None:
    arguments = Arguments(layout=Layout(tp=2), settings=Settings())
    with pytest.raises(ParseError) as caught:
        LaunchCommand(model_word="m", arguments=arguments, extra=extra)
    assert says in str(caught.value)


def test_table_is_whole() -> None:
    """The commands that the site shows, and more options than anyone would type by hand."""
    assert {"serve", "bench serve", "bench sweep serve"} <= set(commands())
    assert len(options()) > 300
    assert all(option.names and option.kind and option.group for option in options().values())
