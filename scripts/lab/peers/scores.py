"""The experiment `scores`: what the score of a family promises next to what new rows get from the kept conditional.

A file with a function `clinic(seed, n)` draws visits; the first rows are learned from, and all others are new ones. The
parents of a column leave it one after another, the one that adds least to the score first. Every parent has a gain of
score a row, which has paid Occam's price, and a gain of the log density of new rows under what a network with this
parent keeps. An honest score promises at most what new rows get. Excesses, promised less received, are those of all
parents of a column together. New rows with a level that no learned row has are left out.

Random networks have random ones of these sets of parents. Of pairs of them whose new rows differ by more than two
standard errors, the share is printed in which the one with the higher score predicts new rows better.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, average_families
from gomea_bn.errors import GomeaBnWarning
from lab.peers.truth import cases_of
from lab.runner.experiment import Experiment, Option, Options, Row, Task, records
from lab.runner.printing import with_error
from lab.runner.report import Report, sheet
from lab.runner.runs import warm_up

_NETWORKS = 40
_SALT = 55_131
# extreme new rows of one column decide no mean
_MOST_NATS = 20.0


def gains_of(network: DiscretizedBayesNet) -> dict[str, list[tuple[str, float]]]:
    """Return the parents of every column with the nats of the score that each adds, the one that adds most first."""
    known = network.metadata["parents"]
    return {name: [(parent, nats) for parent, nats in known.get(name, ())] for name in network.names}


def with_parents(
    network: DiscretizedBayesNet, rows: Any, most: int, gains: dict[str, list[tuple[str, float]]], seed: int
) -> DiscretizedBayesNet:
    """Return the network whose columns have the first ones of their parents, with conditionals of its own."""
    edges = [(parent, name) for name, of_name in gains.items() for parent, _ in of_name[:most]]
    found = DiscretizedBayesNet.from_table(
        rows,
        edges,
        network.cut_points,
        pseudo_count="auto",
        shapes=network.shapes,
        metadata=network.metadata,
    )
    return average_families(found, rows, random_state=seed)


def ranked_alike(scores: NDArray[np.float64], logs: NDArray[np.float64]) -> tuple[int, int]:
    """Return how many pairs of networks new rows tell apart, and how many of these a score ranks alike.

    `scores` (n_networks,) are in nats, and `logs` (n_networks, n_new) the log densities of new rows.
    """
    n_told, n_alike = 0, 0
    for first in range(len(scores)):
        for second in range(first):
            of_rows = logs[first] - logs[second]
            mean, error = float(of_rows.mean()), float(of_rows.std()) / len(of_rows) ** 0.5
            if abs(mean) > 2 * error:
                n_told += 1
                n_alike += bool((scores[first] > scores[second]) == (mean > 0))
    return n_told, n_alike


def one_table(task: Task) -> dict[str, Any]:
    """Return gains of score and of new rows by column, and how many pairs of networks are ranked alike."""
    frame, _ = cases_of(task["clinic"]).clinic(task["seed"], task["rows"] + task["new"])
    rows, new = frame.iloc[: task["rows"]], frame.iloc[task["rows"] :].reset_index(drop=True)
    warm_up({})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GomeaBnWarning)
        learner = BayesNetLearner(max_seconds=task["seconds"], random_state=task["seed"], n_jobs=1)
        network = learner.fit(rows).network_
        gains = gains_of(network)
        levels = [name for name in network.names if name not in network.cut_points]
        is_known = np.all(
            [new[name].isin(rows[name]) for name in levels] or [np.full(len(new), True)], axis=0
        )
        new = new[is_known].reset_index(drop=True)
        most = max(map(len, gains.values()))
        logs = [
            {
                name: np.maximum(of_name, -_MOST_NATS * len(network.names))
                for name, of_name in with_parents(network, rows, number, gains, task["seed"])
                .log_density_terms(new)
                .items()
            }
            for number in range(most + 1)
        ]
    columns = {}
    for name, of_name in gains.items():
        if not of_name:
            continue
        received = logs[len(of_name)][name] - logs[0][name]
        promised = sum(nats for _, nats in of_name) / len(rows)
        error = float(received.std()) / len(new) ** 0.5
        columns[name] = [promised, float(received.mean()), error]
    generator = np.random.default_rng([_SALT, task["seed"]])
    scores: list[float] = []
    of_networks: list[NDArray[np.float64]] = []
    for _ in range(_NETWORKS):
        sizes = {name: int(generator.integers(len(of_name) + 1)) for name, of_name in gains.items()}
        scores.append(float(sum(nats for name, n in sizes.items() for _, nats in gains[name][:n])))
        of_networks.append(np.sum([logs[n][name] for name, n in sizes.items()], axis=0))
    decided, alike = ranked_alike(np.array(scores), np.array(of_networks))
    return {"columns": columns, "decided": decided, "alike": alike}


def tables_of(options: Options) -> list[Task]:
    """Return a task per table; none without a file that draws them."""
    if options.clinic is None:
        return []
    fixed = {name: getattr(options, name) for name in ("clinic", "rows", "new", "seconds")}
    return [{"seed": options.seed + number, **fixed} for number in range(options.tables)]


def scores_report(options: Options, rows: Sequence[Row]) -> Report:
    """Return what the score promises and new rows get of every column, and the share of pairs that are ranked alike."""
    if options.clinic is None:
        return Report((sheet("Left out, needs --clinic FILE.", ("",), ()),))
    tables = records(rows)
    names = list(dict.fromkeys(name for table in tables for name in table["columns"]))
    lines = []
    for name in names:
        known = np.array([table["columns"][name] for table in tables if name in table["columns"]])
        excess = known[:, 0] - known[:, 1]
        cells = [with_error(of, 4) for of in (known[:, 0], known[:, 1], excess)]
        lines.append([name, len(known), *cells, f"{excess.max():.4f}", f"{known[:, 2].mean():.4f}"])
    decided, alike = (sum(table[key] for table in tables) for key in ("decided", "alike"))
    heading = f"{len(tables)} tables of {options.rows:,} rows, {options.new:,} new ones; nats a row"
    columns = ("", "tables", "promised", "received", "excess", "largest", "error of new rows")
    note = f"Of {decided:,} pairs of networks that new rows tell apart {alike / max(decided, 1):.1%} are ranked alike."
    return Report((sheet(heading, columns, lines, note),))


EXPERIMENTS = (
    Experiment(
        name="scores",
        title="What the score of a family promises, and what new rows get",
        source=(__doc__ or "").partition("\n\n")[2],
        tasks=tables_of,
        measure=one_table,
        report=scores_report,
        options={
            "clinic": Option(None, "File with a function clinic(seed, n).", str),
            "tables": Option(5, "Tables.", least=1),
            "rows": Option(4_000, "Rows to learn from.", least=100),
            "new": Option(40_000, "New rows.", least=1_000),
            "seconds": Option(15.0, "Limit of a search."),
            "seed": Option(1, "Seed of the first table.", least=0),
        },
    ),
)
"""All experiments by name."""
