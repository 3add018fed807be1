"""Refinement of the cut points of a learned network with its graph unchanged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter

import numpy as np
import pandas as pd

from gomea_bn.algorithms.rvgomea import RVGOMEA
from gomea_bn.data.table import Table
from gomea_bn.discretization.base import Discretizer
from gomea_bn.discretization.proposals import PROPOSERS, check_proposer, propose, proposer
from gomea_bn.errors import (
    MOST_SEED,
    GomeaBnError,
    GomeaBnWarning,
    Option,
    Setting,
    check_callable,
    check_choice,
    check_integer,
    check_number,
    give_warning,
)
from gomea_bn.learning.cut_cycle import CutCycle, RefinementSession
from gomea_bn.learning.options import automatic_bins
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.recorded import EDGE_PROBABILITIES, FAMILY_SCORES, STABILITY_WORDS
from gomea_bn.network.rows import table_for
from gomea_bn.network.tables import PseudoCount
from gomea_bn.problems.boundaries import BoundaryProblem
from gomea_bn.problems.cuts.blanket import Cuts, Neighbourhood
from gomea_bn.problems.cuts.cut_column import CutColumn, ScoredVariable
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, Policy
from gomea_bn.problems.kernels.score import BDEU
from gomea_bn.problems.scores import SCORE_FIELDS, recorded_method, reported, reporting, score_rule
from gomea_bn.problems.scores import scoring_method as find_method
from gomea_bn.runtime.limits import Callback, HistoryEntry, Limits
from gomea_bn.runtime.threads import StopFlag


@dataclass(frozen=True)
class RefinementResult:
    """A network with refined cut points, and how it was found.

    Attributes
    ----------
    network : DiscretizedBayesNet
        The same graph with other cut points; its tables are counted from the data.
    score_before, score_after : float
        Score in nats of the given and of the refined network, with every continuous column scaled to [0, 1].
    history : list of HistoryEntry
        Every improvement; objectives are minus the score. For "dp" an evaluation is the dynamic programme of one
        variable. Empty for a discretizer.
    stopped_by : str
        "fixpoint" (no variable alone can be improved, or the discretizer came to its end), the limit that ended it,
        or "interrupt".
    seconds : float
        Duration of the search; compiling is not counted.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from gomea_bn import DiscretizedBayesNet, refine_boundaries
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 200))
    >>> frame = pd.DataFrame({"x": x, "y": x + noise})
    >>> network = DiscretizedBayesNet.from_table(frame, [("x", "y")], {"x": [0.0], "y": [0.0]})
    >>> result = refine_boundaries(network, frame)
    >>> bool(result.score_after > result.score_before), result.network.edges
    (True, [('x', 'y')])
    """

    network: DiscretizedBayesNet
    score_before: float
    score_after: float
    history: list[HistoryEntry] = field(repr=False)
    stopped_by: str
    seconds: float


# cut points by variable that a method ended with, its history, what stopped it, and seconds
_Search = tuple[Cuts, list[HistoryEntry], str, float]


def refine_boundaries(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    method: str | Discretizer = "dp",
    bin_counts: str | None = None,
    *,
    scoring_method: str | None = None,
    penalty: str | float | None = None,
    max_bins: int | str = "auto",
    min_width: float = 1e-3,
    min_bin_count: int = 1,
    max_seconds: float | None = None,
    random_state: int | None = None,
    pseudo_count: PseudoCount | None = None,
    starts: int = 1,
    variables: Sequence[str] | None = None,
    callback: Callback | None = None,
) -> RefinementResult:
    """Return the network with other cut points and the same graph.

    With "dp" and "rv-gomea" the score never drops. A discretizer has an objective of its own: its cuts are the result
    whatever their score, which is returned before and after.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network. Its conditionals are learned again with the refined cuts.
    data : DataFrame, Table, or path of a CSV, TSV or Parquet file
        Rows to fit; normally those that the network was learned from. With missing values only "dp" works: its score is
        that on available cases, see `BayesNetLearner`.
    method : str or Discretizer
        "dp" cuts one variable after another optimally, given the bins of all others, until none can be improved.
        "rv-gomea" searches the cuts of all variables together, as Ha et al. describe. Otherwise a discretizer, by name
        ("bayesian", "mdl", "latent", "mgcd", ...) or as an object.
    bin_counts : {"fixed", "free"}, optional
        Whether the number of bins of every variable is kept, or chosen too. By default "fixed" for "dp" and
        "rv-gomea"; "rv-gomea" cannot be "free", a discretizer always is.
    scoring_method : {"density-bic", "density-bd"}, optional
        By default the score that the network was learned with and its prior, if the metadata name one of these scores,
        else "density-bic". The cost of a cut is also taken from the metadata. With a given "density-bd" the prior is
        Dirichlet(1). Only discretizers refine under the prior BDeu.
    penalty : {"bic", "literal", "aic"} or float, optional
        For "density-bic", nats per free parameter: (ln n)/2, the paper's printed ln(n/2), 1, or a number. By default
        that of the metadata, else "bic".
    max_bins : int or "auto"
        Largest number of bins of a variable if bin counts are free; smaller where a table would exceed a million
        cells. Used by "dp", and by a discretizer that is given by name and has such an option. "auto": that of
        `BayesNetLearner` for the number of rows, or the largest number of bins in the network if that is larger.
    min_width : float
        Width of the narrowest bin that is uniform inside, as a fraction of the variable's range. The network's bins may
        be narrower, and stay if no allowed cuts score higher. A discretizer's narrower bins are joined with a
        neighbour.
    min_bin_count : int
        Smallest number of rows of a bin. A discretizer's bins with fewer are joined with a neighbour.
    max_seconds : float, optional
        Deadline in seconds; the best result so far is returned.
    random_state : int, optional
        Seed of further starts, of "rv-gomea", and of a discretizer that draws. The same seed gives the same result.
    pseudo_count : float or "auto", optional
        Smoothing of the result's tables, added to every table row and spread evenly over its cells; "auto" as in
        `DiscretizedBayesNet.from_table`. By default that of the network, else 1.
    starts : int
        Number of starts of "dp": the first from the network's cuts, the others from random quantiles.
    variables : sequence of str, optional
        Variables whose cuts may move. By default every continuous one whose cuts the network's metadata do not name
        as fixed by the user.
    callback : callable, optional
        Gets a `Progress` after every step ("dp": one variable); a true return value stops. Not used by discretizers.

    Returns
    -------
    RefinementResult

    Raises
    ------
    GomeaBnError
        For options out of range, for data that the network does not fit, and for a prior BDeu under which the method
        cannot price cuts.

    Notes
    -----
    The steps of "dp" never lower the network's score, and end in a fixpoint, which need not be the global optimum.
    Cuts lie midway between neighbouring distinct values. With ``min_width=0``, bins around repeated values have
    unbounded density.

    A variable with a shape keeps one, which is fitted to the data; its bins have no least width. All other variables
    are uniform inside their bins. If the metadata say that the network was learned with ``shape="auto"``, uniform
    bins of "dp" and "rv-gomea" with more than two rows per distinct value are as wide as structure in the shape.
    """
    if not isinstance(network, DiscretizedBayesNet):
        raise GomeaBnError(f"network must be a DiscretizedBayesNet, got {type(network).__name__}.")
    _check_options(method, bin_counts, starts, max_seconds, random_state)
    by_discretizer = isinstance(method, Discretizer) or method in PROPOSERS
    if by_discretizer:
        _check_for_discretizer(bin_counts, starts, callback)
    bin_counts = bin_counts or ("free" if by_discretizer else "fixed")
    check_callable("callback", callback)
    # a score that the user names has its usual prior
    prior = None if scoring_method is None else "dirichlet"
    if scoring_method is None:
        scoring_method = recorded_method(network.metadata, "density-bic")
    if pseudo_count is None:
        pseudo_count = 1.0 if network.pseudo_count is None else network.pseudo_count
    table = table_for(network, data, allow_missing=True)
    if method != "dp":
        table.require_complete(f"Refinement by {_name_of(method)!r}", Setting("method", "dp"))
    session = RefinementSession(network, table, scoring_method, penalty, variables, prior)
    most_bins = _most_bins(max_bins, session)
    limits = CutLimits(1, most_bins, min_width, min_bin_count)
    before = session.score(session.network_cuts)
    search: _Search = session.network_cuts, [], "fixpoint", 0.0
    if by_discretizer:
        made = proposer(method, max_bins=most_bins, random_state=random_state)
        search = _by_discretizer(session, network, made, limits, max_seconds)
    elif not any(len(session.network_cuts[v]) or bin_counts == "free" for v in session.movable):
        # no cut can move
        pass
    elif session.rule.kind == BDEU:
        raise GomeaBnError(
            [
                Option("method", str(method)),
                " cannot price cuts under the prior BDeu, with which the network was learned: gains depend on the "
                "number of bins.",
            ],
            [Setting("scoring_method", "density-bd"), Setting("scoring_method", "density-bic")],
        )
    elif method == "dp":
        compile_refinement_kernels("dp")
        cycle = CutCycle(session, limits, bin_counts == "free", StopFlag(max_seconds), callback)
        found = cycle.run(starts, before, np.random.default_rng(random_state))
        search = found, cycle.history, cycle.stop.reason or "fixpoint", cycle.stop.seconds
    else:
        search = _by_rv_gomea(session, limits, max_seconds, random_state, callback)
    cuts, history, stopped_by, seconds = search
    after = session.score(cuts)
    if not by_discretizer and after <= before:
        cuts, after = session.network_cuts, before
    metadata = network.metadata
    # every row counts once, also in the score, and the score of the search is no longer that of the network
    for name in ("weights", "copies", "groups", FAMILY_SCORES):
        metadata.pop(name, None)
    for name in SCORE_FIELDS:
        metadata.pop(name, None)
    if any(not np.array_equal(points, session.network_cuts[v]) for v, points in cuts.items()):
        # what was said about the former bins
        metadata.pop(STABILITY_WORDS, None)
        if metadata.pop(EDGE_PROBABILITIES, None) is not None:
            warning = GomeaBnWarning(
                "The refined network has no probabilities of edges: those of the network are for its former bins.",
                ["call edge_probabilities with the refined network"],
            )
            give_warning(warning)
    metadata |= {"scoring_method": scoring_method, "score": after, **session.record}
    metadata["refinement"] = {"method": _name_of(method), "bin_counts": bin_counts, "score_before": before}
    refined = DiscretizedBayesNet.from_table(
        session.table,
        network.edges,
        {session.table.names[v]: points for v, points in cuts.items()},
        pseudo_count=pseudo_count,
        shapes={name: session.shapes[network.names.index(name)].shape for name in network.shapes},
        metadata=metadata,
    )
    if network.conditionals is not None:
        from gomea_bn.learning.averaging.families import average_families

        line = "auto" if any(stack.smooth for stack in network.conditionals.stacks.values()) else "none"
        refined = average_families(refined, session.table, line=line, random_state=random_state or 0)
    return RefinementResult(refined, before, after, history, stopped_by, seconds)


def _name_of(method: str | Discretizer) -> str:
    return method if isinstance(method, str) else repr(method)


def _by_rv_gomea(
    session: RefinementSession,
    limits: CutLimits,
    max_seconds: float | None,
    random_state: int | None,
    callback: Callback | None,
) -> _Search:
    """Return the cuts that RV-GOMEA finds for all variables together; the network's if no solution is feasible."""
    problem = BoundaryProblem(
        session.scored_variables(session.network_cuts),
        session.graph.parents,
        session.method,
        session.rule,
        limits,
        session.movable,
    )
    compile_refinement_kernels("rv-gomea")
    result = RVGOMEA(linkage="tree").run(
        problem,
        Limits(max_seconds=max_seconds, patience=10.0 if max_seconds is None else None),
        random_state=random_state,
        initial=problem.encode(session.network_cuts)[None, :],
        callback=reporting(callback, problem.constant_score),
    )
    result = reported(result, problem.constant_score)
    genotype = np.asarray(result.X, np.float64)
    is_feasible = problem.evaluate(genotype)[1] == 0
    cuts = problem.cut_points(genotype) if is_feasible else session.network_cuts
    return cuts, result.history, result.stopped_by, result.exec_time


