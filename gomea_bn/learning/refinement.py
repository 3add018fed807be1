"""Other cut points for a learned network, its graph unchanged: by the score, or by a discretizer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from gomea_bn.algorithms.rvgomea import RVGOMEA
from gomea_bn.data.table import Table
from gomea_bn.discretization.base import Cuts, Discretizer
from gomea_bn.discretization.proposals import PROPOSERS, check_proposer, propose, proposer
from gomea_bn.errors import GomeaBnError
from gomea_bn.learning.cut_cycle import CutCycle, RefinementSession
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.rows import table_for
from gomea_bn.network.smoothing import PseudoCount
from gomea_bn.problems.blanket import Neighbourhood
from gomea_bn.problems.boundaries import BoundaryProblem
from gomea_bn.problems.family_scorer import ScoredVariable
from gomea_bn.problems.interval_counts import SortedColumn
from gomea_bn.problems.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.problems.policies import Policy
from gomea_bn.problems.scores import score_rule
from gomea_bn.problems.scores import scoring_method as find_method
from gomea_bn.runtime.limits import Callback, HistoryEntry, Limits
from gomea_bn.runtime.threads import StopFlag

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "RefinementResult",
    "refine_boundaries",
]


@dataclass(frozen=True)
class RefinementResult:
    """A network with refined cut points, and how it was found.

    Attributes
    ----------
    network : DiscretizedBayesNet
        Same graph; tables counted anew from the data.
    score_before, score_after : float
        Score in nats of the given and of the refined network, with every continuous column scaled to [0, 1].
    history : list of HistoryEntry
        Every improvement (objectives there are minus the score); for "dp" an evaluation is one variable's programme.
        Empty for a discretizer.
    stopped_by : str
        "fixpoint" (no variable alone can be improved, or the discretizer came to its end), or the limit that ended it,
        or "interrupt".
    seconds : float
    """

    network: DiscretizedBayesNet
    score_before: float
    score_after: float
    history: list[HistoryEntry] = field(repr=False)
    stopped_by: str
    seconds: float


def refine_boundaries(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    method: str | Discretizer = "dp",
    bin_counts: str | None = None,
    *,
    scoring_method: str | None = None,
    penalty: str | float = "bic",
    max_bins: int = 15,
    min_width: float = 1e-3,
    min_bin_count: int = 1,
    max_seconds: float | None = None,
    random_state: int | None = None,
    pseudo_count: PseudoCount | None = None,
    starts: int = 1,
    variables: Sequence[str] | None = None,
    callback: Callback | None = None,
) -> RefinementResult:
    """Return the network with other cut points, its graph unchanged.

    With "dp" and "rv-gomea" the score never drops; a discretizer follows an aim of its own, and the result has its cuts
    whatever the score, which is given before and after.

    Parameters
    ----------
    network : DiscretizedBayesNet
    data : DataFrame, Table, or path of a CSV, TSV or Parquet file
        The rows to fit; normally those that the network was learned from.
    method : str or Discretizer
        "dp" cuts one variable after the other optimally, given the bins of all others, until none can be improved.
        "rv-gomea" searches the cuts of all variables together, as Ha et al. describe. Otherwise a discretizer, by name
        ("bayesian", "mdl", "latent", "mgcd", ...) or with options of its own.
    bin_counts : {"fixed", "free"}, optional
        Keep the number of bins of every variable, or choose it too ("dp", and always by a discretizer). By default
        "fixed" for "dp" and "rv-gomea".
    scoring_method : {"density-bic", "density-bd"}, optional
        By default the one that the network was learned with, if its metadata name one of these, else "density-bic".
        The price of a cut is the one that the metadata name, too. The prior of "density-bd" is Dirichlet(1).
    penalty : {"bic", "literal", "aic"} or float
        Of "density-bic", nats per free parameter: (ln n)/2, the paper's printed ln(n/2), 1, or a number.
    max_bins : int
        Most bins of a variable, for free bin counts; fewer where a table would exceed a million cells. Of "dp"; a
        discretizer by name takes it too if it has such an option.
    min_width : float
        Narrowest bin that is chosen, as a fraction of the variable's range. Bins that the network already has may be
        narrower, and stay if nothing allowed scores higher. A discretizer's narrower bins join a neighbour.
    min_bin_count : int
        Fewest rows of a bin that is chosen. A discretizer's bins with fewer join a neighbour.
    max_seconds : float, optional
        Deadline; the best so far is returned.
    random_state : int, optional
        Seed of further starts, of "rv-gomea", and of a discretizer that draws; the same seed gives the same result.
    pseudo_count : float or "auto", optional
        Smoothing of the result's tables, added to every table row and spread evenly over its cells; "auto" as in
        `DiscretizedBayesNet.from_table`. By default that of the network, else 1.
    starts : int
        For "dp": how many starts, the first from the network's own cuts, the others from random quantiles.
    variables : sequence of str, optional
        The variables whose cuts may move; by default every continuous one but those that the network's metadata
        name as fixed by the user when it was learned.
    callback : callable, optional
        Gets a `Progress` after every step ("dp": one variable); a true return value stops. A discretizer calls nothing.

    Raises
    ------
    GomeaBnError
        For options out of range, and for data that the network does not fit.

    Notes
    -----
    The cycle of optimal steps of "dp" is monotone in the network's score, and ends in a fixpoint, which need not be the
    global optimum. Ties: cuts lie midway between neighbouring distinct values; without a width floor, bins around
    repeated values would have unbounded density.
    """
    _check_options(method, bin_counts, starts, max_seconds, random_state)
    by_discretizer = isinstance(method, Discretizer) or method in PROPOSERS
    if by_discretizer:
        _check_for_discretizer(bin_counts, starts, callback)
    bin_counts = bin_counts or ("free" if by_discretizer else "fixed")
    scoring_method = _own_scoring(network) if scoring_method is None else scoring_method
    if pseudo_count is None:
        pseudo_count = 1.0 if network.pseudo_count is None else network.pseudo_count
    session = RefinementSession(network, table_for(network, data), scoring_method, penalty, variables)
    limits = CutLimits(1, max_bins, min_width, min_bin_count)
    own = session.network_cuts
    before = session.score(own)
    if by_discretizer:
        made = proposer(method, max_bins=max_bins, seed=random_state)
        found, stopped_by, seconds = _discretized(made, network, session, limits, max_seconds)
        history = []
    elif method == "dp" or not any(len(own[v]) for v in session.movable):
        compile_refinement_kernels("dp")
        search = CutCycle(session, limits, bin_counts == "free", StopFlag(max_seconds), callback)
        found = search.run(starts, before, np.random.default_rng(random_state))
        history, stopped_by, seconds = search.history, search.stop.reason or "fixpoint", search.stop.seconds
    else:
        problem = BoundaryProblem(
            session.scored_variables(own),
            session.graph.parents,
            session.method,
            session.rule,
            limits,
            session.movable,
        )
        compile_refinement_kernels(method)
        result = RVGOMEA().run(
            problem,
            Limits(max_seconds=max_seconds, patience=10.0 if max_seconds is None else None),
            seed=random_state,
            initial=problem.encode(own)[None, :],
            callback=callback,
        )
        genotype = np.asarray(result.X, np.float64)
        found = problem.cut_points(genotype) if problem.evaluate(genotype)[1] == 0 else own
        history, stopped_by, seconds = result.history, result.stopped_by, result.exec_time
    after = session.score(found)
    if not after > before and not by_discretizer:
        found, after = own, before
    metadata = network.metadata
    metadata.pop("cut_cost", None)
    metadata.pop("edge_cost", None)
    metadata |= {"scoring_method": scoring_method, "score": after, **session.method.charges}
    named = method if isinstance(method, str) else repr(method)
    metadata["refinement"] = {"method": named, "bin_counts": bin_counts, "score_before": before}
    refined = DiscretizedBayesNet.from_table(
        session.table,
        network.edges,
        {session.table.names[v]: cuts for v, cuts in found.items()},
        pseudo_count=pseudo_count,
        metadata=metadata,
    )
    return RefinementResult(refined, before, after, history, stopped_by, seconds)


def _discretized(
    method: Discretizer,
    network: DiscretizedBayesNet,
    session: RefinementSession,
    limits: CutLimits,
    max_seconds: float | None,
) -> tuple[Cuts, str, float]:
    """Return a discretizer's cuts of the movable variables and the own of all others, why it ended, and its seconds."""
    names = session.table.names
    if not session.movable:
        return session.network_cuts, "fixpoint", 0.0
    kept = [names[v] for v in session.network_cuts if v not in session.movable]
    given = DiscretizedBayesNet.from_table(
        session.table, network.edges, network.cut_points, metadata={"fixed_cut_points": kept}
    )
    method._compile()
    began = perf_counter()
    found = propose(
        method,
        session.table,
        given,
        min_width=limits.min_width,
        min_bin_count=limits.min_bin_count,
        max_seconds=max_seconds,
    )
    cuts = {v: found.cut_points[names[v]] for v in session.network_cuts}
    return cuts, found.stopped_by, perf_counter() - began


