# A measured run; make test-contribute runs this.
# --8<-- [start:copy]
cp -r ~/measured results/2026-12-01-my-run
vllm-parallel run init results/2026-12-01-my-run
# → fill what is empty, then run check
"${EDITOR:-vi}" results/2026-12-01-my-run/run.toml
# --8<-- [end:copy]

# --8<-- [start:check]
vllm-parallel run check results/2026-12-01-my-run
# → exit code 1
# → secret: environment.txt:156 has the home /home/ada
vllm-parallel run check results/2026-12-01-my-run --redact
# → replaced in environment.txt: 1 home
vllm-parallel run check results/2026-12-01-my-run --seal
# → 2026-12-01-my-run is consistent
# --8<-- [end:check]

# --8<-- [start:compare]
vllm-parallel compare results/2026-12-01-my-run --baseline tp1
# → tp2
# --8<-- [end:compare]

# --8<-- [start:site]
make published
# → site/results/record/index.html: A run of mine
# --8<-- [end:site]
