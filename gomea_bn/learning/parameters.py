"""The parameters of the learners of one network and of a front, declared once.

Signatures, checks, records of runs and the options of commands derive from the declarations here.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gomea_bn.parameters import (
    Choice,
    Flag,
    Number,
    Parameters,
    WholeNumber,
    option,
    stated,
    with_known_names,
)

if TYPE_CHECKING:
    import os

    from gomea_bn.algorithms.gomea import GOMEA
    from gomea_bn.algorithms.mogomea import MOGOMEA
    from gomea_bn.data.table import Table
    from gomea_bn.discretization.base import Discretizer
    from gomea_bn.expert.expert_network import ExpertNetwork
    from gomea_bn.front.objectives import OwnObjective
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.network.tables import PseudoCount
    from gomea_bn.problems.knowledge import ExpertKnowledge
    from gomea_bn.runtime.limits import Callback, HistoryEntry, Result

FORMER_PATIENCE = 10.0
"""Ratio of evaluations to those of the last improvement at which searches with a given amount of work end too."""

COMMON, BINS, SCORE = "Common", "Bins", "Score"
KNOWLEDGE, READING = "Knowledge", "Reading a table"
"""Headings of groups of options in the help of commands."""


@with_known_names
@dataclass(kw_only=True, eq=False, repr=False)
class LearnerParameters(Parameters):
    """Parameters that learners of one network and of a front share; `BayesNetLearner` describes them."""

    cut_points: Mapping[str, Iterable[float]] | None = None
    max_bins: int | str = option(
        "auto",
        WholeNumber(2, 255, words=("auto",)),
        "Largest number of bins of a continuous column, or auto: it grows with the number of rows.",
        panel=BINS,
    )
    max_indegree: int | str | None = option(
        "auto",
        WholeNumber(0, words=("auto",), none=""),
        "Largest number of parents of a variable, or auto: it grows with the number of rows.",
    )
    knowledge: ExpertKnowledge | None = None
    pseudo_count: PseudoCount = option(
        "auto",
        Number(0, words=("auto",)),
        "Smoothing of a table row, in rows; auto: the data choose it for every table.",
        panel=SCORE,
    )
    kinds: Mapping[str, str] | None = None
    missing: str = option(
        "available",
        Choice(("available", "error", "drop")),
        "Treatment of missing values: available (all rows are used), error or drop.",
        panel=READING,
    )
    max_levels: int = option(
        50, WholeNumber(2), "Largest number of levels of a discrete column.", panel=READING
    )
    groups: str | None = option(
        None,
        None,
        "Column that names the person, site or panel of every row: rows of one count and are left out together. It is "
        "no variable unless --kind names it.",
        panel=READING,
        command="group",
    )
    min_width: float = option(
        1e-3,
        Number(0, 1, below=True),
        "Smallest width of an optimal bin, as a fraction of the range of its column.",
        panel=BINS,
    )
    min_bin_count: int = option(
        1, WholeNumber(0, 2**31), "Smallest number of rows in an optimal bin.", panel=BINS
    )
    max_candidates: int | str | None = option(
        "auto",
        WholeNumber(1, words=("auto",), none="all"),
        "Candidate neighbours per variable: a number for each of two rankings, auto or all.",
    )
    initial_indegree: float = option(1.0, Number(0))
    random_repair: bool = option(True, Flag())
    shape: str = option(
        "auto",
        Choice(("auto", "uniform", "marginal")),
        "Distribution of continuous columns inside their bins: uniform, marginal (the shape of the column's own "
        "distribution), or auto, which chooses for every column by the score.",
        panel=BINS,
    )
    curves: str = option(
        "auto",
        Choice(("auto", "none")),
        "auto: columns may also be sums of smooth curves of their parents, where that scores better than tables of "
        "bins; none: tables alone.",
    )
    sample_rows: int = option(
        100_000, WholeNumber(1000), "Number of rows beyond which a sample of that size is searched."
    )
    max_seconds: float | None = option(
        None,
        Number(0, above=True, none="0"),
        "Time limit of the whole fit in seconds, which otherwise ends when the search is done; 0 for none. The passes "
        "over the files of a folder do not count.",
        panel=COMMON,
    )
    max_evaluations: int | None = option(
        None, WholeNumber(1, none=""), "Limit on the number of evaluated networks, exact."
    )
    max_generations: int | None = option(None, WholeNumber(1, none=""))
    patience: float | str | None = option(
        "auto",
        Number(0, above=True, words=("auto",), none="0"),
        "auto: the search ends when it is done, that is when twice the work has hardly raised the score. A number: "
        "when the evaluations exceed this multiple of those up to the last improvement, and 1,000 for every pair of "
        "columns and every continuous column. 0: never.",
    )
    n_jobs: int | None = None
    random_state: Any = None
    callback: Callback | None = None
    verbose: bool = False

    @classmethod
    def _hint_of(cls, name: str) -> str:
        """Return that a name is an option of `fit`, "" for others."""
        # the parameters alone have no such method
        fit = getattr(cls, "fit", None)
        if fit is not None and name in inspect.signature(fit).parameters:
            return f" It is one of fit; call fit(rows, {name}=...)."
        return ""

    def _keep_search(
        self, table: Table, n_candidate_pairs: int, result: Result, seed: int, seconds: float
    ) -> None:
        """Set the fitted attributes that describe the table and the search; the classes document them.

        `seconds` are those since `fit` began.
        """
        import numpy as np

        self.table_ = table
        self.n_eval_ = result.n_eval
        self.n_eval_full_ = result.n_eval_full
        self.n_generations_ = result.n_generations
        # a resumed search counts the seconds of former processes
        self.fit_seconds_ = max(result.exec_time, seconds)
        self.time_to_best_ = result.time_to_best
        self.stopped_by_ = result.stopped_by
        self.statistics_ = result.statistics
        self.n_candidate_pairs_ = n_candidate_pairs
        self.seed_ = seed
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)


@with_known_names
@dataclass(kw_only=True, eq=False, repr=False)
class NetworkParameters(LearnerParameters):
    """Parameters of a learner of one network; `BayesNetLearner` describes them."""

    discretizer: str | Discretizer = field(
        default="optimal",
        kw_only=False,
        metadata=stated(
            None,
            "optimal (exact best cuts, computed inside the search), equal-frequency, equal-width; bayesian, mdl, "
            "latent, mgcd or k-means propose cuts in addition to equal frequency.",
        ),
    )
    scoring_method: str | None = option(
        None,
        None,
        "density-bic, density-bd; for discrete columns only also bdeu, bic, k2, aic. Default: density-bd for optimal "
        "cuts, otherwise density-bic.",
        panel=SCORE,
    )
    penalty: str | float = option(
        "bic",
        Number(0, words=("bic", "literal", "aic")),
        "Penalty of density-bic: bic, literal, aic or nats per parameter.",
        panel=SCORE,
    )
    prior: str = option(
        "dirichlet", Choice(("dirichlet", "bdeu")), "Prior of density-bd: dirichlet or bdeu.", panel=SCORE
    )
    equivalent_sample_size: float = option(
        10.0,
        Number(0, 1e6, above=True),
        "Equivalent sample size of bdeu, in rows.",
        panel=SCORE,
        command="ess",
    )
    cut_cost: float = option(
        0.5,
        Number(0),
        "Cost of a chosen cut under density-bd, as a multiple of ln(distinct values - 1) nats.",
        panel=SCORE,
    )
    edge_cost: float = option(
        1.0,
        Number(0),
        "Cost of an edge under density-bd, as a multiple of ln(columns - 1) nats.",
        panel=SCORE,
    )
    algorithm: GOMEA | None = None
    target: str | None = option(
        None,
        None,
        "Column that the network is to predict: left-out rows choose its parents, and the score everything else.",
        panel=COMMON,
    )
    duration: str | None = option(
        None,
        None,
        "Column of the times until the event that --target names, which is 1 where it came and 0 where the time was "
        "censored: the network is then one of the event within --horizon, with weights of rows.",
        panel=COMMON,
    )
    horizon: float | None = option(
        None,
        Number(0, above=True, none=""),
        "Time up to which events count with --duration. Default: as long as enough rows are observed.",
        panel=COMMON,
    )
    density: str = option(
        "averaged",
        Choice(("bins", "averaged")),
        "averaged: conditional densities with averages over cuts and with lines; bins: tables of counts over the shown "
        "bins alone.",
    )
    line: str = option(
        "auto",
        Choice(("auto", "single", "none")),
        "auto: columns follow tables, effects of their parents or mixtures of lines; single: no mixtures; none: tables "
        "alone.",
    )
    prefer: str = option(
        "simple",
        Choice(("simple", "density")),
        "simple: fewest edges whose left-out density is within one standard error of the best, and few numbers; "
        "density: best score, and the densest conditionals.",
    )
    scheduler: str | None = option(
        None, None, "Address of a Dask scheduler whose workers count the rows of a folder of files."
    )

    def _keep_network(self, network: DiscretizedBayesNet, score: float, history: list[HistoryEntry]) -> None:
        """Set the fitted attributes that describe the network; the class of learners documents them."""
        self.network_ = network
        self.score_ = score
        self.history_ = history


@with_known_names
@dataclass(kw_only=True, eq=False, repr=False)
class FrontParameters(LearnerParameters):
    """Parameters of a learner of fronts; `ParetoBayesNetLearner` describes them."""

    discretizer: str = field(
        default="optimal",
        kw_only=False,
        metadata=stated(
            None, "optimal (exact best cuts, computed inside the search), equal-frequency or equal-width."
        ),
    )
    objectives: Sequence[str | OwnObjective] | None = None
    expert: ExpertNetwork | DiscretizedBayesNet | str | os.PathLike[str] | None = None
    target: str | None = option(
        None,
        None,
        "Column that the networks are to predict from all others: adds its loss as an objective, and leaves out the "
        "misfit unless it is named.",
    )
    max_complexity: float | None = option(
        None,
        Number(0, above=True, none=""),
        "Largest number of free parameters. Default: 10 times the expert's; without an expert 10 times that of the "
        "network without edges, or the number of rows if that is larger. At least 3 times that of the single network.",
    )
    misfit: str = option(
        "left-out",
        Choice(("left-out", "in-sample")),
        "left-out (every row left out of its own table) or in-sample (as in the paper).",
        panel=SCORE,
    )
    cut_cost: float = option(
        0.5,
        Number(0),
        "Cost of a chosen cut in the misfit left-out, as a multiple of ln(distinct values - 1) nats.",
        panel=SCORE,
    )
    single_share: float | None = option(
        None,
        Number(0, 1, below=True, none=""),
        "Share of the limits for a search of one network by score, from which the front starts; 0: none. Default: .5; "
        "with a target 0, or .1 where cells are missing.",
    )
    single_evaluations: int | None = option(
        None, WholeNumber(0, none=""), "Evaluations of that search, in place of the share; repeats a run."
    )
    expert_sample_size: int = option(4096, WholeNumber(2, 2**20))
    algorithm: MOGOMEA | None = None
