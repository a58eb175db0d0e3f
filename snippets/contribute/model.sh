# A model of the catalog; make test-contribute runs this.
# --8<-- [start:config]
cp ~/Downloads/config.json src/vllm_parallel/catalog/models/tinyllama-1.1b.json
# --8<-- [end:config]

# --8<-- [start:source]
cat > src/vllm_parallel/catalog/sources/tinyllama-1.1b.json <<'END'
{
 "hub": ["TinyLlama/TinyLlama-1.1B-Chat-v1.0"],
 "config": "the hub's config.json, read 2026-12-01",
 "origin": "copy",
 "published": {"figure": "1100048384", "source": "the hub's safetensors total"}
}
END
# --8<-- [end:source]

# --8<-- [start:licence]
sed -i '/By hub name, and where it was read:/a \      TinyLlama/TinyLlama-1.1B-Chat-v1.0  Apache-2.0: its model card' NOTICE
# --8<-- [end:licence]

# --8<-- [start:ask]
vllm-parallel plan tinyllama-1.1b -tp 2 --gpu l40s
# → tinyllama-1.1b as tp2: 2 ranks
vllm-parallel check -- vllm serve TinyLlama/TinyLlama-1.1B-Chat-v1.0 -tp 4
# → accepts it.
# --8<-- [end:ask]

# --8<-- [start:test]
python -m pytest tests/test_catalog.py tests/test_catalog_sources.py
# → passed
# --8<-- [end:test]

# --8<-- [start:site]
make published
# → site/models/tinyllama-1.1b/index.html
# --8<-- [end:site]
