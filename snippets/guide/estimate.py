"""KV tokens of three layouts on eight GPUs: plain arithmetic, no GPU, no package."""

GIB = 2**30
GPU_GIB = 79.6  # assumed: nvidia-smi's total; better what the CUDA runtime reports
UTILIZATION = 0.90  # --gpu-memory-utilization
OVERHEAD_GIB = 3.0  # assumed: activations, CUDA graphs, buffers; better what your log implies
WEIGHT_GIB = 70.6e9 * 2 / GIB  # two bytes each
LAYERS, KV_HEADS, HEAD_DIM = 80, 8, 128
LAYOUTS = {"tp8": (8, 1, 1), "tp4 pp2": (4, 2, 1), "tp4 dp2": (4, 1, 2)}


def kv_bytes_per_token(tp: int, pp: int) -> int:
    """K and V of one token on one rank, in BF16; a rank has one KV head at least."""
    return LAYERS // pp * max(KV_HEADS // tp, 1) * HEAD_DIM * 2 * 2


def tokens_per_pool(tp: int, pp: int) -> int:
    """Tokens that the KV budget of a rank holds, before whole blocks."""
    budget_gib = GPU_GIB * UTILIZATION - WEIGHT_GIB / (tp * pp) - OVERHEAD_GIB
    return int(budget_gib * GIB / kv_bytes_per_token(tp, pp))


def lines() -> list[str]:
    """A line a layout: weights and KV of a token on a rank, pools, tokens in one and in all."""
    rows = ["layout   weights  a token  pools     in one     in all"]
    for name, (tp, pp, dp) in LAYOUTS.items():
        weight, token = WEIGHT_GIB / (tp * pp), kv_bytes_per_token(tp, pp) // 1024
        pool = tokens_per_pool(tp, pp)
        sizes = f"{weight:4.1f} GiB  {token:3} KiB  {dp:5}"
        rows.append(f"{name:7} {sizes}  {pool:9,}  {dp * pool:9,}")
    return rows


if __name__ == "__main__":
    print("\n".join(lines()))
