#!/usr/bin/env bash
# A model too large for one node, on two nodes of eight GPUs.

# --8<-- [start:shared]
BIG=/models/Llama-3.1-405B-Instruct   # the same path on both nodes
HEAD=10.0.0.1                         # an address of the first that the second reaches
WIDE=(
    --served-model-name llama405b
    --tensor-parallel-size 8
    --pipeline-parallel-size 2
    --max-model-len 8192
    --max-num-seqs 128
)
# --8<-- [end:shared]

# --8<-- [start:nnodes-first]
VLLM_HOST_IP="$HEAD" vllm serve "$BIG" "${WIDE[@]}" \
    --nnodes 2 --node-rank 0 --master-addr "$HEAD"
# --8<-- [end:nnodes-first]

# --8<-- [start:nnodes-second]
vllm serve "$BIG" "${WIDE[@]}" \
    --nnodes 2 --node-rank 1 --master-addr "$HEAD" --headless
# --8<-- [end:nnodes-second]

# --8<-- [start:ray-second]
ray start --address="$HEAD:6379"
# --8<-- [end:ray-second]

# --8<-- [start:ray-first]
python -m pip install ray
ray start --head --node-ip-address="$HEAD" --port=6379
ray status
VLLM_HOST_IP="$HEAD" vllm serve "$BIG" "${WIDE[@]}" \
    --distributed-executor-backend ray
# --8<-- [end:ray-first]
