# --8<-- [start:tp2]
python -m tiny --tensor-parallel-size 2
# --8<-- [end:tp2]
