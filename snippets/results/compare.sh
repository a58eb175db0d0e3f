# Read a measured run, and publish it.
# --8<-- [start:compare]
vllm-parallel compare results/h100-llama70b --baseline tp8
vllm-parallel run record results/h100-llama70b
# --8<-- [end:compare]

# --8<-- [start:check]
vllm-parallel run init results/h100-llama70b
vllm-parallel run check results/h100-llama70b
vllm-parallel run check results/h100-llama70b --redact results/h100-llama70b-public
vllm-parallel run check results/h100-llama70b-public --seal
# --8<-- [end:check]
