"""`ParetoBayesNetLearner`: learns a front of networks from a table, and from an expert's network, in one call."""

from __future__ import annotations

import os
from typing import Any, Self

import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.data.table import Table, table_digest
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, Setting, check_choice, give_warning
from gomea_bn.front.front import Front
from gomea_bn.front.objectives import OwnObjective, check_objectives
from gomea_bn.learning.fronts.record import FrontNetworks, front_record
from gomea_bn.learning.fronts.search import (
    check_front_learning,
    checked_expert,
    expert_of,
    front_problem,
    limits_of_front,
    objectives_of,
    options_of_front,
    searched_front,
    shown_objective,
)
from gomea_bn.learning.options import (
    columns_of_search,
    learner_section,
    rows_of_search,
    sampled_table,
    seed_of,
    table_to_learn,
    warn_of_cut_short,
    with_live_table,
)
from gomea_bn.learning.parameters import FrontParameters
from gomea_bn.learning.search.rounds import SearchSettings
from gomea_bn.learning.warm_up import compile_front_kernels, size_of_table
from gomea_bn.runtime.checkpoints import CheckpointOption
from gomea_bn.runtime.fit_clock import FitClock
from gomea_bn.runtime.limits import FrontHistoryEntry
from gomea_bn.runtime.threads import in_background, spare_threads, thread_count
from gomea_bn.texts import counted

__all__ = ["OwnObjective", "ParetoBayesNetLearner", "check_front_learning", "front_problem"]

_PUBLISHED_BINS = {"EF": "equal-frequency", "EW": "equal-width"}


