"""Quantised checkpoints: what each layer of a model is stored as, by its `quantization_config`."""
