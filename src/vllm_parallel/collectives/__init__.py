"""What ranks exchange in a step: every collective call, with its group, its count and its bytes."""

from vllm_parallel.collectives.batch import Batch, EngineBatch
from vllm_parallel.collectives.collective import Collective, Device, Kind
from vllm_parallel.collectives.step import Exchange, collectives, refuse_unmodelled, stage_calls

__all__ = [
    "Batch",
    "Collective",
    "Device",
    "EngineBatch",
    "Exchange",
    "Kind",
    "collectives",
    "refuse_unmodelled",
    "stage_calls",
]
