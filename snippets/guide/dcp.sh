# Qwen3-235B-A22B with and without decode-context parallelism: launches, load, and what is refused.
# --8<-- [start:shared]
QWEN=/models/Qwen3-235B-A22B  # downloaded ahead
LONG=(
  --served-model-name qwen235b
  --host 127.0.0.1
  --port 8000
  --dtype bfloat16
  --max-model-len 32768
  --gpu-memory-utilization 0.90
  --no-enable-prefix-caching
  --seed 42
  --tensor-parallel-size 8
)
RUN=results/h200-qwen235b
mkdir -p "$RUN"
# --8<-- [end:shared]

# --8<-- [start:copied]
vllm serve "$QWEN" "${LONG[@]}" \
  2>&1 | tee -i "$RUN/tp8-serve.log"
# --8<-- [end:copied]

# --8<-- [start:dealt]
vllm serve "$QWEN" "${LONG[@]}" \
  --decode-context-parallel-size 2 \
  2>&1 | tee -i "$RUN/tp8dcp2-serve.log"
# --8<-- [end:dealt]

# --8<-- [start:compare]
grep -E "Available KV cache memory|KV cache size" "$RUN"/*-serve.log
# --8<-- [end:compare]

# --8<-- [start:bench]
QWEN=/models/Qwen3-235B-A22B
RUN=results/h200-qwen235b
LAYOUT=tp8      # then tp8dcp2, after the other launch
START=1         # count up with each launch of this layout
LAUNCH=$LAYOUT  # from its second launch on: LAUNCH=$LAYOUT-s$START
METRICS=http://127.0.0.1:8000/metrics
curl -s "$METRICS" > "$RUN/$LAUNCH-before.prom"
for K in 1 2 3; do
  TRIAL=$(( (START - 1) * 3 + K ))
  for C in 8 32 64 128; do
    FILE=$LAYOUT-c$C-r$TRIAL
    curl -s "$METRICS" > "$RUN/$FILE-before.prom"
    vllm bench serve \
      --backend openai \
      --base-url http://127.0.0.1:8000 \
      --endpoint /v1/completions \
      --model qwen235b \
      --tokenizer "$QWEN" \
      --dataset-name random \
      --random-input-len 16384 \
      --random-output-len 512 \
      --num-prompts $(( C * 4 )) \
      --num-warmups 8 \
      --max-concurrency "$C" \
      --request-rate inf \
      --temperature 0 \
      --ignore-eos \
      --seed 42 \
      --percentile-metrics ttft,tpot,itl \
      --metric-percentiles 50,99 \
      --metadata layout="$LAYOUT" gpus=8 start="$START" trial="$TRIAL" \
      --save-result \
      --result-dir "$RUN" \
      --result-filename "$FILE.json"
    curl -s "$METRICS" > "$RUN/$FILE-after.prom"
  done
done
curl -s "$METRICS" > "$RUN/$LAUNCH-after.prom"
# --8<-- [end:bench]

# What vLLM refuses, one launch for each rule.
# --8<-- [start:refused-not-divided]
vllm serve "$QWEN" --tensor-parallel-size 8 --decode-context-parallel-size 3
# --8<-- [end:refused-not-divided]
# --8<-- [start:refused-no-copies]
vllm serve /models/Llama-3.1-70B-Instruct --tensor-parallel-size 8 --decode-context-parallel-size 2
# --8<-- [end:refused-no-copies]
# --8<-- [start:refused-too-wide]
vllm serve "$QWEN" --tensor-parallel-size 8 --decode-context-parallel-size 4
# --8<-- [end:refused-too-wide]
# --8<-- [start:refused-queries]
vllm serve /models/MiniMax-M2 --tensor-parallel-size 48 --decode-context-parallel-size 4 \
  --nnodes 6 --node-rank 0 --master-addr 10.0.0.1
# --8<-- [end:refused-queries]
# --8<-- [start:refused-routed-experts]
vllm serve "$QWEN" --tensor-parallel-size 8 --decode-context-parallel-size 2 \
  --enable-return-routed-experts
# --8<-- [end:refused-routed-experts]
