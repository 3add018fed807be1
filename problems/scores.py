"""Scoring methods by name, the compiled rules of their parameters, and scores as users and networks see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, log
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, Option, check_choice, check_number, is_real
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY
from gomea_bn.problems.kernels.score import (
    BDEU,
    DIRICHLET,
    LIKELIHOOD,
    ScoreRule,
    default_score,
    expected_score,
)
from gomea_bn.runtime.limits import ROUNDING, Callback, Progress, Result


@dataclass(frozen=True, slots=True)
class ScoringMethod:
    """A decomposable score in nats; higher is better.

    A share of the edge cost of 1 is the prior on graphs under which one edge per variable is as likely as none.
    """

    name: str
    density: bool  # continuous columns are densities, with log widths; otherwise all columns must be discrete
    prior: str  # "penalty", "dirichlet" or "bdeu"
    cut_cost: float  # of each cut that was chosen from m distinct values, as a share of ln(m - 1)
    edge_cost: float  # of each parent among N variables, as a share of ln(N - 1)

    @property
    def charges(self) -> dict[str, float]:
        """Return the shares by name if the method charges cuts and edges; a network stores them in its metadata."""
        if not SCORING_METHODS[self.name].cut_cost:
            return {}
        return {"cut_cost": self.cut_cost, "edge_cost": self.edge_cost}


SCORING_METHODS: dict[str, ScoringMethod] = {
    method.name: method
    for method in (
        # log density minus a price per free parameter
        ScoringMethod("density-bic", True, "penalty", 0.0, 0.0),
        # marginal likelihood of the tables, as a density
        ScoringMethod("density-bd", True, "dirichlet", 0.5, 1.0),
        ScoringMethod("bic", False, "penalty", 0.0, 0.0),
        ScoringMethod("aic", False, "penalty", 0.0, 0.0),
        ScoringMethod("k2", False, "dirichlet", 0.0, 0.0),
        ScoringMethod("bdeu", False, "bdeu", 0.0, 0.0),
    )
}


def is_gain(gain: float, score: float) -> bool:
    """Return whether a gain is more than rounding of a score of that size."""
    return gain > rounding(score)


def rounding(score: float) -> float:
    """Return the size of differences that count as rounding of a score."""
    return ROUNDING * max(1.0, abs(score))


def scoring_method(
    name: str, *, cut_cost: float | None = None, edge_cost: float | None = None
) -> ScoringMethod:
    """Return the scoring method called `name`, with other costs of cuts and edges if it has any."""
    check_choice("scoring_method", name, sorted(SCORING_METHODS))
    method = SCORING_METHODS[name]
    check_number("cut_cost", cut_cost, 0, optional=True)
    check_number("edge_cost", edge_cost, 0, optional=True)
    if not method.charges:
        return method
    return replace(
        method,
        cut_cost=method.cut_cost if cut_cost is None else float(cut_cost),
        edge_cost=method.edge_cost if edge_cost is None else float(edge_cost),
    )


def price_per_parameter(method: ScoringMethod, n_rows: int, penalty: str | float) -> float:
    """Return the nats per free parameter that a scoring method takes, 0 for marginal likelihoods; see `score_rule`."""
    named = {"bic": log(n_rows) / 2, "literal": log(n_rows / 2), "aic": 1.0}
    if isinstance(penalty, str) and penalty in named:
        weight = named[penalty]
    elif not isinstance(penalty, str) and is_real(penalty) and 0 <= penalty < inf:
        weight = float(penalty)
    else:
        wanted = " must be 'bic', 'literal', 'aic' or a finite number of at least 0"
        raise GomeaBnError([Option("penalty"), f"{wanted}, got {penalty!r:.80}."])
    if method.prior != "penalty":
        return 0.0
    return weight if method.name == "density-bic" else named[method.name]


# columns that may be a parent, at least, in the price of an edge: few columns are no reason to expect edges
_FEWEST_OTHERS = 9
# a table may have a cell for every four rows, at least as many as are shown, and at most as many as a reader looks up
_CELLS_PER_ROW, _FEWEST_FREE_CELLS, _MOST_FREE_CELLS = 0.25, 200.0, 1000.0


def free_cells(n_rows: int) -> float:
    """Return how many cells of a table of some rows cost nothing; each further one costs a nat."""
    return min(max(_CELLS_PER_ROW * n_rows, _FEWEST_FREE_CELLS), _MOST_FREE_CELLS)


def score_rule(
    method: ScoringMethod,
    n_rows: int,
    *,
    n_variables: int | None = None,
    penalty: str | float = "bic",
    prior: str = "dirichlet",
    equivalent_sample_size: float = 1.0,
    centred: bool = False,
    equivalent: bool = False,
) -> ScoreRule:
    """Return the compiled form of a scoring method for tables of `n_rows` rows.

    `n_variables` sets the cost of an edge, which is 0 by default and for 2 columns; with `centred` fewer than 10
    columns cost as 10 do. `penalty` is the nats per free parameter of ``density-bic``: "bic" for (ln n)/2, "literal"
    for the paper's printed ln(n/2) (Ha et al., Eq. 3), "aic" for 1, or a number. The prior of ``density-bd`` is
    Dirichlet(1) per cell ("dirichlet"), or BDeu ("bdeu") with the weight `equivalent_sample_size` in rows. With
    `centred`, the Dirichlet prior of tables with parents has the child's own distribution as its mean (`centred_gains`
    of the kernels), and only columns alone have Dirichlet(1). With `equivalent` as well, discrete columns alone and
    their tables have BDeu priors of several sizes (`equivalent_score` of the kernels). If `centred` and `n_variables`
    is known, a table costs a nat for every cell beyond one for every four rows, but at least beyond 200 and at most
    beyond 1,000.
    """
    x_log_x = np.arange(n_rows + 1, dtype=np.float64)
    x_log_x[1:] *= np.log(x_log_x[1:])
    check_choice("prior", prior, ("dirichlet", "bdeu"))
    check_number("equivalent_sample_size", equivalent_sample_size, 0, 1e6, above=True)
    weight = price_per_parameter(method, n_rows, penalty)
    if method.prior == "penalty":
        return ScoreRule(LIKELIHOOD, weight, 0.0, x_log_x, np.zeros(1))
    if method.prior == "bdeu" or (method.name == "density-bd" and prior == "bdeu"):
        return ScoreRule(BDEU, 0.0, float(equivalent_sample_size), x_log_x, np.zeros(1))
    log_rising = log_factorials(n_rows + 1 + MAX_CARDINALITY)[: n_rows + 1]
    centred = centred and method.name == "density-bd"
    edge_cost, free = 0.0, inf
    if n_variables is not None:
        if centred:
            free = free_cells(n_rows)
        edge_cost = method.edge_cost * log(max(n_variables - 1, _FEWEST_OTHERS if centred else 1))
    return ScoreRule(
        DIRICHLET,
        0.0,
        1.0,
        x_log_x,
        log_rising,
        edge_cost,
        centred=centred,
        equivalent=centred and equivalent,
        free_cells=free,
    )


def relative_edge_cost(n_edges: int, n_pairs: int, n_variables: int) -> float:
    """Return the price of an edge where some of the pairs of variables have one, relative to ln(N - 1), at least .5.

    The price is ln(pairs / edges): minus the log probability of an edge that the graph found suggests (empirical Bayes:
    Scott & Berger, "Bayes and empirical-Bayes multiplicity adjustment in the variable-selection problem", 2010). With
    N / 2 edges among all pairs it is ln(N - 1). Where that would be exceeded the edges count as one more than found, as
    in Laplace's rule of succession: that few are found is weak evidence that there are no others. Pairs count as 45 at
    least, and variables as ten, as in `score_rule`.
    """
    # pairs, at least, of which those with an edge have a share, for the same reason
    n_pairs, scale = max(n_pairs, 45), log(max(n_variables - 1, _FEWEST_OTHERS))
    cheap, dear = (log(n_pairs / n) / scale for n in (max(n_edges, 1), n_edges + 1))
    # of the price of an edge, where many have been found
    return max(dear, min(cheap, 1.0), 0.5)


def family_score(counts: NDArray[np.int64], rule: ScoreRule, levels: Sequence[bool] = (False,)) -> float:
    """Return the score of a family of any number of rows in nats, with the cost of its edges.

    Counts are int64 (card(parent_1), ..., card(child)); the inside of the bins is left out. `levels` says which members
    are discrete columns; the child is the last one. The rule's tables of logarithms are not used, since they end at the
    number of rows for which it was made.
    """
    r = counts.shape[-1]
    n_configurations = counts.size // r
    flat = flat_counts(counts)
    if rule.centred and (counts.ndim > 1 or (rule.equivalent and levels[-1])):
        score = default_score(
            flat, n_configurations, float(n_configurations), r, rule, 1.0, levels[-1], all(levels)
        )
    else:
        score = expected_score(flat, n_configurations, float(n_configurations), r, rule, 1.0)
    return score - float(rule.edge_cost) * (counts.ndim - 1)


def flat_counts(counts: NDArray[np.int64]) -> NDArray[np.int32] | NDArray[np.int64]:
    """Return the counts of a table in one row: int32, for which the search has compiled its kernels, if they fit."""
    flat = np.ascontiguousarray(counts).reshape(-1)
    return flat.astype(np.int32) if flat.sum() <= np.iinfo(np.int32).max else flat


@lru_cache(maxsize=2)
def log_factorials(n: int) -> NDArray[np.float64]:
    """Return ln 0! to ln (n - 1)!, float64 (n,), which the caller must not change; the last ones are kept."""
    numbers = np.arange(1, n + 1, dtype=np.float64)
    return np.asarray(scipy.special.gammaln(numbers, out=numbers), np.float64)


def reporting(callback: Callback | None, constant_score: float) -> Callback | None:
    """Return a callback for a search that passes its progress on to the given one, with scores as users see them.

    The constant is the part of all scores in nats that the search leaves out; see `FamilyScorer`.
    """
    if callback is None:
        return None

    def report(progress: Progress) -> bool | None:
        return callback(replace(progress, best=progress.best - constant_score))

    return report


def reported(result: Result, constant_score: float) -> Result:
    """Return the result of a search for the score with scores as users see them; see `reporting`."""
    history = [replace(entry, objective=entry.objective - constant_score) for entry in result.history]
    return replace(result, F=result.F - constant_score, history=history)


SCORE_FIELDS = (
    "cut_cost",
    "edge_cost",
    "penalty",
    "prior",
    "equivalent_sample_size",
    "centred",
    "equivalent",
)
"""Fields of the metadata that describe a score, besides the name of the method."""


def score_record(method: ScoringMethod, rule: ScoreRule, penalty: str | float) -> dict[str, Any]:
    """Return the fields of the metadata that describe a score.

    The penalty that the rule was made with and a prior are recorded only where a density score uses them and they are
    not the default ones, "bic" and Dirichlet(1). The equivalent sample size is recorded for "bdeu" too, and whether
    the prior of tables is centred on the distributions of their columns, and that of discrete columns the same for
    equivalent graphs.
    """
    record: dict[str, Any] = dict(method.charges)
    if method.density and rule.kind == LIKELIHOOD and penalty != "bic":
        record["penalty"] = penalty
    if method.density and rule.kind == BDEU:
        record |= {"prior": "bdeu", "equivalent_sample_size": rule.prior}
    elif rule.kind == BDEU:
        record["equivalent_sample_size"] = rule.prior
    if rule.centred:
        record["centred"] = True
    if rule.equivalent:
        record["equivalent"] = True
    return record


def recorded_method(metadata: Mapping[str, Any], default: str) -> str:
    """Return the name of the density score that a network was learned with, or else a default."""
    name = metadata.get("scoring_method")
    return name if name in ("density-bic", "density-bd") else default


def recorded_options(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a score that the metadata record, as keywords of `score_rule`."""
    is_valid: dict[str, Callable[[Any], object]] = {
        "penalty": lambda value: value in ("literal", "aic") or is_real(value),
        "prior": lambda value: value == "bdeu",
        "equivalent_sample_size": is_real,
        "centred": lambda value: value is True,
        "equivalent": lambda value: value is True,
    }
    return {
        name: metadata[name] for name, check in is_valid.items() if name in metadata and check(metadata[name])
    }
