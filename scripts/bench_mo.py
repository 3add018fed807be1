"""The search for fronts beside the published code and pymoo.

    python scripts/bench_mo.py fronts [--seeds 30] [--only trap-5]
    python scripts/bench_mo.py peers [--nets 10] [--seconds 10] [--full]
    python scripts/bench_mo.py throughput [--seconds 60]
    python scripts/bench_mo.py all

With --full: larger problems and longer runs. Finished runs of `peers` are kept in --results, so that a long benchmark
can be stopped and continued; delete the folder to start afresh. The fronts' networks beside single ones:
`gomea-bn bench fig6`.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

PARTS = {
    "fronts": "_bench_mo_fronts",
    "peers": "_bench_mo_peers",
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
    parser.add_argument("--nets", type=int, help="random networks (10)")
    parser.add_argument("--seconds", type=float, help="per run")
    parser.add_argument("--workers", type=int, default=2, help="processes of peers")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--results", type=Path, default=Path("out/bench_mo"))
    options = parser.parse_args()
    for part in PARTS if options.part == "all" else [options.part]:
        import_module(PARTS[part]).main(options)


if __name__ == "__main__":
    main()
