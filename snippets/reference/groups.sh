#!/usr/bin/env bash
# Ask for the groups of any layout.
set -eu

# --8<-- [start:plan]
vllm-parallel plan qwen3-235b-a22b --tensor-parallel-size 4 --data-parallel-size 3 --enable-expert-parallel --json
# --8<-- [end:plan]
