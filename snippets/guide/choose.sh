# Layouts of eight GPUs, ranked.
# --8<-- [start:layouts]
vllm-parallel layouts llama-3.1-70b --gpus 8 --gpu h100-80gb --max-model-len 8192 \
  --goal throughput
vllm-parallel layouts deepseek-r1 --gpus 8 --gpu h200 --goal longest-request
# --8<-- [end:layouts]
