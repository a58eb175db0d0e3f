"""The weights of mixers, and the tensors that they register beside them."""

from __future__ import annotations

from vllm_parallel.dtype import Dtype
from vllm_parallel.layers.storage import Storage
from vllm_parallel.mixer import (
    GatedDeltaNet,
    KimiDeltaAttention,
    Mamba1,
    Mamba2,
    Mixer,
    ShortConvolution,
)
from vllm_parallel.weight import Part, Split, Weight, whole

Parts = tuple[Part, ...]


def mixer_weights(mixer: Mixer, storage: Storage) -> list[Weight]:
    """The parameters of one layer's mixer."""
    match mixer:
        case Mamba1():
            return _mamba1(mixer, storage)
        case Mamba2():
            return _mamba2(mixer, storage)
        case GatedDeltaNet():
            return _gated_delta_net(mixer, storage)
        case KimiDeltaAttention():
            return _kimi(mixer, storage)
        case ShortConvolution():
            return _short_convolution(mixer, storage)


def mixer_buffers(mixer: Mixer, storage: Storage) -> list[Weight]:
    """What one layer's mixer registers beside its parameters.

    Source: vllm/model_executor/layers/mamba/mamba_mixer2.py, MambaMixer2;
    vllm/model_executor/models/falcon_h1.py, FalconH1SSMDecoderLayer (v0.32.0)
    """
    if not isinstance(mixer, Mamba2):
        return []
    kernel = (_convolved(mixer), whole(mixer.kernel))
    buffers = [Weight(f"{mixer.name}.conv_weights", kernel, storage.dtype)]
    if mixer.multipliers:
        row = (whole(1), _projected(mixer))
        buffers.append(Weight("mamba.mup_vector", row, storage.dtype))
    return buffers


def _split(count: int, what: str = "channels of the mixer") -> Part:
    return Part(count, 1, Split.TENSOR, what)


def _convolution(name: str, rows: Parts, kernel: int, dtype: Dtype) -> Weight:
    """A kernel for each channel; never quantised."""
    return Weight(f"{name}.weight", (rows, whole(1), whole(kernel)), dtype)


def _mamba1(m: Mamba1, storage: Storage) -> list[Weight]:
    """Source: vllm/model_executor/layers/mamba/mamba_mixer.py, MambaMixer (v0.32.0)."""
    dtype, name = storage.dtype, m.name
    inner, across, selected = _split(m.inner), storage.across, whole(m.rank + 2 * m.state)
    weights = [
        _convolution(f"{name}.conv1d", (inner,), m.kernel, dtype),
        Weight(f"{name}.in_proj.weight", ((inner, inner), across), dtype),
        Weight(f"{name}.x_proj.weight", (selected, (inner,)), dtype),
        Weight(f"{name}.dt_proj.weight", ((inner,), whole(m.rank)), dtype),
        Weight(f"{name}.dt_proj.bias", ((inner,),), dtype),
        Weight(f"{name}.A", ((inner,), whole(m.state)), Dtype.FLOAT32),
        storage.vector(f"{name}.D", inner),
        Weight(f"{name}.out_proj.weight", (across, (inner,)), dtype),
    ]
    if m.conv_bias:
        weights.append(storage.vector(f"{name}.conv1d.bias", inner))
    if m.bias:
        weights.append(storage.vector(f"{name}.in_proj.bias", inner, inner))
        weights.append(storage.vector(f"{name}.out_proj.bias", *across))
    if m.norms:
        widths = {"dt": m.rank, "b": m.state, "c": m.state}
        weights += [
            storage.vector(f"{name}.{part}_layernorm.weight", Part(width))
            for part, width in widths.items()
        ]
    return weights


def _convolved(m: Mamba2) -> Parts:
    """Channels that the convolution sees: x, B and C."""
    shared = Part(m.groups, m.state, Split.GROUPS, "groups of the mixer")
    return (_split(m.inner), shared, shared)


def _projected(m: Mamba2) -> Parts:
    """Rows of the input projection: the gate, x, B, C and the time steps."""
    return (_split(m.inner), *_convolved(m), _split(m.heads, "heads of the mixer"))


