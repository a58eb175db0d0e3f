"""Commands that read what vLLM wrote: a module each, with `add_options` and `run`."""
