"""Layers that mix tokens through a state of fixed size in place of attention, or beside it."""

from __future__ import annotations

from typing import ClassVar

from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import dataclass
from vllm_parallel.units import exact_div


@dataclass(frozen=True, slots=True)
class State:
    """One tensor that a layer keeps for each request: its shape on a rank, its element type.

    >>> State((3, 2816), Dtype.BFLOAT16).bytes
    16896
    """

    shape: tuple[int, ...]
    dtype: Dtype

    @property
    def bytes(self) -> int:
        """Bytes of one request's state."""
        return self.dtype.bytes_of(self.shape)


States = tuple[State, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFlags:
    """What the flags say of states: element types, and draft tokens that they have to hold.

    `conv` is the model's dtype unless `--mamba-cache-dtype` names one; `temporal` is
    `--mamba-ssm-cache-dtype`, None where it is auto.

    Source: vllm/model_executor/layers/mamba/mamba_utils.py, MambaStateDtypeCalculator (v0.32.0)
    """

    conv: Dtype
    temporal: Dtype | None = None
    speculative_tokens: int = 0

    def window(self, kernel: int, width: int) -> State:
        """The inputs that a convolution goes on from; a draft lengthens them."""
        return State((kernel - 1 + self.speculative_tokens, width), self.conv)

    def element(self, family: Dtype | None) -> Dtype:
        """The type of a recurrent state: as asked, else the family's, else the convolution's."""
        return self.temporal or family or self.conv


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba1:
    """A selective state space with a state for each channel.

    Source: vllm/model_executor/layers/mamba/mamba_mixer.py, MambaMixer (v0.32.0)

    >>> mixer = Mamba1(name="mamba", inner=8192, state=16, kernel=4, rank=256)
    >>> [state.shape for state in mixer.states(2, StateFlags(conv=Dtype.BFLOAT16))]
    [(3, 4096), (4096, 16)]
    """

    kind: ClassVar[str] = "MAMBA1"

    name: str
    inner: int
    state: int
    kernel: int
    rank: int
    conv_bias: bool = True
    bias: bool = False
    norms: bool = False  # one each for the time step, B and C
    ssm_dtype: Dtype | None = None  # the family's, where the flag is auto

    @property
    def tp_widths(self) -> tuple[int, ...]:
        """Numbers that tp has to divide."""
        return (self.inner,)

    def states(self, tp: int, flags: StateFlags) -> States:
        """The states of one layer on one rank; draft tokens add nothing here.

        Raises:
            UnevenSplitError: tp does not divide the channels.
        """
        width = exact_div(self.inner, tp, "channels of the mixer")
        return (
            State((self.kernel - 1, width), flags.conv),
            State((width, self.state), flags.element(self.ssm_dtype)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2:
    """A selective state space with a state for each head; groups of heads share B and C.

    Source: vllm/model_executor/layers/mamba/mamba_mixer2.py, MambaMixer2 (v0.32.0)

    >>> mixer = Mamba2(name="mamba", inner=5120, heads=80, head_dim=64, state=128, kernel=4)
    >>> [state.shape for state in mixer.states(4, StateFlags(conv=Dtype.BFLOAT16))]
    [(3, 1536), (20, 64, 128)]
    """

    kind: ClassVar[str] = "MAMBA2"

    name: str
    inner: int
    heads: int
    head_dim: int
    state: int
    kernel: int
    groups: int = 1
    conv_bias: bool = True
    bias: bool = False
    norm: bool = True
    multipliers: bool = False  # a buffer as wide as the input projection (Falcon-H1)
    ssm_dtype: Dtype | None = None  # the family's, where the flag is auto

    def rank_groups(self, tp: int) -> int:
        """Groups over all ranks: a group is copied to every rank where tp does not divide them.

        Source: vllm/model_executor/layers/mamba/mamba_utils.py, extra_groups_for_head_shards
        (v0.32.0)

        >>> mixer = Mamba2(name="mamba", inner=64, heads=8, head_dim=8, state=16, kernel=4)
        >>> mixer.rank_groups(4)
        4
        """
        return self.groups if self.groups % tp == 0 else tp

    @property
    def tp_widths(self) -> tuple[int, ...]:
        """Numbers that tp has to divide."""
        return (self.heads, self.inner)

    def states(self, tp: int, flags: StateFlags) -> States:
        """The states of one layer on one rank; a draft lengthens the convolution's.

        Raises:
            UnevenSplitError: tp does not divide the channels or the heads.
        """
        channels = self.inner + 2 * self.rank_groups(tp) * self.state
        width = exact_div(channels, tp, "channels of the mixer")
        heads = exact_div(self.heads, tp, "heads of the mixer")
        return (
            flags.window(self.kernel, width),
            State((heads, self.head_dim, self.state), flags.element(self.ssm_dtype)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDeltaNet:
    """Linear attention whose state is corrected by a delta rule and decays by a gate.

    Source: vllm/model_executor/layers/mamba/gdn/qwen_gdn_linear_attn.py (v0.32.0)

    >>> mixer = GatedDeltaNet(name="linear_attn", key_heads=16, value_heads=32, key_dim=128,
    ...     value_dim=128, kernel=4)
    >>> [state.shape for state in mixer.states(2, StateFlags(conv=Dtype.BFLOAT16))]
    [(3, 4096), (16, 128, 128)]
    """

    kind: ClassVar[str] = "GDN_ATTN"

    name: str
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    interleaved: bool = False  # Qwen3-Next: q, k, v and z are cut as one
    copied_gates: bool = False  # a and b are whole on every rank
    separate_gates: bool = False  # OLMo: a and b apart, the decay in the model's dtype
    ssm_dtype: Dtype | None = None  # the family's, where the flag is auto

    @property
    def keys(self) -> int:
        """Channels of all key heads."""
        return self.key_heads * self.key_dim

    @property
    def values(self) -> int:
        """Channels of all value heads."""
        return self.value_heads * self.value_dim

    @property
    def tp_widths(self) -> tuple[int, ...]:
        """Numbers that tp has to divide."""
        both = self.keys + self.values
        cut = (self.keys + both, 2 * both) if self.interleaved else (self.keys, self.values)
        return (*cut, self.value_heads)

    def states(self, tp: int, flags: StateFlags) -> States:
        """The states of one layer on one rank; a draft lengthens the convolution's.

        Raises:
            UnevenSplitError: tp does not divide the channels or the value heads.
        """
        width = exact_div(2 * self.keys + self.values, tp, "channels of the mixer")
        heads = exact_div(self.value_heads, tp, "value heads of the mixer")
        return (
            flags.window(self.kernel, width),
            State((heads, self.value_dim, self.key_dim), flags.element(self.ssm_dtype)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KimiDeltaAttention:
    """A gated delta net with a gate for each channel (KDA); its state is in fp32 unless asked.

    Source: vllm/model_executor/layers/mamba/gdn/kimi_gdn_linear_attn.py (v0.32.0)

    >>> mixer = KimiDeltaAttention(name="self_attn", heads=32, head_dim=128, kernel=4)
    >>> [state.shape for state in mixer.states(8, StateFlags(conv=Dtype.BFLOAT16))]
    [(3, 1536), (4, 128, 128)]
    """

    kind: ClassVar[str] = "GDN_ATTN"

    name: str
    heads: int
    head_dim: int
    kernel: int

    @property
    def inner(self) -> int:
        """Channels of all heads."""
        return self.heads * self.head_dim

    @property
    def tp_widths(self) -> tuple[int, ...]:
        """Numbers that tp has to divide."""
        return (self.heads,)

    def states(self, tp: int, flags: StateFlags) -> States:
        """The states of one layer on one rank; a draft lengthens the convolution's.

        Raises:
            UnevenSplitError: tp does not divide the channels or the heads.
        """
        width = exact_div(3 * self.inner, tp, "channels of the mixer")
        heads = exact_div(self.heads, tp, "heads of the mixer")
        return (
            flags.window(self.kernel, width),
            State((heads, self.head_dim, self.head_dim), flags.temporal or Dtype.FLOAT32),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortConvolution:
    """A gated convolution over the last few tokens; it keeps nothing else.

    Source: vllm/model_executor/layers/mamba/short_conv.py, ShortConv (v0.32.0)

    >>> mixer = ShortConvolution(name="short_conv", inner=2048, kernel=3)
    >>> [state.shape for state in mixer.states(2, StateFlags(conv=Dtype.BFLOAT16))]
    [(2, 1024)]
    """

    kind: ClassVar[str] = "SHORT_CONV"

    name: str
    inner: int
    kernel: int
    bias: bool = False

    @property
    def tp_widths(self) -> tuple[int, ...]:
        """Numbers that tp has to divide."""
        return (self.inner,)

    def states(self, tp: int, flags: StateFlags) -> States:
        """The state of one layer on one rank; a draft lengthens it.

        Raises:
            UnevenSplitError: tp does not divide the channels.
        """
        width = exact_div(self.inner, tp, "channels of the mixer")
        return (flags.window(self.kernel, width),)


Mixer = Mamba1 | Mamba2 | GatedDeltaNet | KimiDeltaAttention | ShortConvolution
