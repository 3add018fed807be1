"""`BayesNetLearner`: learns a discretized Bayesian network from a table in one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from gomea_bn.errors import GomeaBnError, GomeaBnWarning, check_choice, give_warning
from gomea_bn.lazy import offered
from gomea_bn.learning.parameters import FORMER_PATIENCE, NetworkParameters

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from gomea_bn.data.table import Table
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.network.edge_probabilities import EdgeProbabilities
    from gomea_bn.runtime.checkpoints import CheckpointOption


class DensityEstimator(ABC):
    """Scores of rows by what a learner or an ensemble has learned, as of scikit-learn's density estimators."""

    feature_names_in_: NDArray[Any]

    @abstractmethod
    def _judge(self) -> tuple[Any, str]:
        """Return what has `log_density`, and how missing values are treated; raises before `fit`."""

    def score(
        self,
        X: pd.DataFrame | Table | NDArray[Any] | str | os.PathLike[str],
        y: object = None,
        *,
        resolution: str = "points",
    ) -> float:
        """Return the mean log density per row, in nats and the units of the data; higher is better.

        Point masses count with their probability, as in `DiscretizedBayesNet.log_density`. With ``missing="drop"`` it
        is the mean over the rows without missing values. Parameters and errors are those of `score_samples`; `y` is
        present for compatibility with scikit-learn, and ignored.
        """
        import numpy as np

        densities = self.score_samples(X, resolution=resolution)
        complete = densities[~np.isnan(densities)]
        if not len(complete):
            raise GomeaBnError("score needs at least one row without missing values.")
        return float(complete.mean())

    def score_samples(
        self, X: pd.DataFrame | Table | NDArray[Any] | str | os.PathLike[str], *, resolution: str = "points"
    ) -> NDArray[np.float64]:
        """Return the log density of every row, float64 (n_rows,), in nats and the units of the data.

        Parameters
        ----------
        X : DataFrame, Table, path or ndarray
            Rows, as of `fit`.
        resolution : {"points", "steps"}
            Measure of values that are point masses: their probability, or the density of a bin as wide as the
            measuring step of their column, which compares with libraries that know no point masses.

        Raises
        ------
        GomeaBnError
            For missing columns, infinite values and undeclared levels. Missing cells are summed out. With
            ``missing="drop"`` rows with missing or infinite values get nan instead.
        """
        import numpy as np

        from gomea_bn.data.dates import source_name
        from gomea_bn.data.frames import plain_frame
        from gomea_bn.data.sources import source_frame

        judge, missing = self._judge()
        frame = plain_frame(source_frame(X))
        if missing != "drop":
            return np.asarray(judge.log_density(frame, resolution=resolution), np.float64)
        # the names of variables that are dates end in a unit
        names = {*self.feature_names_in_, *map(source_name, self.feature_names_in_)}
        used = frame.iloc[:, [position for position, name in enumerate(frame.columns) if str(name) in names]]
        # a column without values may be one of the network, with a level for missing values
        used = used.iloc[:, np.flatnonzero(used.notna().any())]
        complete = ~used.isin([np.inf, -np.inf]).any(axis=1) & used.notna().all(axis=1)
        densities = np.full(len(frame), np.nan)
        if complete.any():
            rows = np.flatnonzero(complete)
            densities[rows] = judge.log_density(frame.iloc[rows], resolution=resolution)
        return densities


_PUBLISHED_BINS = {"EW": "equal-width", "EF": "equal-frequency", "BD": "bayesian"}


