"""Launch commands, spelled as vLLM spells its options."""

from __future__ import annotations

import json
import shlex

from vllm_parallel.deployment import Deployment
from vllm_parallel.engine import Arguments, options


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
    words = [f"vllm serve {model_word}"]
    words += [option(name, value) for name, value in arguments.given().items()]
    return " \\\n  ".join(words)


def option(name: str, value: object) -> str:
    r"""One engine argument as an option of `vllm serve`.

    >>> option("enable_prefix_caching", False)
    '--no-enable-prefix-caching'
    >>> option("eplb_config", {"num_redundant_experts": 4})
    '--eplb-config \'{"num_redundant_experts": 4}\''
    """
    flag = options()[name].names[0]
    if value is True:
        return flag
    if value is False:
        return f"--no-{flag.removeprefix('--')}"
    text = json.dumps(value) if isinstance(value, dict) else str(value)
    return f"{flag} {shlex.quote(text)}"
