"""Learning from tables in pieces: time and memory by the number of rows, threads and workers.

`rows-learn` writes rows of a random network (seed 77) to Parquet files in FOLDER, a million rows a file, unless they
exist. Every run is a process of its own. Printed are seconds of the search on the sample and of everything, readings of
the files, passes over the cells, the most memory of the process in GB, edges in common with the generating network and
others, and the score per row. Rows up to --in-memory are also learned from a table in memory. --workers is the number
of processes of a Dask cluster on this machine; 0 stands for threads. With --evaluations the search on the sample ends
by their number, so that all ways begin with one network.
"""

from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ParetoBayesNetLearner, read_table
from gomea_bn.runtime.cluster import connected
from gomea_bn.runtime.threads import thread_count
from gomea_bn.simulation.random_networks import random_network
from gomea_bn.texts import counted as counted_noun
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.report import Sheet, sheet
from lab.runner.runs import in_new_process, peak_megabytes

SEED_OF_NET, ROWS_OF_FILE = 77, 1_000_000
# held-out rows
N_OTHERS = 20_000


def write_rows(folder: Path, n_variables: int, n_rows: int) -> Path:
    """Write rows of the generating network, a million a file, unless they are there; return their folder."""
    truth = random_network(n_variables, kind="random", random_state=SEED_OF_NET)
    target = folder / f"{n_variables}x{n_rows}"
    target.mkdir(parents=True, exist_ok=True)
    for file in range(-(-n_rows // ROWS_OF_FILE)):
        path = target / f"part-{file:05d}.parquet"
        if not path.exists():
            n = min(ROWS_OF_FILE, n_rows - file * ROWS_OF_FILE)
            part = path.with_suffix(".new")
            truth.sample(n, random_state=1000 + file).to_parquet(part, index=False)
            part.rename(path)
    return target


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
    elif task["workers"]:
        with connected(n_workers=task["workers"]) as client:
            learner.scheduler = client.scheduler.address
            began = perf_counter()
            learner.fit(task["folder"])
    else:
        learner.fit(task["folder"])
    network, score = learner.network_, learner.score_
    record = network.metadata.get("all_rows", {})
    true, learned = ({frozenset(edge) for edge in net.edges} for net in (truth, network))
    return {
        "seconds": perf_counter() - began,
        "sample": record.get("seconds_to_sample_network"),
        "readings": record.get("readings"),
        "passes": record.get("passes"),
        "gigabytes": peak_megabytes() * 1024 / 1e6,
        "found": len(true & learned),
        "others": len(learned - true),
        "edges": len(true),
        "score": score / task["rows"],
        "network": network.to_json(),
    }


def tall_frame(n_rows: int, n_columns: int) -> pd.DataFrame:
    """Return a table of continuous columns, each of which depends on an earlier one."""
    rng = np.random.default_rng(0)
    values = np.empty((n_columns, n_rows))
    for column in range(n_columns):
        rng.standard_normal(out=values[column])
        if column:
            values[column] += np.tanh(values[rng.integers(column)])
    np.exp(values[::4], out=values[::4])
    return pd.DataFrame(values.T, columns=[f"x{column}" for column in range(n_columns)], copy=False)


def measured(task: dict[str, Any]) -> dict[str, float]:
    """Return wall and processor seconds, and bytes of memory per byte of the table, of one fit."""
    n_rows, n_columns = task["size"]
    frame = tall_frame(n_rows, n_columns)
    kind = {"network": BayesNetLearner, "front": ParetoBayesNetLearner}[task["kind"]]
    # loads code, and compiles kernels
    kind(max_seconds=2.0, sample_rows=1_000, random_state=0).fit(tall_frame(1_500, n_columns))
    before = peak_megabytes()
    began, on_processor = perf_counter(), process_time()
    kind(**task["options"], random_state=0).fit(frame)
    wall, processor = perf_counter() - began, process_time() - on_processor
    memory = 1024**2 * (peak_megabytes() - before)
    return {"seconds": wall, "processor": processor, "memory": memory / (8 * n_rows * n_columns)}


def size_of(text: str) -> list[int]:
    """Return the numbers of rows and columns of a size as text."""
    return [int(n) for n in text.split("x")]


def by_threads(options: Options) -> Sheet:
    """Return by which factor threads shorten fits of equal evaluations, next to the fit of the first number."""
    cores = thread_count(-1)
    rows = []
    for size in options.sizes:
        for kind in ("network", "front"):
            first = 0.0
            for n_threads in dict.fromkeys(min(n, cores) for n in (*options.threads, cores)):
                limits = {"max_evaluations": options.evaluations, "patience": None, "n_jobs": n_threads}
                run = in_new_process(measured, {"size": size_of(size), "kind": kind, "options": limits})
                first = first or run["seconds"]
                speed_up = f"{first / run['seconds']:.2f}"
                rows.append(
                    (size, kind, n_threads, f"{run['seconds']:.1f}", f"{run['processor']:.1f}", speed_up)
                )
    columns = ["rows x columns", "", "threads", "seconds", "CPU", "times as fast"]
    return sheet(f"{options.evaluations:,} evaluations, {counted_noun(cores, 'core')}", columns, rows)


def overrun(options: Options) -> Sheet:
    """Return by how much fits exceed a limit of seconds."""
    rows = []
    for size in options.sizes:
        cells = [size]
        for kind in ("network", "front"):
            limits = {"max_seconds": options.seconds}
            run = in_new_process(measured, {"size": size_of(size), "kind": kind, "options": limits})
            cells += [
                f"{run['seconds'] - options.seconds:.1f}",
                f"{run['processor']:.1f}",
                f"{run['memory']:.1f}",
            ]
        rows.append(cells)
    columns = ["rows x columns", "network", "CPU", "memory", "front", "CPU", "memory"]
    heading = f"Seconds beyond {options.seconds:g}; processor seconds; memory per byte"
    return sheet(heading, columns, rows)


def smooth_frame(n_rows: int, seed: int) -> tuple[pd.DataFrame, set[frozenset[str]]]:
    """Return ten columns, each of which is a sum of smooth functions of up to two earlier ones and noise; edges."""
    rng = np.random.default_rng(seed)
    functions = (np.tanh, np.sin, np.abs, lambda x: x, lambda x: x * x / 2)
    columns: dict[str, NDArray[np.float64]] = {}
    edges: set[frozenset[str]] = set()
    rows = np.random.default_rng(seed + 1_000)
    for position in range(10):
        name = f"x{position}"
        values = rows.normal(size=n_rows)
        for parent in rng.permutation(position)[: rng.integers(1, 3)].tolist():
            values += rng.uniform(1.0, 2.0) * functions[rng.integers(len(functions))](columns[f"x{parent}"])
            edges.add(frozenset((f"x{parent}", name)))
        columns[name] = values
    return pd.DataFrame(columns), edges


def table_of_task(
    kind: str, seed: int, n_rows: int
) -> tuple[pd.DataFrame, pd.DataFrame, set[frozenset[str]], float]:
    """Return rows of a kind of table, other rows, the true edges, and the log density of the other rows or nan."""
    if kind == "smooth":
        frame, edges = smooth_frame(n_rows + N_OTHERS, seed)
        return frame.iloc[:n_rows], frame.iloc[n_rows:], edges, np.nan
    truth = random_network(20, kind="random", random_state=seed)
    frame = truth.sample(n_rows + N_OTHERS, random_state=1000)
    rng = np.random.default_rng(seed)
    of_truth = truth.score(frame.iloc[n_rows:])
    if kind == "atoms":
        for name in list(truth.cut_points)[::4]:
            low, high = frame[name].quantile([0.4, 0.6])
            frame[name] = frame[name].mask(frame[name].between(low, high), (low + high) / 2)
        of_truth = np.nan
    if kind == "levels":
        for name in list(truth.cut_points)[:5]:
            ranks = frame[name].rank(pct=True) + rng.normal(scale=0.02, size=len(frame))
            frame[f"{name} levels"] = pd.qcut(ranks, 50, labels=False).map("l{:02}".format)
        of_truth = np.nan
    rows, others = frame.iloc[:n_rows], frame.iloc[n_rows:]
    if kind == "gaps":
        rows = rows.mask(rng.random(rows.shape) < 0.2)
    edges = {frozenset(edge) for edge in truth.edges}
    if kind == "levels":
        edges |= {frozenset((name, f"{name} levels")) for name in list(truth.cut_points)[:5]}
    return rows, others, edges, of_truth


def one_frame(task: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of learning from one table in memory."""
    n_rows = 200_000 if task["table"] == "smooth" else 1_000_000
    rows, others, edges, of_truth = table_of_task(task["table"], task["seed"], n_rows)
    options = {"max_seconds": task["seconds"], "n_jobs": task["threads"], "random_state": 1}
    BayesNetLearner(max_evaluations=300, sample_rows=1_000, random_state=1).fit(rows.iloc[:1_500])
    began, on_processor = perf_counter(), process_time()
    network = BayesNetLearner(sample_rows=task["sample"], **options).fit(rows).network_
    seconds, processor = perf_counter() - began, process_time() - on_processor
    learned = {frozenset(edge) for edge in network.edges}
    return {
        "seconds": seconds,
        "processor": processor,
        "found": len(edges & learned),
        "others": len(learned - edges),
        "edges": len(edges),
        "density": network.score(others),
        "truth": of_truth,
    }


def frames(options: Options) -> Sheet:
    """Return a row per table in memory."""
    rows = []
    for table in options.tables:
        for seed in options.seeds:
            for sample in options.samples:
                task = {"table": table, "seed": seed, "sample": sample}
                task |= {"seconds": options.seconds, "threads": options.threads}
                run = in_new_process(one_frame, task)
                cells = [f"{run[name]:.0f}" for name in ("seconds", "processor")]
                cells += [f"{run['found']} of {run['edges']} + {run['others']}"]
                cells += [f"{run[name]:.4f}" for name in ("density", "truth")]
                rows.append([table, str(seed), f"{sample:,}", *cells])
    columns = ["table", "seed", "sample", "s", "CPU s", "edges", "others' density", "the truth's"]
    return sheet(f"Tables in memory, limit {options.seconds:g} s", columns, rows)


def learn(options: Options) -> Sheet:
    """Return a row per number of rows and of workers."""
    rows = []
    for n_rows in map(int, options.rows):
        folder = write_rows(Path(options.folder), options.variables, n_rows)
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
            run = in_new_process(one_run, task)
            network = DiscretizedBayesNet.from_json(run["network"])
            same = "" if memory or former is None else "yes" if network == former else "no"
            former = former or (None if memory else network)
            rows.append([f"{n_rows:,}", name, *cells_of_run(run), same])
    columns = [
        *("rows", "", "sample, s", "whole, s", "readings", "passes", "GB", "edges", "score a row"),
        "same network",
    ]
    return sheet(f"{options.variables} columns", columns, rows)


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


_TABLES = ("complete", "gaps", "atoms", "levels", "smooth")

EXPERIMENTS = (
    tabulated(
        "rows-frames",
        "Tables of many rows in memory: edges, densities and seconds",
        "10^6 rows of random networks of 20 columns, complete, with 20 % of the cells missing, with point masses and "
        "with five discrete columns of 50 levels; 200,000 rows of ten columns that are smooth functions of others.",
        frames,
        {
            "tables": Option(_TABLES, "Kinds of tables.", choices=_TABLES),
            "seeds": Option((77, 78, 79), "Seeds of the generating networks."),
            "samples": Option((100_000,), "Rows of the sample.", least=1000),
            "seconds": Option(20.0, "Limit of a fit."),
            "threads": Option(2, "Number of threads.", least=1),
        },
        split=("tables", "seeds"),
    ),
    tabulated(
        "rows-overrun",
        "Seconds beyond a limit of fits of many rows, for a network and a front",
        "Processor seconds and memory per byte of the table too.",
        overrun,
        {
            "sizes": Option(("1000000x20", "3000000x20", "100000x300"), "Rows x columns."),
            "seconds": Option(2.0, "Limit of a fit."),
        },
        split=("sizes",),
    ),
    tabulated(
        "rows-threads",
        "Speed-up of fits of equal evaluations by threads, for a network and a front",
        "For some numbers of threads, and for as many as there are cores.",
        by_threads,
        {
            "sizes": Option(("2000x12",), "Rows x columns."),
            "evaluations": Option(400_000, "Evaluations of a fit.", least=1),
            "threads": Option((1, 2), "Numbers of threads.", least=1),
        },
        split=("sizes",),
    ),
    tabulated(
        "rows-learn",
        "Time and memory of learning from tables in pieces",
        "By the number of rows, of threads and of workers.",
        learn,
        {
            "folder": Option("out/rows", "Folder of the Parquet files."),
            "rows": Option((10_000, 100_000, 1_000_000, 10_000_000), "Numbers of rows.", least=1),
            "variables": Option(20, "Number of columns.", least=2),
            "seconds": Option(20.0, "Limit of the search on the sample."),
            "evaluations": Option(None, "Limit of that search in place of the seconds.", int, least=1),
            "threads": Option(2, "Number of threads.", least=1),
            "sample": Option(100_000, "Rows of the sample.", least=1),
            "workers": Option((0,), "Processes of a Dask cluster on this machine; 0 for threads."),
            "in_memory": Option(1e6, "Most rows that are also learned from a table in memory."),
        },
        split=("rows",),
    ),
)
