#!/usr/bin/env bash
# Ask what a layout of several ways holds and exchanges.
set -eu

# --8<-- [start:plan]
vllm-parallel plan qwen3-235b-a22b --tensor-parallel-size 4 --data-parallel-size 2 --enable-expert-parallel
vllm-parallel plan deepseek-r1 --tensor-parallel-size 8 --pipeline-parallel-size 2 --decode-context-parallel-size 8
# --8<-- [end:plan]
