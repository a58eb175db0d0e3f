"""Commands for a terminal, spelled as vLLM spells its options."""

from __future__ import annotations

import re
import shlex
from typing import Final, Protocol

from vllm_parallel.constraints import Violation
from vllm_parallel.deployment import Deployment
from vllm_parallel.engine.arguments import Arguments
from vllm_parallel.engine.launch_command import LaunchCommand
from vllm_parallel.engine.values import Unknown
from vllm_parallel.settings import Settings
from vllm_parallel.starting import node_settings

BREAK: Final = " \\\n  "
HEAD: Final = "HEAD=10.0.0.1  # the first node, as the others reach it"
NEEDS_ESCAPE: Final = r'(["`])'
ESCAPED: Final = r"\\\1"


class Command(Protocol):
    """What can be printed: a head, and the words of each option."""

    @property
    def head(self) -> str:
        """Program, command and model."""

    @property
    def lines(self) -> tuple[tuple[str | Unknown, ...], ...]:
        """The words of each option."""


def shell(command: Command) -> str:
    r"""A command, one option a line.

    >>> from vllm_parallel.engine.bench_command import BenchCommand, Endpoint, Kept, RandomLoad
    >>> command = BenchCommand(
    ...     endpoint=Endpoint(model="llama70b", tokenizer=Unknown(text="$MODEL")),
    ...     load=RandomLoad(num_prompts=64, ignore_eos=True),
    ...     kept=Kept(metadata=("gpus=8", "note=two words")),
    ... )
    >>> print(shell(command))
    vllm bench serve \
      --model llama70b \
      --tokenizer "$MODEL" \
      --dataset-name random \
      --num-prompts 64 \
      --ignore-eos \
      --metadata gpus=8 'note=two words'
    """
    return BREAK.join([command.head, *(" ".join(map(word, line)) for line in command.lines)])


def launch_command(deployment: Deployment, model_word: str) -> str:
    r"""The `vllm serve` that starts a deployment, one option a line; defaults are left out.

    `model_word` is a word of the shell, quoted where it has to be.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.layout import Layout
    >>> deployment = Deployment(model=load_model("llama-3.1-70b"), layout=Layout(tp=4, pp=2))
    >>> print(launch_command(deployment, "/models/llama"))
    vllm serve /models/llama \
      --tensor-parallel-size 4 \
      --pipeline-parallel-size 2
    """
    arguments = Arguments(layout=deployment.layout, settings=deployment.settings)
    return shell(LaunchCommand(model_word=model_word, arguments=arguments))


def node_commands(deployment: Deployment, model_word: str) -> tuple[str, ...]:
    r"""A command for each node that a deployment needs, the first node's first.

    On one node it is `launch_command`. Else each begins with a line that sets `HEAD`, the address
    of the first node, which alone serves requests; none where vLLM starts none over nodes.
    `model_word` is a word of the shell.

    Source: vllm/engine/arg_utils.py, create_engine_config (v0.32.0)

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.cluster import Cluster
    >>> from vllm_parallel.layout import Layout
    >>> cluster = Cluster(gpus_per_node=4, nodes=2)
    >>> deployment = Deployment(
    ...     model=load_model("llama-3.1-70b"), layout=Layout(tp=4, pp=2), cluster=cluster
    ... )
    >>> print(node_commands(deployment, "/models/llama")[1])
    HEAD=10.0.0.1  # the first node, as the others reach it
    vllm serve /models/llama \
      --tensor-parallel-size 4 \
      --pipeline-parallel-size 2 \
      --nnodes 2 \
      --node-rank 1 \
      --headless \
      --master-addr "$HEAD"
    """
    nodes = node_settings(deployment)
    if isinstance(nodes, Violation):
        return ()
    if len(nodes) == 1:
        return (launch_command(deployment, model_word),)
    return tuple(
        f"{HEAD}\n{shell(_on_node(deployment, model_word, settings))}" for settings in nodes
    )


def _on_node(deployment: Deployment, model_word: str, settings: Settings) -> LaunchCommand:
    address = "data_parallel_address" if settings.nodes.nnodes == 1 else "master_addr"
    return LaunchCommand(
        model_word=model_word,
        arguments=Arguments(layout=deployment.layout, settings=settings),
        extra={address: Unknown(text="$HEAD")},
    )


def word(text: str | Unknown) -> str:
    """A word as the shell reads it: what it has to fill in stands in double quotes.

    >>> word("two words"), word(Unknown(text="${LABEL}-c${C}.json"))
    ("'two words'", '"${LABEL}-c${C}.json"')
    """
    if isinstance(text, Unknown):
        return f'"{re.sub(NEEDS_ESCAPE, ESCAPED, text.text)}"'
    return shlex.quote(text)
