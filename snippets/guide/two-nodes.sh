#!/usr/bin/env bash
# A model too large for one node, on two nodes of eight GPUs.

# --8<-- [start:shared]
BIG=/models/Llama-3.1-405B-Instruct  # the same path on both nodes
HEAD=10.0.0.1                        # the first node, as the second reaches it
RUN=results/h100-llama405b
WIDE=(
    --served-model-name llama405b
    --tensor-parallel-size 8
    --pipeline-parallel-size 2
    --max-model-len 8192
    --max-num-seqs 128
)
mkdir -p "$RUN"
# --8<-- [end:shared]

# --8<-- [start:nnodes-first]
VLLM_HOST_IP="$HEAD" vllm serve "$BIG" "${WIDE[@]}" \
    --nnodes 2 --node-rank 0 --master-addr "$HEAD" \
    2>&1 | tee -i "$RUN/node0-serve.log"
# --8<-- [end:nnodes-first]

# --8<-- [start:nnodes-second]
vllm serve "$BIG" "${WIDE[@]}" \
    --nnodes 2 --node-rank 1 --master-addr "$HEAD" --headless \
    2>&1 | tee -i "$RUN/node1-serve.log"
# --8<-- [end:nnodes-second]

# --8<-- [start:ray-head]
python -m pip install ray
ray start --head --node-ip-address="$HEAD" --port=6379
# --8<-- [end:ray-head]

# --8<-- [start:ray-second]
python -m pip install ray
ray start --address="$HEAD:6379"
# --8<-- [end:ray-second]

# --8<-- [start:ray-serve]
ray status
VLLM_HOST_IP="$HEAD" vllm serve "$BIG" "${WIDE[@]}" \
    --distributed-executor-backend ray \
    2>&1 | tee -i "$RUN/ray-serve.log"
# --8<-- [end:ray-serve]
