"""What a load of requests comes to: times of tokens and throughput, from prices of steps."""

from vllm_parallel.load.load import Bound, Load, Times
from vllm_parallel.load.omissions import OMISSIONS, Leans, Omission
from vllm_parallel.load.replay import Served, replay
from vllm_parallel.load.service import Service, ServicePrice

__all__ = [
    "OMISSIONS",
    "Bound",
    "Leans",
    "Load",
    "Omission",
    "Served",
    "Service",
    "ServicePrice",
    "Times",
    "replay",
]
