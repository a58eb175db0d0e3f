# --8<-- [start:replica]
make replica            # five trials of five servers
make replica TRIALS=3   # the fewest that allow a verdict
# --8<-- [end:replica]
