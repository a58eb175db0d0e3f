#!/usr/bin/env bash
# What a log of `vllm serve` says, beside the estimate.
set -eu

# --8<-- [start:read]
vllm-parallel log results/tp8-serve.log
# --8<-- [end:read]

# --8<-- [start:more]
vllm-parallel log results/tp8-serve.log --gpu h100-80gb -tp 8
vllm-parallel log results/*-serve.log --json
vllm-parallel log node0.log node1.log --merge
vllm-parallel log results/tp8-serve.log --topo results/topo.txt
# --8<-- [end:more]
