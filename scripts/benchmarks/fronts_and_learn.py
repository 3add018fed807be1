"""Networks of a front against the network of `BayesNetLearner`, by the density of rows that neither has seen.

Both learn from the same rows on one core, for the same seconds or the same number of evaluations. One line per table or
number of rows:

learn       The network of `BayesNetLearner`; the other columns are differences from it, in nats per row.
single      The network of the front that the search for one network found.
best fit    The network with the least misfit on the front.
knee        `front.knee()`.
best        The network of the thinned front that has the greatest density of the test rows, chosen with these rows.
beyond      Share of runs in which the front has a network that is not dominated by that of `learn`, by the density of
            the test rows and the number of free parameters.
limit       Share of runs in which the knee has more than 95 % of the parameters that the limit allows.
volume      Hypervolume of the thinned front by the density of test rows and the number of parameters, divided by that
            of a front with the published options (equal-frequency bins, misfit in sample, no search for one network).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness.printing import print_table
from harness.real_tables import TABLES
from harness.runs import add_resolution_option, measure_text, resume_tasks
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner, ParetoBayesNetLearner
from gomea_bn.front.front import Front
from gomea_bn.front.quality import hypervolume
from gomea_bn.simulation.random_networks import random_network

__all__ = ["PUBLISHED", "compared"]

PUBLISHED: dict[str, Any] = {
    "discretizer": "equal-frequency",
    "max_bins": 9,
    "max_indegree": 6,
    "pseudo_count": 1.0,
    "misfit": "in-sample",
    "single_share": 0.0,
}
"""Options of fronts before the search for one network was part of them."""
SEED_OF_NETS, N_VARIABLES, TEST_ROWS, THINNED = 7_100, 10, 10_000, 100
COLUMNS = ("single", "best fit", "knee", "best")


def rows_of(task: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Return training rows, test rows and the kinds of columns of a task."""
    if "net" in task:
        truth = random_network(N_VARIABLES, kind="random", random_state=SEED_OF_NETS + task["net"])
        return truth.sample(task["rows"], random_state=1), truth.sample(TEST_ROWS, random_state=2), {}
    from sklearn.model_selection import KFold

    real = TABLES[task["table"]]()
    folds = list(KFold(task["folds"], shuffle=True, random_state=SEED_OF_NETS).split(real.frame))
    train, test = folds[task["fold"]]
    return real.frame.iloc[train], real.frame.iloc[test], real.kinds


def points(front: Front, test: pd.DataFrame, resolution: str) -> NDArray[np.float64]:
    """Return minus the density of test rows and the number of parameters of a thinned front, (n, 2)."""
    networks = [candidate.network for candidate in front.thin(THINNED)]
    return np.array(
        [(-network.score(test, resolution=resolution), network.n_parameters) for network in networks]
    )


def compared(task: dict[str, Any]) -> dict[str, Any]:
    """Return the densities of one task's networks, and the ratio of hypervolumes."""
    train, test, kinds = rows_of(task)
    fixed = {
        "kinds": kinds or None,
        "n_jobs": 1,
        "random_state": task["seed"],
        "max_seconds": None if task.get("evaluations") else task["seconds"],
        "max_evaluations": task.get("evaluations"),
    }
    one = BayesNetLearner(patience=None, **fixed, density="bins").fit(train)
    learner = ParetoBayesNetLearner(**fixed, **task["options"]).fit(train)
    front = learner.front_
    resolution = task["resolution"]
    ours = points(front, test, resolution)
    of_learn = np.array([-one.score(test, resolution=resolution), one.network_.n_parameters])
    knee = front.knee().network
    record: dict[str, Any] = {
        "learn": -of_learn[0],
        "best fit": front.best("misfit").network.score(test, resolution=resolution),
        "knee": knee.score(test, resolution=resolution),
        "best": -ours[:, 0].min(),
        "beyond": bool(((ours < of_learn).any(axis=1)).any()),
        "limit": "knee" in front.near_limit(),
        "members": len(front),
        "evaluations": learner.n_eval_,
    }
    record["single"] = (
        record["best fit"]
        if front.single is None
        else front.single.network.score(test, resolution=resolution)
    )
    if task["published"]:
        before = points(ParetoBayesNetLearner(**fixed, **PUBLISHED).fit(train).front_, test, resolution)
        union = np.concatenate((ours, before))
        # the test rows decide what is dominated
        ideal, nadir = union.min(axis=0), np.quantile(union, 0.9, axis=0)
        volumes = [
            hypervolume(np.minimum(p, nadir), ("misfit", "complexity"), None, ideal, nadir)
            for p in (ours, before)
        ]
        record["volume"] = volumes[0] / volumes[1]
        record["best before"] = -before[:, 0].min()
    return record


def _line(records: Sequence[dict[str, Any]]) -> list[str]:
    cells = [str(len(records)), f"{np.mean([r['learn'] for r in records]):.3f}"]
    for name in COLUMNS:
        difference = np.array([r[name] - r["learn"] for r in records])
        error = difference.std(ddof=1) / np.sqrt(len(records)) if len(records) > 1 else np.nan
        cells.append(f"{difference.mean():+.3f} ± {error:.3f}")
    cells += [f"{np.mean([r[name] for r in records]):.0%}" for name in ("beyond", "limit")]
    cells.append(f"{np.median([r['members'] for r in records]):,.0f}")
    volumes = [r["volume"] for r in records if "volume" in r]
    cells.append(f"{np.median(volumes):.2f}" if volumes else "-")
    return cells


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per table and per number of rows of random networks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=["iris", "wine", "diabetes", "breast cancer", "auto"])
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--rows", nargs="*", type=int, default=[200, 800, 3_200], help="of random networks")
    parser.add_argument("--nets", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--evaluations", type=int, help="of each search, in place of the seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--published", action="store_true", help="learn a front with the published options too"
    )
    parser.add_argument("--option", nargs="*", default=[], help="name=value of the front's learner")
    parser.add_argument("--workers", type=int, default=1)
    add_resolution_option(parser)
    parser.add_argument("--results", type=Path, help="file in which finished runs are kept")
    given = parser.parse_args(arguments)
    from harness.runs import named_options

    common = {
        "seconds": given.seconds,
        "seed": given.seed,
        "published": given.published,
        "resolution": given.resolution,
        "options": named_options(given.option),
    }
    if given.evaluations:
        common["evaluations"] = given.evaluations
    groups: dict[str, list[dict[str, Any]]] = {
        name: [{"table": name, "fold": fold, "folds": given.folds, **common} for fold in range(given.folds)]
        for name in given.tables
    }
    for rows in given.rows:
        groups[f"random networks, {rows:,} rows"] = [
            {"net": net, "rows": rows, **common} for net in range(given.nets)
        ]
    lines = []
    for name, tasks in groups.items():
        records = resume_tasks(compared, tasks, given.results, given.workers)
        lines.append([name, *_line(records)])
        print(*lines[-1], sep=" | ", flush=True)
    budget = f"{given.evaluations:,} evaluations" if given.evaluations else f"{given.seconds:g} s"
    columns = ("", "runs", "learn", *COLUMNS, "beyond", "limit", "members", "volume")
    measure = measure_text(given.resolution)
    print_table(
        f"Held-out log density in nats per row, {budget} a run on one core; {measure}", columns, lines
    )


if __name__ == "__main__":
    main()