class ParetoBayesNetLearner(FrontParameters):
    """Learn a front of discretized Bayesian networks under several objectives, with MO-DBN-GOMEA.

    Parameters
    ----------
    discretizer : {"optimal", "equal-frequency", "equal-width"}
        Method that cuts the ranges of continuous variables into bins; the search chooses the number of bins. "optimal"
        starts with equal frequency and computes exact best cuts for some of the networks, by the log density minus
        one of several prices per free parameter. The paper has the other two.
    objectives : sequence of str or OwnObjective, optional
        At least two of "misfit" (minus the mean log density per row, in nats), "target" (loss of the target),
        "complexity" (number of free parameters of tables and curves), "expert_distance" (KL(expert || network) over
        the families of the variables that the expert mentions, in nats), and user-defined ones. By default "misfit", or
        "target" if there is a target, "complexity", and "expert_distance" if there is an expert.
    target : str, optional
        Column that the networks are to predict, without missing values. Its loss given all other columns of the row is
        the mean cross-entropy of a discrete column, in nats, or the mean continuous ranked probability score (CRPS) of
        a continuous one, in its units: the integral of (F(x) - [x >= y])**2 over x, with the value y of the row
        (Matheson & Winkler, "Scoring rules for continuous probability distributions", 1976). F gives every bin its
        probability, which the values of its rows share alike. Only the families of the target and of its children
        decide. Without "misfit" and "expert_distance" a network has no edges but theirs and those that the knowledge
        requires, "complexity" counts their parameters, other columns are not cut, and cuts are the best ones for the
        probability of the target given the other members of these families. If "target" and "complexity" are all, a
        target of two levels has networks in which it follows a logit of its parents as well: as many as columns enter
        that logit one after another, apart from those that others dominate. There are none with the misfit
        "in-sample" or where the knowledge requires edges; ``max_indegree="auto"`` does not limit their parents.
    expert : ExpertNetwork, DiscretizedBayesNet or path, optional
        Network of a domain expert; the table supplies what it leaves open.
    max_complexity : float, optional
        Largest number of free parameters. By default 10 times the number of the expert's network, completed over the
        table. Without an expert, 10 times the number of the network without edges and with the fewest bins, or the
        number of rows if that is larger. It is at least 3 times the number of the single network.
    misfit : {"left-out", "in-sample"}
        How the misfit of a network is estimated: from tables that leave out the row whose density is taken, which is
        closer to the density of new rows, or from the tables of all rows, as in the paper. Curves count by their
        marginal likelihood, which has paid for their coefficients. The shape of a column is
        fitted to all rows, so that "left-out" charges the shape for its effective parameters. The loss of a target is
        estimated in the same way.
    cut_cost : float
        Cost of a chosen cut in the misfit "left-out", as a multiple of ln(distinct values - 1) nats, which is divided
        by the number n of rows. The rows chose the cuts, also those that are left out of a table. With few rows this
        choice misleads more: the cost is 1 + (75 / n)**2 times as high, and an edge costs 2 (75 / n)**2 times as many
        ln(varying columns - 1) nats. The misfit "in-sample" has no such costs. In the search for a single network it is
        the `cut_cost` of `BayesNetLearner`. The loss of a target has twice the cost of a cut and the same cost of an
        edge; a CRPS is multiplied by the exponential of these nats.
    single_share : float, optional
        Share of the limits for the search for a single network, from 0 to below 1. By default .5; with a target 0, or
        .1 to fill the missing cells of a table. This search is that of
        `BayesNetLearner`, and every population of the other search begins with its network. 0 leaves it out, as in the
        paper.
    single_evaluations : int, optional
        Number of evaluations of the search for a single network, in place of the share; it repeats a run.
    expert_sample_size : int
        Number of rows drawn from the expert's network to measure distances, rounded up to a power of two; from 2 to
        2**20.
    missing : {"available", "error", "drop"}
        How to treat missing values. "available": the search for a single network uses them as `BayesNetLearner` does,
        draws from its network fill the missing cells once, and the front is that of the filled rows. "error" raises,
        and "drop" drops rows with missing or infinite values.
    cut_points, groups, max_indegree, knowledge, kinds, max_levels
        As of `BayesNetLearner`.
    min_width, min_bin_count, max_candidates, initial_indegree, random_repair
        As of `BayesNetLearner`.
    shape : {"auto", "uniform", "marginal"}
        As of `BayesNetLearner`, but "auto" chooses by the misfit. The completed network of the expert has the same
        shapes, so that the bins decide on the distance. Variables to which the expert gave tables and a support keep
        their own shapes or stay uniform inside their bins; the distance then counts the difference inside the bins.
    curves : {"auto", "none"}
        As of `BayesNetLearner`: columns may follow curves of their parents where these score better than a table.
        "auto" needs optimal cuts and the misfit "left-out", and neither a target nor the distance to an expert, which
        judge tables. The networks of such a front are shown in the cuts of the single network where only curves need a
        column, or in halves of its rows. A network learns its conditional densities when it is built, as
        `average_families` does.
    max_bins : int or "auto"
        As of `BayesNetLearner`; 9 in the paper.
    pseudo_count : float or "auto"
        Smoothing of the tables, as of `BayesNetLearner`; 1 in the paper. With "auto" the misfits come from the best of
        four amounts of smoothing per table, and the distances from tables with one pseudo-count per row. "left-out" and
        the distance need a value above 0.
    algorithm : MOGOMEA, optional
        Settings of the search.
    sample_rows : int
        Number of rows, at least 1,000, beyond which a sample of that size is searched. The objectives are then those
        of the sample, and the tables of the networks count all rows, or the filled rows of the sample.
    max_seconds, max_evaluations, max_generations, n_jobs, random_state, callback, verbose
        As of `BayesNetLearner`.
    patience : float, "auto" or None
        "auto": both searches end when they are done, that for a single network as `BayesNetLearner`, and that for the
        front when its evaluations have doubled while it gained less than .5 % of its hypervolume. Where
        `max_evaluations` or `max_generations` are given, as None. A number: stop when the number of evaluations exceeds
        this multiple of the number at which a network last entered the archive, and 1,000 per gene. None: never.

    Attributes
    ----------
    front_ : Front
        Learned networks, ordered by the first objective. Its `single` is the single network, which stays in the front
        if others dominate it; of that network only the edges that the objectives judge.
    expert_ : DiscretizedBayesNet or None
        Expert's network, completed over the columns of the table.
    history_ : list of FrontHistoryEntry
        Size of the archive over the search.
    n_eval_, n_eval_full_, n_generations_ : int, float, int
        Number of evaluations, of equivalent full evaluations, and of generations, those of the search for a single
        network included.
    n_eval_single_ : int
        Number of evaluations of the search for a single network.
    fit_seconds_, time_to_best_ : float
        Seconds of the whole fit apart from compilation, and seconds of both searches until the archive last changed.
    stopped_by_ : str
        Name of the limit that ended the search, or "interrupt".
    statistics_ : dict
        Counts of scored families, cache hits and priced variables. "preparation_cut_short" is 1 if the time limit
        shortened the preparation of the table, of which a warning and the metadata of networks name what was cut.
    seed_ : int
        Seed that repeats the run, with ``max_evaluations=n_eval_`` and ``single_evaluations=n_eval_single_`` if a time
        limit or Ctrl-C ended it. It does not repeat a run in which the time limit ended the search of a table with
        missing values, or shortened the preparation of a table of more than 50,000 rows.
    table_, n_candidate_pairs_, feature_names_in_, n_features_in_
        As of `BayesNetLearner`.

    Notes
    -----
    Constant columns become roots with a single level, as in `BayesNetLearner`. An edge of the expert's at such a
    column stays in the expert's network. It does not change a distance, for the column has no information.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from gomea_bn.expert.expert_network import ExpertNetwork
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> frame = pd.DataFrame({"x": x, "y": x + np.random.default_rng(1).normal(scale=0.3, size=300)})
    >>> expert = ExpertNetwork.from_edges([("y", "x")])
    >>> learner = ParetoBayesNetLearner(expert=expert, max_evaluations=2000, random_state=1).fit(frame)
    >>> learner.front_.names
    ('misfit', 'complexity', 'expert_distance')
    >>> len(learner.front_.knee().network.edges)
    1
    """

    @classmethod
    def published(cls, name: str = "EF", **options: Any) -> Self:
        """Return a learner with the settings of the fronts of DBN-GOMEA as published.

        Parameters
        ----------
        name : {"EF", "EW"}
            Bins of equal frequency or equal width, of which the search chooses the number.
        **options
            Other parameters, such as `expert` and `max_seconds`, or values in place of published ones.

        Notes
        -----
        Ha, Alderliesten & Bosman, "Learning discretized Bayesian networks with GOMEA", 2024, Figure 6: at most 9 bins
        and 6 parents, one pseudo-count for every row of a table, and the misfit of the training rows under tables of
        all of them. No search for a single network comes first. The paper has no rule that ends a search: it ends after
        60 s, unless another limit is given.

        Raises
        ------
        GomeaBnError
            For another name.
        """
        check_choice("name", name, tuple(_PUBLISHED_BINS))
        published = {
            "max_bins": 9,
            "max_indegree": 6,
            "pseudo_count": 1.0,
            "misfit": "in-sample",
            "single_share": 0.0,
            "max_seconds": 60.0,
            "patience": None,
        }
        return cls(**{"discretizer": _PUBLISHED_BINS[name], **published, **options})

    def fit(
        self,
        X: pd.DataFrame | Table | NDArray[Any] | str | os.PathLike[str],
        y: object = None,
        *,
        sample_weight: ArrayLike | None = None,
        checkpoint: CheckpointOption = None,
    ) -> Self:
        """Learn a front from a table.

        Parameters
        ----------
        X : DataFrame, Table, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Rows, as of `BayesNetLearner.fit`, but in one table.
        y, sample_weight, checkpoint
            As of `BayesNetLearner.fit`.

        Raises
        ------
        GomeaBnError
            If the table, a weight, the expert's network, the target, an option or a rule is invalid; the message says
            what to do.
            Also for a checkpoint of other data or options.
        """
        limits = limits_of_front(self)
        n_threads = thread_count(self.n_jobs)
        seed = seed_of(self.random_state)
        expert = expert_of(self.expert)
        objectives = objectives_of(self.objectives, expert is not None, self.target)
        clock = FitClock(limits.max_seconds)
        table = table_to_learn(
            X,
            sample_weight,
            kinds=self.kinds,
            missing=self.missing,
            max_levels=self.max_levels,
            groups=self.groups,
            target=self.target,
        )
        shown = check_objectives([shown_objective(o, table, self.target) for o in objectives])
        # wrong options are an error before the search for a single network; a sample shows them as well
        sample = sampled_table(self, table, seed)
        checked = checked_expert(self, sample if expert is None else table, options_of_front(self, table))
        section, seed_of_run = learner_section(self, checkpoint, table, seed, expert=checked)
        compile_front_kernels(**size_of_table(table))
        if seed_of_run != seed:
            seed, sample = seed_of_run, sampled_table(self, table, seed_of_run)
        options = options_of_front(self, sample)
        rows = rows_of_search(columns_of_search(sample, options.shape), options.shape)
        digest = in_background(table_digest, table)
        with spare_threads(n_threads), with_live_table(self.verbose, self.callback) as callback:
            settings = SearchSettings(GOMEA(), limits, seed, n_threads, callback, section)
            searched = searched_front(self, rows, options, settings, objectives, expert, clock=clock)
        section.close()
        problem, single, result = searched.problem, searched.single, searched.result
        if not len(result.X):
            raise GomeaBnError(
                f"No network with at most {problem.front_rules.max_parameters:g} free parameters was found in "
                f"{result.n_eval:,} evaluations.",
                [Setting("max_complexity"), "raise the limits of the search"],
            )
        if sample.n_rows < min(table.n_rows, self.sample_rows):
            result.statistics["preparation_cut_short"] = 1
        # distances are over rows that are drawn in the order of its variables
        self.expert_ = searched.expert
        self.history_: list[FrontHistoryEntry] = result.history
        self.n_eval_single_ = searched.n_eval_single
        self._keep_search(table, problem.n_edge_genes, result, seed, clock.seconds)
        warn_of_cut_short(searched.cut_short)
        if single is not None and searched.position is None:
            warning = GomeaBnWarning(
                f"The single network has {counted(single.n_parameters, 'free parameter')}, more than the limit "
                f"of {problem.front_rules.max_parameters:g}, so the front lacks it.",
                [Setting("max_complexity")],
            )
            give_warning(warning)
        self.front_ = Front(
            shown,
            searched.values,
            FrontNetworks.of(self, searched, digest.result()),
            table=table,
            expert=self.expert_,
            record=front_record(self, searched, objectives, digest.result()),
        )
        return self
