"""Learning from tables in pieces: time and memory by the number of rows, threads and workers, and speed of counting.

    python scripts/benchmarks/rows.py learn FOLDER [--rows 1e4 1e5 1e6 1e7] [--variables 20] [--seconds 20]
                                            [--threads 2] [--workers 0 1 2] [--in-memory 1e6] [--evaluations 50000]
    python scripts/benchmarks/rows.py compare FOLDER [--rows 1e6] [--variables 20] [--seconds 60] [--threads 2]
    python scripts/benchmarks/rows.py count [--rows 1000000] [--variables 20] [--workers 1 2]

learn   Writes rows of a random network (seed 77) to Parquet files in FOLDER, a million rows a file, unless they exist.
        Every run is a process of its own. Printed are seconds of the search on the sample and of everything, readings
        of the files, passes over the cells, the most memory of the process in GB, edges in common with the generating
        network and others, and the score per row. Rows up to --in-memory are also learned from a table in memory.
        --workers is the number of processes of a Dask cluster on this machine; 0 stands for threads. With --evaluations
        the search on the sample ends by their number, so that all ways begin with one network.
compare The network of the files, searched for --seconds on the sample, and that of a table in memory, searched for as
        many seconds as the files took altogether; the scores of both over all rows by one measure, and their memory.
count   Nanoseconds a row and family, of the same families: scored in memory by one thread, and counted from cells by
        one thread, and by a Dask cluster of --workers processes. The two take turns.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from harness.printing import print_table

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, read_table
from gomea_bn.data.pieces import pieces_of
from gomea_bn.data.table import Table
from gomea_bn.large.cells import Coding
from gomea_bn.large.counters.local import LocalCounter
from gomea_bn.large.counters.on_dask import DaskCounter
from gomea_bn.large.counters.plan import CountPlan, FamilyCounter, View
from gomea_bn.large.learning import learn_from_pieces, score_of_pieces
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.learning_problem import learning_problem
from gomea_bn.problems.scoring.family_scorer import Family
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.simulation.random_networks import random_network
from gomea_bn.texts import counted as counted_noun

SEED_OF_NET, ROWS_OF_FILE = 77, 1_000_000
# files of `count`, so that every worker has some
PIECES = 8


def write_rows(
    folder: Path, n_variables: int, n_rows: int, *, rows_of_file: int = ROWS_OF_FILE
) -> tuple[Path, float]:
    """Write rows of the generating network unless they are there; return their folder and the seconds."""
    began = perf_counter()
    truth = random_network(n_variables, kind="random", random_state=SEED_OF_NET)
    target = folder / f"{n_variables}x{n_rows}"
    target.mkdir(parents=True, exist_ok=True)
    for file in range(-(-n_rows // rows_of_file)):
        path = target / f"part-{file:05d}.parquet"
        if not path.exists():
            n = min(rows_of_file, n_rows - file * rows_of_file)
            part = path.with_suffix(".new")
            truth.sample(n, random_state=1000 + file).to_parquet(part, index=False)
            part.rename(path)
    return target, perf_counter() - began


def one_run(task: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of one run."""
    truth = random_network(task["variables"], kind="random", random_state=SEED_OF_NET)
    learner = BayesNetLearner(
        density="bins",
        max_seconds=None if task["evaluations"] else task["seconds"],
        max_evaluations=task["evaluations"],
        n_jobs=task["threads"],
        random_state=1,
        curves="none",
        sample_rows=task["sample"],
    )
    began = perf_counter()
    if task["memory"]:
        learner.fit(read_table(pd.read_parquet(task["folder"])))
        network, score, record = learner.network_, learner.score_, {}
    elif task["workers"]:
        with workers(task["workers"]) as client:
            learner.scheduler = client.scheduler.address
            began = perf_counter()
            fit = learn_from_pieces(learner, task["folder"])
        network, score, record = fit.network, fit.score, fit.record
    else:
        fit = learn_from_pieces(learner, task["folder"])
        network, score, record = fit.network, fit.score, fit.record
    true, learned = ({frozenset(edge) for edge in net.edges} for net in (truth, network))
    return {
        "seconds": perf_counter() - began,
        "sample": record.get("seconds_to_sample_network"),
        "readings": record.get("readings"),
        "passes": record.get("passes"),
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "found": len(true & learned),
        "others": len(learned - true),
        "edges": len(true),
        "score": score / task["rows"],
        "network": network.to_json(),
    }


