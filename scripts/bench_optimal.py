"""The learner with optimal cuts beside the published figures and beside peers, printed as tables.

    python scripts/bench_optimal.py nets [--sizes 200 800] [--variables 4 20] [--law ide-cozman] [--full] [--resume]
    python scripts/bench_optimal.py tables [--tables iris wine] [--fold-seed 0] [--ensemble 10]
    python scripts/bench_optimal.py chen [--tables wine]
    python scripts/bench_optimal.py pricing [--cells 8x800 20x500]
    python scripts/bench_optimal.py timing --variant base --variant mi:algorithm.linkage=tree-mi [--cells 8x800]

Every command takes --discretizer and --option name=value for the learner. Needs the "benchmarks" extra. Each run has
one core; --workers of them run at once. `nets` keeps its runs in --results; with --resume those are not run again.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from importlib import import_module

PARTS = {
    "nets": "_bench_optimal_nets",
    "tables": "_bench_optimal_tables",
    "chen": "_bench_optimal_chen",
    "pricing": "_bench_optimal_pricing",
    "timing": "_bench_optimal_timing",
}


def command_line() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    from _bench_optimal_learner import add_learner_options
    from _bench_tables import TABLES

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="part", required=True)
    nets = commands.add_parser("nets", help="KL on random networks")
    nets.add_argument("--sizes", nargs="*", type=int, help="rows, with 8 variables; with no number, none")
    nets.add_argument("--variables", nargs="*", type=int, help="with 500 rows; with no number, none")
    nets.add_argument("--law", choices=("tree", "ide-cozman"), default="tree", help="of the networks")
    nets.add_argument("--nets", type=int, help="random networks (10; 30 with --full)")
    nets.add_argument("--seconds", type=float, help="deadline of a run (10; 60 with --full)")
    nets.add_argument("--full", action="store_true")
    nets.add_argument("--results", default="out/bench_optimal_nets.jsonl", help="file that runs are added to")
    nets.add_argument("--resume", action="store_true", help="take finished runs from --results")
    tables = commands.add_parser("tables", help="held-out density of real tables, scaled, 5 folds")
    tables.add_argument(
        "--tables", nargs="+", choices=sorted(TABLES), help="by default the five with targets"
    )
    tables.add_argument("--folds", type=int, default=5)
    tables.add_argument("--fold-seed", type=int, default=0)
    tables.add_argument("--ensemble", type=int, default=0, metavar="K", help="also average K networks")
    tables.add_argument("--without-peers", action="store_true")
    chen = commands.add_parser("chen", help="held-out density of the tables of Chen et al., 10 folds")
    chen.add_argument("--tables", nargs="+", choices=("auto-mpg", "wine", "housing"))
    chen.add_argument("--folds", type=int, default=10)
    chen.add_argument("--fold-seed", type=int, default=0)
    timing = commands.add_parser(
        "timing", aliases=["when"], help="variants of the search on the same networks"
    )
    timing.add_argument(
        "--variant",
        action="append",
        required=True,
        metavar="NAME:OPTION=VALUE,...",
        help="options on top of --option; the others are compared with the first",
    )
    timing.add_argument("--law", choices=("tree", "ide-cozman"), default="tree")
    pricing = commands.add_parser("pricing", help="when to price cuts, and restarted climbing instead")
    for command in (pricing, timing):
        command.add_argument(
            "--cells", nargs="+", default=["8x200", "8x800", "20x500"], metavar="VARIABLESxROWS"
        )
        command.add_argument("--nets", type=int, default=10)
        command.add_argument("--first-net", type=int, default=0, help="seed of the first network")
    for command in (nets, tables, chen, timing):
        add_learner_options(command)
    for command in (nets, tables, chen, pricing, timing):
        command.add_argument("--workers", type=int, default=2, help="processes")
    for command in (tables, chen, pricing, timing):
        command.add_argument("--seconds", type=float, default=10.0, help="deadline of a run")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chosen part."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read by k-means; one process per core is enough
    options = command_line().parse_args(arguments)
    part = "timing" if options.part == "when" else options.part
    if part == "nets":
        options.nets = options.nets or (30 if options.full else 10)
        options.seconds = options.seconds or (60.0 if options.full else 10.0)
    import_module(PARTS[part]).main(options)


if __name__ == "__main__":
    main()
