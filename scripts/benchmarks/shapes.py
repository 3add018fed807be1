"""The learner on columns that are not uniform within bins: skeletons, hidden levels, and large tables.

    python scripts/benchmarks/shapes.py skeletons [--laws nonlinear bells mixed] [--rows 500 2000 10000] [--graphs 10]
    python scripts/benchmarks/shapes.py bells-of-mgcd [--nets 10] [--rows 1000 5000 10000]
    python scripts/benchmarks/shapes.py averaged [--laws tree ide-cozman] [--rows 200 800 3200] [--graphs 10]
    python scripts/benchmarks/shapes.py large [--tables collinear] [--bins 3 5 8]

skeletons      F1 of the undirected edges of random graphs with ten columns, ours and other libraries' (see
               structural_laws.py for the laws and skeleton_peers.py for the libraries). Differences from the first
               method have 95 % bootstrap intervals over the graphs.
bells-of-mgcd  Arcs of the CPDAG and numbers of bins on the random networks of the experiment `gomea-bn bench mgcd`.
averaged       Divergences of networks and averaged networks from random networks, which are uniform inside their bins,
               and the mean weight of lines, which should be 0 (see averaged_on_random_networks.py).
large          Held-out log density of tables with more than 10,000 rows, ours and hill climbing on k quantile bins
               (see large_tables.py).

All parts take --discretizer and --option name=value for the learner, and --variant name:option=value,... to run several
learners next to each other. The other libraries are in the extra "peers"; those that are not installed are left out.
Each run has one core; --workers of them run at once. All parts but `large` keep finished runs in the file
--results, if it is given, and do not run them again. The file does not know the version of the code.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.runs import add_learner_options, add_resolution_option, named_options, variant
from harness.structural_laws import LAWS
from parts.averaged_on_random_networks import RANDOM_LAWS, averaged
from parts.bells_of_mgcd import bells_of_mgcd
from parts.held_out import WIDTHS
from parts.large_tables import COUNTS, LARGE_TABLES, large
from parts.skeletons import skeletons

PARTS = {"skeletons": skeletons, "bells-of-mgcd": bells_of_mgcd, "averaged": averaged, "large": large}
SECONDS = {"skeletons": 8.0, "bells-of-mgcd": 20.0, "averaged": 2.0, "large": 60.0}
"""Deadline of a run in seconds, by part."""


def learner_variants(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the options of the learner by the name of its variant; without --variant it is called "ours"."""
    shared = {"discretizer": options.discretizer, **named_options(options.option)}
    named = [variant(text) for text in options.variant or ["ours"]]
    if len(dict(named)) < len(named):
        raise SystemExit("The names of --variant must be distinct.")
    return {name: {**shared, **of_variant} for name, of_variant in named}


def at_least_one(text: str) -> int:
    """Return a number of things from a command line."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, got {text!r}")
    return int(text)


def command_line() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="part", required=True)
    of_graphs = commands.add_parser("skeletons", help="F1 of skeletons on three laws")
    of_graphs.add_argument(
        "--laws", nargs="+", choices=sorted(LAWS), default=list(LAWS), help="laws of the rows"
    )
    of_graphs.add_argument("--rows", nargs="+", type=at_least_one, default=[500, 2_000, 10_000])
    of_graphs.add_argument("--graphs", type=at_least_one, default=10, help="number of random graphs")
    of_graphs.add_argument(
        "--timeout", type=float, default=60.0, help="seconds after which a library is stopped"
    )
    of_levels = commands.add_parser(
        "bells-of-mgcd", help="arcs and numbers of bins on MGCD's random networks"
    )
    of_levels.add_argument("--rows", nargs="+", type=at_least_one, default=[1_000, 5_000, 10_000])
    of_levels.add_argument("--nets", type=at_least_one, default=10, help="number of random networks")
    of_averages = commands.add_parser("averaged", help="divergences from random networks")
    of_averages.add_argument(
        "--laws",
        nargs="+",
        choices=sorted(RANDOM_LAWS),
        default=list(RANDOM_LAWS),
        help="laws of the networks",
    )
    of_averages.add_argument("--rows", nargs="+", type=at_least_one, default=[200, 800, 3_200])
    of_averages.add_argument("--graphs", type=at_least_one, default=10, help="number of random networks")
    for command in (of_graphs, of_levels, of_averages):
        command.add_argument("--first-seed", type=int, default=0, help="seed of the first graph")
        command.add_argument("--results", type=Path, help="file of finished runs")
    of_tables = commands.add_parser("large", help="held-out density of large tables, scaled")
    of_tables.add_argument(
        "--tables", nargs="+", choices=sorted(LARGE_TABLES), default=list(LARGE_TABLES), help="data sets"
    )
    of_tables.add_argument(
        "--bins", nargs="+", type=int, default=list(COUNTS), help="numbers of quantile bins"
    )
    of_tables.add_argument("--split-seed", type=int, default=0, help="seed of the test rows")
    of_tables.add_argument(
        "--widths",
        nargs="+",
        type=float,
        default=list(WIDTHS),
        help="least widths of bins as shares of the range; ours learns once for each",
    )
    add_resolution_option(of_tables)
    for command in (of_graphs, of_tables):
        command.add_argument("--without-peers", action="store_true", help="leave other libraries out")
    for name, command in commands.choices.items():
        add_learner_options(command)
        command.add_argument(
            "--variant",
            action="append",
            metavar="NAME:OPTION=VALUE,...",
            help="options of one learner in addition to --option; repeat it to compare several",
        )
        command.add_argument("--seconds", type=float, default=SECONDS[name], help="deadline of a run")
        command.add_argument("--workers", type=at_least_one, default=2, help="number of processes")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chosen part."""
    # there is one process per core
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    options = command_line().parse_args(arguments)
    options.variants = learner_variants(options)
    PARTS[options.part](options)


if __name__ == "__main__":
    main()
