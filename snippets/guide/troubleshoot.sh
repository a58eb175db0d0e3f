# What can be asked before a launch.
# --8<-- [start:before]
vllm-parallel check -- vllm serve /models/Llama-3.1-70B-Instruct --tensor-parallel-size 8
# --8<-- [end:before]
