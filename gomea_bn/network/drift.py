"""Whether further rows still follow a network: the loss and the cells of every column, and its edges."""

from __future__ import annotations

import os
from math import prod
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import check_number
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.inference.engine import Seed
from gomea_bn.network.parts import random_generator
from gomea_bn.network.rows import drawn_values, rows_for

Values = dict[str, NDArray[Any]]

# cells of a continuous column, and the fewest expected rows of a cell
_N_CELLS = 8
# values of a parent, of other rows, that stand for not knowing it
_N_OTHERS = 16


def drift(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    level: float = 0.05,
    random_state: Seed = 0,
) -> pd.DataFrame:
    """Return how further rows fit a network, one row per column; `DiscretizedBayesNet.drift` describes it."""
    check_number("level", level, 0, 1, above=True, below=True)
    generator = random_generator(random_state)
    table = rows_for(network, data)
    values: Values = {column.name: column.values for column in table.columns}
    is_missing = {column.name: column.is_missing for column in table.columns}
    # rows drawn from the network: what it expects
    drawn = drawn_values(network, 5_000, generator)
    n_edges = max(len(network.edges), 1)
    records = []
    for name in network.names:
        parents = network.parents(name)
        rows = np.flatnonzero(~np.logical_or.reduce([is_missing[member] for member in (name, *parents)]))
        of_family = {member: values[member][rows] for member in (name, *parents)}
        record: dict[str, Any] = {"column": name, "rows": len(rows), "log_loss": np.nan, "outside": 0.0}
        expected = _Column(network, name, drawn)
        record["expected"], record["p_value"], broken = expected.mean, 1.0, []
        if len(rows):
            losses = -expected.logs(of_family)
            record["log_loss"] = float(losses.mean())
            if name in network.support:
                low, high = network.support[name]
                record["outside"] = float(np.mean((of_family[name] < low) | (of_family[name] > high)))
        # a single row has no variance
        if len(rows) > 1:
            p_values = expected.p_of_losses(losses), expected.p_of_cells(of_family)
            # the smaller one of two
            record["p_value"] = min(2 * min(p_values), 1.0)
            sure = level / n_edges
            broken = [p for p in parents if expected.is_broken(p, of_family, generator, sure)]
        record["broken"] = ", ".join(broken)
        records.append(record)
    frame = pd.DataFrame(records).set_index("column")
    frame["drifted"] = _holm(frame["p_value"].to_numpy(), level)
    return frame[["rows", "log_loss", "expected", "p_value", "drifted", "outside", "broken"]]


