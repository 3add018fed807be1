"""The experiment `shapes-large`: held-out log density of tables with thousands of rows, ours and k quantile bins.

Continuous columns are scaled to [0, 1] by the training rows, and test values are clipped to that range. The opponents
are pyAgrum's hill climbing by BIC on k bins of equal frequency. Their tables are counted with our smoothing, so that
only graphs and bins differ. The best k is chosen on the test rows, in favour of the opponent.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn.data.table import read_table
from lab.methods.peers import pyagrum_by_quantiles
from lab.peers.held_out import WIDTHS, density_cells, held_out, of_ours, scaled
from lab.published.tables import LETTERS
from lab.runner.experiment import Experiment, Option, Options, Row, Task
from lab.runner.printing import mean_and_difference
from lab.runner.report import Record, Report, Sheet, group_by, measured_records, sheet
from lab.runner.runs import RESOLUTION, VARIANTS, learner_variants, measure_text, warm_up
from lab.samples.real_tables import RealTable

SALT = 52_361
N_COLUMNS = 10
N_FACTORS = 3
N_GROUPS = 4
COUNTS = (3, 5, 8, 10, 15, 20, 30, 45, 60)
"""Numbers of quantile bins."""
MAX_PARENTS = 5
TRAINING_SHARE = 0.7
COUNTING = {"pseudo_count": "auto"}

Values = np.ndarray[Any, np.dtype[np.float64]]

SHAPES: tuple[Callable[[Values], Values], ...] = (
    lambda x: x,
    lambda x: np.log1p(np.exp(x)),
    lambda x: x * np.abs(x),
    np.tanh,
    np.square,
)
"""Functions of a mixture of the factors."""


def collinear_table(n_rows: int, seed: int, heavy_tails: bool) -> RealTable:
    """Return ten columns that three hidden factors determine up to noise of 1 to 5 % of their deviation.

    Every column is a linear mixture of the factors, and six columns are a nonlinear function of one. The factors of a
    row are normal around the centre of one of four groups. With `heavy_tails` they have Student's t distribution with
    six degrees of freedom, without groups, and three of the other columns are exponentials.
    """
    law, rows = (np.random.default_rng([SALT, seed, int(heavy_tails), part]) for part in range(2))
    if heavy_tails:
        factors = rows.standard_t(6.0, size=(n_rows, N_FACTORS))
    else:
        centres = law.normal(scale=1.5, size=(N_GROUPS, N_FACTORS))
        factors = centres[rows.integers(N_GROUPS, size=n_rows)] + rows.normal(size=(n_rows, N_FACTORS))
    mixtures = factors @ law.normal(size=(N_FACTORS, N_COLUMNS))
    mixtures /= mixtures.std(axis=0)
    curved = set(law.permutation(N_COLUMNS)[:6].tolist())
    columns = {}
    for position in range(N_COLUMNS):
        values = mixtures[:, position]
        if position in curved:
            values = SHAPES[int(law.integers(1, len(SHAPES)))](values)
        elif heavy_tails and position != min(set(range(N_COLUMNS)) - curved):
            values = np.exp(values / 2.0)
        share = float(law.uniform(0.01, 0.05))
        columns[LETTERS[position]] = values + share * values.std() * rows.normal(size=n_rows)
    return RealTable(pd.DataFrame(columns), dict.fromkeys(columns, "continuous"), None)


def health_insurance() -> RealTable:
    """Return the RAND health insurance experiment of statsmodels: 20,190 person-years.

    Visits, two amounts of money and the number of diseases are continuous columns with many equal values. The
    coinsurance rate, the physical limitation and four indicators are discrete.
    """
    from statsmodels.datasets import randhie

    frame = randhie.load_pandas().data
    is_discrete = {name: name not in ("mdvis", "lpi", "fmde", "disea") for name in frame.columns}
    letters = dict(zip(frame.columns, LETTERS, strict=False))
    frame = frame.assign(**{name: pd.Categorical(frame[name]) for name in frame.columns if is_discrete[name]})
    kinds = {letters[name]: "discrete" if is_discrete[name] else "continuous" for name in frame.columns}
    return RealTable(frame.rename(columns=letters), kinds, None)


LARGE_TABLES: dict[str, Callable[[], RealTable]] = {
    "collinear": partial(collinear_table, 13_000, 0, False),
    "heavy tails": partial(collinear_table, 18_000, 0, True),
    "health insurance": health_insurance,
}
"""Functions that return the tables, by name."""


def large(options: Options) -> list[Task]:
    """Return the tasks of every data set: a variant of ours, or a number of bins."""
    fixed = {"split seed": options.split_seed, "widths": options.widths, "resolution": options.resolution}
    tasks: list[Task] = []
    for name in options.tables:
        for label, of_variant in learner_variants(options).items():
            mine = {"method": label, "seconds": options.seconds, "options": of_variant}
            tasks.append({**fixed, "table": name, **mine})
        if not options.without_peers:
            tasks += [{**fixed, "table": name, "bins": count} for count in options.bins]
    return tasks


def large_report(options: Options, rows: Sequence[Row]) -> Report:
    """Return one table per data set, a row for every variant of ours and every number of bins."""
    setting = f"split of seed {options.split_seed}, {options.seconds:g} s a fit, ours: "
    setting += ", ".join([options.discretizer, *options.option]) + f"; {measure_text(options.resolution)}"
    variants = list(learner_variants(options))
    sheets = []
    for (name,), group in group_by(rows, "table").items():
        of_table = list(map(_with_arrays, measured_records(group)))
        if of_table and of_table[0]["method"] in variants:
            sheets.append(_sheet_of_table(name, setting, of_table, variants, list(options.widths)))
    return Report(tuple(sheets))


def _with_arrays(record: Record) -> Record:
    """Return a record whose densities of rows are arrays again."""
    return {name: np.array(value) if isinstance(value, list) else value for name, value in record.items()}


def one_split(task: Task) -> dict[str, list[Record]]:
    """Return the densities of the test rows of one table, by a variant of ours or by quantile bins.

    What needs a library that is not installed has no records.
    """
    if task["table"] == "health insurance" and find_spec("statsmodels") is None:
        return {"records": []}
    if "bins" in task and find_spec("pyagrum") is None:
        return {"records": []}
    real = LARGE_TABLES[task["table"]]()
    order = np.random.default_rng([SALT, task["split seed"]]).permutation(len(real.frame))
    train_rows, test_rows = np.split(order, [int(TRAINING_SHARE * len(order))])
    train, test = scaled(real.frame.iloc[train_rows], real.frame.iloc[test_rows], real.continuous)
    if "bins" in task:
        table = read_table(train, kinds=real.kinds)
        peer = pyagrum_by_quantiles(table, task["bins"], MAX_PARENTS)
        record = held_out(peer.label, table, peer.edges, peer.cuts, COUNTING, test, task["widths"])
        return {"records": [{**record, "seconds": peer.seconds, "is opponent": True}]}
    warm_up(task["options"])
    limits = {"kinds": real.kinds, "n_jobs": 1, "random_state": 0, "max_seconds": task["seconds"]}
    ours, *averaged = of_ours(
        task["options"], limits, train, test, task["widths"], averages=True, resolution=task["resolution"]
    )
    records = [{**ours, "method": task["method"]}]
    records += [{**record, "method": f"{task['method']}, {record['method']}"} for record in averaged]
    return {"records": records}


def _sheet_of_table(
    name: str, setting: str, records: list[Record], variants: list[str], widths: list[float]
) -> Sheet:
    """Return every method of one table, and as a note the variants minus the best number of bins."""
    rows = []
    for record in records:
        cells: list[str] = []
        for width in widths:
            cells += density_cells([record], width, None if record is records[0] else records[:1])
        rows.append([record["method"], *cells, str(record["n edges"]), f"{record['seconds']:.1f}"])
    columns = []
    for width in widths:
        columns += [_bins_text(width), f"minus {variants[0]}", "bins"]
    n_test = len(records[0][f"density {widths[0]}"])
    heading = f"Held-out log density, nats per row, {n_test:,} test rows of {name!r}, {setting}"
    notes = []
    opponents = [record for record in records if "is opponent" in record]
    for width in widths if opponents else []:
        best = max(opponents, key=lambda record: record[f"density {width}"].mean())
        for record in (record for record in records if record["method"] in variants):
            difference = mean_and_difference(record[f"density {width}"], best[f"density {width}"])[1]
            notes.append(
                f"{record['method']} minus the best, {best['method']}, {_bins_text(width)}: {difference}"
            )
    return sheet(heading, ("method", *columns, "edges", "seconds"), rows, "\n".join(notes))


def _bins_text(width: float) -> str:
    return f"no bin under {width:g}" if width else "bins of the method"


EXPERIMENTS = (
    Experiment(
        name="shapes-large",
        title="Held-out density of tables with more than 10,000 rows, ours and hill climbing on quantile bins",
        source="Columns scaled to [0, 1]; see large_tables.py.",
        tasks=large,
        measure=one_split,
        report=large_report,
        options={
            "tables": Option(tuple(LARGE_TABLES), "Data sets.", choices=sorted(LARGE_TABLES)),
            "bins": Option(COUNTS, "Numbers of quantile bins."),
            "split_seed": Option(0, "Seed of the test rows."),
            "widths": Option(
                WIDTHS, "Least widths of bins as shares of the range; ours learns once for each."
            ),
            "seconds": Option(60.0, "Deadline of a run."),
            **RESOLUTION,
            "without_peers": Option(False, "Leave other libraries out."),
            **VARIANTS,
        },
    ),
)
