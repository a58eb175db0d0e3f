# A GPU of the catalog; make test-contribute runs this.
# --8<-- [start:file]
cat > src/vllm_parallel/catalog/gpus/my-gpu-48gb.json <<'END'
{
  "label": "My GPU 48GB",
  "architecture": "89",
  "runtime_memory_gib": 44.5,
  "smi_memory_mib": 46068,
  "provenance": "measured",
  "source": "a log of 2026-12-01 from one of them, 44.5 GiB; nvidia-smi: 46068MiB",
  "rates": {
    "peak_16_bit": [362e12, "datasheet", "My GPU, BF16 dense"],
    "peak_8_bit": [733e12, "datasheet", "My GPU, FP8 dense"],
    "memory": [864e9, "datasheet", "My GPU, GDDR6"],
    "matmul_share": [0.8, "assumed", "as an H100"],
    "link": [25.6e9, "assumed", "0.8 of PCIe 4.0's 32 GB/s one way"],
    "all_reduce": "hopper"
  }
}
END
# --8<-- [end:file]

# --8<-- [start:ask]
vllm-parallel plan llama-3.1-8b --gpu my-gpu-48gb
# → llama-3.1-8b as tp1: 1 rank
vllm-parallel layouts llama-3.1-8b --gpus 2 --gpu my-gpu-48gb
# → llama-3.1-8b on 2 × My GPU 48GB
python -m pytest tests/test_catalog.py
# → passed
# --8<-- [end:ask]

# --8<-- [start:site]
make published
# → site/reference/hardware/index.html: My GPU 48GB
# --8<-- [end:site]
