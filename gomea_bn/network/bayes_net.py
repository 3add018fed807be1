"""The class of discretized Bayesian networks: how they are made from rows, what they answer, and how they are shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import MANY_ROWS, ROWS_IN_CACHE, has_gaps
from gomea_bn.data.sources import Rows, source_frame
from gomea_bn.errors import (
    GomeaBnError,
    check_number,
    mapping_in,
    names_in,
    pairs_in,
)
from gomea_bn.lazy import Deferred, offered, pd
from gomea_bn.network import formats
from gomea_bn.network.conditionals.conditionals import (
    around_cuts,
    with_cut,
)
from gomea_bn.network.contents import NetworkParts
from gomea_bn.network.parts import (
    random_generator,
)
from gomea_bn.network.recorded import OF_ROWS
from gomea_bn.network.rows import known_rows
from gomea_bn.network.tables import MOST_FILE_CELLS, MOST_SHOWN_CELLS, PseudoCount
from gomea_bn.runtime.files import written
from gomea_bn.runtime.threads import in_threads

if TYPE_CHECKING:
    import networkx
    import pgmpy.models
    import pyagrum
    from matplotlib.axes import Axes

    from gomea_bn.data.table import Table
    from gomea_bn.network.causal_effect import CausalEffect
    from gomea_bn.network.conditionals.curve import Curve
    from gomea_bn.network.edges import EdgeReasons, EquivalenceClass
    from gomea_bn.network.explanations import Explanation
    from gomea_bn.network.inference import answers
    from gomea_bn.network.inference import engine as engines
    from gomea_bn.network.inference import evidence as findings
    from gomea_bn.network.inference.engine import Seed
    from gomea_bn.network.parts import WithEdges
    from gomea_bn.problems.cuts.shape import Shape
else:
    # a network learns and is written without them
    answers = Deferred("gomea_bn.network.inference.answers")
    engines = Deferred("gomea_bn.network.inference.engine")
    findings = Deferred("gomea_bn.network.inference.evidence")


class DiscretizedBayesNet(NetworkParts):
    """An immutable Bayesian network: a graph with one conditional density per variable, which bins show.

    Bins are (a, b]: a value equal to a cut point belongs to the lower bin; the first bin also holds the minimum.
    Values outside the support belong to the end bins. The density of a row is the product over the variables of
    p(variable | parents).

    A learned network has `conditionals`: for every column tables over one or several sets of cuts, a sum of effects of
    its parents, or a mixture of lines. Densities, draws and answers come from them, and `tables` over the shown bins
    are computed from them. A network without conditionals is its tables: p is P(bin or level | parents), multiplied by
    the density inside the bin for each continuous variable. That is 1 / width of the bin if the variable is uniform
    inside its bins, otherwise the shape's density / the shape's probability of the bin.

    All methods that answer questions read evidence alike. A missing cell (NaN, None, NA) is summed out. A variable of
    dates, durations or times of day takes these, also as text, and may be named as its column, without the unit.

    With `method="exact"` the answers of a network without `conditionals` are exact sums over its tables. Those of a
    learned network come from its conditional densities. An observed number then counts with its exact value and
    density. Unknown continuous variables are summed over cells, up to some 200 per variable, in each of which the
    middle stands for all values as a parent. A line that is narrower than a cell is averaged over it. Every pattern of
    unknown columns has the finest cells that its time allows: .1 milliseconds for a row of a frame, and up to about a
    second for a single question. Where tables would become too large even for the shown bins weighted draws answer:
    16,384 for a row, and 131,072 for a question. With `method="sampling"` answers are estimates from `n_draws` weighted
    draws of exact values per row, of which intervals and weights count by cells.

    Values outside the support, the range of the training rows:

    * A number outside the support counts as the end of the support, and without `conditionals` as the end bin: in
      evidence, in an intervention and in a cell of a frame.
    * An interval outside the support is the whole of its nearest end bin, whether it stands alone, in a set, or with a
      weight.
    * An interval that reaches into the support counts with its part inside.
    * A value that several intervals of a set or of weights hold thereby has the largest of their weights. Their order
      has no effect.

    A warning names the variables and a value or an interval of each that is outside. Densities of such values need no
    warning; values that densities are conditioned on do.

    Parameters
    ----------
    names : sequence of str
        Names of the variables, in column order.
    edges : iterable of (parent, child)
        Pairs of names; the graph must be acyclic.
    cut_points : mapping of str to array-like of shape (n_bins - 1,)
        Inner cut points of every continuous variable in original units, increasing, strictly inside its support. An
        empty sequence means one bin.
    support : mapping of str to (min, max)
        Outer ends of the end bins of every continuous variable, in original units.
    levels : mapping of str to sequence
        Values of every discrete variable: text, numbers or bools.
    tables : mapping of str to array-like of shape (card(parent_1), ..., card(parent_p), card(name))
        P(name | parents), with parents in column order. The last axis sums to 1 within 1e-6. With conditionals
        variables may be left out: their tables are computed when they are asked for.
    shapes : mapping of str to Shape, optional
        Distributions of continuous variables inside their bins, each on the support of its variable: given its bin, a
        variable is distributed as the shape is inside that bin. A variable without an entry is uniform inside its bins.
    conditionals : Conditionals, optional
        Conditional densities; without them the tables are the network.
    counts : mapping of str to array-like, optional
        Number of rows of every cell of the tables of a network without conditionals, so that `update` can add rows.
        They do not count for equality.
    pseudo_count : float or "auto", optional
        Smoothing with which the tables were counted, see `from_table`. It is only recorded; equal networks have equal
        ones.
    value_kinds : mapping of str to ValueKind, optional
        Kinds of the values of variables, such as integers, for rows that are drawn and cells that are filled. They do
        not count for equality.
    metadata : mapping, optional
        Further values that JSON can hold. They do not count for equality.

    Raises
    ------
    GomeaBnError
        For any part that is missing, unknown, of the wrong shape or not a probability; the message names the variable.

    Examples
    --------
    >>> import pandas as pd
    >>> from gomea_bn import DiscretizedBayesNet
    >>> rows = pd.DataFrame({"smokes": ["no", "yes"] * 50, "coughs": ["no", "no", "no", "yes"] * 25})
    >>> network = DiscretizedBayesNet.from_table(rows, [("smokes", "coughs")], {}, pseudo_count=0)
    >>> network.names, network.edges, network.n_parameters
    (('smokes', 'coughs'), [('smokes', 'coughs')], 3)
    """

    @classmethod
    def from_table(
        cls,
        table: Table | pd.DataFrame | str | os.PathLike[str],
        edges: Iterable[tuple[str, str]],
        cut_points: Mapping[str, ArrayLike],
        *,
        pseudo_count: PseudoCount = 1.0,
        shapes: Mapping[str, Shape] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return the network of a graph and bins, with probability tables counted from rows of data.

        The support of a continuous variable is the range of its column. With missing values the table of a variable
        counts the rows in which the variable and all its parents have values. Then a few steps of expectation and
        maximisation follow, in which incomplete rows are drawn from the network given their observed values.

        Parameters
        ----------
        table : Table, DataFrame, or path of a CSV, TSV or Parquet file
            The rows. The columns of a frame or file that have cut points are continuous, all others discrete.
        edges : iterable of (parent, child)
            Pairs of names; the graph must be acyclic.
        cut_points : mapping of str to array-like of shape (n_bins - 1,)
            Inner cut points of every continuous column.
        pseudo_count : float or "auto"
            Smoothing: P(cell) = (n_cell + pseudo_count / card) / (n_row + pseudo_count) for each parent configuration.
            Without rows and with 0 it is uniform. With "auto", P(cell) = (n_cell + amount * base) / (n_row + amount),
            averaged over amounts and over three bases, which are smoothed in the same way: the uniform distribution,
            the marginal of the variable, and its table with one parent fewer. Weights grow with the likelihood of the
            rows, each row left out of the counts; no probability is 0. See `gomea_bn.network.tables`. Where `metadata`
            has "equivalent": true, as of a learned network, tables of discrete columns alone have the means of their
            probabilities under the priors of the default score.
        shapes : mapping of str to Shape, optional
            Distributions of continuous columns inside their bins, for example from `fit_shape`; their ranges must be
            those of the columns.
        metadata : mapping, optional
            Further values that JSON can hold.

        Raises
        ------
        GomeaBnError
            For cut points or edges that do not fit the table, and for probability tables of more than 2**27 cells.
        """
        from gomea_bn.network.counting import counted_network, parts_without_tables, rows_to_count

        rows, edges = rows_to_count(table, cut_points), pairs_in("edges", edges)
        parents, parts = parts_without_tables(
            rows, edges, cut_points, pseudo_count=pseudo_count, shapes=shapes, metadata=metadata
        )
        return counted_network(cls, rows, edges, parents, parts)

    def table(
        self,
        name: str,
        parents: Sequence[str] | None = None,
        *,
        cells: Mapping[str, int | ArrayLike] | None = None,
        max_cells: int = MOST_FILE_CELLS,
    ) -> pd.DataFrame:
        """Return P(name | parents) over bins or levels as a table to read.

        Parameters
        ----------
        name : str
            Name of a variable.
        parents : sequence of str, optional
            Some of its parents, all by default. Others are averaged over the rows that the network has in each cell.
        cells : mapping of str to int or array-like, optional
            Number of cells of equal probability, or inner cuts, of continuous variables in place of their shown bins.
        max_cells : int
            Most cells of the table.

        Returns
        -------
        DataFrame
            One row per combination of the parents, which the index names, and one column per bin or level.

        Raises
        ------
        GomeaBnError
            For unknown variables, names that are not parents, cells that are not inside the range, and a table that
            would be too large.

        Examples
        --------
        >>> import pandas as pd
        >>> from gomea_bn import DiscretizedBayesNet
        >>> rows = pd.DataFrame({"smokes": ["no", "yes"] * 50, "coughs": ["no", "no", "no", "yes"] * 25})
        >>> network = DiscretizedBayesNet.from_table(rows, [("smokes", "coughs")], {}, pseudo_count=0)
        >>> print(network.table("coughs"))
        coughs   no  yes
        smokes
        no      1.0  0.0
        yes     0.5  0.5
        """
        from gomea_bn.network.compilation import chosen_table

        return chosen_table(self, name, parents, cells, max_cells)

    def conditional_density(self, variable: str, given: Mapping[str, object]) -> Curve:
        """Return the density of a continuous variable given all of its parents.

        See `gomea_bn.network.marginals.conditional_density`.
        """
        from gomea_bn.network.marginals import conditional_density

        return conditional_density(self, variable, given)

    def conditional_probabilities(self, variable: str, given: Mapping[str, object]) -> NDArray[np.float64]:
        """Return the probabilities of a discrete variable's levels given all of its parents.

        See `gomea_bn.network.marginals.conditional_probabilities`.
        """
        from gomea_bn.network.marginals import conditional_probabilities

        return conditional_probabilities(self, variable, given)

    def effects(self, name: str) -> pd.DataFrame:
        """Return how a variable goes with each of its parents, on average over the other parents.

        The effect of a parent is the mean of the variable, in its own units, while the parent has one value after
        another and the other parents have those of 500 drawn rows. A discrete variable has the probabilities of its
        levels in place of the mean. The draws have fixed seeds, and the same random numbers for all values. The effects
        say what to expect when a value is seen, not if it were changed.

        Parameters
        ----------
        name : str
            Name of a variable with parents.

        Returns
        -------
        DataFrame
            One row per parent and value, and per level of a discrete variable; the parent with the largest share comes
            first. "parent" and "value": a continuous parent has up to 17 values, most of them its quantiles from 1 to
            99 %, a discrete one has all levels. "level": only of a discrete variable. "mean", or "probability". "low"
            and "high": the ends of the central 80 % of the values of a continuous variable, or of the probabilities of
            a level over the drawn rows. "rows": the share of the drawn rows whose nearest value is this one. "share":
            the variance of the effect over the rows, as a share of the sum over all parents.

        Raises
        ------
        GomeaBnError
            For an unknown variable, and for one without parents.

        Notes
        -----
        This is partial dependence (Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
        Statistics, 2001, section 8.2). It shows a sum of functions of the parents as it is. What parents only do
        together averages out; `column_effects(name).additive` says how much is left.

        Examples
        --------
        >>> import pandas as pd
        >>> from gomea_bn import DiscretizedBayesNet
        >>> rows = pd.DataFrame({"smokes": ["no", "yes"] * 50, "coughs": ["no", "no", "no", "yes"] * 25})
        >>> network = DiscretizedBayesNet.from_table(rows, [("smokes", "coughs")], {}, pseudo_count=0)
        >>> effects = network.effects("coughs")
        >>> effects.loc[effects["level"] == "yes", ["value", "probability"]].values.tolist()
        [['no', 0.0], ['yes', 0.5]]
        """
        return self.column_effects(name).to_frame(self)

    def cut_probabilities(self, variable: str) -> pd.DataFrame:
        """Return how sure every shown cut is, one row per cut.

        Parameters
        ----------
        variable : str
            Name of a continuous variable.

        Returns
        -------
        DataFrame
            Columns `cut`, `low`, `high` and `probability`: the posterior probability that at least one cut lies between
            `low` and `high`, which are half-way to the neighbouring cuts, or at the ends of the range. The graph and
            the bins of all other variables are given.

        Raises
        ------
        GomeaBnError
            For an unknown or discrete variable, and if the probabilities are unknown.
        """
        probabilities = self._known_of_cuts(variable, "cut_probabilities")
        lows, highs = around_cuts(self._cuts[variable], self._support[variable])
        return pd.DataFrame(
            {"cut": self._cuts[variable], "low": lows, "high": highs, "probability": probabilities}
        )

    def cut_intervals(self, variable: str) -> pd.DataFrame:
        """Return where every shown cut lies, one row per cut.

        Parameters
        ----------
        variable : str
            Name of a continuous variable.

        Returns
        -------
        DataFrame
            Columns `cut`, `low` and `high`: the central 90 % interval of the i-th cut under the posterior distribution
            of the cuts of the variable, given their number, the graph and the bins of all other variables, in the units
            of the variable. The ends are half-way between neighbouring candidates. The cuts of the best score need not
            be central, each on its own: an interval is extended to its cut. A cut that a user has fixed has an interval
            of width 0.

        Raises
        ------
        GomeaBnError
            For an unknown or discrete variable, and if the intervals are unknown.
        """
        intervals, cuts = self._known_of_cuts(variable, "cut_intervals"), self._cuts[variable]
        ends = [with_cut(low, high, cut) for (low, high), cut in zip(intervals, cuts, strict=True)]
        return pd.DataFrame(
            {"cut": cuts, **dict(zip(("low", "high"), np.reshape(ends, (-1, 2)).T, strict=True))}
        )

    def score(self, frame: Rows, *, resolution: str = "points", unknown: str = "missing") -> float:
        """Return the mean of `log_density` over the rows, in nats per row; higher is better."""
        log_density = partial(self.log_density, resolution=resolution, unknown="error")
        frame = known_rows(self, source_frame(frame), unknown)
        n_rows = len(frame)
        if n_rows == 0:
            raise GomeaBnError("frame must have at least one row, got none.")
        if n_rows > MANY_ROWS:
            parts = range(0, n_rows, ROWS_IN_CACHE)
            # the message of an error names rows of the whole frame
            with suppress(GomeaBnError):
                sums = in_threads(lambda k: log_density(frame.iloc[k : k + ROWS_IN_CACHE]).sum(), parts)
                return float(np.sum(sums) / n_rows)
        return float(log_density(frame).mean())

    def update(
        self,
        data: pd.DataFrame | Table | str | os.PathLike[str],
        weight: ArrayLike = 1.0,
        forget: float | None = None,
        *,
        unknown: str = "missing",
    ) -> DiscretizedBayesNet:
        """Return a network that has learned from further rows; graph and cuts stay.

        Tables are smoothed as before, from the counts of all rows. Coefficients and scales of lines and curves are
        those of a fit to all rows, with the same functions of the parents, tails, scales of columns and weights
        against the tables. The shape of a column, which kernels smooth, takes the new rows by groups of its pieces, and
        its point masses take them exactly. The support stays: values outside it count as its ends.

        Missing cells are drawn given the others of their row. A row counts for a column if it has a value of the
        column, or of one that depends on it, so that drawn cells alone say nothing. Rows without values do not count.

        Parameters
        ----------
        data : DataFrame, Table, or path of a CSV, TSV or Parquet file
            Further rows with the columns and levels of the network.
        weight : float, or array-like of shape (n_rows,)
            Number of rows that each of them counts for: one above 0 for all, or one per row from 0 on. They sum to at
            most 1e15.
        forget : float, optional
            Number of rows that count for a column after which a row counts half in it, above 0. Rows are in the order
            of time. None forgets nothing.
        unknown
            As of `log_density`.

        Returns
        -------
        DiscretizedBayesNet
            Its tables over the shown bins are computed from drawn rows. It does not know how sure its cuts are, since
            these are those of the former rows.

        Raises
        ------
        GomeaBnError
            For rows that do not fit the columns, for a weight out of range, and for a network that does not
            hold the counts of its rows, such as one of an earlier version.

        Warns
        -----
        GomeaBnWarning
            For rows without values.

        Examples
        --------
        >>> import pandas as pd
        >>> from gomea_bn import DiscretizedBayesNet
        >>> rows = pd.DataFrame({"x": ["a", "a", "b"]})
        >>> network = DiscretizedBayesNet.from_table(rows, [], {})
        >>> updated = network.update(pd.DataFrame({"x": ["b"] * 5}))
        >>> print(updated.tables["x"].round(3))
        [0.278 0.722]
        """
        updated: DiscretizedBayesNet = offered("updated_network")(
            self, data, weight=weight, forget=forget, unknown=unknown
        )
        return updated

    def drift(
        self,
        data: pd.DataFrame | Table | str | os.PathLike[str],
        *,
        level: float = 0.05,
        random_state: Seed = 0,
    ) -> pd.DataFrame:
        """Return whether further rows still follow the network, one row per column.

        Two tests judge a column, and Holm's procedure all columns. The mean of -ln p(column | parents) is compared
        with that of the former rows, each left out of the fit (Welch's test), or with that of drawn rows where it is
        unknown. The numbers of rows in cells of the column are compared with their sums of probabilities by a
        chi-square that allows for the error of the former rows.

        An edge is broken if knowing the parent gains surely less for the rows than for rows drawn from the network, and
        at most half. Not knowing it is having the value of another row.

        Parameters
        ----------
        data : DataFrame, Table, or path of a CSV, TSV or Parquet file
            Rows that the network was not learned from. A family is judged by the rows in which it has no missing cell.
        level : float
            Probability that any column of rows that follow the network counts as drifted, between 0 and 1.
        random_state : int, SeedSequence, Generator or None
            Seed of the draws.

        Returns
        -------
        DataFrame
            By column: `rows`, their number; `log_loss` and `expected`, its mean in nats in these rows and as expected;
            `p_value` of both tests together; `drifted`; `outside`, the share of values outside the support; and
            `broken`, the parents of broken edges as text. The tests need two rows: `p_value` is 1 for a single one.
            Without rows `log_loss` is NaN, and `outside` is 0.

        Raises
        ------
        GomeaBnError
            For rows that do not fit the columns and levels of the network.

        Examples
        --------
        >>> import pandas as pd
        >>> from gomea_bn import DiscretizedBayesNet
        >>> network = DiscretizedBayesNet.from_table(pd.DataFrame({"x": ["a", "b"] * 100}), [], {})
        >>> network.drift(pd.DataFrame({"x": ["a"] * 50 + ["b"] * 10}))["drifted"].tolist()
        [True]
        """
        drifted: pd.DataFrame = offered("drift")(self, data, level=level, random_state=random_state)
        return drifted

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        return str(offered("network_html")(self))

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Self:
        """Return the network of a JSON file, or of JSON text, which begins with a brace."""
        return formats.from_json(source, cls)

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], format: str | None = None, *, restore: bool = True
    ) -> Self:
        """Return the network of a file: JSON, BIF, XDSL, NET or XMLBIF, also compressed by gzip.

        Files that gomea-bn wrote give the names, bins and levels of the network.
        Other files give discrete variables whose levels are the names of the states. Rows of tables that sum to 1
        within 0.01, as in rounded files, are scaled.

        Parameters
        ----------
        path : path
            The file.
        format : {"json", "bif", "xdsl", "net", "xmlbif"}, optional
            Format; by default that of the ending: .json, .bif, .xdsl, .net, or .xmlbif, .bifxml or .xml.
        restore : bool
            Whether files that gomea-bn wrote give the names, bins and levels of the network. Otherwise they are read as
            files of other programs are. JSON files are always restored.

        Raises
        ------
        GomeaBnError
            For a file that cannot be read, is not of the format, or does not describe a network of discrete variables;
            the message names the file, and the line or the variable.
        """
        return formats.network_from_file(path, cls, format, restore=restore)

    def query(
        self,
        targets: str | Sequence[str],
        evidence: Mapping[str, object] | Rows | None = None,
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Seed = None,
        cells: int | str | None = None,
        interval: float | None = None,
    ) -> pd.Series[float] | pd.DataFrame:
        """Return P(targets | evidence) over the bins or levels of one target, or jointly of several targets.

        Parameters
        ----------
        targets : str or sequence of str
            Names of variables.
        evidence : mapping of str to value, or DataFrame, optional
            What is known, by variable. A DataFrame, or another table that is no mapping, asks one question per row;
            its columns may be any of the other variables. A value is one of:

            * a number in original units, or a level; for a variable of dates, durations or times of day also a date,
              datetime, Timestamp, timedelta or time, or their text, such as "2024-12-31" or "13:30"; for a column of
              texts such as "12 mg" also such a text;
            * None, NaN or NA for an unknown value;
            * for a continuous variable an interval, as a pandas Interval or as a pair (low, high), to which both ends
              belong and in which None is infinite, or a set of intervals; an Interval that begins at the smallest
              value contains it, as the first bin does, unless it is closed at neither end;
            * for a discrete variable a set of levels;
            * a mapping of levels or intervals to weights: the likelihood of what was observed given each of them, up to
              a factor. Levels and values that are not named have weight 0. The answer of a query is such a mapping.
        method : {"exact", "sampling"}
            Way to compute the answer.
        n_draws : int
            Number of draws per question of "sampling".
        random_state : int, SeedSequence, Generator or None
            Seed of "sampling".
        cells : int, "bins" or None
            Most cells of an unknown continuous variable, for networks with `conditionals`, or the number of shown bins
            if that is larger. None takes as many as the time of an answer allows. "bins" answers by the tables over
            the shown bins, with evidence by bins, as the HTML page does.
        interval : float, optional
            Probability of intervals, such as .9, of an answer to a single question about one target.

        Returns
        -------
        Series or DataFrame of float64
            Probabilities that sum to 1: a Series for a mapping, a DataFrame with one row per question for a DataFrame.
            Its index, or columns, are an IntervalIndex of the bins, or the levels; a MultiIndex for several targets.
            With "sampling", `attrs["standard_error"]` is the largest standard error of the probabilities, one number
            per question. `attrs["cells"]` is the largest number of cells of an unknown continuous variable, 0 if none
            had to be summed over. A Series also has `attrs["resolution_error"]`, the largest difference of its
            probabilities to the answer over half the cells, NaN if fewer cells than the shown bins would be needed.
            Where draws contradict the cells, or are surer, the answer is the share of 131,072 weighted draws with a
            fixed seed, and has `attrs["standard_error"]` in place of the two. A Series whose network knows rows, see
            `with_rows`, has what they say in `attrs["rows"]`, a dict: in "words", the number of "rows" that satisfy the
            findings (of numbers: that lie in their bins), the number without weights that tells as much, "evidence",
            their "shares" and the probabilities by the "network", and whether it "differs" by more than chance. A
            warning then says so, and from which findings or which missing edge that comes.

            With `interval`, `attrs["interval"]` is a dict with this "probability" and the ends of the intervals, lists
            "low" and "high" in the order of the answer. They hold the probabilities among new rows: tables are unsure
            by their numbers of rows, cells or draws add the error above, and every finding adds the "misfit" of the
            target in a learned network, what graph and bins miss, as a share of sqrt(p (1 - p)). It is None where it is
            not known, as of changed networks; the intervals then take graph and bins as given. Ends are NaN if the
            network does not know its number of rows, and where tables over the shown bins are too large for an answer
            or contradict the findings.

        Raises
        ------
        GomeaBnError
            For unknown names, values or levels, wrong `cells`, evidence of probability 0, exact answers that need
            tables of more than 2**25 numbers, and an `interval` outside 0 to 1, of several targets or of a DataFrame.

        Examples
        --------
        >>> from gomea_bn.simulation.random_networks import random_network
        >>> network = random_network(4, random_state=1)
        >>> print(network.query("X1", {"X2": {"v1", "v2"}, "X3": (0.2, None), "X4": None}).sum().round(6))
        1.0
        """
        is_single = evidence is None or isinstance(evidence, Mapping)
        if not is_single:
            evidence = source_frame(evidence)
        if interval is not None:
            check_number("interval", interval, 0, 1)
            if not is_single:
                raise GomeaBnError("interval is for a single question, not for a DataFrame of them.")
            if len(names_in("targets", targets)) > 1:
                raise GomeaBnError(f"interval is for one target, got {targets!r}.")
        engine = engines.engine_for(self, method, n_draws, random_state, cells, is_single=is_single)
        answer = answers.query(engine, targets, evidence)
        given = (
            []
            if evidence is None
            else [name for name in evidence if not is_single or not findings.is_unknown(evidence[name])]
        )
        named = [targets] if isinstance(targets, str) else list(targets)
        answers.warn_of_base_rates(self, named, given)
        if isinstance(answer, pd.Series):
            observed = {} if evidence is None else dict(evidence)
            answers.note_rows(self, answer, named, observed)
            if interval is not None:
                answers.note_interval(self, answer, named[0], observed, interval)
        return answer

    def most_probable(
        self,
        evidence: Mapping[str, object] | None = None,
        targets: str | Sequence[str] | None = None,
        n: int = 5,
        *,
        cells: int | str | None = None,
    ) -> pd.DataFrame:
        """Return the most probable combinations of bins and levels of several variables, given evidence.

        The most probable combination is not that of the most probable values of each variable. The search is exact for
        the cells of the answer: combinations are extended by one variable after another, and a maximum in the junction
        tree bounds the probability of every extension.

        Parameters
        ----------
        evidence : mapping of str to value, optional
            As of `query`.
        targets : str or sequence of str, optional
            Variables without evidence whose values are wanted, by default all of them. Others are summed out.
        n : int
            Number of combinations.
        cells : int, "bins" or None
            As of `query`.

        Returns
        -------
        DataFrame of at most n rows
            The most probable combination first: a column for every target, of intervals for the shown bins of a
            continuous one and of levels otherwise, and "probability", P(combination | evidence), as the last column.
            Combinations of probability 0 are left out. `attrs["cells"]` is that of `query`.

        Raises
        ------
        GomeaBnError
            For unknown names, values or levels, evidence of probability 0, tables of the junction tree of more than
            2**25 numbers, and a search that would take longer than about half a minute.

        Examples
        --------
        >>> from gomea_bn.simulation.random_networks import random_network
        >>> network = random_network(4, random_state=1)
        >>> print(network.most_probable({"X2": "v1"}, ["X1", "X3"], n=2)["probability"].is_monotonic_decreasing)
        True
        """
        from gomea_bn.network.inference.most_probable import most_probable

        return most_probable(self, evidence, targets, n, cells=cells)

    def explain(
        self,
        target: str,
        evidence: Mapping[str, object] | None = None,
        row: Mapping[str, object] | pd.Series[Any] | None = None,
        *,
        state: object = None,
    ) -> Explanation:
        """Return what an answer about one column rests on: drivers, findings, what to measure next, and sensitivity.

        Parameters
        ----------
        target : str
            Column in question: the mean of a continuous one, or the probability of a level of a discrete one.
        evidence : mapping of str to value, optional
            Findings, as of `query`.
        row : Series or mapping of str to value, optional
            A row of a frame; its cells with values are findings, apart from that of the target.
        state : level, optional
            Level of a discrete target, by default 1, true or yes, or else the rarest one.

        Returns
        -------
        Explanation
            Printed as sentences and tables; see `gomea_bn.network.explanations.Explanation` for its parts.

        Raises
        ------
        GomeaBnError
            For unknown names, values or levels, findings of probability 0 or about the target, and exact answers that
            need tables of more than 2**25 numbers.

        Examples
        --------
        >>> from gomea_bn.simulation.random_networks import random_network
        >>> network = random_network(4, random_state=1)
        >>> explanation = network.explain("X1", {"X2": "v1", "X3": 0.2})
        >>> change = explanation.answer - explanation.baseline
        >>> print(abs(explanation.pushes["shapley"].sum() - change) < 1e-9)
        True
        """
        from gomea_bn.network.explanations import explain

        return explain(self, target, evidence, row, state=state)

    def predict_proba(
        self,
        frame: Rows,
        target: str,
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Seed = None,
        cells: int | str | None = None,
        unknown: str = "missing",
    ) -> pd.DataFrame:
        """Return P(target | the other cells of the row) for every row.

        Parameters
        ----------
        frame : DataFrame, Table, path, or other table
            Rows, as of `read_table`, with columns for the variables but the target. Cells may be missing, as those of
            an absent column are, with a warning; a column of the target and further columns are ignored.
        target : str
            Name of a variable.
        method, n_draws, random_state, cells
            As of `query`.
        unknown
            As of `log_density`.

        Returns
        -------
        DataFrame of shape (n_rows, cardinality), float64
            Columns are an IntervalIndex of the bins, or the levels. `attrs["cells"]` is that of `query`. With several
            unknown cells in a row `attrs["resolution_error"]` is the largest error of a probability of such rows, and
            `attrs["coarse_rows"]` has the positions of rows whose error is above .05, of which a warning tells.
            `attrs["rows"]` is that of `query` for a frame with one row, here and in `predict` and `predict_interval`.

        Raises
        ------
        GomeaBnError
            For rows without any of these columns, rows of probability 0, and exact answers that are too large.
        """
        engine = engines.engine_for(self, method, n_draws, random_state, cells)
        frame = source_frame(frame)
        answer = answers.predict_proba(engine, frame, target, unknown)
        answers.warn_of_base_rates(self, [target], frame.columns)
        answers.note_rows_of_frame(self, answer, target, frame, unknown)
        return answer

    def predict(
        self,
        frame: Rows,
        target: str,
        how: str | None = None,
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Seed = None,
        unknown: str = "missing",
    ) -> pd.Series[Any]:
        """Return one value of the target for every row, given the other cells.

        Parameters
        ----------
        frame, target, method, n_draws, random_state, unknown
            As of `predict_proba`.
        how : {None, "mean", "median", "mode"}
            For a continuous target the mean (also by default), the median, or the median of the most probable bin, in
            original units. For a discrete target None or "mode", the most probable level.

        Returns
        -------
        Series of shape (n_rows,)
            Values of the column's own kind: integers and dates, apart from means, which are not rounded, and a
            categorical with the levels, ordered if those of the column are.
        """
        engine = engines.engine_for(self, method, n_draws, random_state)
        frame = source_frame(frame)
        answer = answers.predict(engine, frame, target, how, unknown)
        answers.warn_of_base_rates(self, [target], frame.columns)
        answers.note_rows_of_frame(self, answer, target, frame, unknown)
        return answer

    def predict_interval(
        self,
        frame: Rows,
        target: str,
        quantiles: Sequence[float] = (0.05, 0.95),
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Seed = None,
        unknown: str = "missing",
    ) -> pd.DataFrame:
        """Return mean, median and quantiles of a continuous target for every row, given the other cells.

        They are those of the mixture of the distributions inside the cells, or bins, that the answer is computed over.

        Parameters
        ----------
        frame, target, method, n_draws, random_state, unknown
            As of `predict_proba`.
        quantiles : sequence of float
            Probabilities from 0 to 1.

        Returns
        -------
        DataFrame of float64
            Columns "mean", "median", and "5%" and so on for the quantiles, in original units.
        """
        engine = engines.engine_for(self, method, n_draws, random_state)
        frame = source_frame(frame)
        answer = answers.predict_interval(engine, frame, target, quantiles, unknown)
        answers.warn_of_base_rates(self, [target], frame.columns)
        answers.note_rows_of_frame(self, answer, target, frame, unknown)
        return answer

    def log_density(
        self,
        frame: Rows,
        of: str | Sequence[str] | None = None,
        given: str | Sequence[str] = (),
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Seed = None,
        resolution: str = "points",
        unknown: str = "missing",
    ) -> NDArray[np.float64]:
        """Return the log density of every row, float64 (n_rows,), in nats, for the original units.

        Continuous variables count with their density, discrete ones with their probability. A value that
        is a point mass of the variable's shape counts with its probability; compare such rows only between networks
        with the same point masses, or with ``resolution="steps"``. A row of probability 0 has -inf. A value outside the
        support has the density of the end bin, so that the density integrates to more than 1; compare networks with the
        same support. Missing cells are summed out, so that the density is that of the other cells.

        Parameters
        ----------
        frame : DataFrame, Table, path, or other table
            Rows, as of `read_table`; columns are matched by name, and further columns are ignored.
        of : str or sequence of str, optional
            Columns whose joint density is wanted; by default all that are not `given`.
        given : str or sequence of str
            Columns to condition on: the answer is ln p(of | given).
        method, n_draws, random_state
            As of `query`. An estimate by sampling warns of standard errors above 0.01 nats.
        resolution : {"points", "steps"}
            Measure of values that are point masses: their probability, or the density of a bin as wide as the
            measuring step of their column, which compares with libraries that know no point masses.
        unknown : {"missing", "nearest", "error"}
            What a level counts as that the network does not know. "missing": a missing cell. "nearest": the nearest
            level, where levels are numbers or those of an ordered categorical; other cells are missing. A warning names
            column, levels and number of rows. "error": an error. Symbols of missing values, such as "NA" and "?", are
            missing cells in any case, unless they are levels.

        Raises
        ------
        GomeaBnError
            For missing columns, infinite values, and rows whose `given` cells have probability 0; the
            message names column and rows. Also for missing cells whose exact density needs tables that are too large.
        """
        frame = known_rows(self, source_frame(frame), unknown)
        if of is None and not given and not has_gaps(frame, self.names):
            from gomea_bn.network.bin_distributions import log_widths_of_points

            total = np.zeros(len(frame), dtype=np.float64)
            for term in self.log_density_terms(frame).values():
                total += term
            return total - log_widths_of_points(self, frame, resolution)
        engine = engines.engine_for(self, method, n_draws, random_state)
        return answers.log_density(engine, frame, of, given, resolution)

    def impute(
        self,
        frame: Rows,
        how: str = "draw",
        *,
        random_state: Seed = None,
        method: str = "exact",
        n_draws: int = 10_000,
        unknown: str = "missing",
    ) -> pd.DataFrame:
        """Return the frame with its missing cells filled, given the observed cells of their rows.

        Parameters
        ----------
        frame : DataFrame, Table, path, or other table
            Rows, as of `read_table`, with a column for every variable. Further columns and observed cells stay as they
            are.
        how : {"draw", "mode", "mean", "joint"}
            "draw" draws all missing cells of a row jointly from their distribution. "mode" fills in the most probable
            level, or the median of the most probable bin, of every cell on its own. "mean" fills in the mean of
            continuous cells, and the most probable level of discrete ones. "joint" takes the most probable combination
            of bins and levels of all missing cells of a row, see `most_probable`, and in a bin its median.
        random_state : int, SeedSequence, Generator or None
            Seed of draws.
        method, n_draws
            As of `query`.
        unknown
            As of `log_density`. Cells with a level that the network does not know stay as they are.

        Returns
        -------
        DataFrame
            A copy. A continuous column with missing cells keeps a nullable type of pandas or Arrow and the type of
            short floats; another one becomes float64, or int64 if its values are integers and "mean" does not fill it.
            A column of dates becomes datetime64.
            A column that had no value at all where the network was learned has the text "(empty)" in its missing cells.

        Raises
        ------
        GomeaBnError
            For absent columns, rows of probability 0, and exact answers that are too large.
        """
        from gomea_bn.network.inference import completion

        generator = random_generator(random_state)
        engine = engines.engine_for(self, method, n_draws, generator)
        return completion.impute(engine, source_frame(frame), how, generator, unknown)

    def do(self, values: Mapping[str, object]) -> DiscretizedBayesNet:
        """Return the network after an intervention that sets variables to values.

        A variable that is set has no parents any more, and its number or level is certain, or its bin in a network
        without `conditionals`; all else stays (Pearl, "Causality", 2009, section 3.2). The answer of `query` to the new
        network is the effect of the intervention only if every edge stands for a cause. Learning from rows does not
        show that: several directions of the same edges describe the rows equally well (`cpdag`). Edges are causal only
        if you say so.

        Parameters
        ----------
        values : mapping of str to value
            Number in original units, date, or level, by variable.

        Returns
        -------
        DiscretizedBayesNet
            `metadata["do"]` names the bins or levels that were set.

        Raises
        ------
        GomeaBnError
            For unknown variables, levels, and values that are not numbers.
        """
        reader, values = findings.EvidenceReader(self), mapping_in("values", values)
        stated = {
            name: reader.value(name, value, f"values['{given}']")
            for name, (given, value) in zip(reader.variables(values, "values"), values.items(), strict=True)
        }
        reader.warn_of_outside({name: of_name.outside for name, of_name in stated.items()})
        if not stated:
            raise GomeaBnError("values must name at least one variable, got none.")
        recorded = self.metadata.get("do")
        labels = dict(recorded) if isinstance(recorded, dict) else {}
        content, known = self._content(), self._conditionals
        content["tables"], content["counts"] = dict(self._tables), None
        for name, of_name in stated.items():
            content["tables"][name] = np.eye(self.cardinality(name))[of_name.code]
            labels[name] = self.bin_labels(name)[of_name.code]
        if known is not None:
            numbers = {
                name: float(of_name.code) if of_name.value is None else reader.inside(name, of_name.value)
                for name, of_name in stated.items()
            }
            content["conditionals"] = known.after_intervention(numbers)
        content["metadata"]["do"] = labels
        for entry in OF_ROWS:
            content["metadata"].pop(entry, None)
        edges = [(parent, child) for parent, child in self.edges if child not in stated]
        return type(self)(self._names, edges, **content)

    def causal_effect(
        self,
        of: str,
        on: str,
        data: pd.DataFrame | Table | str | os.PathLike[str],
        values: Sequence[object] | None = None,
    ) -> CausalEffect:
        """Return what setting one column to other values does to another one, if the arrows are causes.

        Parameters
        ----------
        of, on : str
            Treatment and outcome.
        data : DataFrame, Table or path
            Rows, normally those that the network was learned from. Rows without a value of the treatment, of the
            outcome or of a column that is adjusted for are left out. Beyond 20,000 rows so many random ones count.
        values : pair of values, optional
            Values of the treatment, the one to start from first: numbers, dates or levels. By default the lower and the
            upper quartile of a continuous treatment, and the first level with rows against every other one of at most
            eight.

        Returns
        -------
        CausalEffect
            Printed as a text; see `gomea_bn.network.causal_effect.CausalEffect` for its numbers.

        Raises
        ------
        GomeaBnError
            For unknown variables, an outcome that is a cause of the treatment in the graph, a treatment with one value,
            a treatment that other columns determine, too many levels, and data that the network does not fit.

        Notes
        -----
        The outcome of a row under a value is that which the network expects given the value and the columns of a
        back-door set; its mean over the rows is the answer of `query` to the network of `do`, up to the distribution of
        that set, which is that of the rows. The errors of the network in the rows then correct it, see
        `gomea_bn.network.causal_effect`, so that coarse bins and smoothing of one conditional leave little bias, and
        the spread over the rows gives the interval.

        Examples
        --------
        >>> import pandas as pd
        >>> from gomea_bn import DiscretizedBayesNet
        >>> rows = pd.DataFrame({"smokes": ["no", "yes"] * 50, "coughs": ["no", "no", "no", "yes"] * 25})
        >>> network = DiscretizedBayesNet.from_table(rows, [("smokes", "coughs")], {})
        >>> network.causal_effect("smokes", "coughs", rows).contrasts[["from", "to", "difference"]].round(2)
          from   to  difference
        0   no  yes         0.5
        """
        from gomea_bn.network.causal_effect import causal_effect

        return causal_effect(self, of, on, data, values)

    def cpdag(self) -> EquivalenceClass:
        """Return which edges are compelled and which are reversible.

        Graphs with the same adjacencies and the same v-structures imply the same independences. An edge is compelled if
        all of them have its direction, and reversible otherwise: no number of rows tells its direction.
        """
        from gomea_bn.network.edges import equivalence_class

        return equivalence_class(self)

    def why(
        self, edge: Sequence[str], data: pd.DataFrame | Table | str | os.PathLike[str] | None = None
    ) -> EdgeReasons:
        """Return what an edge is worth: information in nats, the cost of removing it, and its gain on rows.

        Parameters
        ----------
        edge : (parent, child)
            An edge of the network.
        data : DataFrame, Table or path, optional
            Rows, normally those that the network was learned from, for the gain.

        Returns
        -------
        EdgeReasons
            Printed as a text; see `gomea_bn.network.edges.EdgeReasons` for its numbers.

        Raises
        ------
        GomeaBnError
            For an edge that the network does not have, data that it does not fit, and if the distribution of the
            parents cannot be computed exactly.
        """
        from gomea_bn.network.edges import why

        return why(self, edge, data)

    def plot(
        self, *, reference: WithEdges | Iterable[tuple[str, str]] | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw the network in layers and return the axes; see `gomea_bn.plots.plot_network`."""
        axes: Axes = offered("plot_network")(self, reference=reference, ax=ax)
        return axes

    def summary(
        self,
        cut_gains: Mapping[str, NDArray[np.float64]] | None = None,
        *,
        max_table_cells: int = MOST_SHOWN_CELLS,
    ) -> str:
        """Return a text for reading: counts, then bins or levels and parents of every variable, then the edges.

        For a continuous variable the text also says how it is distributed inside its bins, and names its point masses.
        A variable that follows effects of its parents for the most part, or whose table is too large to read, has a
        sentence on them, with the share of each parent (see `effects`).

        Parameters
        ----------
        cut_gains : mapping of str to ndarray of shape (n_bins - 1,), optional
            Nats that every cut gains, by continuous variable, from `gomea_bn.cut_gains`. The text then names them.
        max_table_cells : int
            Largest number of cells of a table that people read, over the shown bins of a variable and all its parents.

        Raises
        ------
        GomeaBnError
            If the gains of a variable are not one per cut.
        """
        return formats.to_text(self, cut_gains, max_table_cells=max_table_cells)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network as JSON text, exact to the last bit; write it to `path` if given."""
        return written(formats.to_json(self), path)

    def to_bif(self, path: str | os.PathLike[str] | None = None, *, max_cells: int = MOST_FILE_CELLS) -> str:
        """Return BIF text; write it to `path` if given. `max_cells` is that of `compiled`."""
        return written(formats.to_bif(self._for_others(max_cells)), path)

    def to_xdsl(self, path: str | os.PathLike[str] | None = None, *, max_cells: int = MOST_FILE_CELLS) -> str:
        """Return XDSL text of GeNIe, drawn in layers; write it to `path` if given. `max_cells` as of `compiled`."""
        network = self._for_others(max_cells)
        return written(formats.to_xdsl(network, offered("node_boxes")(network.names, network.edges)), path)

    def to_net(self, path: str | os.PathLike[str] | None = None, *, max_cells: int = MOST_FILE_CELLS) -> str:
        """Return NET text of HUGIN, drawn in layers; write it to `path` if given. `max_cells` as of `compiled`."""
        network = self._for_others(max_cells)
        return written(formats.to_net(network, offered("node_boxes")(network.names, network.edges)), path)

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the network to a file for another program.

        Parameters
        ----------
        path : path
            The file.
        format : {"json", "bif", "dot", "xdsl", "net"}, optional
            Format; by default that of the ending. The method `to_...` of this name writes it.

        Raises
        ------
        GomeaBnError
            For an unknown format or ending, and if the file cannot be written.
        """
        formats.export(self, path, format)

    def to_dot(self, path: str | os.PathLike[str] | None = None, *, cpdag: bool = False) -> str:
        """Return the graph as Graphviz DOT text; write it to `path` if given.

        With `cpdag` edges whose direction no rows can tell have no arrowhead; see `DiscretizedBayesNet.cpdag`.
        """
        return written(formats.to_dot(self, cpdag=cpdag), path)

    def to_networkx(self) -> networkx.DiGraph:
        """Return the graph as a networkx DiGraph; see `gomea_bn.network.formats.other_libraries.to_networkx`."""
        return formats.to_networkx(self)

    def to_pyagrum(self, *, max_cells: int = MOST_FILE_CELLS) -> pyagrum.BayesNet:
        """Return the network as a pyAgrum BayesNet; see `gomea_bn.network.formats.other_libraries.to_pyagrum`."""
        return formats.to_pyagrum(self._for_others(max_cells))

    def to_pgmpy(self, *, max_cells: int = MOST_FILE_CELLS) -> pgmpy.models.DiscreteBayesianNetwork:
        """Return the network as a pgmpy DiscreteBayesianNetwork, with bins and levels as state names."""
        return formats.to_pgmpy(self._for_others(max_cells))

    def _for_others(self, max_cells: int) -> Self:
        """Return the network as other programs can hold it, with a warning of what it loses."""
        compiled = self.compiled(max_cells)
        if self._conditionals is not None:
            from gomea_bn.network.compilation import warn_of_loss

            warn_of_loss(self, compiled)
        return compiled

    def _known_of_cuts(self, variable: str, what: str) -> NDArray[np.float64]:
        """Return what is known of the shown cuts of a continuous variable."""
        self._position(variable)
        if variable not in self._cuts:
            raise GomeaBnError(f"'{variable}' is discrete; only continuous variables have cuts.")
        known = {} if self._conditionals is None else getattr(self._conditionals, what)
        if variable not in known:
            words = what.replace("cut_", "")
            raise GomeaBnError(f"This network has no {words} of cuts; average_families computes them.")
        return np.asarray(known[variable], np.float64)
