"""Methods that answer questions to a network: inference, prediction, missing cells, interventions, its graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from gomea_bn.data.table import Table
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.network.edges.equivalence import EquivalenceClass
    from gomea_bn.network.edges.reasons import EdgeReasons
    from gomea_bn.network.explanations import Explanation
    from gomea_bn.network.protocol import NetworkLike

    Seed = int | np.random.SeedSequence | np.random.Generator | None

__all__ = ["Questions"]


class Questions:
    """Methods of `DiscretizedBayesNet` whose modules are imported when they are called.

    All of them read evidence alike. A missing cell (NaN, None, NA) is summed out. A variable of dates, durations or
    times of day takes these, also as text, and may be named as its column, without the unit.

    With `method="exact"` the answers of a network without `conditionals` are exact sums over its tables. Those of a
    learned network come from its conditional densities. An observed number then counts with its exact value and
    density. Unknown continuous variables are summed over cells, up to some 200 per variable, in each of which the
    middle stands for all values as a parent. A line that is narrower than a cell is averaged over it. Every pattern of
    unknown columns has the finest cells that its time allows: .1 milliseconds for a row of a frame, and up to about a
    second for a single question. A network whose tables would become too large even for the shown bins is refused, with
    their size. With `method="sampling"` answers are estimates from `n_draws` weighted draws of exact values per row, of
    which intervals and weights count by cells.

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
    """

    __slots__ = ()

    def query(
        self: NetworkLike,
        targets: str | Sequence[str],
        evidence: Mapping[str, object] | pd.DataFrame | None = None,
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Seed = None,
        cells: int | str | None = None,
    ) -> pd.Series[float] | pd.DataFrame:
        """Return P(targets | evidence) over the bins or levels of one target, or jointly of several targets.

        Parameters
        ----------
        targets : str or sequence of str
            Names of variables.
        evidence : mapping of str to value, or DataFrame, optional
            What is known, by variable. A DataFrame asks one question per row; its columns may be any of the other
            variables. A value is one of:

            * a number in original units, or a level; for a variable of dates, durations or times of day also a date,
              datetime, Timestamp, timedelta or time, or their text, such as "2024-12-31" or "13:30";
            * None, NaN or NA for an unknown value;
            * for a continuous variable an interval, as a pandas Interval or as a pair (low, high), in which None is
              infinite, or a set of intervals;
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

        Returns
        -------
        Series or DataFrame of float64
            Probabilities that sum to 1: a Series for a mapping, a DataFrame with one row per question for a DataFrame.
            Its index, or columns, are an IntervalIndex of the bins, or the levels; a MultiIndex for several targets.
            With "sampling", `attrs["standard_error"]` is the largest standard error of the probabilities, one number
            per question. `attrs["cells"]` is the largest number of cells of an unknown continuous variable, 0 if none
            had to be summed over. A Series also has `attrs["resolution_error"]`, the largest difference of its
            probabilities to the answer over half the cells, NaN if fewer cells than the shown bins would be needed.

        Raises
        ------
        GomeaBnError
            For unknown names, values or levels, wrong `cells`, evidence of probability 0, and exact answers that need
            tables of more than 2**25 numbers.

        Examples
        --------
        >>> from gomea_bn.simulation.random_networks import random_network
        >>> network = random_network(4, random_state=1)
        >>> print(network.query("X1", {"X2": {"v1", "v2"}, "X3": (0.2, None), "X4": None}).sum().round(6))
        1.0
        """
        from gomea_bn.network.inference.answers import query

        return query(
            self, targets, evidence, method=method, n_draws=n_draws, random_state=random_state, cells=cells
        )

    def most_probable(
        self: NetworkLike,
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
        self: NetworkLike,
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
            Level of a discrete target, by default the most probable one given the findings.

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
        self: NetworkLike,
        frame: pd.DataFrame,
        target: str,
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Seed = None,
        cells: int | str | None = None,
    ) -> pd.DataFrame:
        """Return P(target | the other cells of the row) for every row.

        Parameters
        ----------
        frame : DataFrame
            Rows with a column for every variable but the target. Cells may be missing; a column of the target and
            further columns are ignored.
        target : str
            Name of a variable.
        method, n_draws, random_state, cells
            As of `query`.

        Returns
        -------
        DataFrame of shape (n_rows, cardinality), float64
            Columns are an IntervalIndex of the bins, or the levels. `attrs["cells"]` is that of `query`.

        Raises
        ------
        GomeaBnError
            For absent columns, unknown levels, rows of probability 0, and exact answers that are too large.
        """
        from gomea_bn.network.inference.answers import predict_proba

        return predict_proba(
            self, frame, target, method=method, n_draws=n_draws, random_state=random_state, cells=cells
        )

    def predict(
        self: NetworkLike,
        frame: pd.DataFrame,
        target: str,
        how: str | None = None,
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Seed = None,
    ) -> pd.Series[Any]:
        """Return one value of the target for every row, given the other cells.

        Parameters
        ----------
        frame, target, method, n_draws, random_state
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
        from gomea_bn.network.inference.answers import predict

        return predict(self, frame, target, how, method=method, n_draws=n_draws, random_state=random_state)

    def predict_interval(
        self: NetworkLike,
        frame: pd.DataFrame,
        target: str,
        quantiles: Sequence[float] = (0.05, 0.95),
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Seed = None,
    ) -> pd.DataFrame:
        """Return mean, median and quantiles of a continuous target for every row, given the other cells.

        They are those of the mixture of the distributions inside the cells, or bins, that the answer is computed over.

        Parameters
        ----------
        frame, target, method, n_draws, random_state
            As of `predict_proba`.
        quantiles : sequence of float
            Probabilities from 0 to 1.

        Returns
        -------
        DataFrame of float64
            Columns "mean", "median", and "5%" and so on for the quantiles, in original units.
        """
        from gomea_bn.network.inference.answers import predict_interval

        return predict_interval(
            self, frame, target, quantiles, method=method, n_draws=n_draws, random_state=random_state
        )

    def log_density(
        self: NetworkLike,
        frame: pd.DataFrame,
        of: str | Sequence[str] | None = None,
        given: str | Sequence[str] = (),
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Seed = None,
        resolution: str = "points",
    ) -> NDArray[np.float64]:
        """Return the log density of every row, float64 (n_rows,), in nats, for the original units.

        Continuous variables count with their density, discrete ones with their probability. A value that
        is a point mass of the variable's shape counts with its probability; compare such rows only between networks
        with the same point masses, or with ``resolution="steps"``. A row of probability 0 has -inf. A value outside the
        support has the density of the end bin, so that the density integrates to more than 1; compare networks with the
        same support. Missing cells are summed out, so that the density is that of the other cells.

        Parameters
        ----------
        frame : DataFrame
            Rows; columns are matched by name, and further columns are ignored.
        of : str or sequence of str, optional
            Columns whose joint density is wanted; by default all that are not `given`.
        given : str or sequence of str
            Columns to condition on: the answer is ln p(of | given).
        method, n_draws, random_state
            As of `query`. An estimate by sampling warns of standard errors above 0.01 nats.
        resolution : {"points", "steps"}
            Measure of values that are point masses: their probability, or the density of a bin as wide as the
            measuring step of their column, which compares with libraries that know no point masses.

        Raises
        ------
        GomeaBnError
            For missing columns, infinite values, unknown levels, and rows whose `given` cells have probability 0; the
            message names column and rows. Also for missing cells whose exact density needs tables that are too large.
        """
        import numpy as np

        from gomea_bn.data.columns import has_gaps
        from gomea_bn.network.distributions.point_masses import log_widths_of_points

        if of is None and not given and not has_gaps(frame, self.names):
            total = np.zeros(len(frame), dtype=np.float64)
            for term in self.log_density_terms(frame).values():
                total += term
            return total - log_widths_of_points(self, frame, resolution)
        from gomea_bn.network.inference.answers import log_density

        return log_density(
            self,
            frame,
            of,
            given,
            method=method,
            n_draws=n_draws,
            random_state=random_state,
            resolution=resolution,
        )

    def impute(
        self: NetworkLike,
        frame: pd.DataFrame,
        how: str = "draw",
        *,
        random_state: Seed = None,
        method: str = "exact",
        n_draws: int = 10_000,
    ) -> pd.DataFrame:
        """Return the frame with its missing cells filled, given the observed cells of their rows.

        Parameters
        ----------
        frame : DataFrame
            Rows with a column for every variable. Further columns and observed cells stay as they are.
        how : {"draw", "mode", "mean", "joint"}
            "draw" draws all missing cells of a row jointly from their distribution. "mode" fills in the most probable
            level, or the median of the most probable bin, of every cell on its own. "mean" fills in the mean of
            continuous cells, and the most probable level of discrete ones. "joint" takes the most probable combination
            of bins and levels of all missing cells of a row, see `most_probable`, and in a bin its median.
        random_state : int, SeedSequence, Generator or None
            Seed of draws.
        method, n_draws
            As of `query`.

        Returns
        -------
        DataFrame
            A copy. A continuous column with missing cells becomes float64, or int64 if its values are integers and
            "mean" does not fill it. A column of dates becomes datetime64.
            A column that had no value at all where the network was learned has the text "(empty)" in its missing cells.

        Raises
        ------
        GomeaBnError
            For absent columns, unknown levels, rows of probability 0, and exact answers that are too large.
        """
        from gomea_bn.network.inference.completion import impute

        return impute(self, frame, how, random_state=random_state, method=method, n_draws=n_draws)

    def do(self: NetworkLike, values: Mapping[str, object]) -> DiscretizedBayesNet:
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
        from gomea_bn.network.inference.intervention import do

        return do(self, values)

    def children(self: NetworkLike, name: str) -> tuple[str, ...]:
        """Return the children of a variable in column order."""
        self.parents(name)  # raises for an unknown name
        return tuple(child for child in self.names if name in self.parents(child))

    def ancestors(self: NetworkLike, name: str) -> tuple[str, ...]:
        """Return all variables from which a directed path leads to a variable, in column order."""
        from gomea_bn.network.graph import reachable

        ancestors = reachable({other: self.parents(other) for other in self.names}, self.parents(name))
        return tuple(other for other in self.names if other in ancestors)

    def descendants(self: NetworkLike, name: str) -> tuple[str, ...]:
        """Return all variables to which a directed path leads from a variable, in column order."""
        from gomea_bn.network.graph import reachable

        self.parents(name)  # raises for an unknown name
        children: dict[str, list[str]] = {other: [] for other in self.names}
        for parent, child in self.edges:
            children[parent].append(child)
        descendants = reachable(children, children[name])
        return tuple(other for other in self.names if other in descendants)

    def markov_blanket(self: NetworkLike, name: str) -> tuple[str, ...]:
        """Return parents, children and the children's other parents of a variable, in column order.

        Given these, the variable is independent of all other variables.
        """
        from gomea_bn.network.graph import markov_blanket

        self.parents(name)  # raises for an unknown name
        blanket = markov_blanket({other: self.parents(other) for other in self.names}, name)
        return tuple(other for other in self.names if other in blanket)

    def d_separated(
        self: NetworkLike,
        first: str | Sequence[str],
        second: str | Sequence[str],
        given: str | Sequence[str] = (),
    ) -> bool:
        """Return whether the graph implies that variables are independent given other ones.

        Parameters
        ----------
        first, second, given : str or sequence of str
            Three sets of variables without a common one.

        Raises
        ------
        GomeaBnError
            For unknown variables, empty sets `first` or `second`, and a variable in two sets.
        """
        from gomea_bn.errors import GomeaBnError
        from gomea_bn.network.graph import are_separated

        sets = [{names} if isinstance(names, str) else set(names) for names in (first, second, given)]
        for name in set().union(*sets):
            self.parents(name)  # raises for an unknown name
        if not sets[0] or not sets[1]:
            raise GomeaBnError("first and second must each name at least one variable.")
        for one, other in ((0, 1), (0, 2), (1, 2)):
            if both := sorted(sets[one] & sets[other]):
                raise GomeaBnError(
                    f"first, second and given must not share variables; two of them have '{both[0]}'."
                )
        return are_separated({name: self.parents(name) for name in self.names}, *sets)

    def cpdag(self: NetworkLike) -> EquivalenceClass:
        """Return which edges are compelled and which are reversible.

        Graphs with the same adjacencies and the same v-structures imply the same independences. An edge is compelled if
        all of them have its direction, and reversible otherwise: no number of rows tells its direction.
        """
        from gomea_bn.network.edges.equivalence import equivalence_class

        return equivalence_class(self)

    def why(
        self: NetworkLike,
        edge: Sequence[str],
        data: pd.DataFrame | Table | str | os.PathLike[str] | None = None,
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
            Printed as a text; see `gomea_bn.network.edges.reasons.EdgeReasons` for its numbers.

        Raises
        ------
        GomeaBnError
            For an edge that the network does not have, data that it does not fit, and if the distribution of the
            parents cannot be computed exactly.
        """
        from gomea_bn.network.edges.reasons import why

        return why(self, edge, data)
