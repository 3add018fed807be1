"""The experiment `causal-effects`: effects with a given graph, next to unadjusted ones and to regression.

Tables have a known effect and a graph (`lab.samples.confounded_laws`). Ours learns the probabilities of the graph and
asks for the effect. "regression" is a regression of the outcome on treatment and adjusted columns without products,
logistic for two levels, whose mean difference over the rows is the effect; its intervals are those of the delta method.
Intervals have 90 %.
"""

import warnings
from collections.abc import Sequence
from functools import cache
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import read_table
from gomea_bn.errors import GomeaBnWarning
from gomea_bn.learning import network_of_graph
from lab.runner.experiment import Experiment, Option, Options, Row, Task, records
from lab.runner.report import Report, Sheet, group_by, sheet
from lab.samples.confounded_laws import LAWS

OURS, UNADJUSTED, REGRESSION = "ours", "unadjusted", "regression"
_HALF_WIDTH = 1.645


def regression_effect(
    frame: pd.DataFrame, others: Sequence[str], ends: tuple[Any, Any]
) -> tuple[float, float, float]:
    """Return the mean difference of the outcome between two values of the treatment, and the ends of its interval."""
    y, is_binary = frame["y"], frame["y"].dtype == object or str(frame["y"].dtype).startswith("str")
    outcome = (y == "yes").to_numpy(np.float64) if is_binary else y.to_numpy(np.float64)
    columns = pd.get_dummies(frame[list(others)], drop_first=True, dtype=float).to_numpy()
    is_level = isinstance(ends[0], str)
    treatment = (frame["t"] == ends[1]).to_numpy(np.float64) if is_level else frame["t"].to_numpy()
    values = (0.0, 1.0) if is_level else ends

    def design(of: Any) -> NDArray[np.float64]:
        return np.column_stack([np.ones(len(frame)), np.broadcast_to(of, len(frame)), columns])

    rows = design(treatment)
    beta = np.zeros(rows.shape[1])
    for _ in range(25 if is_binary else 1):
        means = 1 / (1 + np.exp(-rows @ beta)) if is_binary else rows @ beta
        slopes = means * (1 - means) if is_binary else np.ones(len(rows))
        information = rows.T @ (slopes[:, None] * rows)
        beta = beta + np.linalg.solve(information, rows.T @ (outcome - means))
    answers = [1 / (1 + np.exp(-design(v) @ beta)) if is_binary else design(v) @ beta for v in values]
    gradients = [
        ((m * (1 - m) if is_binary else np.ones(len(m)))[:, None] * design(v)).mean(axis=0)
        for m, v in zip(answers, values, strict=True)
    ]
    fitted = 1 / (1 + np.exp(-rows @ beta)) if is_binary else rows @ beta
    scores = rows * (outcome - fitted)[:, None] @ np.linalg.inv(information)
    change = answers[1] - answers[0]
    terms = change - change.mean() + len(rows) * scores @ (gradients[1] - gradients[0])
    half = _HALF_WIDTH * float(terms.std()) / len(rows) ** 0.5
    mean = float(change.mean())
    return mean, mean - half, mean + half


@cache
def _warm_up(name: str) -> None:
    """Answer a small table of a law once, so that no measured second is spent on compiling."""
    law = LAWS[name]
    frame = law.sample(100, 0)
    network_of_graph(read_table(frame), law.graph, {}).causal_effect("t", "y", frame)


def one_table(task: Task) -> dict[str, Any]:
    """Return estimate and interval of every method on one table, and the seconds of ours."""
    law = LAWS[task["law"]]
    frame = law.sample(task["rows"], task["seed"])
    with warnings.catch_warnings():
        # an effect between values that few rows have
        warnings.simplefilter("ignore", GomeaBnWarning)
        _warm_up(task["law"])
        began = process_time()
        network = network_of_graph(read_table(frame), law.graph, {})
        fitted = process_time()
        found = network.causal_effect("t", "y", frame, law.ends)
    row = found.contrasts.iloc[0]
    return {
        OURS: row[["difference", "low", "high"]].tolist(),
        UNADJUSTED: row[["unadjusted", "unadjusted_low", "unadjusted_high"]].tolist(),
        REGRESSION: list(regression_effect(frame, found.adjusted_for, law.ends)),
        "seconds": [fitted - began, process_time() - fitted],
    }


def tables_of(options: Options) -> list[Task]:
    """Return a task per table."""
    return [
        {"law": law, "rows": n_rows, "seed": options.seed + number}
        for law in options.laws
        for n_rows in options.rows
        for number in range(options.tables)
    ]


def effects_report(options: Options, rows: Sequence[Row]) -> Report:
    """Return a table with bias, error and coverage of every method, by law and number of rows."""
    return Report(
        tuple(
            _sheet(law, n_rows, records(group))
            for (law, n_rows), group in group_by(rows, "law", "rows").items()
        )
    )


def _sheet(law: str, n_rows: int, tables: list[dict[str, Any]]) -> Sheet:
    truth, rows = LAWS[law].truth(), []
    for method in (OURS, UNADJUSTED, REGRESSION):
        estimates, lows, highs = np.array([table[method] for table in tables]).T
        errors = estimates - truth
        covered = (lows <= truth) & (truth <= highs)
        rows.append(
            [
                method,
                f"{errors.mean():+.4f} ± {errors.std() / len(errors) ** 0.5:.4f}",
                f"{np.sqrt((errors**2).mean()):.4f}",
                f"{100 * covered.mean():.1f} %",
                f"{(highs - lows).mean():.3f}",
            ]
        )
    seconds = np.mean([table["seconds"] for table in tables], axis=0)
    heading = f"{law}: effect {truth:.3f}, {len(tables)} tables of {n_rows:,} rows"
    note = f"Ours takes {seconds[0]:.2f} s to learn and {seconds[1]:.2f} s for the effect, of a core."
    return sheet(
        heading, ("", "bias ± standard error", "RMS error", "in the interval", "its width"), rows, note
    )


EXPERIMENTS = (
    Experiment(
        name="causal-effects",
        title="Effects with a given graph: ours, unadjusted and by regression",
        source=(__doc__ or "").partition("\n\n")[2],
        tasks=tables_of,
        measure=one_table,
        report=effects_report,
        options={
            "laws": Option(tuple(LAWS), "Laws of tables.", choices=tuple(LAWS)),
            "rows": Option((1_000,), "Numbers of rows.", least=50),
            "tables": Option(200, "Tables of every law and size.", least=1),
            "seed": Option(0, "Seed of the first table.", least=0),
        },
    ),
)
