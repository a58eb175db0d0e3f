# Before and after any contribution.
# --8<-- [start:start]
make site
. .venv/bin/activate
# --8<-- [end:start]

# --8<-- [start:check]
make check
git add --all
git commit -m "Add TinyLlama to the catalog"
# --8<-- [end:check]