class BayesNetLearner(NetworkParameters, DensityEstimator):
    """Learn the graph and the bins of a discretized Bayesian network together, with DBN-GOMEA.

    Parameters
    ----------
    discretizer : str or Discretizer
        Method that cuts the ranges of continuous variables into bins. "optimal": the search computes exact best cuts
        of good networks by dynamic programming and recombines them like edges. "equal-frequency" or "equal-width":
        the search chooses the number of bins. Any other discretizer, by name ("bayesian", "mdl", "latent", "mgcd",
        "k-means") or as an object: it repeatedly proposes cuts for the best network so far, and the search chooses
        between these and equal frequency by the score; see Notes.
    scoring_method : str or None
        Score of a network: "density-bic" or "density-bd" for any columns; "bdeu", "bic", "k2" or "aic" for discrete
        columns only. None: "density-bd" for "optimal", otherwise "density-bic"; with the shape "uniform" also for
        discrete columns alone.
    penalty : {"bic", "literal", "aic"} or float
        Nats per free parameter under "density-bic": (ln n)/2, ln(n/2) as printed in the paper, 1, or a number.
    prior : {"dirichlet", "bdeu"}
        Prior of "density-bd": Dirichlet, or BDeu. "optimal" cannot price cuts under BDeu. Dirichlet priors of tables
        with bins have the column's own distribution as their mean, and those of discrete columns alone are BDeu priors
        of several sizes; with the shape "uniform" there is one pseudo-count per cell.
    equivalent_sample_size : float
        Equivalent sample size of the BDeu prior, in rows.
    cut_cost : float
        Cost of a chosen cut under "density-bd", as a multiple of ln(distinct values - 1) nats.
    edge_cost : float
        Cost of an edge under "density-bd", as a multiple of ln(varying columns - 1) nats, of at least ten columns under
        the default score. Without it, tables with few rows and many columns yield edges between independent variables.
        Under the default score the edges that a search finds change it. Where they are more than half as many as
        columns an edge costs ln(pairs / edges), down to half as much, and where they are fewer ln(pairs / (edges + 1)),
        which is more. Up to four columns that vary keep the first cost. A network has the multiple in its metadata.
    cut_points : mapping of str to iterable of float, optional
        Inner cuts, in the units of the data, of variables whose bins are fixed.
    max_bins : int or "auto"
        Largest number of bins of a continuous variable, at least 2. "auto": 1.5 times the cube root of the number of
        rows, from 10 to 60. Proposed cuts into more bins are ignored, with a warning.
    min_width : float
        Smallest width of an "optimal" bin that is uniform inside, as a fraction of the range of the column. Bins that
        have the shape of their column may be narrower, since only the order of the values decides their cuts.
    min_bin_count : int
        Smallest number of rows in an "optimal" bin.
    max_indegree : int, "auto" or None
        Largest number of parents of a variable. "auto": log2 of the number of rows minus 2, from 3 to 12. None: no
        limit.
    knowledge : ExpertKnowledge, optional
        Required and forbidden edges, tiers, and limits that the network must respect.
    pseudo_count : float or "auto"
        Number of rows added to every table row (one parent configuration), spread evenly over its cells. "auto": the
        data choose the amount and the direction of smoothing for every table; see `DiscretizedBayesNet.from_table`.
        Under the default score a table of discrete columns alone then has the means of its probabilities given the
        rows.
    kinds : mapping of str to {"continuous", "discrete"}, optional
        Kinds of columns that replace the inferred ones.
    missing : {"available", "error", "drop"}
        How to treat missing values. "available": where at least four fifths of the rows are complete, the default
        search uses these alone; otherwise the score of every variable and its parents uses the rows in which these are
        not missing, see Notes. Probability tables use all such rows, and infinite values are an error. "error" raises,
        and "drop" drops rows with missing or infinite values.
    max_levels : int
        Largest number of levels of a discrete column.
    groups : str, optional
        Column that names the group of every row, such as a person, a site or a panel, whose rows are no independent
        observations. They count together as evidence, and are left out, drawn and held out together; see Notes. The
        column is no variable, unless `kinds` names it. A `Table` has the column, or the groups of `read_table`.
    algorithm : GOMEA, optional
        Settings of the search.
    max_candidates : int, "auto" or None
        Number of candidate neighbours per variable, taken from each of two rankings: marginal dependence, and
        dependence given other parents. A pair stays if either variable ranks the other, or if an edge is required.
        None: no limit. "auto": no limit up to 100 variables, otherwise 10, which helps short searches and hurts long
        ones. In tables of discrete columns "auto" also takes the pairs that short local searches join.
    initial_indegree : float
        Mean number of parents in the random initial networks.
    random_repair : bool
        Whether cycles are broken in random order. Otherwise they are broken in column order, as in the published code.
    shape : {"auto", "uniform", "marginal"}
        Distribution of a continuous variable inside its bins: "uniform" as published, or "marginal", with the shape of
        its own distribution, which is fitted once. "auto": the search chooses for every variable by the score. A
        column with a point mass, a value of at least a tenth of the rows and of five times as many as the values around
        it, is never uniform under "auto": the probability of the point does not compare with the density of a uniform
        bin.
    curves : {"auto", "none"}
        Whether the search may also score a continuous column as a sum of smooth curves of its parents, and of products
        of curves of two parents, where that is better than its table. The column may be an increasing function of such
        a sum, and its noise may have heavy tails, or a width that follows the parents. Curves need fewer rows than
        tables to show that several parents matter, and unlike bins they take all of a parent's influence away, so that
        its own parents get no false edges. A discrete column may be a logit of such curves, and a count have such a sum
        as the logarithm of its mean. Only with "optimal" cuts, "density-bd" and a shape other than "uniform". See
        Notes.
    target : str, optional
        Column that the network is to predict, of at most twelve levels, or a number. Its parents are those under which
        left-out rows lose least, and all other columns follow the score; see Notes. It needs the density "averaged" and
        a table that is searched as a whole.
    duration : str, optional
        Column of the times until the event that `target` names, which is 1 where the event came and 0 where the time
        was censored. The target is then the event within `horizon`, and rows count by the inverse probability of not
        being censored before; see Notes. The column is no variable of the network.
    horizon : float, optional
        Time up to which events count. By default the latest time of an event before which at most half of the rows
        would be censored if there were no events, and after which at least a tenth of the rows is observed.
    density : {"averaged", "bins"}
        Conditional densities of the network. "averaged": a column follows tables over one or several sets of cuts, a
        sum of effects of its parents, or a mixture of lines, see `gomea_bn.average_families`. "bins": the tables over
        the shown bins alone, counted from the rows.
    line : {"auto", "single", "none"}
        Whether columns may follow effects of their parents, or mixtures of lines, under the density "averaged".
        "single": no mixtures. "none": tables alone.
    prefer : {"simple", "density"}
        "simple": of networks whose density of left-out rows is within one standard error of that of the best one, the
        network with the fewest edges, under the default score of tables with continuous columns alone and without
        missing values; and of tables, effects and mixtures, what the score chose, unless left-out rows gain more than a
        nat for every further number of another choice. "density": the network with the best score, and what left-out
        rows are likeliest under.
    sample_rows : int
        Number of rows, at least 1,000, beyond which a sample of that size is searched; see Notes.
    scheduler : str, optional
        Address of a Dask scheduler whose workers count the rows of a table in pieces.
    max_seconds : float or None
        Time limit in seconds of the whole fit, where it must not take longer; compilation does not count. None: the fit
        ends when the search is done, see `patience`. Under a limit the search ends early enough for what follows it, by
        a prediction from rows and columns, but leaves at most half of the limit. The preparation of columns may take
        half of it, and what follows is cut short where the time is still too short, both in the order that Notes give.
        The search has at least a hundredth of the limit. A fit with curves and without a target learns from at most
        15,000 values per second of the limit, 50,000 without effects, those of at least 1,000 rows that are drawn as
        for `sample_rows`: a search of some rows that ends is better than one of all rows that does not. In memory it
        limits the improvement over all rows too: the search on the sample leaves what that needs, at most half of it.
        Of a table in pieces the readings of all its rows do not count.
    max_evaluations, max_generations : int, optional
        Limits on the number of evaluated networks (exact), and on the number of generations over all populations.
    patience : float, "auto" or None
        When the search ends by its work, and so with the same network on every machine, however busy. "auto": when it
        is done, that is when about twice the work has hardly raised the score, see Notes; with
        `max_evaluations` or `max_generations`, which state the work, 10. A number: when the number of evaluations
        exceeds this multiple of the number that the best network took, and 1,000 per gene. Genes are the pairs of
        columns that may be joined, and the columns with a choice of bins. None: never.
    n_jobs : int or None
        Number of threads: None is 1, -1 is all cores. The result does not depend on it.
    random_state : int, numpy Generator, RandomState or None
        Seed of the search.
    callback : callable, optional
        Function that receives a `Progress` after every generation, and after every local search of many columns that
        comes before them; a true return value stops the search.
    verbose : bool
        Whether to show a live table; nothing is shown if standard error is not a terminal.

    Attributes
    ----------
    network_ : DiscretizedBayesNet
        Learned network. It lacks edges of variables with a single bin, which are void, unless they are required.
    score_ : float
        Score of the network in nats, with every continuous column scaled to [0, 1]; higher is better. It is that of the
        rows that were searched, whose number is in the metadata ("rows_searched") if it is not that of all rows.
    table_ : Table
        Rows that the network was learned from; the sample of a table in pieces.
    history_ : list of HistoryEntry
        All improvements of the best network; their objectives are minus the score.
    n_eval_, n_eval_full_, n_generations_ : int, float, int
        Number of evaluations, of equivalent full evaluations, and of generations.
    fit_seconds_, time_to_best_ : float
        Seconds of the whole fit apart from compilation, and seconds of the search until it found the best network.
    stopped_by_ : str
        What ended the search: "done", or the name of a limit, or "interrupt". "max_seconds" is also the first entry of
        ``network_.metadata["cut_short"]``, as "the search", and the summary says it.
    statistics_ : dict
        Counts of scored families, cache hits and priced variables. With "optimal" cuts and shapes also the number of
        stages, see Notes. With a discretizer also the number of rounds, of
        its runs, of its runs that the time limit cut short, and of cuts that entered a library.
        "preparation_cut_short" is 1 if the time limit shortened the preparation of the table or its sample,
        "improvement_cut_short" if the limit or Ctrl-C ended the improvement over all rows, "conclusion_cut_short" if
        the limit cut short what follows the search.
    n_candidate_pairs_ : int
        Number of pairs of variables that the search could join.
    seed_ : int
        Seed that repeats the run, with ``max_evaluations=n_eval_`` if a time limit or Ctrl-C ended it. It does not
        repeat a run in which the time limit cut a discretizer short, ended the search of a table with missing
        values; nor one with "preparation_cut_short", "improvement_cut_short" or "conclusion_cut_short".
    feature_names_in_ : ndarray of str
        Names of the columns.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    With "optimal" cuts and shapes the search begins with local searches over parent sets, in turn with the best cuts of
    every variable. Each family that they score counts as an evaluation. Then it takes turns between graphs with given
    cuts, and graphs together with cuts. All limits apply to local searches and stages together. `patience` and its
    least number of 1,000 per gene count 64 evaluations of graphs with given cuts as one, and are compared at the end of
    every stage. The first stage has 20 evaluations per gene, at least 500; the stage over graphs after it has 64 times
    as many, and every pair of stages twice as many as the pair before.

    Under the patience "auto" the first stage has at most 10,000 evaluations. With curves it has at most 2,000, and a
    stage over graphs has as many as the stage before it.
    A pair of stages is about as much work as all pairs before it, and the search is done after the first pair that
    raised the score by less than a nat, or a thousandth of a nat a row if that is more. Other searches have no stages,
    and are done when the number of their evaluations has doubled with less than that gain, from 320 per gene on. See
    "What ends a search" in docs/decisions.md.

    With `curves` the graph is learned from tables and curves together. If some columns follow curves, cuts are chosen
    for the score by tables alone after the search. A column that follows curves then has table parents, those of its
    parents that raise this score. Every column with an edge gets at least two bins if its limits allow them, and
    columns in families with curves get at most six. `score_` is that of the search. ``network_.metadata["curves"]`` has
    the columns that follow curves, with their table parents and the nats by which curves are better than the tables of
    these. The conditionals of ``density="averaged"`` follow the curves. A column in which point masses have some rows
    and a density has others follows no curves.

    Of a table of more than `sample_rows` rows, in memory or in pieces, a sample is searched. The network is then
    improved over all rows: edges and optimal cuts change one at a time where that raises the score. Its tables count
    all rows, and `score_` is that over all rows. A column that follows curves keeps its parents, and columns in
    families with curves keep their cuts; the gain of curves in `score_` is that of the sample in proportion. Where cuts
    are not optimal, or the score is not "density-bd", they stay too. ``network_.metadata["all_rows"]`` has what was
    done.

    In a table of discrete columns or coarse values, which several rows share, frequencies are repeats: everything is as
    if the rows stood that number of times in the table, which `table_` then is. Otherwise repeats would look like
    evidence about exact values, and a row is searched with a probability in proportion to its weight: `table_` has
    these rows, each once, as many as the weights are worth (the square of their sum over the sum of their squares,
    Kish 1965). Tables, shapes and curves then count all rows by their weights, as `DiscretizedBayesNet.update` does,
    and ``network_.metadata["weights"]`` has the numbers of all rows and of those searched. `score_` is that of the rows
    searched.

    Under "density-bd" with "optimal" cuts, the Dirichlet prior and a shape other than "uniform", tables in memory with
    continuous columns are searched without copies: of k equal rows 1 + (k - 1) c are evidence, where c is the share of
    equal pairs that chance explains. Rows whose numbers are all missing or one frequent value, such as 0, are no
    sign of copies, and are evidence in proportion to the other rows. Tables, shapes and curves then count all rows.
    ``network_.metadata["copies"]`` has the number of rows and of those that are evidence, and `score_` is of the
    latter. With weights every row counts as they say. Of networks of complete tables whose left-out density
    is within one standard error of that of the best score, the one with the fewest edges is then kept (`prefer`);
    ``network_.metadata["left_out_edges"]`` has the edges that go, and what they add. `score_` is that of the network,
    and the last entry of `history_` that of the best one.

    With `groups` a part of the rows of every group is searched, drawn at random: one, or where rows of a group are
    hardly more alike than others as many as raise the variance of the association of any two columns by at most a
    tenth, by their intraclass correlations. So every row that is searched is an observation of its own: scores,
    left-out densities, the choice of edges, the posterior of edges over `table_` and ensembles count groups, not rows.
    Rows that hold the ends of columns are drawn first. Tables, shapes and curves then count all rows alike, with the
    number of rows searched as their sum. ``network_.metadata["groups"]`` has the column and the numbers of groups, of
    all rows and of those searched. Groups and weights exclude each other, and tables in pieces have no groups.

    The search leaves a `target` without parents, apart from required ones, and it leads to those columns alone that the
    knowledge allows to follow it and not to precede it. After the densities of all columns its parents are chosen: all
    columns that may be parents have effects, lines and curves of numbers and amounts of levels, with normal priors,
    whose widths are those under which left-out rows lose least, to first order (Rad & Maleki, "A scalable estimate of
    the out-of-sample error", 2020). Parents leave one after another, always the one that is needed least; of 20 or more
    a tenth leaves at a time. The set of least loss stays. A target of levels follows their logit, multinomial for more
    than two levels, in which at most ten pairs of parents may have products of their lines, curves and amounts: one
    after another, each with a gain for left-out rows above that of the best of all pairs by chance. The logit has the
    average probabilities over the posterior of its effects, unless left-out rows lose less by the likeliest effects, by
    more than a standard error, and is that of the searched rows where these are not all rows. A number follows what a
    column with these parents does. An explicit `max_indegree` limits the parents, "auto" does not. The choice follows
    the search, as densities do, and ends by its work, in proportion to the cells of the table. ``network_.metadata``
    has the "target", and in "parents" what each of them adds for left-out rows, in nats. `score_` is that of the
    search.

    With a `duration`, rows that were censored before `horizon` are left out: nobody knows their outcome. Others have
    weights, 1 / G(t), where G(t) is the Kaplan-Meier estimate of the probability not to be censored before t, the time
    of the event or else the horizon (Robins & Rotnitzky, "Recovery of information and adjustment for dependent
    censoring using surrogate markers", 1992). The share of events by weight is then one minus the Kaplan-Meier
    estimate of the survival. That holds if censoring does not depend on what the columns say of the event. The weights
    are importances, as above, and the time itself is left out. ``network_.metadata["censoring"]`` has the horizon, the
    numbers of rows, of events and of rows that were left out, and the largest weight.

    Last, the network is compared with the rows, of a table in pieces with those of the sample: the probabilities of all
    pairs of columns over the shown bins, from drawn rows. ``network_.checks`` has the pairs that are off. Networks with
    ``density="bins"`` are not compared.

    Where `max_seconds` is short for the preparation, shapes of columns are quick ones after two fifths of its time, and
    after all of it there are no further first cuts, curves in the search and fine bins to begin with, and pairs of many
    columns are chosen on few rows. Where it is short for what follows the search, this goes first: mixtures of lines,
    odds of cells, the judgement of edges by left-out rows, effects fitted to copies of rows, shown cuts better than
    those of the search, how sure cuts are, the comparison with the rows (5,000 draws stay), sets of cuts next to the
    shown ones, draws for missing cells by the densities of single rows, the choice of the parents of the target (from
    fewer rows and columns, or without its last steps), rows of effects (4,000 stay) and effects of columns, of those
    first that gain least by them. Tables and parents of the target are always learned.
    ``network_.metadata["cut_short"]``, the summary and a warning name what was cut
    short. A limit that is not reached changes nothing.

    With missing values, and fewer complete rows than four fifths, the score of a variable and its parents is a sum of
    gains. The parent that gains least, given
    the other parents, on the rows in which the variable and all its parents have values, is removed; then the next one,
    until none is left. Every gain is the score with the parent minus the score without it on the same rows, and counts
    as often as there are rows in the table per row used. The score of the variable without parents is added. So no two
    sets of rows are compared to decide on a parent, as node-averages do (Balov 2013; Bodewes and Scutari 2021), and
    the price of a parent grows as the rows that have it become fewer. Values may be missing completely at random, or
    dependent on columns in the same family. Without missing values the score is the usual one.

    Further searches follow on rows that draws complete. If cuts are priced, three fifths of the limits stay for three
    of them, each for graph and cuts on a table that the network before it completes (structural EM: Friedman 1998). Of
    the four networks, the one whose observed values are likeliest is kept, less 1 nat per free probability and ln n per
    cut. With curves one such search is followed by up to four with curves: on the complete rows, if there are at least
    100 and ten per column, and on tables that the conditionals of the best network so far complete. The network whose
    observed values are likeliest under its conditionals is kept; `score_` is then that of the table it was found on,
    and of complete rows times the number of all rows per complete one.
    Otherwise a quarter of the limits, at most 10,000 evaluations or 100 per pair of columns, stays for two short
    searches over graphs. The first finds a graph with many edges; draws from its network complete the rows.
    The second finds the graph that scores best by expected counts, so that all families are compared on the same rows.
    What a parent costs there is multiplied by the fourth root of the number of all rows
    per row in which the family was observed. `score_` is the score of this graph on available cases, and may be lower
    than the last entry of `history_`.

    A constant column becomes a root with a single level: it has no edges, and `log_density` refuses rows with another
    value in it. `gomea_bn.read_table` warns of such columns.

    With a discretizer the search starts with cuts of equal frequency. The discretizer is fitted to the best network
    after 4 evaluations per gene, whenever the number of evaluations has doubled, and when `patience` ends a round. New
    cuts enter the libraries of cuts. Then a new round of the search starts from the best network, and from its graph
    with all proposed cuts. All counts, and all limits but `patience`, apply to the rounds together, and the time of
    the discretizer counts; `patience` restarts in every round. If the discretizer's first run exceeds a third of the
    remaining time, it is stopped and its best cuts so far are used; the same limit then applies to later runs.
    Otherwise a run that the time limit interrupts is discarded. Bins narrower than 1/1000 of the range of a column
    merge with a neighbour. The score never decreases from round to round.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.random.default_rng(0).normal(size=500)
    >>> frame = pd.DataFrame({"x": x, "y": x + np.random.default_rng(1).normal(scale=0.3, size=500)})
    >>> learner = BayesNetLearner(max_evaluations=2000, random_state=1).fit(frame)
    >>> len(learner.network_.edges)
    1
    """

    @classmethod
    def published(cls, name: str, **options: Any) -> Self:
        """Return a learner with the settings of DBN-GOMEA as published.

        Parameters
        ----------
        name : {"EW", "EF", "BD"}
            Bins of equal width or equal frequency, of which the search chooses the number, or the bins of
            `BayesianDiscretizer`.
        **options
            Other parameters, such as `max_seconds` and `random_state`, or values in place of published ones.

        Notes
        -----
        Ha, Alderliesten & Bosman, "Learning discretized Bayesian networks with GOMEA", 2024: at most 15 bins that are
        uniform inside and 6 parents, one pseudo-count for every row of a table, and the density-bic score.

        Raises
        ------
        GomeaBnError
            For another name.
        """
        check_choice("name", name, tuple(_PUBLISHED_BINS))
        published = {
            "density": "bins",
            "shape": "uniform",
            "max_bins": 15,
            "max_indegree": 6,
            "pseudo_count": 1.0,
            "max_seconds": 60.0,
            "patience": FORMER_PATIENCE,
        }
        return cls(**{"discretizer": _PUBLISHED_BINS[name], **published, **options})

    def fit(
        self,
        X: pd.DataFrame | Sequence[pd.DataFrame] | Table | NDArray[Any] | str | os.PathLike[str],
        y: object = None,
        *,
        sample_weight: ArrayLike | None = None,
        start: DiscretizedBayesNet | None = None,
        checkpoint: CheckpointOption = None,
    ) -> Self:
        """Learn a network from a table.

        Parameters
        ----------
        X : DataFrame, Table, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Rows; never changed. The columns of an array are named x0, x1, ... A `Table` keeps its levels:
            `max_levels` does not apply to it. A folder or a pattern of Parquet and Arrow files, a Dask dataframe, or
            a list of frames is a table in pieces, which need not fit into memory.
        y : ignored
            Present for compatibility with scikit-learn; pass a class as a column of X.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on. Whole ones are frequencies: the numbers of times that rows were observed.
            Others are importances and are scaled to a mean of 1; divide whole weights by their mean where they are
            importances. See Notes. Tables in pieces have none.
        start : DiscretizedBayesNet, optional
            Network from whose graph and cuts the search begins, such as one that was learned from former rows. Its
            columns that the table lacks and edges that rules and limits exclude are left out, with a warning.
        checkpoint : Checkpoint or path, optional
            Folder for checkpoints, from which a run that was killed can go on; see `gomea_bn.Checkpoint`.

        Raises
        ------
        GomeaBnError
            If the table, an option or a rule is invalid; the message says what to do. Also for a checkpoint of other
            data or options, and for a `start` that shares no column with the table.
        """
        from gomea_bn.learning.fit import fit_network

        fit_network(self, X, sample_weight, start, checkpoint)
        return self

    def edge_probabilities(self, **options: Any) -> EdgeProbabilities:
        """Return the posterior probabilities of edges over the bins of the learned network, under its score.

        Of a table in pieces the rows of the sample count, and a warning says so.

        Parameters
        ----------
        **options
            Options of `gomea_bn.certainty.edge_probabilities`. By default the rules about edges, the equivalent
            sample size and the number of threads are those of the learner.

        Raises
        ------
        GomeaBnError
            As `gomea_bn.certainty.edge_probabilities`.
        """
        defaults = {
            "knowledge": self.knowledge,
            "equivalent_sample_size": self.equivalent_sample_size,
            "n_jobs": self.n_jobs,
        }
        network = self._fitted()
        of_all = network.metadata.get("all_rows", {}).get("n_rows", 0)
        if self.table_.n_rows < of_all:
            of_sample = f"of the sample, {self.table_.n_rows:,} of {of_all:,} rows"
            give_warning(
                GomeaBnWarning(
                    f"The probabilities of edges are those {of_sample}; all rows would make them surer.",
                    ["raise sample_rows", "give more rows to gomea_bn.certainty.edge_probabilities"],
                )
            )
        probabilities: EdgeProbabilities = offered("edge_probabilities")(
            network, self.table_, **{**defaults, **options}
        )
        return probabilities

    def _judge(self) -> tuple[Any, str]:
        return self._fitted(), self.missing

    def sample(self, n_samples: int = 1, random_state: Any = None) -> pd.DataFrame:
        """Return `n_samples` rows drawn from the learned network."""
        return self._fitted().sample(n_samples, random_state)

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        from gomea_bn.plots.html import learner_html

        return learner_html(self)

    def _fitted(self) -> DiscretizedBayesNet:
        if not hasattr(self, "network_"):
            raise GomeaBnError(
                f"This {type(self).__name__} has not learned a network yet; call fit(frame) first."
            )
        return self.network_
