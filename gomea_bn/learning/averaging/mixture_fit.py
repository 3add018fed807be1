"""Mixtures of lines of families: their fit by expectation and maximisation, and the density of left-out rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from threading import Lock
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.content_order import turned_marks
from gomea_bn.learning.averaging.line_scales import LineRows
from gomea_bn.learning.averaging.stacks import LEAST_GAIN, mixture_gain, mixture_weight
from gomea_bn.network.conditionals.family_mixture import (
    Components,
    components_of,
    log_mixture_of_lines,
    sums_of_shares,
)

# components are doubled up to this number
_MOST_COMPONENTS = 64
# fewest and most rows, about a quarter of all, on which a mixture must not lose more nats a row against what is known
_ROWS_OF_CHECK = (1_500, 4_000)
_MOST_LOSS = 0.012
# fewest rows of a component, per number that describes it
_ROWS_PER_PARAMETER = 3.0
# steps of expectation and maximisation after every doubling
_STEPS = 8
# doublings without a gain after which there are no more: of a single line, and of several
_MOST_FAILURES, _MOST_LATER_FAILURES = 2, 1
# a component with fewer rows leaves
_LEAST_ROWS = 1.0
# judged mixtures of the last families, by a digest of their rows
_MOST_KEPT = 128
_judged: dict[bytes, JudgedMixture | None] = {}
_lock = Lock()


Sums = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""Moments, counts and least scales of components, as `FamilyMixture` takes them."""


