"""`python -m vllm_parallel`."""

from __future__ import annotations

from vllm_parallel.cli import main

raise SystemExit(main())
