"""`BayesNetLearner`: one call from a table to a discretized Bayesian network."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.data.sources import as_frame
from gomea_bn.data.table import read_table, table_digest
from gomea_bn.discretization.base import Discretizer
from gomea_bn.errors import GomeaBnError
from gomea_bn.learning.discretizer_rounds import DiscretizerSearch
from gomea_bn.learning.learning_problem import (
    LearningOptions,
    learned_cut_points,
    learned_edges,
    learning_problem,
)
from gomea_bn.learning.options import both, check_options, mean_density, row_densities, seed_of, thread_count
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.smoothing import PseudoCount
from gomea_bn.parameters import Parameters
from gomea_bn.problems.knowledge import ExpertKnowledge
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.limits import Callback, HistoryEntry, Limits, Result

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BayesNetLearner"]


class BayesNetLearner(Parameters):
    """Learns the graph and the bins of a discretized Bayesian network together, with DBN-GOMEA.

    Parameters
    ----------
    discretizer : str or Discretizer
        How a continuous variable's range is cut. "optimal": the search prices cuts, that is, it finds the exact best
        ones for good networks by dynamic programming, and mixes them like all else. "equal-frequency" or
        "equal-width": the number of bins is learned. Any other discretizer, by name ("bayesian", "mdl", "latent",
        "mgcd", "k-means") or with options of its own: it proposes cuts for the best network so far, again and again
        during the search, which chooses among these and equal frequency by the score. See Notes.
    scoring_method : str or None
        None is "density-bd" for "optimal" and a table with continuous columns, else "density-bic". Names are
        "density-bic" or "density-bd" for any columns; "bdeu", "bic", "k2" or "aic" for discrete columns only.
    cut_points : mapping of str to iterable of float, optional
        Inner cuts, in the data's units, of variables whose bins are fixed.
    max_bins : int
        Most bins of a continuous variable, from 2. Proposed cuts into more bins are left out, with a warning.
    max_indegree : int or None
        Most parents of a variable.
    knowledge : ExpertKnowledge, optional
        Required and forbidden edges, tiers, and limits that the network must keep.
    pseudo_count : float or "auto"
        Added to every row of a table (one parent configuration), spread evenly over its cells. "auto" chooses for
        every table how much, and towards what, by the rows that it is counted from: `DiscretizedBayesNet.from_table`.
    penalty : {"bic", "literal", "aic"} or float
        Of "density-bic", nats per free parameter: (ln n)/2, the paper's printed ln(n/2), 1, or a number.
    prior : {"dirichlet", "bdeu"}
        Of "density-bd": Dirichlet(1) per cell, or BDeu, under which "optimal" can price no cuts.
    equivalent_sample_size : float
        Of the BDeu prior, in rows.
    kinds : mapping of str to {"continuous", "discrete"}, optional
        Overrides the inferred kind of columns.
    missing : {"error", "drop"}
        What to do with rows that have missing or infinite values.
    max_levels : int
        Most levels of a discrete column.
    algorithm : GOMEA, optional
        Options of the search.
    random_repair : bool
        Break cycles in random order (default) or in column order, as the published code does.
    initial_indegree : float
        Mean number of parents in the random networks that the search starts from.
    cut_cost : float
        Of "density-bd": what a chosen cut costs, as a share of ln(distinct values - 1) nats.
    edge_cost : float
        Of "density-bd": what a parent costs, as a share of ln(columns - 1) nats: without it, few rows and many columns
        give edges between variables that have nothing to do with each other.
    min_width : float
        Of "optimal": narrowest bin, as a fraction of the column's range.
    min_bin_count : int
        Of "optimal": fewest rows of a bin.
    max_candidates : int, "auto" or None
        How many partners of a variable the search may join it to: so many of the most dependent ones, and so many of
        the most dependent ones beside other parents. A pair stays if either variable keeps the other, or if an edge is
        required. None: all. "auto": all up to 100 variables, above that 10, which a short search is better with and a
        long one worse.
    max_seconds : float or None
        Of search; compiling is not counted.
    max_evaluations, max_generations : int, optional
        Changed networks evaluated, exact; generations over all populations.
    patience : float or None
        Stop after this many times the evaluations that the best network took. Unlike a clock it gives the same
        network on any machine.
    n_jobs : int or None
        Threads: None is 1, -1 all cores. The result does not depend on it.
    random_state : int, numpy Generator, RandomState or None
    callback : callable, optional
        Gets a `Progress` after every generation; a true return value stops the search.
    verbose : bool
        Show a live table; silent where standard error is not a terminal.

    Attributes
    ----------
    network_ : DiscretizedBayesNet
        Without edges of variables with a single bin, which say nothing, unless they are required.
    score_ : float
        The search's score in nats, with every continuous column scaled to [0, 1]; higher is better.
    table_ : Table
        The rows it learned from.
    history_ : list of HistoryEntry
        Every improvement of the best network (objectives there are minus the score).
    n_eval_, n_eval_full_, n_generations_ : int, float, int
        Evaluations, the same in full evaluations, generations.
    fit_seconds_, time_to_best_ : float
        Seconds of search.
    stopped_by_ : str
        The limit that ended it, or "interrupt".
    statistics_ : dict
        Families scored by counting, and cache hits; variables priced; with a discretizer also rounds, its runs, how
        many of them the clock cut short, and the cuts that entered.
    n_candidate_pairs_ : int
        Pairs of variables that the search could join.
    seed_ : int
        What repeats the run, with ``max_evaluations=n_eval_`` if a clock or Ctrl-C ended it; not where the clock cut a
        discretizer short.
    feature_names_in_ : ndarray of str
    n_features_in_ : int

    Notes
    -----
    With a discretizer the search begins as with equal frequency. At 4 evaluations per gene, whenever the evaluations
    have doubled since, and when `patience` is up, the discretizer is fitted to the best network. New cuts enter the
    libraries, and a new round of the search starts from the best network and from its graph with all of the proposed
    cuts. All limits but `patience`, which counts anew in a round, are for all rounds together, as are all counts; the
    discretizer's time counts. A first run that is not done in a third of the time gives its best cuts until then, and
    later ones have a third of what is left; else what an end of the clock leaves unfinished is left out. Bins narrower
    than 1/1000 of a column's range join a neighbour. The score never drops from round to round.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.random.default_rng(0).normal(size=500)
    >>> frame = pd.DataFrame({"x": x, "y": x + np.random.default_rng(1).normal(scale=0.3, size=500)})
    >>> learner = BayesNetLearner(max_evaluations=2000, random_state=1).fit(frame)
    >>> len(learner.network_.edges)
    1
    """

    def __init__(
        self,
        discretizer: str | Discretizer = "optimal",
        *,
        scoring_method: str | None = None,
        cut_points: Mapping[str, Iterable[float]] | None = None,
        max_bins: int = 15,
        max_indegree: int | None = 6,
        knowledge: ExpertKnowledge | None = None,
        pseudo_count: PseudoCount = "auto",
        penalty: str | float = "bic",
        prior: str = "dirichlet",
        equivalent_sample_size: float = 10.0,
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        max_levels: int = 50,
        algorithm: GOMEA | None = None,
        random_repair: bool = True,
        initial_indegree: float = 1.0,
        cut_cost: float = 0.5,
        edge_cost: float = 1.0,
        min_width: float = 1e-3,
        min_bin_count: int = 1,
        max_candidates: int | str | None = "auto",
        max_seconds: float | None = 60.0,
        max_evaluations: int | None = None,
        max_generations: int | None = None,
        patience: float | None = 10.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: bool = False,
    ) -> None:
        self.discretizer = discretizer
        self.scoring_method = scoring_method
        self.cut_points = cut_points
        self.max_bins = max_bins
        self.max_indegree = max_indegree
        self.knowledge = knowledge
        self.pseudo_count = pseudo_count
        self.penalty = penalty
        self.prior = prior
        self.equivalent_sample_size = equivalent_sample_size
        self.kinds = kinds
        self.missing = missing
        self.max_levels = max_levels
        self.algorithm = algorithm
        self.random_repair = random_repair
        self.initial_indegree = initial_indegree
        self.cut_cost = cut_cost
        self.edge_cost = edge_cost
        self.min_width = min_width
        self.min_bin_count = min_bin_count
        self.max_candidates = max_candidates
        self.max_seconds = max_seconds
        self.max_evaluations = max_evaluations
        self.max_generations = max_generations
        self.patience = patience
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: pd.DataFrame | NDArray[Any] | str | os.PathLike[str], y: object = None) -> Self:
        """Learn a network from a table and return self.

        Parameters
        ----------
        X : DataFrame, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Never changed. An array's columns are named x0, x1, ...
        y : ignored
            Present for scikit-learn's tools; a class belongs into the table as a column.

        Raises
        ------
        GomeaBnError
            For a table, an option or a rule that cannot be used; the message says what to do.
        """
        options = LearningOptions(
            **{name: getattr(self, name) for name in LearningOptions.__dataclass_fields__}
        )
        limits = Limits(self.max_seconds, self.max_evaluations, self.max_generations, self.patience)
        n_threads = thread_count(self.n_jobs)
        seed = seed_of(self.random_state)
        check_options(self, GOMEA, auto=True)
        table = read_table(as_frame(X), kinds=self.kinds, missing=self.missing, max_levels=self.max_levels)
        problem = learning_problem(table, options)
        compile_kernels()
        algorithm = self.algorithm or GOMEA()

        def search(callback: Callback | None) -> tuple[StructureProblem, Result]:
            if options.asks_discretizer:
                return DiscretizerSearch(
                    table, options, algorithm, limits, seed=seed, n_threads=n_threads, callback=callback
                ).run()
            return problem, algorithm.run(
                problem, limits, random_state=seed, n_jobs=n_threads, callback=callback
            )

        if self.verbose:
            from gomea_bn.runtime.progress import LiveTable

            with LiveTable() as live:
                problem, result = search(both(live, self.callback))
        else:
            problem, result = search(self.callback)
        edges = learned_edges(problem, result.X)
        cuts = learned_cut_points(problem, result.X)
        cardinality = [len(c.levels) if c.levels else len(cuts[c.name]) + 1 for c in table.columns]
        broken = problem.edge_rules.violations(table.names, edges, cardinality)
        if broken:
            raise RuntimeError(
                f"The learned network breaks the knowledge ({'; '.join(broken)}); please report this."
            )
        # an edge that says nothing was charged by the search, but is not in the network
        n_void = len(problem.edges(result.X)) - len(edges)
        self.score_ = -float(result.F[0]) + n_void * problem.scorer.rule.edge_cost
        method = problem.scorer.method
        self.network_ = DiscretizedBayesNet.from_table(
            table,
            [(table.names[parent], table.names[child]) for parent, child in edges],
            cuts,
            pseudo_count=self.pseudo_count,
            metadata={
                "scoring_method": method.name,
                "score": self.score_,
                "seed": seed,
                "n_eval": result.n_eval,
                "n_rows": table.n_rows,
                "fixed_cut_points": sorted(self.cut_points or ()),
                "data_sha256": table_digest(table),
                **method.charges,
            },
        )
        self.table_ = table
        self.history_: list[HistoryEntry] = result.history
        self.n_eval_ = result.n_eval
        self.n_eval_full_ = result.n_eval_full
        self.n_generations_ = result.n_generations
        self.fit_seconds_ = result.exec_time
        self.time_to_best_ = result.time_to_best
        self.stopped_by_ = result.stopped_by
        self.statistics_ = result.statistics
        self.n_candidate_pairs_ = problem.n_edge_genes
        self.seed_ = seed
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)
        return self

    def score(self, X: pd.DataFrame | NDArray[Any] | str | os.PathLike[str], y: object = None) -> float:
        """Return the mean log density per row of a table, in nats and original units; higher is better.

        With ``missing="drop"`` it is the mean over the rows without missing values.
        """
        return mean_density(self.score_samples(X))

    def score_samples(self, X: pd.DataFrame | NDArray[Any] | str | os.PathLike[str]) -> NDArray[np.float64]:
        """Return the log density of every row, shape (n_rows,), in nats and original units.

        With ``missing="drop"`` rows with missing or infinite values get nan; otherwise they are refused.
        """
        network = self._fitted()
        return row_densities(network.log_density, network.names, X, self.missing)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> pd.DataFrame:
        """Return `n_samples` rows drawn from the learned network."""
        return self._fitted().sample(n_samples, random_state)

    def _fitted(self) -> DiscretizedBayesNet:
        if not hasattr(self, "network_"):
            raise GomeaBnError(
                f"This {type(self).__name__} has not learned a network yet; call fit(frame) first."
            )
        return self.network_
