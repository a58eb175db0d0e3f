# The load of the guide, by hand and by vLLM's own sweep.
# --8<-- [start:manual]
MODEL=/models/Llama-3.1-70B-Instruct
RUN=results/h100-llama70b
LAYOUT=tp8      # what is serving now: tp8, tp4pp2 or tp4dp2
START=1         # count up with each launch of this layout
LAUNCH=$LAYOUT  # from its second launch on: LAUNCH=$LAYOUT-s$START
METRICS=http://127.0.0.1:8000/metrics
curl -s "$METRICS" > "$RUN/$LAUNCH-before.prom"
for K in 1 2 3; do
  TRIAL=$(( (START - 1) * 3 + K ))
  for C in 1 16 64 128; do
    N=$(( C * 8 > 64 ? C * 8 : 64 ))
    FILE=$LAYOUT-c$C-r$TRIAL
    curl -s "$METRICS" > "$RUN/$FILE-before.prom"
    vllm bench serve \
      --backend openai \
      --base-url http://127.0.0.1:8000 \
      --endpoint /v1/completions \
      --model llama70b \
      --tokenizer "$MODEL" \
      --dataset-name random \
      --random-input-len 2048 \
      --random-output-len 256 \
      --num-prompts "$N" \
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
# --8<-- [end:manual]

# --8<-- [start:sweep]
MODEL=/models/Llama-3.1-70B-Instruct
RUN=results/h100-llama70b
mkdir -p results
for START in 1 2 3; do
  vllm bench sweep serve \
    --serve-cmd "vllm serve $MODEL --served-model-name llama70b --host 127.0.0.1 --port 8000 \
      --dtype bfloat16 --max-model-len 8192 --max-num-batched-tokens 8192 \
      --gpu-memory-utilization 0.90 --no-enable-prefix-caching --seed 42" \
    --serve-params layouts.json \
    --bench-cmd "vllm bench serve --base-url http://127.0.0.1:8000 --model llama70b \
      --tokenizer $MODEL --random-input-len 2048 --random-output-len 256 --num-warmups 8 \
      --temperature 0 --seed 42 --metric-percentiles 50,99 \
      --metadata gpus=8 start=$START trial=$START" \
    --bench-params loads.json \
    --num-runs 1 \
    --server-ready-timeout 1800 \
    --show-stdout \
    --output-dir "$RUN-sweep" \
    --experiment-name "start$START" 2>&1 | tee -i "$RUN-sweep-start$START.log"
done
# --8<-- [end:sweep]

# --8<-- [start:read]
vllm-parallel bench "$RUN"
vllm-parallel metrics "$RUN/tp8-before.prom" "$RUN/tp8-after.prom"
vllm-parallel compare "$RUN" --baseline tp8
# --8<-- [end:read]
