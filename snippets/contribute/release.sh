# The next release of vLLM; make test-contribute runs this, with a made-up record.
# --8<-- [start:record]
make record VERSION=0.33.0
make record VERSION=0.33.0 ONLY="metrics bench_fields"
# --8<-- [end:record]

# --8<-- [start:diff]
make diff FROM=0.32.0 TO=0.33.0
# → options added: 1
# → 67 × verdicts, another message
# → rules: nixl-dcp-needs-mla
# --8<-- [end:diff]

# --8<-- [start:contract]
make contract VERSION=0.33.0
# → The contract is vLLM 0.33.0; that of 0.32.0 is kept in contracts/0.32.0/.
# --8<-- [end:contract]

# --8<-- [start:red]
python -m pytest tests/oracle/recorded -k verdicts
# → exit code 1
# → needs an MLA model
# --8<-- [end:red]

# --8<-- [start:words]
sed -i 's/is only supported for MLA models\."/needs an MLA model."/' \
  src/vllm_parallel/constraints/features.py tests/constraints/feature_cases.py
# --8<-- [end:words]

# --8<-- [start:named]
git grep -n -F 0.32.0 -- README.md docs snippets results/README.md
# → README.md:
# → docs/guide/references.md:
# → snippets/guide/environment.sh:
# --8<-- [end:named]

# --8<-- [start:version]
sed -i 's/0\.1\.0/0.2.0/' src/vllm_parallel/version.py CITATION.cff
sed -i '/^## 0\.1\.0/i ## 0.2.0 - 2027-01-15\n\n- For vLLM 0.33.0.\n' CHANGELOG.md
# --8<-- [end:version]

# --8<-- [start:green]
python -m pytest tests/oracle/recorded tests/constraints tests/test_versions.py
# → passed
vllm-parallel --version
# → vllm-parallel 0.2.0, for vLLM v0.33.0
make diff FROM=0.32.0 TO=0.33.0
# → vLLM 0.32.0 against 0.33.0
# --8<-- [end:green]