@dataclass(eq=False)
class JudgedMixture:
    """The number of components that predicts left-out rows best, before they are fitted to all rows.

    `left_out`, float64 (n_rows,), is the log density of every row with its half left out. `halves` are the components
    of either half of the rows, after some doublings.
    """

    left_out: NDArray[np.float64]
    n_doublings: int
    halves: tuple[Sums, ...]
    _of_all: Sums | None = None

    @property
    def n_parameters(self) -> int:
        """Number of parameters, as of `FamilyMixture`, that the smaller one of the halves has estimated."""
        n = min(len(moments) for moments, *_ in self.halves)
        moments, counts, _ = self.halves[0]
        size, n_groups = moments.shape[1] - 1, counts.shape[1]
        return int(n * (size + size * (size + 1) // 2 + n_groups) - 1)

    def fitted(self, rows: LineRows) -> Sums:
        """Return the components of all rows, which are those that were judged.

        All rows begin with one component, too, or with those of either half, whichever makes them likeliest in the end.
        """
        if self._of_all is None:
            fits = [_Fit(rows), *(_Fit.beginning_with(half, rows) for half in self.halves)]
            for _ in range(self.n_doublings):
                fits[0].double()
            fit = max(fits, key=lambda fit: float(log_density_of(fit.components, rows).sum()))
            self._of_all = fit.sums
        return self._of_all


def gain_of_some_rows(rows: LineRows, known: NDArray[np.float64], price: float) -> float | None:
    """Return what a mixture of some rows gains next to what is known, in nats a row; None if it does not pay.

    `known`, float64 (n_rows,), is the log density of left-out rows, on the scale of the column, by what the column has
    so far. Every number of a mixture must gain a price in nats. Of few rows nothing is found out, and the gain is 0.
    """
    n_rows = len(rows.z)
    n_checked = int(np.clip(n_rows // 4, *_ROWS_OF_CHECK))
    if n_rows <= n_checked:
        return 0.0
    some = np.argsort(_marks(rows), kind="stable")[:n_checked]
    few = judged_mixture(rows.some(some), price * n_checked / n_rows)
    if few is None:
        return None
    weight = mixture_weight(known[some], few.left_out)
    gain = mixture_gain(known[some], few.left_out, weight) / n_checked
    gain -= few.n_parameters * price / n_rows
    return gain if gain >= -_MOST_LOSS else None


def judged_mixture(rows: LineRows, price: float) -> JudgedMixture | None:
    """Return the mixture of lines whose number of components predicts left-out rows best; None if it is one.

    Every number of a mixture must gain a price in nats. The last mixtures are kept: networks of an ensemble, and a
    network before and after its edges were judged, have families in common.
    """
    digest = hashlib.blake2b(
        repr((rows.n_groups, rows.min_scale, rows.scale.low, rows.scale.high, price)).encode()
    )
    for part in (rows.z, rows.parents, rows.groups, rows.log_steps, *(rows.ends or ())):
        if part is not None:
            digest.update(np.ascontiguousarray(part).tobytes())
    key = digest.digest()
    with _lock:
        if key in _judged:
            return _judged[key]
    mixture = _judge(rows, price)
    with _lock:
        # the oldest one leaves
        if len(_judged) >= _MOST_KEPT:
            _judged.pop(next(iter(_judged)))
        _judged[key] = mixture
    return mixture


def _judge(rows: LineRows, price: float) -> JudgedMixture | None:
    """Return the mixture whose number of components predicts left-out rows best; None if it is one.

    One component becomes two, and these four, as long as two halves of the rows predict each other better. A component
    is divided across the axis on which its rows vary most.
    """
    n_rows, size = len(rows.z), rows.parents.shape[1] + 1
    n_parameters = size + size * (size + 1) / 2
    # copies of a row do not judge each other
    halves = np.unique(_marks(rows), return_inverse=True)[1] % 2
    if np.bincount(halves, minlength=2).min() < n_parameters:
        return None
    places = [np.flatnonzero(halves == half) for half in (0, 1)]
    left, right = (rows.some(of_half) for of_half in places)
    parts = [_Fit(right), _Fit(left)]
    best: JudgedMixture | None = None
    n_doublings, chosen, so_far = 0, 0, 0.0
    most = min(_MOST_COMPONENTS, n_rows / (2 * _ROWS_PER_PARAMETER * n_parameters))
    while 2**n_doublings <= most and n_doublings - chosen <= (
        _MOST_LATER_FAILURES if chosen else _MOST_FAILURES
    ):
        left_out = np.empty(n_rows)
        for fit, others, of_half in zip(parts, places, (left, right), strict=True):
            if n_doublings:
                fit.double()
            left_out[others] = log_density_of(fit.components, of_half)
        gain = float(left_out.sum()) - price * 2**n_doublings * n_parameters
        if best is None or gain > so_far + LEAST_GAIN:
            best = JudgedMixture(left_out, n_doublings, tuple(fit.sums for fit in parts))
            chosen, so_far = n_doublings, gain
        n_doublings += 1
    return best if chosen else None


def _marks(rows: LineRows) -> NDArray[np.uint64]:
    """Return a random number for every row, the same where columns are turned or rows stand in another order."""
    return turned_marks([rows.z, rows.groups, *rows.parents.T], 2)


def log_density_of(components: Components, rows: LineRows) -> NDArray[np.float64]:
    """Return the log density of rows on the scale of the column, float64 (n_rows,)."""
    ends = rows.scale.low, rows.scale.high
    return log_mixture_of_lines(components, rows.z, rows.parents, rows.groups, ends, rows.ends)[0]


class _Fit:
    """Components that are fitted to rows step by step; at first there is one."""

    def __init__(self, rows: LineRows) -> None:
        self._rows = rows
        self._weights = np.ones(len(rows.z))
        values = np.column_stack([np.ones(len(rows.z)), rows.parents, rows.z])
        self.moments = (values.T @ values)[None]
        self.counts = np.bincount(rows.groups, minlength=rows.n_groups)[None].astype(np.float64)
        self.least_scales = np.array([rows.min_scale])

    @property
    def components(self) -> Components:
        return components_of(self.moments, self.counts, self.least_scales)

    def double(self) -> None:
        """Divide every component in two, and take steps of expectation and maximisation."""
        n_rows = self.moments[:, 0, 0]
        centres = self.moments[:, 0, 1:] / n_rows[:, None]
        scatter = self.moments[:, 1:, 1:] / n_rows[:, None, None] - centres[:, :, None] * centres[:, None, :]
        _, vectors = np.linalg.eigh(scatter)
        axes = vectors[:, :, -1]
        # the sign of an axis is arbitrary
        axes *= np.where(
            np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1) < 0, -1.0, 1.0
        )
        offsets = -np.einsum("kj,kj->k", axes, centres)
        self._step(np.column_stack([offsets, axes]))
        self._improve()

    @classmethod
    def beginning_with(cls, sums: Sums, rows: LineRows) -> Self:
        """Return a fit to some rows that begins with the components of others."""
        fit = cls(rows)
        fit.moments, fit.counts, fit.least_scales = sums
        fit._improve()
        return fit

    @property
    def sums(self) -> Sums:
        """Sums of the components so far."""
        return self.moments, self.counts, self.least_scales

    def _improve(self) -> None:
        for _ in range(_STEPS):
            self._step()

    def _step(self, axes: NDArray[np.float64] | None = None) -> None:
        rows = self._rows
        moments, counts, log_steps = sums_of_shares(
            self.components, rows.z, rows.parents, rows.groups, self._weights, rows.log_steps, axes
        )
        # components that have lost their rows leave
        kept = moments[:, 0, 0] > _LEAST_ROWS
        self.moments, self.counts = moments[kept], counts[kept]
        # a component around repeated values gains no more from them than a single line
        of_rows = np.exp(log_steps[kept] / self.moments[:, 0, 0]) if rows.log_steps is not None else 0.0
        self.least_scales = np.broadcast_to(np.maximum(of_rows, rows.min_scale), len(self.moments))
