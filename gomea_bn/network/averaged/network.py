"""The class of averaged networks: one graph, several sets of cuts for every column, and lines."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import column_positions, encode_levels, has_gaps
from gomea_bn.errors import GomeaBnError, check_choice, check_integer
from gomea_bn.network import checks
from gomea_bn.network.averaged.checks import (
    around_cuts,
    check_line,
    checked_intervals,
    checked_probabilities,
    checked_units,
)
from gomea_bn.network.averaged.exports import AveragedExports
from gomea_bn.network.averaged.family_line import FamilyLine, joint_groups, log_mixture
from gomea_bn.network.averaged.line_scales import LineColumns, LineScale, ProbabilityScale, UnitScale
from gomea_bn.network.averaged.sampling import drawn_values
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.distributions.point_masses import log_widths_of_points
from gomea_bn.network.immutable import Immutable
from gomea_bn.network.sampling import frame_of_draws
from gomea_bn.network.value_kinds import VALUES
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.log_sums import log_sum_exp

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.curves import Curve

__all__ = ["CUT_INTERVAL", "AveragedBayesNet"]

CUT_INTERVAL = 0.9
"""Probability of the interval of a cut."""


class AveragedBayesNet(Immutable, AveragedExports):
    """An immutable Bayesian network whose families are averages: of bins with different cuts, and of a line.

    The graph and the bins that are shown are those of one network. The density of a variable given its parents is
    (1 - w) times the mean over several copies of that network, which differ in their cuts and tables, plus w times a
    line: the variable is Student-t around a linear function of its continuous parents, with every column on its
    probability scale. The weight w is 0 where a line predicts no better.

    `gomea_bn.average_families` makes an averaged network from a network and its table.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network that is shown.
    copies : sequence of DiscretizedBayesNet
        Networks with the same variables, edges, support, levels and shapes, at least one.
    lines : mapping of str to FamilyLine, optional
        Lines by continuous variable. The variable and the continuous parents of a line need a scale.
    scales : mapping of str to Shape, optional
        Distributions of the columns that are part of lines on probability scales.
    units : mapping of str to (centre, spread), optional
        Numbers that are subtracted from, and then divide, the columns that are part of lines in own units.
    n_rows : int
        Number of rows of the table.
    cut_probabilities : mapping of str to sequence of float, optional
        For every continuous variable the probability that each cut of the network is near; see the method.
    cut_intervals : mapping of str to sequence of pairs of float, optional
        For every continuous variable the 90 % interval of each cut; see the method.

    Raises
    ------
    GomeaBnError
        For copies of another graph, for lines that do not fit it, for scales of unknown or discrete variables, and for
        probabilities and intervals that are not one per cut.
    """

    __slots__ = (
        "_copies",
        "_cut_intervals",
        "_cut_probabilities",
        "_lines",
        "_n_rows",
        "_network",
        "_scales",
        "_unit_scales",
    )

    _copies: tuple[DiscretizedBayesNet, ...]
    _cut_intervals: dict[str, NDArray[np.float64]]
    _cut_probabilities: dict[str, NDArray[np.float64]]
    _lines: dict[str, FamilyLine]
    _n_rows: int
    _network: DiscretizedBayesNet
    _scales: dict[str, ProbabilityScale]
    _unit_scales: dict[str, UnitScale]

    def __init__(
        self,
        network: DiscretizedBayesNet,
        copies: Sequence[DiscretizedBayesNet],
        *,
        lines: Mapping[str, FamilyLine] | None = None,
        scales: Mapping[str, Shape] | None = None,
        units: Mapping[str, tuple[float, float]] | None = None,
        n_rows: int,
        cut_probabilities: Mapping[str, ArrayLike] | None = None,
        cut_intervals: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        if not isinstance(network, DiscretizedBayesNet):
            raise GomeaBnError(f"network must be a DiscretizedBayesNet, got {type(network).__name__}.")
        check_integer("n_rows", n_rows, 1)
        if not copies:
            raise GomeaBnError("copies must hold at least one network, got none.")
        for copy in copies:
            if not isinstance(copy, DiscretizedBayesNet):
                raise GomeaBnError(f"Copies must be DiscretizedBayesNets, got {type(copy).__name__}.")
            same = ("names", "edges", "support", "levels", "shapes")
            if any(getattr(copy, part) != getattr(network, part) for part in same):
                raise GomeaBnError(
                    "Copies must have the variables, edges, support and shapes of the network."
                )
        lines, shapes = dict(lines or {}), dict(scales or {})
        checks.check_keys(
            shapes, [name for name in network.cut_points if name in shapes], network.names, "scales"
        )
        for name, shape in shapes.items():
            if not isinstance(shape, Shape):
                raise GomeaBnError(f"scales['{name}'] must be a Shape, got {type(shape).__name__}.")
        unit_scales = checked_units(units or {}, network)
        for name, line in lines.items():
            check_line(network, name, line, unit_scales if getattr(line, "in_units", False) else shapes)
        for option, by_name in (("cut_probabilities", cut_probabilities), ("cut_intervals", cut_intervals)):
            if by_name:
                checks.check_keys(by_name, list(network.cut_points), network.names, option)
        probabilities = {
            name: checked_probabilities(name, values, len(network.cut_points[name]))
            for name, values in (cut_probabilities or {}).items()
        }
        intervals = {
            name: checked_intervals(name, values, network.cut_points[name], network.support[name])
            for name, values in (cut_intervals or {}).items()
        }
        self._set_parts(
            {
                "_network": network,
                "_copies": tuple(copies),
                "_lines": lines,
                "_scales": {name: ProbabilityScale(shape, n_rows) for name, shape in shapes.items()},
                "_unit_scales": unit_scales,
                "_n_rows": n_rows,
                "_cut_probabilities": probabilities,
                "_cut_intervals": intervals,
            }
        )

    @property
    def network(self) -> DiscretizedBayesNet:
        """The network that is shown."""
        return self._network

    @property
    def copies(self) -> tuple[DiscretizedBayesNet, ...]:
        """The networks whose families are averaged; they have the graph of `network`."""
        return self._copies

    @property
    def lines(self) -> dict[str, FamilyLine]:
        """Lines by variable; variables without an entry have bins alone."""
        return dict(self._lines)

    @property
    def scales(self) -> dict[str, Shape]:
        """Distributions of the columns that are part of lines on probability scales."""
        return {name: scale.shape for name, scale in self._scales.items()}

    @property
    def units(self) -> dict[str, tuple[float, float]]:
        """Centre and spread of the columns that are part of lines in own units."""
        return {name: (scale.centre, scale.spread) for name, scale in self._unit_scales.items()}

    def scales_of(self, line: FamilyLine) -> Mapping[str, LineScale]:
        """Return the scales of the columns of a line, by name."""
        return self._unit_scales if line.in_units else self._scales

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return self._n_rows

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables in column order."""
        return self._network.names

    @property
    def edges(self) -> list[tuple[str, str]]:
        """Pairs (parent, child), sorted by child and then parent in column order."""
        return self._network.edges

    @property
    def mean_line_weight(self) -> float:
        """Mean weight of lines over the continuous variables with continuous parents, 0 without such variables."""
        network, continuous = self._network, self._network.cut_points
        weights = [
            self._lines[name].weight if name in self._lines else 0.0
            for name in continuous
            if any(parent in continuous for parent in network.parents(name))
        ]
        return float(np.mean(weights)) if weights else 0.0

    @property
    def has_cut_probabilities(self) -> bool:
        """Whether `cut_probabilities` knows how sure the cuts are."""
        return bool(self._cut_probabilities) or not self._network.cut_points

    @property
    def has_cut_intervals(self) -> bool:
        """Whether `cut_intervals` knows where the cuts lie."""
        return bool(self._cut_intervals) or not self._network.cut_points

    def cut_probabilities(self, variable: str) -> pd.DataFrame:
        """Return how sure every cut of the network is, one row per cut.

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
        import pandas as pd

        probabilities = self._known_of_cuts(variable, self._cut_probabilities, "probabilities")
        cuts = self._network.cut_points[variable]
        lows, highs = around_cuts(cuts, self._network.support[variable])
        return pd.DataFrame({"cut": cuts, "low": lows, "high": highs, "probability": probabilities})

    def cut_intervals(self, variable: str) -> pd.DataFrame:
        """Return where every cut of the network lies, one row per cut.

        Parameters
        ----------
        variable : str
            Name of a continuous variable.

        Returns
        -------
        DataFrame
            Columns `cut`, `low` and `high`: the central 90 % interval of the i-th cut under the posterior distribution
            of the cuts of the variable, given their number, the graph and the bins of all other variables, in the units
            of the variable. The ends are half-way between neighbouring candidates. A cut that a user has fixed has an
            interval of width 0.

        Raises
        ------
        GomeaBnError
            For an unknown or discrete variable, and if the intervals are unknown.
        """
        import pandas as pd

        intervals = self._known_of_cuts(variable, self._cut_intervals, "intervals")
        cuts = self._network.cut_points[variable]
        return pd.DataFrame({"cut": cuts, "low": intervals[:, 0], "high": intervals[:, 1]})

    def log_density(self, frame: pd.DataFrame, *, resolution: str = "points") -> NDArray[np.float64]:
        """Return the log density of every row, float64 (n_rows,), in nats, for the original units.

        See `DiscretizedBayesNet.log_density`, also for `resolution`. Other than there, rows must be complete.

        Raises
        ------
        GomeaBnError
            For rows with missing cells, and as `DiscretizedBayesNet.log_density`.
        """
        with_gaps = [name for name in self.names if has_gaps(frame, [name])]
        if with_gaps:
            from gomea_bn.network.averaged.answers import refuse_gaps

            refuse_gaps(with_gaps)
        total = np.zeros(len(frame), dtype=np.float64)
        for term in self.log_density_terms(frame).values():
            total += term
        return total - log_widths_of_points(self._network, frame, resolution)

    def log_density_terms(
        self, frame: pd.DataFrame, of: Collection[str] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Return the terms of `log_density`, ln p(variable | parents), float64 (n_rows,) by variable, in nats.

        With `of` these are the terms of some variables, as of `DiscretizedBayesNet.log_density_terms`.
        """
        of_copies = [copy.log_density_terms(frame, of) for copy in self._copies]
        terms = {
            name: log_sum_exp(np.array([terms[name] for terms in of_copies])) - np.log(len(of_copies))
            for name in of_copies[0]
        }
        lines = {name: line for name, line in self._lines.items() if name in terms}
        if lines:
            columns = LineColumns(frame, self._network.support)
            for name, line in lines.items():
                of_line = self._log_line(name, columns, self._groups(line, frame))
                terms[name] = log_mixture(terms[name], of_line, line.weight)
        return terms

    def conditional_density(self, variable: str, given: Mapping[str, object]) -> Curve:
        """Return the averaged density of a continuous variable given all of its parents.

        See `gomea_bn.network.distributions.conditionals.conditional_density`.
        """
        from gomea_bn.network.distributions.conditionals import conditional_density

        return conditional_density(self, variable, given)

    def conditional_probabilities(self, variable: str, given: Mapping[str, object]) -> NDArray[np.float64]:
        """Return the averaged probabilities of a discrete variable's levels given all of its parents.

        See `gomea_bn.network.distributions.conditionals.conditional_probabilities`.
        """
        from gomea_bn.network.distributions.conditionals import conditional_probabilities

        return conditional_probabilities(self, variable, given)

    def score(self, frame: pd.DataFrame, *, resolution: str = "points") -> float:
        """Return the mean of `log_density` over the rows, in nats per row; higher is better."""
        if len(frame) == 0:
            raise GomeaBnError("frame must have at least one row, got none.")
        return float(self.log_density(frame, resolution=resolution).mean())

    def sample(
        self,
        n: int,
        random_state: int | np.random.SeedSequence | np.random.Generator | None = None,
        *,
        values: str = "own",
    ) -> pd.DataFrame:
        """Return rows drawn from the network, in the kinds of its columns; see `DiscretizedBayesNet.sample`.

        Every value comes from a random copy given the values of the parents, or from the line of its variable.
        `values` is as of `DiscretizedBayesNet.sample`; parents count with the numbers as drawn.
        """
        check_integer("n", n, 0)
        check_choice("values", values, VALUES)
        drawn = self.drawn_values(n, checks.random_generator(random_state))
        return frame_of_draws(self._network, drawn, values)

    def drawn_values(
        self,
        n: int,
        generator: np.random.Generator,
        given: Mapping[str, NDArray[Any]] | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Return draws of all variables: numbers, or codes of levels, each of shape (n,), by name.

        Parameters
        ----------
        n : int
        generator : Generator
        given : mapping of str to ndarray of shape (n,), optional
            Numbers or codes of variables that are not drawn. The others are drawn given their parents alone, so that
            a draw has a weight: the density of the given values given their parents.
        """
        return drawn_values(self, n, generator, given)

    def summary(self, cut_gains: Mapping[str, NDArray[np.float64]] | None = None) -> str:
        """Return a text for reading: that of the network, with the share of lines and how sure cuts are.

        Parameters
        ----------
        cut_gains : mapping of str to ndarray of shape (n_bins - 1,), optional
            As of `DiscretizedBayesNet.summary`.
        """
        from gomea_bn.network.formats.summary import to_text

        return to_text(self._network, cut_gains, self)

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        from gomea_bn.plots.html import averaged_html

        return averaged_html(self)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network as JSON text, exact to the last bit; write it to `path` if given."""
        from gomea_bn.network.formats.averaged_json import to_json

        return to_json(self, path)

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> AveragedBayesNet:
        """Return the network of a JSON file, or of JSON text, which begins with a brace."""
        from gomea_bn.network.formats.averaged_json import from_json

        return from_json(source)

    def _known_of_cuts(
        self, variable: str, known: Mapping[str, NDArray[np.float64]], what: str
    ) -> NDArray[np.float64]:
        """Return what is known of the cuts of a continuous variable."""
        self._network.cardinality(variable)  # raises for an unknown name
        if variable not in self._network.cut_points:
            raise GomeaBnError(f"'{variable}' is discrete; only continuous variables have cuts.")
        if variable not in known:
            raise GomeaBnError(f"This network has no {what} of cuts; average_families computes them.")
        return known[variable]

    def _log_line(self, name: str, columns: LineColumns, groups: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the log density of a variable under its line, in its units, float64 (n_rows,).

        It is -inf for values of the support that the scale does not reach.
        """
        line = self._lines[name]
        scales, values = self.scales_of(line), columns.values(name)
        scale = scales[name]
        parents = np.column_stack([columns.positions(parent, scales[parent]) for parent in line.parents])
        z = columns.positions(name, scale)
        is_inside = (values >= scale.least) & (values <= scale.greatest)
        logs = line.log_density(z, parents, groups, scale, scale.ends_of_points(values))
        logs += scale.log_slope(values, z)
        return np.where(is_inside, logs, -np.inf)

    def _groups(self, line: FamilyLine, frame: pd.DataFrame) -> NDArray[np.int64]:
        """Return the configuration of the discrete parents of a line in every row, int64 (n_rows,)."""
        levels = self._network.levels
        positions = column_positions(frame, list(line.groups))
        codes = [encode_levels(frame.iloc[:, positions[name]], name, levels[name]) for name in line.groups]
        return joint_groups(codes, [len(levels[name]) for name in line.groups], len(frame))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AveragedBayesNet):
            return NotImplemented
        return self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self._network, self._copies))

    def with_metadata(self, **entries: Any) -> AveragedBayesNet:
        """Return the averaged network whose `network` has further entries in its metadata."""
        copy = object.__new__(AveragedBayesNet)
        parts = {slot: getattr(self, slot) for slot in self.__slots__}
        copy._set_parts({**parts, "_network": self._network.with_metadata(**entries)})
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return AveragedBayesNet.from_json, (self.to_json(),)

    def __repr__(self) -> str:
        return (
            f"AveragedBayesNet({len(self._copies)} sets of cuts, {len(self._lines)} lines, "
            f"{len(self.edges)} edges)"
        )
