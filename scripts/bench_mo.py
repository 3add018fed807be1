"""The search for fronts beside the published code and pymoo, and the fronts' networks beside single ones.

    python scripts/bench_mo.py fronts [--seeds 30] [--only trap-5]
    python scripts/bench_mo.py peers [--nets 10] [--seconds 10] [--full]
    python scripts/bench_mo.py figure6 [--nets 5] [--seconds 20] [--full]
    python scripts/bench_mo.py throughput [--seconds 60]
    python scripts/bench_mo.py all

With --full: larger problems, 10 networks and longer runs. Finished runs of `peers` and `figure6` are kept in --results,
so that a long benchmark can be stopped and continued; delete the folder to start afresh.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

PARTS = {
    "fronts": "_bench_mo_fronts",
    "peers": "_bench_mo_peers",
    "figure6": "_bench_mo_experts",
    "throughput": "_bench_mo_throughput",
}


def main() -> None:
    """Run the chosen parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--seeds", type=int, help="of fronts; by default 30, for LOTZ 9")
    parser.add_argument("--only", action="append", default=[], help="problems of fronts whose names begin so")
    parser.add_argument("--nets", type=int, help="random networks (peers 10; figure6 5, with --full 10)")
    parser.add_argument("--seconds", type=float, help="per run")
    parser.add_argument("--workers", type=int, default=2, help="processes of peers and figure6")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--results", type=Path, default=Path("out/bench_mo"))
    options = parser.parse_args()
    for part in PARTS if options.part == "all" else [options.part]:
        import_module(PARTS[part]).main(options)


if __name__ == "__main__":
    main()
