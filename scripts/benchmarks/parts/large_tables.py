"""The part `large` of shapes.py: held-out log density of tables with thousands of rows, ours and k quantile bins.

Continuous columns are scaled to [0, 1] by the training rows, and test values are clipped to that range. The opponents
are pyAgrum's hill climbing by BIC on k bins of equal frequency. Their tables are counted with our smoothing, so that
only graphs and bins differ. The best k is chosen on the test rows, in favour of the opponent. Tables without discrete
columns also have one Gaussian distribution and a mixture of them, both of scikit-learn, and networks of pybnesian as
yardsticks.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from harness.printing import mean_and_difference, print_table
from harness.real_tables import RealTable
from harness.runs import measure_text, run_tasks, warm_up
from methods.peers import pyagrum_by_quantiles, without_arrow
from parts.held_out import held_out, of_ours, scaled

from gomea_bn.data.table import read_table
from gomea_bn.experiments.tables import LETTERS

__all__ = ["COUNTS", "LARGE_TABLES", "collinear_table", "large"]

SALT = 52_361
N_COLUMNS = 10
N_FACTORS = 3
N_GROUPS = 4
COUNTS = (3, 5, 8, 10, 15, 20, 30, 45, 60)
"""Numbers of quantile bins."""
MAX_PARENTS = 5
TRAINING_SHARE = 0.7
COUNTING = {"pseudo_count": "auto"}
NUMBERS_OF_GAUSSIANS = (1, 2, 5, 12, 20, 30, 40, 60)
SMALLEST_VARIANCE = 1e-8
N_SEMIPARAMETRIC = 1_000
"""Number of rows from which the graph of a semiparametric network is learned, and of its test rows."""

Task = dict[str, Any]
Record = dict[str, Any]
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


def large(options: argparse.Namespace) -> None:
    """Print one table per data set, a row for every variant of ours and every number of bins."""
    names = list(options.tables)
    if "health insurance" in names and find_spec("statsmodels") is None:
        names.remove("health insurance")
        print("The table 'health insurance' is left out, because statsmodels is not installed.")
    bins = [] if options.without_peers else options.bins
    if bins and find_spec("pyagrum") is None:
        bins = []
        print("Quantile bins are left out, because pyAgrum is not installed.")
    fixed = {"split seed": options.split_seed, "widths": options.widths, "resolution": options.resolution}
    tasks = []
    for name in names:
        for label, of_variant in options.variants.items():
            mine = {"method": label, "seconds": options.seconds, "options": of_variant}
            tasks.append({**fixed, "table": name, **mine})
        tasks += [{**fixed, "table": name, "bins": count} for count in bins]
        if not options.without_peers:
            tasks.append({**fixed, "table": name, "gaussians": NUMBERS_OF_GAUSSIANS})
    for of_variant in options.variants.values():
        warm_up(of_variant)
    results = zip(tasks, run_tasks(one_split, tasks, options.workers), strict=True)
    records = [(task, record) for task, of_task in results for record in of_task]
    for name in names:
        setting = f"split of seed {options.split_seed}, {options.seconds:g} s a fit, ours: "
        setting += ", ".join([options.discretizer, *options.option]) + f"; {measure_text(options.resolution)}"
        group = [record for task, record in records if task["table"] == name]
        _print_table(name, setting, group, list(options.variants), options.widths)


def one_split(task: Task) -> list[Record]:
    """Return the densities of the test rows of one table, by a variant of ours, by quantile bins or by Gaussians."""
    real = LARGE_TABLES[task["table"]]()
    order = np.random.default_rng([SALT, task["split seed"]]).permutation(len(real.frame))
    train_rows, test_rows = np.split(order, [int(TRAINING_SHARE * len(order))])
    train, test = scaled(real.frame.iloc[train_rows], real.frame.iloc[test_rows], real.continuous)
    if "bins" in task:
        table = read_table(train, kinds=real.kinds)
        peer = pyagrum_by_quantiles(table, task["bins"], MAX_PARENTS)
        record = held_out(peer.label, table, peer.edges, peer.cuts, COUNTING, test, task["widths"])
        return [{**record, "seconds": peer.seconds, "is opponent": True}]
    if "gaussians" in task:
        if len(real.continuous) < len(real.kinds):
            return []
        return [*gaussians(train, test, task["gaussians"]), *continuous_networks(train, test)]
    warm_up(task["options"])
    limits = {"kinds": real.kinds, "n_jobs": 1, "random_state": 0, "max_seconds": task["seconds"]}
    ours, *averaged = of_ours(
        task["options"], limits, train, test, task["widths"], averages=True, resolution=task["resolution"]
    )
    names = [f"{task['method']}, {record['method']}" for record in averaged]
    return [
        {**ours, "method": task["method"]},
        *({**record, "method": name} for record, name in zip(averaged, names, strict=True)),
    ]


def gaussians(train: pd.DataFrame, test: pd.DataFrame, numbers: Sequence[int]) -> list[Record]:
    """Return the densities under the first number of Gaussians, and under the number that has the best BIC."""
    from sklearn.mixture import GaussianMixture

    began = perf_counter()
    fitted = [GaussianMixture(k, random_state=0, reg_covar=SMALLEST_VARIANCE).fit(train) for k in numbers]
    seconds = perf_counter() - began
    best = min(fitted, key=lambda mixture: mixture.bic(train))
    return [
        {"method": label, "gaussians": mixture.score_samples(test), "seconds": seconds, "n edges": "-"}
        for label, mixture in (("Gaussian", fitted[0]), (f"mixture of {best.n_components} Gaussians", best))
    ]


def continuous_networks(train: pd.DataFrame, test: pd.DataFrame) -> list[Record]:
    """Return the densities under a linear Gaussian and a semiparametric network of pybnesian, if they can be learned.

    The graph and the kinds of the semiparametric network come from the first 1,000 rows, and its kernel densities from
    all rows; they take OpenCL and about a minute. Its density is that of the first 1,000 test rows.
    """
    if find_spec("pybnesian") is None:
        return []
    import pybnesian

    train, test = without_arrow(train.reset_index(drop=True)), without_arrow(test.reset_index(drop=True))
    began = perf_counter()
    linear = pybnesian.hc(train, bn_type=pybnesian.GaussianNetworkType(), score="bic")
    linear.fit(train)
    records = [
        {
            "method": "pybnesian linear Gaussian, BIC",
            "gaussians": linear.logl(test),
            "seconds": perf_counter() - began,
            "n edges": linear.num_arcs(),
        }
    ]
    began = perf_counter()
    try:
        few = pybnesian.hc(
            train[:N_SEMIPARAMETRIC],
            bn_type=pybnesian.SemiparametricBNType(),
            score="validated-lik",
            operators=["arcs", "node_type"],
            seed=0,
        )
        kinds = [(name, few.node_type(name)) for name in few.nodes()]
        mixed = pybnesian.SemiparametricBN(few.nodes(), few.arcs(), kinds)
        mixed.fit(train)
        density = mixed.logl(test[:N_SEMIPARAMETRIC])
    except RuntimeError as error:
        print(f"pybnesian semiparametric is left out: {error}")
        return records
    return [
        *records,
        {
            "method": f"pybnesian semiparametric, {N_SEMIPARAMETRIC:,} rows",
            "gaussians": density,
            "seconds": perf_counter() - began,
            "n edges": mixed.num_arcs(),
        },
    ]


def _print_table(
    name: str, setting: str, records: list[Record], variants: list[str], widths: list[float]
) -> None:
    """Print every method of one table, and then the first variant minus the best number of bins."""
    rows = []
    for record in records:
        cells: list[str] = []
        for width in widths:
            density = record["gaussians"] if "gaussians" in record else record[f"density {width}"]
            # some yardsticks have the density of the first rows alone
            reference = records[0][f"density {width}"][: len(density)]
            mean, difference = mean_and_difference(density, reference)
            bins = "-" if "gaussians" in record else f"{record[f'bins {width}']:.1f}"
            cells += [mean, "-" if record is records[0] else difference, bins]
        rows.append([record["method"], *cells, str(record["n edges"]), f"{record['seconds']:.1f}"])
    columns = []
    for width in widths:
        columns += [_bins_text(width), f"minus {variants[0]}", "bins"]
    n_test = len(records[0][f"density {widths[0]}"])
    heading = f"Held-out log density, nats per row, {n_test:,} test rows of {name!r}, {setting}"
    print_table(heading, ("method", *columns, "edges", "seconds"), rows)
    opponents = [record for record in records if "is opponent" in record]
    for width in widths if opponents else []:
        best = max(opponents, key=lambda record: record[f"density {width}"].mean())
        for record in (record for record in records if record["method"] in variants):
            difference = mean_and_difference(record[f"density {width}"], best[f"density {width}"])[1]
            print(f"{record['method']} minus the best, {best['method']}, {_bins_text(width)}: {difference}")


def _bins_text(width: float) -> str:
    return f"no bin under {width:g}" if width else "bins of the method"
