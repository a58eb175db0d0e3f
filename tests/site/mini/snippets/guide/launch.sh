# --8<-- [start:tp2]
vllm serve model --tensor-parallel-size 2
# --8<-- [end:tp2]
