#!/usr/bin/env bash
# What a launch printed, what it counts, what the GPUs hold.

RUN=results/h100-llama70b

# --8<-- [start:lines]
grep -E 'Model loading took|Available KV cache memory|KV cache size|unevenly' \
    "$RUN/tp8-serve.log"
# --8<-- [end:lines]

# --8<-- [start:log]
vllm-parallel log --gpu h100-80gb --topo "$RUN/topo.txt" "$RUN/tp8-serve.log"
# --8<-- [end:log]

# --8<-- [start:metrics]
curl -s http://127.0.0.1:8000/metrics | grep -E \
    '^vllm:(kv_cache_usage_perc|num_requests_running|num_requests_waiting|num_preemptions_total)'
# --8<-- [end:metrics]

# --8<-- [start:pool]
curl -s http://127.0.0.1:8000/metrics | grep '^vllm:cache_config_info' |
    grep -oE '[{,](engine|block_size|num_gpu_blocks|kv_cache_size_tokens)="[^"]*"'
# --8<-- [end:pool]

# --8<-- [start:around]
curl -s http://127.0.0.1:8000/metrics > "$RUN/tp8-before.prom"
# ... the load ...
curl -s http://127.0.0.1:8000/metrics > "$RUN/tp8-after.prom"
# --8<-- [end:around]

# --8<-- [start:difference]
vllm-parallel metrics "$RUN/tp8-before.prom" "$RUN/tp8-after.prom"
# --8<-- [end:difference]

# --8<-- [start:smi]
nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv
# --8<-- [end:smi]
