"""`cross_validate`: densities and predictions on held-out rows, of learners, discretizers and a baseline."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from time import perf_counter

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.sources import source_table
from gomea_bn.data.table import Table
from gomea_bn.discretization.proposals import PROPOSERS
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, Option, check_integer, nearest
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.options import seed_of
from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner
from gomea_bn.metrics.distances import histogram_baseline
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.value_kinds import spellings
from gomea_bn.prediction.distributions import Cells, cell_probabilities, crps, folds_of

METHODS = ("learner", "knee", *PROPOSERS, "histogram")
"""What can be judged: the learner, the knee of a front, the learner with another discretizer, and a baseline."""

# probability of the interval of a continuous target that calibration is about
_INTERVAL = 0.9


def cross_validate(
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    target: str | None = None,
    folds: int = 5,
    compare: Sequence[str] = ("learner", "histogram"),
    max_seconds: float | None = 10.0,
    learner: BayesNetLearner | None = None,
    kinds: Mapping[str, str] | None = None,
    random_state: int | None = None,
) -> pd.DataFrame:
    """Return how well networks describe and predict rows that they were not learned from.

    The rows are divided into folds at random, with the values of the target alike in all. Every method learns from all
    folds but one, and is judged on that one, for each fold in turn.

    Parameters
    ----------
    data : DataFrame, Table or path
        Rows.
    target : str, optional
        Column that is predicted from all other cells of a row.
    folds : int
        Number of folds, at least 2.
    compare : sequence of str
        Methods: "learner", "knee" (that of a front), "histogram" (a baseline without edges, from the rows without
        missing values), and names of discretizers, such as "equal-frequency", for the learner with these.
    max_seconds : float or None
        Time limit of every search.
    learner : BayesNetLearner, optional
        Options of "learner"; its time limit and its seed are replaced.
    kinds : mapping of str to str, optional
        Kinds of columns, as of `BayesNetLearner`.
    random_state : int or None
        Seed of the folds and of the searches.

    Returns
    -------
    DataFrame
        One row per method, in the order of `compare`. "log_density" is the mean over the rows in nats, where point
        masses count by the measuring step of their column (`resolution="steps"`). With a target "log_loss" is the mean
        of -ln P(level), in nats, or "crps" the continuous ranked probability score in the units of the target; lower is
        better. "calibration" is the mean probability of the predicted level minus the share of rows in which it is
        right, or for a continuous target .9 minus the share of rows inside their central 90 % interval; it is 0 for a
        calibrated method, and positive for one that is too sure. Each has its standard error over the rows, as
        "log_density_error". "seconds" is the mean of a fold. `attrs["seed"]` repeats the folds.

    Raises
    ------
    GomeaBnError
        For unknown methods or targets, fewer rows than folds, and tables that a method cannot learn from.

    Examples
    --------
    >>> from gomea_bn.simulation.random_networks import random_network
    >>> frame = random_network(4, random_state=1).sample(100, random_state=1)
    >>> table = cross_validate(frame, folds=2, compare=["histogram"], random_state=1)
    >>> print(table.columns.tolist())
    ['log_density', 'log_density_error', 'seconds']
    """
    check_integer("folds", folds, 2)
    methods = [compare] if isinstance(compare, str) else list(dict.fromkeys(compare))
    for name in methods:
        if name not in METHODS:
            wanted = f" must name methods among {', '.join(METHODS)}, got {name!r}.{nearest(name, METHODS)}"
            raise GomeaBnError([Option("compare"), wanted])
    if not methods:
        raise GomeaBnError([Option("compare"), f" must name at least one method among {', '.join(METHODS)}."])
    options = (learner or BayesNetLearner()).get_params(deep=False)
    table = source_table(
        data, kinds=kinds or options["kinds"], missing=options["missing"], max_levels=options["max_levels"]
    )
    options["kinds"] = None
    if target is not None:
        names = spellings(table.names)
        if target not in names:
            raise GomeaBnError(
                [Option("target"), f" must be a column of the table, got {target!r}.{nearest(target, names)}"]
            )
        target = names[target]
    if table.n_rows < folds:
        raise GomeaBnError(
            [Option("folds"), f" must be at most the number of rows, {table.n_rows:,}, got {folds:,}."]
        )
    seed = seed_of(random_state)
    options |= {"random_state": seed, "max_seconds": max_seconds}
    fold_of = folds_of(table, target, folds, np.random.default_rng(seed))
    records = []
    for method in methods:
        parts: list[dict[str, NDArray[np.float64]]] = []
        began = perf_counter()
        for fold in range(folds):
            kept, held_out = (table.take(np.flatnonzero(mask)) for mask in (fold_of != fold, fold_of == fold))
            with warnings.catch_warnings():
                # values of held-out rows may lie outside the range of the others
                warnings.simplefilter("ignore", GomeaBnWarning)
                parts.append(_judged(_learned(method, kept, options), kept, held_out, target))
        record = {}
        for measure in parts[0]:
            values = np.concatenate([part[measure] for part in parts])
            values = values[~np.isnan(values)]
            record[measure] = float(values.mean()) if len(values) else np.nan
            is_known = len(values) > 1 and np.isfinite(record[measure])
            record[f"{measure}_error"] = (
                float(values.std(ddof=1) / len(values) ** 0.5) if is_known else np.nan
            )
        records.append({**record, "seconds": (perf_counter() - began) / folds})
    result = pd.DataFrame(records, index=pd.Index(methods, name="method"))
    result.attrs["seed"] = seed
    return result


def _learned(method: str, table: Table, options: Mapping[str, object]) -> DiscretizedBayesNet:
    """Return the network that a method learns from some rows."""
    if method == "histogram":
        return histogram_baseline(table.complete_rows())
    if method == "knee":
        seconds, seed = options["max_seconds"], options["random_state"]
        return ParetoBayesNetLearner(max_seconds=seconds, random_state=seed).fit(table).front_.knee().network  # type: ignore[arg-type]
    changed = {} if method == "learner" else {"discretizer": method}
    return BayesNetLearner(**{**options, **changed}).fit(table).network_  # type: ignore[arg-type]


def _judged(
    network: DiscretizedBayesNet, learned_from: Table, held_out: Table, target: str | None
) -> dict[str, NDArray[np.float64]]:
    """Return the measures of held-out rows, float64 (n_rows,) by name; NaN where the target is missing."""
    frame = held_out.to_frame()
    measures = {"log_density": network.log_density(frame, resolution="steps")}
    if target is None:
        return measures
    position = held_out.names.index(target)
    column = held_out.columns[position]
    is_known, rows = ~column.is_missing, np.arange(held_out.n_rows)
    values = column.values
    if not column.is_continuous:
        probabilities = network.predict_proba(frame, target).to_numpy()
        with np.errstate(divide="ignore"):
            losses = -np.log(probabilities[rows, np.maximum(values, 0)])
        predicted = probabilities.argmax(axis=1)
        surplus = probabilities.max(axis=1) - (predicted == values)
        return measures | {
            "log_loss": np.where(is_known, losses, np.nan),
            "calibration": np.where(is_known, surplus, np.nan),
        }
    known = learned_from.columns[position]
    cells = Cells.of(known.values[~known.is_missing])
    scores, _ = crps(cells, cell_probabilities(network, frame, target, cells), values)
    ends = network.predict_interval(frame, target, ((1 - _INTERVAL) / 2, (1 + _INTERVAL) / 2)).to_numpy()[
        :, 2:
    ]
    surplus = _INTERVAL - ((ends[:, 0] <= values) & (values <= ends[:, 1]))
    return measures | {"crps": scores, "calibration": np.where(is_known, surplus, np.nan)}
