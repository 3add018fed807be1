"""GOMEA beside the `gomea` package from PyPI: evaluations and seconds to the same stopping value, side by side.

    python scripts/bench_gomea.py discrete [--seeds 10] [--only trap-5]
    python scripts/bench_gomea.py real [--seeds 10] [--seconds 45] [--only rosenbrock]

Needs the package `gomea` (1.1.0). Programs take turns, seed by seed, on one thread.
"""

from __future__ import annotations

import argparse
from importlib import import_module

PARTS = {"discrete": "_bench_gomea_discrete", "real": "_bench_gomea_real"}


def main() -> None:
    """Run the chosen parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument(
        "--seeds",
        "--runs",
        type=int,
        help="seeds per case; by default 30 or, where runs are long, 10 or fewer",
    )
    parser.add_argument("--seconds", type=float, help="limit of a run of the real part; 45 by default")
    parser.add_argument("--only", action="append", default=[], help="cases whose names begin so")
    options = parser.parse_args()
    for part in PARTS if options.part == "all" else [options.part]:
        limits = [options.seconds] if part == "real" else []
        import_module(PARTS[part]).main(options.only, options.seeds, *limits)


if __name__ == "__main__":
    main()
