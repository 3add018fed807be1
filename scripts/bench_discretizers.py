"""The discretizers beside each other and beside those of other libraries, printed as tables.

    python scripts/bench_discretizers.py peers [--peer-python PATH] [--cycles 8]
    python scripts/bench_discretizers.py tables [--folds 10] [--only wine] [--full]
    python scripts/bench_discretizers.py resampled [--only wine] [--only 50000]
    python scripts/bench_discretizers.py networks [--nets 10] [--seconds 60] [--full]
    python scripts/bench_discretizers.py all

Needs the "benchmarks" extra. `peers` runs the package bnlearn in a process of its own, about 3 minutes; where it is
installed elsewhere, --peer-python names the Python that has it. Khiops takes part in the other parts where
--khiops-python names a Python that has the package khiops. --full: 30 networks, and slow peers everywhere.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

PARTS = {
    "peers": "_bench_discretizers_port",
    "tables": "_bench_discretizers_tables",
    "resampled": "_bench_discretizers_resampled",
    "networks": "_bench_discretizers_networks",
}


def main() -> None:
    """Run the chosen parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--peer-python", default=sys.executable, help="a Python that has bnlearn")
    parser.add_argument("--khiops-python", help="a Python that has khiops")
    parser.add_argument("--cycles", type=int, default=8, help="most passes of peers over the columns")
    parser.add_argument("--folds", type=int, default=10, help="of tables")
    parser.add_argument("--only", action="append", default=[], help="a table, or a number of rows")
    parser.add_argument("--nets", type=int, help="random networks (10; 30 with --full)")
    parser.add_argument("--seconds", type=float, default=60.0, help="deadline of every fit")
    parser.add_argument("--seed", type=int, default=1, help="of folds and of methods that draw")
    parser.add_argument("--workers", type=int, default=2, help="processes of tables and networks")
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read by k-means; one process per core is enough
    options.nets = options.nets or (30 if options.full else 10)
    for part in PARTS if options.part == "all" else [options.part]:
        import_module(PARTS[part]).main(options)


if __name__ == "__main__":
    main()
