"""`BayesNetEnsemble`: the average density of networks that were learned from resamples of the rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.data.sources import as_frame
from gomea_bn.data.table import Column, Table, read_table, table_digest
from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.learning_problem import LearningOptions, learning_problem
from gomea_bn.learning.options import check_options, mean_density, row_densities, seed_of, thread_count
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.edge_frequency import edge_frequency
from gomea_bn.parameters import Parameters
from gomea_bn.runtime.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BayesNetEnsemble"]

_MOST_DRAWS = 1000


class BayesNetEnsemble(Parameters):
    """Averages the densities of networks learned from bootstrap resamples of a table's rows.

    Every network's graph and cuts come from a resample: as many rows as the table has, drawn with replacement. Its
    tables and its support come from all rows.

    Parameters
    ----------
    learner : BayesNetLearner, optional
        How a network is learned; never changed, and by default one with the default options. `max_seconds` is shared by
        all networks, what one leaves over going to the next ones, so that the ensemble takes as long as the learner
        alone would; all other limits hold for every network, and its `callback` can stop one search only. Its
        `random_state` has no part.
    n_networks : int
        How many networks, from 1.
    random_state : int, numpy Generator, RandomState or None
        A longer ensemble of the same seed begins with the same networks, as long as no clock ends a search.
    n_jobs : int or None
        Threads of every search, -1 for all cores; None keeps the learner's. The result does not depend on it.
    verbose : bool
        Show a live table for every search; silent where standard error is not a terminal.

    Attributes
    ----------
    networks_ : list of DiscretizedBayesNet
        Over the same variables, levels and support; each weighs the same.
    n_networks_ : int
        How many were learned: `n_networks`, or fewer after Ctrl-C.
    table_ : Table
        The rows it learned from.
    fit_seconds_ : float
        Seconds of all searches.
    stopped_by_ : str
        "n_networks", or "interrupt": Ctrl-C keeps the networks that were done, or the best so far of the first one.
    seed_ : int
        What repeats the run, if no clock ended a search.
    feature_names_in_ : ndarray of str
    n_features_in_ : int

    Notes
    -----
    The share of networks that have an edge is its bootstrap confidence (Friedman, Goldszmidt & Wyner, "Data analysis
    with Bayesian networks: a bootstrap approach", 1999). A resample is drawn anew where a column is constant in it, or
    fixed cut points lie outside its range.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> frame = pd.DataFrame({"x": x, "y": x + np.random.default_rng(1).normal(scale=0.3, size=200)})
    >>> learner = BayesNetLearner(max_evaluations=500)
    >>> ensemble = BayesNetEnsemble(learner, n_networks=3, random_state=1).fit(frame)
    >>> float(ensemble.edge_frequency()["adjacent"].max())
    1.0
    """

    def __init__(
        self,
        learner: BayesNetLearner | None = None,
        *,
        n_networks: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.learner = learner
        self.n_networks = n_networks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: pd.DataFrame | NDArray[Any] | str | os.PathLike[str], y: object = None) -> Self:
        """Learn the networks from a table and return self.

        Parameters
        ----------
        X : DataFrame, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Never changed. An array's columns are named x0, x1, ...
        y : ignored
            Present for scikit-learn's tools; a class belongs into the table as a column.

        Raises
        ------
        GomeaBnError
            For a table, an option or a rule that cannot be used, and for columns so nearly constant that resamples lose
            their other values; the message says what to do.
        """
        if not is_integer(self.n_networks) or self.n_networks < 1:
            raise GomeaBnError(f"n_networks must be an integer of at least 1, got {self.n_networks!r}.")
        thread_count(self.n_jobs)
        seed = seed_of(self.random_state)
        options = self._options()
        table = read_table(
            as_frame(X),
            kinds=options["kinds"],
            missing=options["missing"],
            max_levels=options["max_levels"],
        )
        _check(options, table)
        networks: list[DiscretizedBayesNet] = []
        seconds, stopped_by = 0.0, "n_networks"
        for place, child in enumerate(np.random.SeedSequence(seed).spawn(self.n_networks)):
            share = options["max_seconds"]
            if share is not None:
                share = max(share - seconds, 1e-3) / (self.n_networks - place)
            try:
                one = _learned(options, table, np.random.default_rng(child), share)
                if one.stopped_by_ != "interrupt" or not networks:
                    networks.append(_with_all_rows(one, table, {"member": place, "ensemble_seed": seed}))
                    seconds += one.fit_seconds_
                if one.stopped_by_ == "interrupt":
                    stopped_by = "interrupt"
                    break
            except KeyboardInterrupt:
                if not networks:
                    raise
                stopped_by = "interrupt"
                break
        self.networks_ = networks
        self.n_networks_ = len(networks)
        self.table_ = table
        self.fit_seconds_ = seconds
        self.stopped_by_ = stopped_by
        self.seed_ = seed
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)
        return self

    def log_density(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return ln of the mean of the networks' densities of every row, float64 (n_rows,); see the networks' own.

        Raises
        ------
        GomeaBnError
            Naming column and rows: missing columns, missing or infinite values, levels never declared.
        """
        from scipy.special import logsumexp

        densities = np.array([network.log_density(frame) for network in self._fitted()])
        found: NDArray[np.float64] = logsumexp(densities, axis=0) - np.log(len(densities))
        return found

    def score_samples(self, X: pd.DataFrame | NDArray[Any] | str | os.PathLike[str]) -> NDArray[np.float64]:
        """Return the log density of every row, shape (n_rows,), in nats and original units.

        With a learner of ``missing="drop"`` rows with missing or infinite values get nan; otherwise they are refused.
        """
        missing = "error" if self.learner is None else self.learner.missing
        return row_densities(self.log_density, self._fitted()[0].names, X, missing)

    def score(self, X: pd.DataFrame | NDArray[Any] | str | os.PathLike[str], y: object = None) -> float:
        """Return the mean log density per row of a table, in nats and original units; higher is better."""
        return mean_density(self.score_samples(X))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> pd.DataFrame:
        """Return `n_samples` rows, each drawn from one of the networks, which is drawn first."""
        import pandas as pd

        networks = self._fitted()
        if not is_integer(n_samples) or n_samples < 0:
            raise GomeaBnError(f"n_samples must be an integer of at least 0, got {n_samples!r}.")
        generator = np.random.default_rng(seed_of(random_state))
        which = generator.integers(len(networks), size=n_samples)
        counts = np.bincount(which, minlength=len(networks))
        parts = [network.sample(int(n), generator) for network, n in zip(networks, counts, strict=True)]
        place = np.empty(n_samples, np.int64)
        place[np.argsort(which, kind="stable")] = np.arange(n_samples)
        return pd.concat(parts, ignore_index=True).iloc[place].reset_index(drop=True)

    def edge_frequency(self) -> pd.DataFrame:
        """Return the confidence in edges: one row per (parent, child) that some network has, the most frequent first.

        Columns `arc`, the share of networks with this arc, and `adjacent`, the share with it or its reverse. Arcs whose
        direction the data do not tell have a high `adjacent` and a middling `arc`.
        """
        return edge_frequency(self._fitted())

    def _options(self) -> dict[str, Any]:
        """Return the learner's parameters with the ensemble's own, and fixed cuts that can be read many times."""
        if self.learner is not None and not isinstance(self.learner, BayesNetLearner):
            raise GomeaBnError(f"learner must be a BayesNetLearner or None, got {self.learner!r}.")
        options = (self.learner or BayesNetLearner()).get_params(deep=False)
        if isinstance(options["cut_points"], Mapping):
            options["cut_points"] = {
                name: list(cuts) if isinstance(cuts, Iterable) and not isinstance(cuts, str) else cuts
                for name, cuts in options["cut_points"].items()
            }
        if self.n_jobs is not None:
            options["n_jobs"] = self.n_jobs
        options["verbose"] = options["verbose"] or self.verbose
        return options

    def _fitted(self) -> list[DiscretizedBayesNet]:
        if not hasattr(self, "networks_"):
            raise GomeaBnError("This BayesNetEnsemble has not learned networks yet; call fit(frame) first.")
        return self.networks_


def _check(options: dict[str, Any], table: Table) -> None:
    """Refuse on the whole table what the learner would refuse on a resample."""
    names = LearningOptions.__dataclass_fields__
    check_options(BayesNetLearner(**options), GOMEA, auto=True)
    limits = ("max_seconds", "max_evaluations", "max_generations", "patience")
    Limits(**{name: options[name] for name in limits})
    thread_count(options["n_jobs"])
    checked = {**{name: options[name] for name in names}, "max_candidates": None}
    learning_problem(table, LearningOptions(**checked))


def _learned(
    options: dict[str, Any], table: Table, generator: np.random.Generator, max_seconds: float | None
) -> BayesNetLearner:
    """Return a learner that is fitted to a resample of the table."""
    rows = _resample(table, options["cut_points"] or {}, generator)
    seed = int(generator.integers(2**32))
    own = {"kinds": None, "missing": "error", "random_state": seed, "max_seconds": max_seconds}
    frame = table.to_frame().iloc[rows].reset_index(drop=True)  # all levels stay declared
    return BayesNetLearner(**{**options, **own}).fit(frame)


def _with_all_rows(learner: BayesNetLearner, table: Table, member: Mapping[str, int]) -> DiscretizedBayesNet:
    """Return a learner's network with the support of all rows, and tables counted from them."""
    metadata = learner.network_.metadata
    del metadata["score"]  # it is of the resample
    metadata |= {**member, "data_sha256": table_digest(table)}
    return DiscretizedBayesNet.from_table(
        table,
        learner.network_.edges,
        learner.network_.cut_points,
        pseudo_count=learner.pseudo_count,
        metadata=metadata,
    )


def _resample(
    table: Table, fixed: Mapping[str, list[float]], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the rows, int64 (n_rows,), of a bootstrap resample that a network can be learned from."""
    lost = ""
    for _ in range(_MOST_DRAWS):
        rows = generator.integers(table.n_rows, size=table.n_rows)
        lost = next((column.name for column in table.columns if _is_lost(column, rows, fixed)), "")
        if not lost:
            return rows
    raise GomeaBnError(
        f"Of {_MOST_DRAWS} resamples none could be learned from: in the last one, column '{lost}' was constant, or "
        "within one of its fixed bins at an end. Leave out columns that are nearly constant, and fixed cut points "
        "near the ends."
    )


def _is_lost(column: Column, rows: NDArray[np.int64], fixed: Mapping[str, list[float]]) -> bool:
    """Return whether a column is constant in the rows, or fixed cuts lie outside its range there."""
    values = column.values[rows]
    low, high = values.min(), values.max()
    cuts = fixed.get(column.name, [])
    return bool(low == high or any(not low < cut < high for cut in cuts))
