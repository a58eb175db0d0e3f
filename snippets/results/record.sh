# The load of the guide's record table, for the layout that is serving.
# --8<-- [start:load]
LAYOUT=tp8   # tp8, tp4pp2 or tp4dp2
START=1      # which start of this layout it is
STEM=$LAYOUT # from the second start on: STEM=$LAYOUT-s$START
curl -s http://127.0.0.1:8000/metrics > "$RUN/$STEM-before.prom"
for C in 1 16 64 128; do
    N=$(( C * 8 > 64 ? C * 8 : 64 ))
    vllm bench serve --backend openai --base-url http://127.0.0.1:8000 \
        --endpoint /v1/completions --model llama70b --tokenizer "$MODEL" \
        --dataset-name random --random-input-len 2048 --random-output-len 256 \
        --num-prompts "$N" --num-warmups 8 --max-concurrency "$C" --request-rate inf \
        --temperature 0 --ignore-eos --seed 42 \
        --percentile-metrics ttft,tpot,itl --metric-percentiles 50,99 \
        --metadata layout="$LAYOUT" gpus=8 start="$START" trial="$START" \
        --save-result --result-dir "$RUN" --result-filename "$LAYOUT-c$C-r$START.json"
done
curl -s http://127.0.0.1:8000/metrics > "$RUN/$STEM-after.prom"
# --8<-- [end:load]
