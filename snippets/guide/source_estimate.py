"""The arithmetic of the source text: rounded parameters, one assumed overhead."""

GIB = 2**30
GPU_GIB = 79.6  # nvidia-smi's total, where vLLM takes the runtime's
UTILIZATION = 0.90
OVERHEAD_GIB = 3.0  # assumed: activations, CUDA graphs, buffers
WEIGHT_GIB = 70.6e9 * 2 / GIB
LAYERS, KV_HEADS, HEAD_DIM = 80, 8, 128
LAYOUTS = {"tp8": (8, 1, 1), "tp4 pp2": (4, 2, 1), "tp4 dp2": (4, 1, 2)}


def kv_bytes_per_token(tp: int, pp: int) -> int:
    """K and V of one token on one rank, in BF16."""
    return LAYERS // pp * max(KV_HEADS // tp, 1) * HEAD_DIM * 2 * 2


def tokens_per_pool(tp: int, pp: int) -> int:
    """Tokens that the KV budget of a rank holds, before whole blocks."""
    budget_gib = GPU_GIB * UTILIZATION - WEIGHT_GIB / (tp * pp) - OVERHEAD_GIB
    return int(budget_gib * GIB / kv_bytes_per_token(tp, pp))


def main() -> None:
    """Print the pools of the three layouts."""
    for name, (tp, pp, dp) in LAYOUTS.items():
        print(f"{name}: {dp} x {tokens_per_pool(tp, pp):,} tokens")


if __name__ == "__main__":
    main()
