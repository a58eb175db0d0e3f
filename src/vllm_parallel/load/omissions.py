"""What a load leaves out, and which way each omission leans."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from vllm_parallel.frozen import dataclass


class Leans(StrEnum):
    """How a computed time stands to a measured one for want of something."""

    SHORT = "too short"
    LONG = "too long"
    EITHER = "either way"


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """Something that takes or saves time and is not in the price."""

    what: str
    leans: Leans
    why: str


OMISSIONS: Final = (
    Omission(
        what="HTTP, the tokenizer, detokenising",
        leans=Leans.SHORT,
        why="a first token waits for them, tens of milliseconds; TPOT hardly does",
    ),
    Omission(
        what="preemption",
        leans=Leans.SHORT,
        why="a request is admitted once its full length fits; vLLM admits more, and recomputes",
    ),
    Omission(
        what="bunched arrivals",
        leans=Leans.SHORT,
        why="requests arrive evenly; under a rate of chance some meet and wait for each other",
    ),
    Omission(
        what="lengths that differ",
        leans=Leans.EITHER,
        why="all requests have the mean length; long ones read more, short ones leave sooner",
    ),
    Omission(
        what="prompts that share a prefix",
        leans=Leans.LONG,
        why="every prompt is computed whole; prefix caching skips what is known",
    ),
    Omission(
        what="batches padded to a captured size",
        leans=Leans.SHORT,
        why="a graph computes up to 8 or 16 rows more than there are requests",
    ),
    Omission(
        what="experts that are asked for more than others",
        leans=Leans.SHORT,
        why="each expert is as likely as the others, so every rank has the same work",
    ),
    Omission(
        what="engines that wait for each other",
        leans=Leans.SHORT,
        why="engines that share experts step together; here each has its own pace",
    ),
    Omission(
        what="overlap of collectives with arithmetic",
        leans=Leans.LONG,
        why="parts of a step follow each other; fused kernels hide some of the exchange",
    ),
    Omission(
        what="speculation, adapters, encoders of images",
        leans=Leans.EITHER,
        why="the price refuses what exchanges more; encoders are not priced",
    ),
    Omission(
        what="clocks that fall under load",
        leans=Leans.SHORT,
        why="rates are those of a GPU that keeps its clock",
    ),
)
