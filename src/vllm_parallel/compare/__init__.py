"""Measured layouts beside each other: ratios, how sure they are, and under which load."""

from vllm_parallel.compare.cell import Cell, LeftOut, Spread
from vllm_parallel.compare.comparison import Comparison, Level, Terms
from vllm_parallel.compare.findings import Findings
from vllm_parallel.compare.interval import FALSE_VERDICTS, LEAST_UNITS, Ratio
from vllm_parallel.compare.load import Asked
from vllm_parallel.compare.measured import Measured
from vllm_parallel.compare.metric import Metric
from vllm_parallel.compare.pressure import Pressure
from vllm_parallel.compare.record import Record, records
from vllm_parallel.compare.standing import Judgement, Pair, Standing

__all__ = [
    "FALSE_VERDICTS",
    "LEAST_UNITS",
    "Asked",
    "Cell",
    "Comparison",
    "Findings",
    "Judgement",
    "LeftOut",
    "Level",
    "Measured",
    "Metric",
    "Pair",
    "Pressure",
    "Ratio",
    "Record",
    "Spread",
    "Standing",
    "Terms",
    "records",
]
