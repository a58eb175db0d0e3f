#!/usr/bin/env bash
# One model, three layouts on eight GPUs of one node. Start one at a time.

# --8<-- [start:shared]
MODEL=/models/Llama-3.1-70B-Instruct
RUN=results/h100-llama70b
COMMON=(
    --served-model-name llama70b
    --host 127.0.0.1
    --port 8000
    --dtype bfloat16
    --max-model-len 8192
    --max-num-batched-tokens 8192
    --gpu-memory-utilization 0.90
    --no-enable-prefix-caching
    --seed 42
)
mkdir -p "$RUN"
# --8<-- [end:shared]

# --8<-- [start:tp8]
vllm serve "$MODEL" "${COMMON[@]}" \
    --tensor-parallel-size 8 \
    --max-num-seqs 128 \
    2>&1 | tee -i "$RUN/tp8-serve.log"
# --8<-- [end:tp8]

# --8<-- [start:tp4pp2]
vllm serve "$MODEL" "${COMMON[@]}" \
    --tensor-parallel-size 4 \
    --pipeline-parallel-size 2 \
    --max-num-seqs 128 \
    2>&1 | tee -i "$RUN/tp4pp2-serve.log"
# --8<-- [end:tp4pp2]

# --8<-- [start:tp4dp2]
vllm serve "$MODEL" "${COMMON[@]}" \
    --tensor-parallel-size 4 \
    --data-parallel-size 2 \
    --max-num-seqs 64 \
    2>&1 | tee -i "$RUN/tp4dp2-serve.log"
# --8<-- [end:tp4dp2]

# --8<-- [start:ready]
until curl -sf http://127.0.0.1:8000/health; do sleep 5; done
# --8<-- [end:ready]

# --8<-- [start:free]
pgrep -af 'VLLM::|vllm serve'
nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv
nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv
# --8<-- [end:free]

# --8<-- [start:instances]
CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve "$MODEL" "${COMMON[@]}" \
    --tensor-parallel-size 4 --max-num-seqs 64 --port 8001 \
    2>&1 | tee -i "$RUN/tp4x2-1-serve.log"

# in another terminal
CUDA_VISIBLE_DEVICES=4,5,6,7 vllm serve "$MODEL" "${COMMON[@]}" \
    --tensor-parallel-size 4 --max-num-seqs 64 --port 8002 \
    2>&1 | tee -i "$RUN/tp4x2-2-serve.log"
# --8<-- [end:instances]

# --8<-- [start:balancer]
nginx -c "$PWD/snippets/guide/balancer.conf" -g 'daemon off;'
# --8<-- [end:balancer]
