"""The experiment `search-parts`: what the parts of the search for a default network add to its local searches.

A fit with default options first climbs by local searches over parent sets in turn with exact cuts. Populations with
linkage trees follow, until a pair of stages gains nothing. "local searches" ends before the second generation of the
first population. "best of three" is the best score of three such fits with seeds of their own. All other lines change
one part of the whole search. Every network of a table is judged by its score, by the log density of new rows, and where
the graph is known by the F1 of its undirected edges.
"""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn import GOMEA, BayesNetLearner
from gomea_bn.errors import GomeaBnError, GomeaBnWarning
from gomea_bn.runtime.limits import Progress
from lab.peers.kept import within
from lab.peers.pairs import split
from lab.peers.skeletons import f1_of_skeleton
from lab.runner.experiment import Experiment, Option, Options, Row, Task, records
from lab.runner.printing import with_error
from lab.runner.report import Report, Sheet, sheet
from lab.runner.runs import timed, warm_up
from lab.samples.structural_laws import LAWS

_LOCAL, _BEST_OF_THREE, _WHOLE = "local searches", "best of three", "whole search"
_CHANGED = {
    "linkage of single genes": GOMEA("univariate"),
    "no forced improvement": GOMEA(forced_improvement=False),
    "up to four donors": GOMEA(search_donors=True),
    "one population of 64": GOMEA(base_population=64, max_population_size=64),
}
_N_NEW = 5000
_COLUMNS = ("", "score", "new rows", "F1", "evaluations", "seconds")


def _before_populations(progress: Progress) -> bool:
    """Return whether local searches have ended."""
    return progress.n_generations > 0


def _fits_of(variant: str, seed: int) -> list[BayesNetLearner]:
    """Return the learners of a variant, the best of whose networks counts."""
    if variant in _CHANGED:
        return [BayesNetLearner(algorithm=_CHANGED[variant], random_state=seed, n_jobs=1)]
    if variant == _WHOLE:
        return [BayesNetLearner(random_state=seed, n_jobs=1)]
    seeds = range(seed, seed + (3 if variant == _BEST_OF_THREE else 1))
    return [BayesNetLearner(random_state=s, n_jobs=1, callback=_before_populations) for s in seeds]


def table_of_law(
    law: str, n_rows: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, list[tuple[str, str]] | None]:
    """Return rows to learn from, new rows, and the edges of the graph if it is known."""
    if law in LAWS:
        sample = LAWS[law](n_rows + _N_NEW, seed)
        frame = sample.frame
        rows = frame.iloc[:n_rows].reset_index(drop=True)
        return rows, within(rows, frame.iloc[n_rows:].reset_index(drop=True)), sample.edges
    if not Path(law).is_file():
        raise GomeaBnError(f"The law {law!r} is neither one of {', '.join(LAWS)} nor a file with a table.")
    rows, others = split(pd.read_csv(law, sep=None, engine="python"), seed)
    return rows, within(rows, others), None


def parts_of_table(task: Task) -> dict[str, Any]:
    """Return what every variant reaches on one table: score, mean log density of new rows, F1, evaluations, seconds."""
    rows, new, edges = table_of_law(task["law"], task["rows"], task["seed"])
    warm_up({})
    found: dict[str, Any] = {}
    for variant in (_WHOLE, _LOCAL, _BEST_OF_THREE, *_CHANGED):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GomeaBnWarning)
            fits, seconds = timed(
                lambda of=variant: [learner.fit(rows) for learner in _fits_of(of, task["seed"])],
                clock=process_time,
            )
            best = max(fits, key=lambda fit: fit.score_)
            density = float(np.mean(best.network_.log_density(new, resolution="steps")))
        f1 = None if edges is None else f1_of_skeleton(edges, best.network_.edges)
        found[variant] = [float(best.score_), density, f1, sum(fit.n_eval_ for fit in fits), seconds]
    return {"variants": found}


def tasks_of_parts(options: Options) -> list[Task]:
    """Return a task per law or file and seed."""
    return [
        {"law": law, "rows": options.rows, "seed": options.first_seed + number}
        for law in options.laws
        for number in range(options.graphs)
    ]


def _lines(tables: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """Return a line per variant: the whole search by its figures, and others by differences from it."""
    lines = []
    for variant in tables[0]:
        figures = np.array([[np.nan if v is None else v for v in table[variant]] for table in tables])
        whole = np.array([[np.nan if v is None else v for v in table[_WHOLE]] for table in tables])
        shown = figures if variant == _WHOLE else figures - whole
        sign: Callable[[str], str] = (lambda text: text) if variant == _WHOLE else _signed
        lines.append(
            [
                variant,
                sign(with_error(shown[:, 0].tolist(), 1)),
                sign(with_error(shown[:, 1].tolist(), 4)),
                "" if np.isnan(shown[:, 2]).any() else sign(with_error(shown[:, 2].tolist(), 3)),
                f"{figures[:, 3].mean():,.0f}",
                f"{figures[:, 4].mean():.1f}",
            ]
        )
    return lines


def _signed(text: str) -> str:
    return text if text.startswith("-") else f"+{text}"


def parts_report(options: Options, rows: Sequence[Row]) -> Report:
    """Return a sheet per law: the figures of the whole search, and differences from it."""
    sheets: list[Sheet] = []
    for law in options.laws:
        tables = [table["variants"] for table in records(rows) if table["task"]["law"] == law]
        if tables:
            heading = (
                f"{Path(law).name}: {len(tables)} tables; other lines are differences from the whole search"
            )
            sheets.append(sheet(heading, _COLUMNS, _lines(tables)))
    return Report(tuple(sheets))


EXPERIMENTS = (
    Experiment(
        name="search-parts",
        title="What the parts of the search add to local searches",
        source=(__doc__ or "").partition("\n\n")[2],
        tasks=tasks_of_parts,
        measure=parts_of_table,
        report=parts_report,
        options={
            "laws": Option(tuple(LAWS), "Laws of the rows, or files of columns with a header."),
            "rows": Option(2_000, "Rows to learn from; of a file seven of ten.", least=100),
            "graphs": Option(3, "Number of random graphs, or of splits of a file.", least=1),
            "first_seed": Option(1, "Seed of the first graph.", least=0),
        },
    ),
)
"""All experiments by name."""