def _by_discretizer(
    session: RefinementSession,
    network: DiscretizedBayesNet,
    method: Discretizer,
    limits: CutLimits,
    max_seconds: float | None,
) -> _Search:
    """Return a discretizer's cuts of the movable variables, and the network's cuts of all others."""
    names = session.table.names
    if not session.movable:
        return session.network_cuts, [], "fixpoint", 0.0
    fixed = {"fixed_cut_points": [names[v] for v in session.network_cuts if v not in session.movable]}
    with_unmoved_fixed = DiscretizedBayesNet.from_table(
        session.table, network.edges, network.cut_points, metadata=fixed
    )
    method.compile()
    began = perf_counter()
    proposed, stopped_by = propose(
        method,
        session.table,
        with_unmoved_fixed,
        min_width=limits.min_width,
        min_bin_count=limits.min_bin_count,
        max_seconds=max_seconds,
    )
    cuts = {v: proposed[names[v]] for v in session.network_cuts}
    return cuts, [], stopped_by, perf_counter() - began


def _most_bins(max_bins: int | str, session: RefinementSession) -> int:
    """Return the largest number of bins that the option `max_bins` stands for."""
    if not isinstance(max_bins, str):
        return max_bins
    if max_bins != "auto":
        wanted = f" must be an integer from 1 to {MAX_CARDINALITY}, or 'auto', got {max_bins!r:.80}."
        raise GomeaBnError([Option("max_bins"), wanted])
    present = [len(cuts) + 1 for cuts in session.network_cuts.values()]
    return min(max([automatic_bins(session.table.n_rows), *present]), MAX_CARDINALITY)


