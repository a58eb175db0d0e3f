# --8<-- [start:version]
vllm-parallel --version
# --8<-- [end:version]
# --8<-- [start:pin]
make dist
pip install dist/*.whl
# --8<-- [end:pin]