class _Column:
    """What a network expects of a column given its parents.

    `mean` is that of -ln p(column | parents) in nats, of rows that were left out of the fit if it is known, or of drawn
    rows.
    """

    def __init__(self, network: DiscretizedBayesNet, name: str, drawn: Values) -> None:
        self._network, self._name, self._drawn = network, name, drawn
        known = network.conditionals
        losses = {} if known is None else known.log_losses
        smooth = network.families[name].stack.smooth
        n_table = prod(map(network.cardinality, network.parents(name))) * (network.cardinality(name) - 1)
        self._n_parameters = n_table + sum(fitted.n_parameters for _, fitted in smooth)
        if name in losses:
            self._n_rows, self.mean, self._deviation = losses[name]
        else:
            of_draws = -self.logs(drawn)
            self.mean, self._deviation = float(of_draws.mean()), float(of_draws.std())
            counts = network.counts
            n_rows = float(counts[name].sum()) if counts else network.metadata.get("n_rows", np.inf)
            self._n_rows = max(float(n_rows), 1.0)

    def p_of_losses(self, losses: NDArray[np.float64]) -> float:
        """Return P of a difference of mean losses at least as large, by Welch's test.

        k estimated parameters move the mean loss of new rows by half a chi-square of k degrees over the number of
        former rows. Its variance matters where all values are about as likely, so that single losses hardly differ.
        """
        if not np.isfinite(losses).all():
            return 0.0
        variance = self._deviation**2 / self._n_rows + float(losses.var()) / len(losses)
        variance += self._n_parameters / (2 * self._n_rows**2)
        distance = abs(float(losses.mean()) - self.mean)
        # equal losses of all rows, up to rounding
        if distance <= 1e-9 * max(abs(self.mean), 1.0):
            return 1.0
        return float(2 * scipy.special.ndtr(-distance / np.sqrt(variance))) if variance > 0 else 0.0

    def p_of_cells(self, rows: Values) -> float:
        """Return P of as large a distance between numbers of rows in cells and their expectation, by a chi-square.

        Probabilities of cells are uncertain as those of the former rows are, so both numbers of rows count.
        """
        network, name = self._network, self._name
        cuts, codes = None, rows[name]
        if name in network.shapes:
            shares = np.arange(1, _N_CELLS) / _N_CELLS
            cuts = np.unique(np.quantile(self._drawn[name], shares, method="inverted_cdf"))
        elif name in network.cut_points:
            # inside the bins a uniform distribution is no claim about the rows
            cuts = network.cut_points[name]
        if cuts is not None:
            codes = np.searchsorted(cuts, rows[name], side="left")
        masses = network.families[name].masses(cuts, Columns(rows))
        n_rows = len(codes)
        masses = np.broadcast_to(masses, (n_rows, masses.shape[-1]))
        is_rare = masses.sum(axis=0) < 5.0
        if (~is_rare).sum() < 2:
            return 1.0
        # rare cells are one
        cell = np.where(is_rare, 0, np.cumsum(~is_rare) - 1 + int(is_rare.any()))
        joined = np.zeros((n_rows, cell.max() + 1))
        np.add.at(joined.T, cell, masses.T)
        distance = (np.bincount(cell[codes], minlength=joined.shape[1]) - joined.sum(axis=0)) / n_rows
        covariance = np.diag(joined.mean(axis=0)) - joined.T @ joined / n_rows
        statistic = distance @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ distance
        statistic /= 1 / n_rows + 1 / self._n_rows
        return float(scipy.special.chdtrc(joined.shape[1] - 1, statistic))

    def logs(self, rows: Values) -> NDArray[np.float64]:
        """Return ln p(column | parents), float64 (n_rows,)."""
        return np.broadcast_to(
            self._network.families[self._name].log_density(Columns(rows)), len(rows[self._name])
        )

    def is_broken(self, parent: str, rows: Values, generator: np.random.Generator, level: float) -> bool:
        """Return whether knowing a parent gains less for the rows than for drawn ones: surely, and at most half."""
        of_rows = self._gains(parent, rows, generator)
        of_draws = self._gains(parent, self._drawn, generator)
        difference = of_rows.mean() - of_draws.mean()
        error = np.sqrt(of_rows.var() / len(of_rows) + of_draws.var() / len(of_draws))
        is_sure = bool(difference < scipy.special.ndtri(level) * error)
        # a broken edge has lost at least this share of its gain
        return is_sure and bool(of_rows.mean() < 0.5 * of_draws.mean())

    def _gains(self, parent: str, rows: Values, generator: np.random.Generator) -> NDArray[np.float64]:
        """Return by how many nats each row is likelier given a parent than given values of the parent in other rows."""
        known = self.logs(rows)
        others = np.empty((_N_OTHERS, len(known)))
        for k in range(_N_OTHERS):
            others[k] = self.logs({**rows, parent: rows[parent][generator.permutation(len(known))]})
        gains = known - (scipy.special.logsumexp(others, axis=0) - np.log(_N_OTHERS))
        # a row that is impossible either way
        return np.asarray(np.nan_to_num(gains, nan=0.0, posinf=0.0, neginf=-100.0))


def _holm(p_values: NDArray[np.float64], level: float) -> NDArray[np.bool_]:
    """Return which hypotheses Holm's procedure rejects; it keeps the probability of any false one below the level."""
    order = np.argsort(p_values)
    limits = level / np.arange(len(order), 0, -1)
    is_rejected = np.logical_and.accumulate(p_values[order] <= limits)
    result = np.empty(len(order), np.bool_)
    result[order] = is_rejected
    return result