def run_apart(task: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of one run in a process of its own, whose memory is measured."""
    command = [sys.executable, __file__, "run", json.dumps(task)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    result: dict[str, Any] = json.loads(printed)
    return result


def compare(options: argparse.Namespace) -> None:
    """Print the networks of the files and of a table in memory, with the same seconds, and their scores."""
    n_rows = int(options.rows[0])
    folder, _ = write_rows(options.folder, options.variables, n_rows)
    task = {
        "variables": options.variables,
        "folder": str(folder),
        "rows": n_rows,
        "evaluations": None,
        "threads": options.threads,
        "sample": options.sample,
        "workers": 0,
    }
    files = run_apart({**task, "memory": False, "seconds": options.seconds})
    print(f"files: {files['seconds']:.0f} s, {files['gigabytes']:.1f} GB", flush=True)
    memory = run_apart({**task, "memory": True, "seconds": files["seconds"]})
    print(f"in memory: {memory['seconds']:.0f} s, {memory['gigabytes']:.1f} GB", flush=True)
    learner = BayesNetLearner(
        density="bins", n_jobs=options.threads, random_state=1, curves="none", sample_rows=options.sample
    )
    rows = []
    for name, run in (("files", files), ("in memory", memory)):
        score = score_of_pieces(learner, folder, DiscretizedBayesNet.from_json(run["network"]))
        edges = f"{run['found']} of {run['edges']} + {run['others']}"
        cells = [f"{run['seconds']:.0f}", f"{run['gigabytes']:.1f}", edges, f"{score / n_rows:.6f}"]
        rows.append([name, *cells])
    heading = f"{n_rows:,} rows of {options.variables} columns; scores by one measure over all rows"
    print_table(heading, ["", "whole, s", "GB", "edges", "score a row"], rows)


def learn(options: argparse.Namespace) -> None:
    """Print a row per number of rows and of workers."""
    rows = []
    for n_rows in map(int, options.rows):
        folder, seconds = write_rows(options.folder, options.variables, n_rows)
        print(f"{n_rows:,} rows of {options.variables} columns written in {seconds:.0f} s", flush=True)
        ways: list[tuple[str, int, bool]] = [("threads", 0, False)] * (0 in options.workers)
        ways += [(counted_noun(n, "worker"), n, False) for n in options.workers if n]
        ways += [("in memory", 0, True)] * (n_rows <= options.in_memory)
        former = None
        for name, workers, memory in ways:
            task = {
                "variables": options.variables,
                "folder": str(folder),
                "rows": n_rows,
                "seconds": options.seconds,
                "evaluations": options.evaluations,
                "threads": options.threads,
                "sample": options.sample,
                "workers": workers,
                "memory": memory,
            }
            run = run_apart(task)
            network = DiscretizedBayesNet.from_json(run["network"])
            same = "" if memory or former is None else "yes" if network == former else "no"
            former = former or (None if memory else network)
            rows.append([f"{n_rows:,}", name, *cells_of_run(run), same])
            print(rows[-1], flush=True)
    columns = [
        *("rows", "", "sample, s", "whole, s", "readings", "passes", "GB", "edges", "score a row"),
        "same network",
    ]
    print_table(f"{options.variables} columns", columns, rows)


def cells_of_run(run: dict[str, Any]) -> list[str]:
    """Return the figures of a run as cells of a row."""
    return [
        "" if run["sample"] is None else f"{run['sample']:.0f}",
        f"{run['seconds']:.0f}",
        str(run["readings"] or ""),
        str(run["passes"] or ""),
        f"{run['gigabytes']:.1f}",
        f"{run['found']} of {run['edges']} + {run['others']}",
        f"{run['score']:.6f}",
    ]


@dataclass(frozen=True)
class CountedFamilies:
    """The same families for both machines: the scorer of tables in memory, and counting from cells.

    Attributes
    ----------
    problem : StructureProblem
    families : list of Family
        Every column with its parents in the generating network, and with one more.
    coding : Coding
        The bins of the generating network.
    plan : CountPlan
    """

    problem: StructureProblem
    families: list[Family]
    coding: Coding
    plan: CountPlan

    @classmethod
    def of(cls, truth: DiscretizedBayesNet, table: Table) -> CountedFamilies:
        """Return the families of a table of rows of a network."""
        fixed = {name: cuts.tolist() for name, cuts in truth.cut_points.items()}
        options = LearningOptions(cut_points=fixed, shape="uniform", curves="none")
        position = {name: v for v, name in enumerate(table.names)}
        families = [
            Family(
                (v, 0), tuple((p, 0) for p in sorted({other, *(position[p] for p in truth.parents(name))}))
            )
            for v, name in enumerate(table.names)
            for other in range(len(table.names))
            if other != v
        ]
        families = list(dict.fromkeys(families))
        levels = {c.name: c.levels for c in table.columns if c.levels is not None}
        views = [
            View.of_codes(v, np.arange(truth.cardinality(name)), truth.cardinality(name))
            for v, name in enumerate(table.names)
        ]
        plan = CountPlan([[*(views[p] for p, _ in f.parents), views[f.child[0]]] for f in families])
        return cls(
            learning_problem(table, options),
            families,
            Coding(table.names, dict(truth.cut_points), levels),
            plan,
        )


def count(options: argparse.Namespace) -> None:
    """Print the speed of counting."""
    truth = random_network(options.variables, kind="random", random_state=SEED_OF_NET)
    n_rows = int(options.rows[0])
    with tempfile.TemporaryDirectory() as folder:
        target, _ = write_rows(Path(folder), options.variables, n_rows, rows_of_file=n_rows // PIECES)
        pieces = pieces_of(target)
        counted = CountedFamilies.of(truth, read_table(pd.read_parquet(target)))
        unit = 1e9 / (len(counted.families) * n_rows)
        rows: list[tuple[str, float, float]] = []
        with LocalCounter(pieces, 1, 2**30) as counter:
            counter.code(counted.coding)
            of_memory, of_cells = alternating_seconds(counted, counter)
            rows.append(("cells, one thread", of_memory * unit, of_cells * unit))
        for n_workers in options.workers:
            with workers(n_workers) as client:
                on_dask = DaskCounter(client, pieces)
                on_dask.code(counted.coding)
                of_memory, of_cells = alternating_seconds(counted, on_dask)
                rows.append((counted_noun(n_workers, "worker"), of_memory * unit, of_cells * unit))
    columns = ["", "in memory, one thread", "counted", "speed"]
    cells = [[name, f"{a:.2f}", f"{b:.2f}", f"{a / b:.0%}"] for name, a, b in rows]
    heading = f"{len(counted.families)} families of {n_rows:,} rows, ns a row and family, medians of 5"
    print_table(heading, columns, cells)


def alternating_seconds(counted: CountedFamilies, counter: FamilyCounter) -> tuple[float, float]:
    """Return the median seconds of scoring the families in memory and of counting them, each of five, in turns."""
    of_memory: list[float] = []
    of_cells: list[float] = []
    for _ in range(5):
        began = perf_counter()
        counted.problem.scorer.score(counted.families, use_cache=False)
        middle = perf_counter()
        counter.count(counted.plan)
        of_memory.append(middle - began)
        of_cells.append(perf_counter() - middle)
    return float(np.median(of_memory)), float(np.median(of_cells))


@contextmanager
def workers(n_workers: int) -> Iterator[Any]:
    """Give the client of a cluster of processes of one thread each on this machine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    learning = commands.add_parser("learn")
    learning.add_argument("folder", type=Path)
    learning.add_argument("--seconds", type=float, default=20)
    learning.add_argument("--evaluations", type=int, help="in place of --seconds")
    learning.add_argument("--threads", type=int, default=2)
    learning.add_argument("--sample", type=int, default=200_000)
    learning.add_argument("--workers", nargs="+", type=int, default=[0])
    learning.add_argument("--in-memory", type=float, default=1e6)
    comparing = commands.add_parser("compare")
    comparing.add_argument("folder", type=Path)
    comparing.add_argument("--seconds", type=float, default=60)
    comparing.add_argument("--threads", type=int, default=2)
    comparing.add_argument("--sample", type=int, default=200_000)
    counting = commands.add_parser("count")
    for command, rows in ((learning, [1e4, 1e5, 1e6, 1e7]), (comparing, [1e6]), (counting, [1e6])):
        command.add_argument("--rows", nargs="+", type=float, default=rows)
        command.add_argument("--variables", type=int, default=20)
    counting.add_argument("--workers", nargs="+", type=int, default=[])
    single = commands.add_parser("run")
    single.add_argument("task")
    options = parser.parse_args(arguments)
    if options.command == "run":
        print(json.dumps(one_run(json.loads(options.task))))
    elif options.command == "learn":
        learn(options)
    elif options.command == "compare":
        compare(options)
    else:
        count(options)


if __name__ == "__main__":
    main()
