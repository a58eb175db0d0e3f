"""What a rank needs beside its weights before blocks are counted, by parts and by release."""

from vllm_parallel.overhead.coefficients import COEFFICIENTS, CURRENT, Coefficients
from vllm_parallel.overhead.parts import overhead_spans, overhead_terms
from vllm_parallel.overhead.rounding import rounding_bytes

__all__ = [
    "COEFFICIENTS",
    "CURRENT",
    "Coefficients",
    "overhead_spans",
    "overhead_terms",
    "rounding_bytes",
]
