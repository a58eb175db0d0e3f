"""Towers of multimodal models, each from its own config. Imported when such a model is read."""