def _own_scoring(network: DiscretizedBayesNet) -> str:
    """Return the density score that a network was learned with, or else "density-bic"."""
    known = network.metadata.get("scoring_method")
    return known if known in ("density-bic", "density-bd") else "density-bic"


@cache
def compile_refinement_kernels(method: str) -> None:
    """Compile or load the kernels of a refinement on a tiny problem, so that no deadline pays for it."""
    values = np.arange(8.0)
    variable = ScoredVariable("x", values, 0, (Policy(np.array([2.5, 4.5])),))
    density = find_method("density-bic")
    rule = score_rule(density, len(values))
    limits = CutLimits()
    if method == "dp":
        CutProblem(SortedColumn(values), Neighbourhood(), IntervalScore(density, rule)).optimal(limits)
    else:
        problem = BoundaryProblem([variable], [()], density, rule, limits)
        RVGOMEA().run(problem, Limits(max_generations=3), seed=0)


def _check_for_discretizer(bin_counts: str | None, starts: int, callback: object) -> None:
    """Refuse options of the other methods that would be without effect."""
    if bin_counts == "fixed":
        raise GomeaBnError(
            "A discretizer chooses the number of bins; leave bin_counts out, or use method='dp' for bin_counts='fixed'."
        )
    for name, given in (
        ("starts", starts != 1),
        ("callback", callback is not None),
    ):
        if given:
            raise GomeaBnError(f"{name} is an option of 'dp' and 'rv-gomea'; a discretizer does not know it.")


def _check_options(
    method: str | Discretizer,
    bin_counts: str | None,
    starts: int,
    max_seconds: float | None,
    random_state: int | None,
) -> None:
    check_proposer(method, "method", ("dp", "rv-gomea"))
    if bin_counts not in ("fixed", "free", None):
        raise GomeaBnError(f"bin_counts must be 'fixed' or 'free', got {bin_counts!r}.")
    if method == "rv-gomea" and bin_counts == "free":
        raise GomeaBnError(
            "method='rv-gomea' keeps the number of bins; use method='dp' for bin_counts='free'."
        )
    if isinstance(starts, bool) or not isinstance(starts, (int, np.integer)) or starts < 1:
        raise GomeaBnError(f"starts must be an integer of at least 1, got {starts!r}.")
    if max_seconds is not None:
        Limits(max_seconds=max_seconds)
    if random_state is not None and (
        isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)) or random_state < 0
    ):
        raise GomeaBnError(f"random_state must be a non-negative integer or None, got {random_state!r}.")
