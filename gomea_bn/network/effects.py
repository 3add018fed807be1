"""The effects of parents on a column: its mean, or the probabilities of its levels, along the values of one parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.lazy import pd
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.recorded import known_text
from gomea_bn.network.rows import draws_by_name, generator_by_name
from gomea_bn.network.tables import MOST_SHOWN_CELLS
from gomea_bn.texts import listed, percent, shown_name

if TYPE_CHECKING:
    from gomea_bn.data.columns import Level
    from gomea_bn.network.recorded import NetworkLike

MOST_LEVELS = 8
"""Most levels that a sentence names each; more of them have groups."""

MOST_GROUPS = 4
# levels of a group that are named
MOST_NAMED = 6


def level_groups(
    means: NDArray[np.float64], counts: NDArray[np.float64], variance: float | None = None
) -> list[NDArray[np.int64]]:
    """Return the positions of the levels of every group, the one with the most of the last outcome first.

    Levels are ordered along the direction in which their outcomes differ most, and a group is a run of this order. The
    groups are the likeliest ones a posteriori, found exactly: outcomes of a group have a Dirichlet prior of one row
    around all rows, or a normal prior of the information of one row. Partitions of the levels have the probabilities of
    Ewens' sampling formula with the parameter 1 ("The sampling theory of selectively neutral alleles", 1972), in
    proportion to the product of (size - 1)! over the groups. The order of levels has no effect.

    Parameters
    ----------
    means : ndarray of shape (n_levels, n_outcomes)
        Probabilities of outcomes by level, or with a variance the mean of numbers, as one outcome.
    counts : ndarray of shape (n_levels,)
        Number of rows of every level, above 0.
    variance : float, optional
        Variance of the numbers within a level, above 0.
    """
    n_levels = len(counts)
    shares = counts / counts.sum()
    centre = shares @ means
    apart = (means - centre) * np.sqrt(shares)[:, None]
    direction = np.linalg.svd(apart, full_matrices=False)[2][0]
    # either sign is the same direction
    direction = direction if direction[-1] >= 0 else -direction
    places = np.round((means - centre) @ direction, 12)
    order = np.lexsort((*means.T, places))
    sums = np.concatenate(
        (np.zeros((1, means.shape[1])), np.cumsum((counts[:, None] * means)[order], axis=0))
    )
    rows = np.concatenate(([0.0], np.cumsum(counts[order])))
    scores = (_numbers(float(centre[0]), variance) if variance is not None else _shares(centre))(
        sums[None] - sums[:, None], rows[None] - rows[:, None]
    )
    sizes = np.arange(n_levels + 1)[None] - np.arange(n_levels + 1)[:, None]
    scores += scipy.special.gammaln(np.maximum(sizes, 1))
    # best[k, j]: score of the first j levels in k + 1 groups
    best = np.full((MOST_GROUPS, n_levels + 1), -np.inf)
    first = np.zeros((MOST_GROUPS, n_levels + 1), np.int64)
    best[0, 1:] = scores[0, 1:]
    for k in range(1, MOST_GROUPS):
        for j in range(k + 1, n_levels + 1):
            candidates = best[k - 1, k:j] + scores[k:j, j]
            first[k, j] = k + int(candidates.argmax())
            best[k, j] = candidates.max()
    k, end, groups = int(best[:, n_levels].argmax()), n_levels, []
    for step in range(k, -1, -1):
        start = int(first[step, end]) if step else 0
        groups.append(np.sort(order[start:end]))
        end = start
    return groups


def groups_in_words(groups: Sequence[tuple[Sequence[str], str]]) -> str:
    """Return groups of levels, as their labels with a value, in words such as "26 % at a, b; 13 % at the other 38"."""
    largest = max(len(labels) for labels, _ in groups)
    parts = []
    for labels, value in groups:
        is_rest = len(labels) == largest > MOST_NAMED
        where = f"the other {len(labels)}" if is_rest else listed(map(shown_name, labels), MOST_NAMED)
        parts.append(f"{value} at {where}")
    return "; ".join(parts)


_Score = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def _shares(centre: NDArray[np.float64]) -> _Score:
    """Return the log probability of counts (..., n_outcomes) of groups under a Dirichlet prior of one row."""
    prior = np.maximum(centre, 1e-9)

    def score(sums: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
        sums, rows = np.maximum(sums, 0.0), np.maximum(rows, 0.0)
        gammaln = scipy.special.gammaln
        parts = gammaln(sums + prior) - gammaln(prior)
        return np.asarray(parts.sum(axis=-1) + gammaln(prior.sum()) - gammaln(rows + prior.sum()))

    return score


def _numbers(centre: float, variance: float) -> _Score:
    """Return the log density of sums of groups, up to what all groupings share, under a normal prior of one row."""

    def score(sums: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = np.maximum(rows, 0.0)
        moved = sums[..., 0] - rows * centre
        return np.asarray(moved**2 / (2 * variance * (rows + 1)) - np.log(rows + 1) / 2)

    return score


BAND = (0.1, 0.9)
"""Shares of the probability at the ends of bands."""

TRENDS = {"up": "rises with", "down": "falls with", "bends": "bends with", "differs": "differs by"}
"""Words for what a column does with a parent."""

# drawn rows of the parents
_N_ROWS = 500
# draws of a column in each of these rows, which tell how much all parents explain
_N_DRAWS = 8
# shares at which a continuous parent has values, and further ones at equal distances
_SHARES = (0.01, 0.05, *np.arange(1, 10) / 10, 0.95, 0.99)
_N_EQUAL = 6
# share of what all parents explain below which the sum of their effects is said to explain less
_LEAST_SUM = 0.9


@dataclass(frozen=True, eq=False, slots=True)
class ParentEffect:
    """The effect of one parent on a column, averaged over the other parents.

    Attributes
    ----------
    parent : str
    is_continuous : bool
        Whether the parent is continuous.
    values : ndarray of shape (n_values,), float64
        Values of the parent, increasing: numbers, or codes of all levels.
    means : ndarray of shape (n_values, n_outcomes), float64
        Means of a continuous column, with one outcome, or probabilities of the levels of a discrete one.
    lows, highs : ndarray of shape (n_values, n_outcomes), float64
        Between them are the central 80 % of the values of a continuous column, or of the probabilities of a level over
        the rows of the other parents.
    rows : ndarray of shape (n_values,), float64
        Share of the rows whose nearest value is this one.
    share : float
        Variance of the effect over the rows, as a share of the sum over all parents.
    groups : tuple of (labels, means)
        Of a discrete parent with more than eight levels: those that go with about the same values of the column, and
        its mean or the probabilities of its levels at them, float64 (n_outcomes,). Empty for other parents, and if no
        level stands out.
    """

    parent: str
    is_continuous: bool
    values: NDArray[np.float64]
    means: NDArray[np.float64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    rows: NDArray[np.float64]
    share: float
    groups: tuple[tuple[tuple[str, ...], NDArray[np.float64]], ...] = ()

    @property
    def edges(self) -> NDArray[np.float64]:
        """Ends of the cells of values that are nearest to one of `values`, float64 (n_values + 1,)."""
        if len(self.values) == 1:
            return np.asarray(self.values[0] + np.array([-0.5, 0.5]), np.float64)
        middles = (self.values[:-1] + self.values[1:]) / 2
        ends = 2 * self.values[[0, -1]] - middles[[0, -1]]
        return np.asarray(np.concatenate((ends[:1], middles, ends[1:])), np.float64)

    @property
    def heights(self) -> NDArray[np.float64]:
        """Share of rows per length of these cells, as a share of the largest one, float64 (n_values,)."""
        densities = self.rows / np.diff(self.edges)
        return np.asarray(densities / densities.max(), np.float64)

    @property
    def trend(self) -> str:
        """Key of `TRENDS`: what the column, or the probability of its last level, does with the parent."""
        if not self.is_continuous:
            return "differs"
        steps = np.diff(self.means[:, -1])
        moved, rise = np.abs(steps).sum(), steps.sum()
        # share of all movement of an effect in one direction from which on it rises or falls
        if abs(rise) < 0.8 * moved or not moved:
            return "bends"
        return "up" if rise > 0 else "down"

    @property
    def words(self) -> str:
        """What the column does with the parent, such as "rises with x"."""
        return f"{TRENDS[self.trend]} {shown_name(self.parent)}"


@dataclass(frozen=True, eq=False, slots=True)
class ColumnEffects:
    """The effects of all parents of a column.

    Attributes
    ----------
    name : str
    levels : tuple
        Levels of a discrete column, empty for a continuous one.
    effects : tuple of ParentEffect
        The parent with the largest share comes first.
    explained : float
        Share of the variance of the column, or of the indicators of its levels, that all parents together explain.
    additive : float
        Share of it that the sum of the effects explains; the rest is what parents do only together.
    own_groups : tuple of (labels, text)
        Of a column with more than eight levels: those that go with about the same values of the first parent, and
        the mean of the parent, or its most unusual level, at them. Empty for other columns, and if no level stands out.
    """

    name: str
    levels: tuple[Level, ...]
    effects: tuple[ParentEffect, ...]
    explained: float
    additive: float
    own_groups: tuple[tuple[tuple[str, ...], str], ...] = ()

    @property
    def shown_outcomes(self) -> tuple[int, ...]:
        """Positions of the outcomes to draw: the second one of two levels, otherwise all."""
        return (1,) if len(self.levels) == 2 else tuple(range(max(len(self.levels), 1)))

    @property
    def sentence(self) -> str:
        """The effects in words, without a full stop."""
        parts = [
            f"{one.words if len(self.levels) <= 2 else shown_name(one.parent)} ({percent(one.share)}"
            for one in self.effects
        ]
        parts = [
            f"{part}{'' if k else ' of the effects'}{self.groups_text(one)})"
            for k, (part, one) in enumerate(zip(parts, self.effects, strict=True))
        ]
        subject = "it" if len(self.levels) < 2 else f"P({shown_name(str(self.levels[-1]))})"
        verb = "it depends on" if len(self.levels) > 2 else subject
        what = "variation" if self.levels else "variance"
        rest = ""
        if self.additive < _LEAST_SUM:
            rest = f"; {percent(1 - self.additive)} of this they explain only together"
        if self.own_groups:
            rest += f"; {self.own_text}"
        return f"parents explain {percent(self.explained)} of its {what}: {verb} {listed(parts, MOST_NAMED)}{rest}"

    @property
    def own_text(self) -> str:
        """The groups of the levels of the column, such as "age is 71 at a, b; 54 at the other 33"; "" without them."""
        if not self.own_groups:
            return ""
        return f"{shown_name(self.effects[0].parent)} is {groups_in_words(self.own_groups)}"

    def groups_text(self, effect: ParentEffect) -> str:
        """Return the groups of levels of a parent, such as "; 26 % at a, b; 13 % at the other 38"; "" without them."""
        if not effect.groups:
            return ""
        mean = np.average(effect.means, axis=0, weights=effect.rows)
        parts = []
        for labels, means in effect.groups:
            if not self.levels:
                value = f"{means[0]:.3g}"
            elif len(self.levels) == 2:
                value = percent(float(means[1]))
            else:
                most = int(np.abs(means - mean).argmax())
                value = f"{shown_name(str(self.levels[most]))} {percent(float(means[most]))}"
            parts.append((labels, value))
        return f"; {groups_in_words(parts)}"

    def to_frame(self, network: NetworkLike) -> pd.DataFrame:
        """Return the effects as `DiscretizedBayesNet.effects` does."""
        parts = []
        for effect in self.effects:
            values: list[Any] = effect.values.tolist()
            if not effect.is_continuous:
                values = [network.levels[effect.parent][int(code)] for code in values]
            n_outcomes = effect.means.shape[1]
            part: dict[str, Any] = {
                "parent": effect.parent,
                "value": np.repeat(np.array(values, object), n_outcomes),
            }
            if self.levels:
                part["level"] = [*self.levels] * len(values)
            part |= {
                "probability" if self.levels else "mean": effect.means.ravel(),
                "low": effect.lows.ravel(),
                "high": effect.highs.ravel(),
                "rows": np.repeat(effect.rows, n_outcomes),
                "share": effect.share,
            }
            parts.append(pd.DataFrame(part))
        return pd.concat(parts, ignore_index=True)


class EffectsOfNetwork:
    """The effects of the columns of a network, which are computed when they are first asked for.

    Rows of all columns are drawn with seeds that depend on their names, so that the order of columns has no effect.
    """

    def __init__(self, network: NetworkLike) -> None:
        self._network = network
        self._effects: dict[str, ColumnEffects] = {}

    @cached_property
    def _rows(self) -> dict[str, NDArray[Any]]:
        """Numbers, or codes of levels, of drawn rows by column, each (n_rows,)."""
        return draws_by_name(self._network, _N_ROWS)

    def of(self, name: str) -> ColumnEffects:
        """Return the effects on a column; raises `GomeaBnError` for an unknown one, and for one without parents."""
        if name not in self._effects:
            if not self._network.parents(name):
                raise GomeaBnError(f"'{name}' has no parents, so nothing has an effect on it.")
            self._effects[name] = self._computed(name)
        return self._effects[name]

    def _computed(self, name: str) -> ColumnEffects:
        network, rows = self._network, self._rows
        parents = network.parents(name)
        curves = {parent: self._curve(name, parent) for parent in parents}
        # the effect of every parent in every row
        of_rows = {parent: self._at_rows(*curves[parent][:2], parent) for parent in parents}
        variances = {parent: float(of_parent.var(axis=0).sum()) for parent, of_parent in of_rows.items()}
        total = sum(variances.values())
        effects = [
            ParentEffect(
                parent,
                parent in network.cut_points,
                *curves[parent],
                variances[parent] / total if total > 0 else 0.0,
                self._groups(name, parent, *curves[parent]),
            )
            for parent in parents
        ]
        values = {parent: rows[parent] for parent in parents}
        explained, additive = self._explained(
            name, values, np.sum([of_rows[p] for p in sorted(parents)], axis=0)
        )
        effects.sort(key=lambda one: (-one.share, one.parent))
        return ColumnEffects(
            name,
            tuple(network.levels.get(name, ())),
            tuple(effects),
            explained,
            1.0 if len(parents) == 1 else additive,
            self._own_groups(name, effects[0]),
        )

    def _own_groups(self, name: str, effect: ParentEffect) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Return the groups of the levels of a column, see `ColumnEffects`."""
        network = self._network
        if len(network.levels.get(name, ())) <= MOST_LEVELS:
            return ()
        joint = effect.rows[:, None] * effect.means
        shares = np.maximum(joint.sum(axis=0), np.finfo(np.float64).tiny)
        given = joint / shares
        variance = None
        if effect.is_continuous:
            means = (effect.values @ given)[:, None]
            spreads = effect.values**2 @ given - means[:, 0] ** 2
            variance = max(float(np.average(spreads, weights=shares)), np.finfo(np.float64).tiny ** 0.5)
        else:
            means = given.T
        counts = self._n_rows * np.maximum(shares, 0.5 / _N_ROWS)
        found = level_groups(means, counts, variance)
        if len(found) == 1:
            return ()
        labels, of_parent = network.bin_labels(name), network.bin_labels(effect.parent)
        centre = np.average(means, axis=0, weights=counts)
        groups = []
        for group in found:
            of_group = np.average(means[group], axis=0, weights=counts[group])
            text = f"{of_group[0]:.3g}"
            if not effect.is_continuous:
                # of two levels the second one
                most = 1 if len(of_group) == 2 else int(np.abs(of_group - centre).argmax())
                text = f"{shown_name(of_parent[most])} {percent(float(of_group[most]))}"
            groups.append((tuple(labels[level] for level in group), text))
        return tuple(groups)

    @property
    def _n_rows(self) -> float:
        """Number of rows behind the network, that of the drawn ones where it is not known."""
        known = self._network.conditionals
        recorded: Any = self._network.metadata.get("n_rows")
        return float(known.n_rows if known is not None else recorded if is_integer(recorded) else _N_ROWS)

    def _outcomes(self, name: str, values: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return drawn values, or probabilities of levels, given parents, float64 (n_rows, n_outcomes)."""
        network = self._network
        family = network.families[name]
        if name in network.levels:
            masses = family.masses(None, Columns(values))
            return np.broadcast_to(masses, (_N_ROWS, masses.shape[-1]))
        # common random numbers keep differences between values of a parent free of their noise
        return family.draw(Columns(values), _N_ROWS, generator_by_name(name))[:, None]

    def _curve(
        self, name: str, parent: str
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ]:
        """Return values of a parent, and at each of them means, ends of the band, and the share of rows."""
        network, rows = self._network, self._rows
        others = {other: rows[other] for other in network.parents(name)}
        values = self._values(parent)
        outcomes = np.stack(
            [
                self._outcomes(name, {**others, parent: np.full(_N_ROWS, value, rows[parent].dtype)})
                for value in values.tolist()
            ]
        )
        lows, highs = np.quantile(outcomes, BAND, axis=1)
        middles = (values[:-1] + values[1:]) / 2
        counts = np.bincount(np.searchsorted(middles, rows[parent]), minlength=len(values))
        return values, outcomes.mean(axis=1), lows, highs, counts / _N_ROWS

    def _groups(
        self,
        name: str,
        parent: str,
        values: NDArray[np.float64],
        means: NDArray[np.float64],
        lows: NDArray[np.float64],
        highs: NDArray[np.float64],
        shares: NDArray[np.float64],
    ) -> tuple[tuple[tuple[str, ...], NDArray[np.float64]], ...]:
        """Return the groups of levels of a parent, see `ParentEffect`."""
        network = self._network
        if parent not in network.levels or len(values) <= MOST_LEVELS:
            return ()
        # levels without drawn rows have few
        shares = np.maximum(shares, 0.5 / _N_ROWS)
        variance = None
        if name not in network.levels:
            # the band of a normal distribution
            width = float(np.average((highs - lows)[:, 0], weights=shares))
            # 2.563 standard deviations: the width of the band of a normal distribution
            variance = max(width / 2.563, np.finfo(np.float64).tiny ** 0.25) ** 2
        counts = self._n_rows * shares / shares.sum()
        found = level_groups(means, counts, variance)
        if len(found) == 1:
            return ()
        labels = network.bin_labels(parent)
        return tuple(
            (tuple(labels[level] for level in group), np.average(means[group], axis=0, weights=counts[group]))
            for group in found
        )

    def _values(self, parent: str) -> NDArray[np.float64]:
        """Return the values of a parent at which its effect is computed, increasing."""
        if parent in self._network.levels:
            return np.arange(len(self._network.levels[parent]), dtype=np.float64)
        drawn = self._rows[parent]
        distinct = np.unique(drawn)
        if len(distinct) <= 17:
            return distinct
        quantiles = np.quantile(drawn, _SHARES)
        equal = np.linspace(quantiles[0], quantiles[-1], _N_EQUAL)[1:-1]
        # values of equal distances fill gaps, in tails that are long
        gap = (quantiles[-1] - quantiles[0]) / (2 * _N_EQUAL)
        far = np.abs(equal[:, None] - quantiles).min(axis=1) > gap
        return np.unique(np.concatenate([quantiles, equal[far]]))

    def _at_rows(
        self, values: NDArray[np.float64], means: NDArray[np.float64], parent: str
    ) -> NDArray[np.float64]:
        """Return an effect at the drawn values of a parent, float64 (n_rows, n_outcomes)."""
        drawn = self._rows[parent]
        return np.column_stack([np.interp(drawn, values, means[:, k]) for k in range(means.shape[1])])

    def _explained(
        self, name: str, values: dict[str, NDArray[Any]], sums: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Return which shares of the variance all parents explain, and of this share the sum of effects."""
        if name in self._network.levels:
            means = self._outcomes(name, values)
            between = float(means.var(axis=0).sum())
            shares = means.mean(axis=0)
            total = float((shares * (1 - shares)).sum())
        else:
            family = self._network.families[name]
            generator = generator_by_name(name, 1)
            draws = np.stack([family.draw(Columns(values), _N_ROWS, generator) for _ in range(_N_DRAWS)])
            means, total = draws.mean(axis=0)[:, None], float(draws.var())
            # the variance of means of draws, without that of the draws
            between = float(means.var()) - float(draws.var(axis=0, ddof=1).mean()) / _N_DRAWS
        if between <= 0 or total <= 0:
            return 0.0, 1.0
        of_sums = float(sums.var(axis=0).sum())
        covariance = float(((means - means.mean(axis=0)) * sums).mean(axis=0).sum())
        additive = max(covariance, 0.0) ** 2 / (of_sums * between) if of_sums > 0 else 0.0
        return min(between / total, 1.0), min(additive, 1.0)


def known_words(network: NetworkLike, name: str) -> str:
    """Return which parents carry what is known of a column, and the groups of its levels where a table is shown."""
    is_shown = network.parents(name) and network.families[name].stack.fixed_value is None
    has_groups = len(network.levels.get(name, ())) > MOST_LEVELS and not shows_effects(network, name)
    groups = network.column_effects(name).own_text if is_shown and has_groups else ""
    return "; ".join(filter(None, (known_text(network, name), groups)))


def shows_effects(network: NetworkLike, name: str, max_table_cells: int = MOST_SHOWN_CELLS) -> bool:
    """Return whether people read a column better by the effects of its parents than by its table.

    It follows them for the most part, a parent has so many levels that groups of them are shown, or its table over the
    shown bins of all parents has more than `max_table_cells`.
    """
    parents, family = network.parents(name), network.families[name]
    if not parents or family.stack.fixed_value is not None:
        return False
    if family.stack.smooth_weight > 0.5:
        return True
    if any(len(network.levels.get(parent, ())) > MOST_LEVELS for parent in parents):
        return True
    return prod(map(network.cardinality, (name, *parents))) > max_table_cells