@cache
def compile_refinement_kernels(method: str) -> None:
    """Compile or load the kernels of a refinement on a tiny problem, so that no deadline pays for it."""
    values = np.arange(8.0)
    variable = ScoredVariable("x", values, 0, (Policy(np.array([2.5, 4.5])),))
    density = find_method("density-bic")
    rule = score_rule(density, len(values))
    limits = CutLimits()
    if method == "dp":
        CutProblem.of_rows(
            CutColumn.of_values(values), Neighbourhood(), IntervalScore(density, rule)
        ).optimal(limits)
    else:
        problem = BoundaryProblem([variable], [()], density, rule, limits)
        RVGOMEA(linkage="tree").run(problem, Limits(max_generations=3), random_state=0)


def _check_for_discretizer(bin_counts: str | None, starts: int, callback: object) -> None:
    """Raise `GomeaBnError` if an option of another method is set."""
    if bin_counts == "fixed":
        raise GomeaBnError(
            [
                "A discretizer chooses the number of bins; leave ",
                Option("bin_counts"),
                " out, or use ",
                Option("method", "dp"),
                " for ",
                Option("bin_counts", "fixed"),
                ".",
            ]
        )
    for name, is_set in (("starts", starts != 1), ("callback", callback is not None)):
        if is_set:
            raise GomeaBnError(f"{name} is not supported by discretizers, only by 'dp' and 'rv-gomea'.")


def _check_options(
    method: str | Discretizer,
    bin_counts: str | None,
    starts: int,
    max_seconds: float | None,
    random_state: int | None,
) -> None:
    check_proposer(method, "method", ("dp", "rv-gomea"))
    check_choice("bin_counts", bin_counts, ("fixed", "free"), optional=True)
    if method == "rv-gomea" and bin_counts == "free":
        raise GomeaBnError(
            [
                Option("method", "rv-gomea"),
                " keeps the number of bins; use ",
                Option("method", "dp"),
                " for ",
                Option("bin_counts", "free"),
                ".",
            ]
        )
    check_integer("starts", starts, 1)
    check_number("max_seconds", max_seconds, 0, above=True, optional=True)
    check_integer("random_state", random_state, 0, MOST_SEED, optional=True)
