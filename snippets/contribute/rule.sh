# A rule of vLLM's start-up; make test-contribute runs this.
# --8<-- [start:red]
python -m pytest tests/constraints/test_rules.py
# → exit code 1
# → fast-prefill-without-eagle
# --8<-- [end:red]

# --8<-- [start:green]
python -m pytest tests/constraints
# → passed
vllm-parallel check -- vllm serve zai-org/GLM-4.5 -tp 8 --kv-sharing-fast-prefill \
  --speculative-config '{"method": "mtp", "num_speculative_tokens": 1}'
# → exit code 1
# → Fast prefill optimization for KV sharing is not compatible with EAGLE as EAGLE requires correct logits for all tokens while fast prefill gives incorrect logits for prompt tokens.
# --8<-- [end:green]

# --8<-- [start:site]
make published
# → site/reference/constraints/index.html: fast-prefill-without-eagle
# --8<-- [end:site]
