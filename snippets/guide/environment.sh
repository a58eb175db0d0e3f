#!/usr/bin/env bash
# What a run depends on, archived beside its results.

# --8<-- [start:install]
python3 -m venv .venv
source .venv/bin/activate
python -m pip install 'vllm[bench]==0.32.0'
# --8<-- [end:install]

# --8<-- [start:archive]
RUN=results/h100-llama70b
mkdir -p "$RUN"
python -m pip freeze > "$RUN/environment.txt"
nvidia-smi > "$RUN/nvidia-smi.txt"
nvidia-smi topo -m > "$RUN/topo.txt"
vllm serve --help=all > "$RUN/serve-help.txt"
# --8<-- [end:archive]

# --8<-- [start:model]
hf auth login
hf download meta-llama/Llama-3.1-70B-Instruct \
    --exclude 'original/*' \
    --local-dir /models/Llama-3.1-70B-Instruct
# --8<-- [end:model]

# --8<-- [start:memory]
nvidia-smi --query-gpu=index,name,memory.total --format=csv
python -c 'import torch; print(torch.cuda.mem_get_info()[1] / 2**30, "GiB")'
# --8<-- [end:memory]