def _mamba2(m: Mamba2, storage: Storage) -> list[Weight]:
    """Source: vllm/model_executor/layers/mamba/mamba_mixer2.py, MambaMixer2 (v0.32.0)."""
    name, heads, inner = m.name, _split(m.heads, "heads of the mixer"), _split(m.inner)
    weights = [
        _convolution(f"{name}.conv1d", _convolved(m), m.kernel, storage.dtype),
        *storage.linear(f"{name}.in_proj", _projected(m), storage.across, bias=m.bias),
        Weight(f"{name}.A", ((heads,),), Dtype.FLOAT32),
        storage.vector(f"{name}.D", heads),
        storage.vector(f"{name}.dt_bias", heads),
        *storage.linear(f"{name}.out_proj", storage.across, (inner,), bias=m.bias),
    ]
    if m.conv_bias:
        weights.append(storage.vector(f"{name}.conv1d.bias", *_convolved(m)))
    if m.norm:
        weights.append(storage.vector(f"{name}.norm.weight", inner))
    return weights


def _gated_delta_net(m: GatedDeltaNet, storage: Storage) -> list[Weight]:
    """Source: vllm/model_executor/layers/mamba/gdn/{qwen,olmo}_gdn_linear_attn.py (v0.32.0)."""
    name, across = m.name, storage.across
    values, heads = _split(m.values), _split(m.value_heads, "value heads of the mixer")
    convolved = _split(2 * m.keys + m.values)
    apart = (_split(m.keys), _split(m.keys), _split(m.values), _split(m.values))
    projected = (_split(2 * (m.keys + m.values)),) if m.interleaved else apart
    if m.separate_gates:
        linears = [
            *storage.linear(f"{name}.in_proj_qkvg", projected, across),
            *storage.linear(f"{name}.b_proj", (heads,), across),
            *storage.linear(f"{name}.a_proj", (heads,), across),
        ]
        decay, norm, output = storage.dtype, "o_norm", "o_proj"
    else:
        gates = Part(m.value_heads, 2, Split.TENSOR, heads.what)
        rates: Parts = (gates,) if m.interleaved else (heads, heads)
        rates = whole(2 * m.value_heads) if m.copied_gates else rates
        linears = [
            *storage.linear(f"{name}.in_proj_qkvz", projected, across),
            *storage.linear(f"{name}.in_proj_ba", rates, across),
        ]
        decay, norm, output = Dtype.FLOAT32, "norm", "out_proj"
    return [
        _convolution(f"{name}.conv1d", (convolved,), m.kernel, storage.dtype),
        *linears,
        storage.vector(f"{name}.dt_bias", heads),
        Weight(f"{name}.A_log", ((heads,),), decay),
        storage.vector(f"{name}.{norm}.weight", Part(m.value_dim)),
        *storage.linear(f"{name}.{output}", across, (values,)),
    ]


def _kimi(m: KimiDeltaAttention, storage: Storage) -> list[Weight]:
    """Source: vllm/model_executor/layers/mamba/gdn/kimi_gdn_linear_attn.py (v0.32.0)."""
    name, across, one = m.name, storage.across, whole(m.head_dim)
    inner = Part(m.heads, m.head_dim, Split.TENSOR, "heads of the mixer")
    heads = _split(m.heads, "heads of the mixer")
    projected = (inner, inner, inner, heads, *one)
    return [
        *storage.linear(f"{name}.in_proj_qkvgfab", projected, across),
        *storage.linear(f"{name}.f_b_proj", (inner,), one),
        Weight(f"{name}.dt_bias", ((inner,),), Dtype.FLOAT32),
        _convolution(f"{name}.conv1d", (inner, inner, inner), m.kernel, Dtype.FLOAT32),
        Weight(f"{name}.A_log", ((heads,),), Dtype.FLOAT32),
        *storage.linear(f"{name}.g_a_proj", one, across),
        *storage.linear(f"{name}.g_b_proj", (inner,), one),
        storage.vector(f"{name}.o_norm.weight", *one),
        *storage.linear(f"{name}.o_proj", across, (inner,)),
    ]


def _short_convolution(m: ShortConvolution, storage: Storage) -> list[Weight]:
    """Source: vllm/model_executor/layers/mamba/short_conv.py, ShortConv (v0.32.0)."""
    name, inner, across = m.name, _split(m.inner), whole(m.inner)
    weights = [
        _convolution(f"{name}.conv", (inner,), m.kernel, storage.dtype),
        *storage.linear(f"{name}.in_proj", (inner, inner, inner), across, bias=m.bias),
        *storage.linear(f"{name}.out_proj", across, (inner,), bias=m.bias),
    ]
    if m.bias:
        weights.append(storage.vector(f"{name}.conv.bias", inner))
    return weights
