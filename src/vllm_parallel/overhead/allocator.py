"""Sizes of torch's allocator: what it takes of the GPU for a tensor.

Source: c10/cuda/CUDACachingAllocator.cpp, get_allocation_size (torch 2.11)
"""

from __future__ import annotations

from typing import Final

from vllm_parallel.units import MIB

SMALL: Final = MIB  # up to here a tensor shares a small segment
SMALL_SEGMENT: Final = 2 * MIB
ALONE: Final = 10 * MIB  # from here on a tensor has a segment of its own, in whole units
SEGMENT: Final = 20 * MIB
UNIT: Final = 2 * MIB
