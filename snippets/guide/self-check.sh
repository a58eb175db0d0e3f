# Answers of the self-check.
MODEL=/models/Llama-3.1-70B-Instruct
# --8<-- [start:bench]
vllm bench serve --model llama70b --tokenizer "$MODEL" \
  --random-input-len 2048 --random-output-len 256 \
  --num-prompts 512 --num-warmups 8 --max-concurrency 64 \
  --temperature 0 --seed 42 --metric-percentiles 50,99 \
  --metadata layout=tp8 gpus=8 start=1 trial=1 \
  --save-result --result-dir results/h100-llama70b --result-filename tp8-c64-r1.json
# --8<-- [end:bench]

# --8<-- [start:metrics]
curl -s http://127.0.0.1:8000/metrics > before.prom
# … the load …
curl -s http://127.0.0.1:8000/metrics > after.prom
vllm-parallel metrics before.prom after.prom
# --8<-- [end:metrics]

# --8<-- [start:candidates]
vllm-parallel layouts qwen3-32b --gpus 8 --gpu h100-80gb --max-model-len 8192 \
  --goal tpot
vllm-parallel layouts qwen3-32b --gpus 8 --gpu h100-80gb --max-model-len 8192 \
  --goal throughput
# --8<-- [end:candidates]
