"""What a step costs in seconds, part by part, on the rank that the others wait for."""

from vllm_parallel.price.rates import Curve, Engine, Rate, Rates
from vllm_parallel.price.step import Pipeline, Pricer, StepPrice

__all__ = ["Curve", "Engine", "Pipeline", "Pricer", "Rate", "Rates", "StepPrice"]
