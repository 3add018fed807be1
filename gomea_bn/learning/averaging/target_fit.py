"""What a target follows: parents and the widths of their effects, both chosen by the loss of left-out rows.

A score pays for every edge with the evidence that it exists, so that many weak effects stay out. Here all columns that
may be parents have effects with normal priors, whose widths are those under which left-out rows lose least. Then
parents leave one after another, always the one whose effect is least sure, and the set of least loss stays. Levels
get the probabilities that the posterior of the effects has on average, unless left-out rows lose less by the likeliest
effects, by more than a standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.learning.averaging.effects_fit import (
    functions_of_places,
    left_out_residuals,
    scores_of_parent,
)
from gomea_bn.learning.averaging.stacks import Member
from gomea_bn.network.conditionals.family_logit import FamilyLogit, derivatives, log_levels
from gomea_bn.network.conditionals.scales import Columns, ProbabilityScale
from gomea_bn.network.conditionals.terms import Functions, Terms, broken_line, indicators
from gomea_bn.problems.column_functions import LevelFunctions, SmoothFunctions
from gomea_bn.runtime.fit_clock import NO_LIMIT, PARENTS, FitClock, never

# functions of a continuous parent: a line and curves
_N_FUNCTIONS = 5
# kinds of functions, which have a width each: lines of numbers, of ordered levels and of two levels, curves, amounts of
# more levels, and products of functions of two parents
_LINE, _CURVE, _AMOUNT, _PRODUCT = range(4)
# prior precisions, in rows; under the last one there are no such functions
_PRECISIONS = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, np.inf])
_FIRST, _STEPS = (4, len(_PRECISIONS) - 1, 5, 4), (1, -1, 3, -3)
_LEAST_GAIN = 0.05
# loss of all left-out rows, in nats, that curves must be worth
_PRICE_OF_CURVES = 1.0
# parents of which each two may have products; the most such pairs, and functions of a pair
_MOST_IN_PRODUCTS, _MOST_PAIRS, _LARGEST_PRODUCT = 20, 10, 25
# columns of which each two may act by products alone
_MOST_IN_PAIRS = 40
# pairs whose promise is found anew after another one has entered: those that promised most
_N_RENEWED = 8
# of many parents this part leaves at a time
_PART = 10
# precision of constants, which may move together, and of effects that follow averages, in rows
_CONSTANT_PRECISION, _PRECISION_OF_AVERAGES = 1e-6, 0.01
_MOST_NEWTON_STEPS, _LEAST_PROMISE, _MOST_HALVINGS = 50, 1e-4, 30
_MOST_LEVERAGE = 0.999
# rows by which parents are chosen
_MOST_ROWS, _FEWEST_ROWS = 20_000, 1_000
# products of numbers that the choice of parents may take, and that of widths: of each cell, and the fewest and most
_WORK_OF_CELL, _WORK = 4e4, (4e9, 4e10)
# seconds that such a product takes in a fit, and fits of all parents that take as long as the choice
_SECONDS_OF_PRODUCT, _N_FITS = 1e-9, 50
# of the seconds that are left, for the choice
_SHARE_OF_TIME = 0.5
_SEED = 20261129

Widths = tuple[int, ...]
"""Number of the precision of each kind of functions."""


@dataclass(frozen=True)
class _Terms:
    """The functions of a column in the rows: minus their means, float64 (n_rows, n), and 0 where the column is missing.

    They are those of one column, or products of the functions of two. `kinds`, int64 (n,), and `roughness` (n,) say
    which prior they have.
    """

    factors: tuple[Functions, ...]
    rows: NDArray[np.float64]
    means: NDArray[np.float64]
    kinds: NDArray[np.int64]
    roughness: NDArray[np.float64]

    def precisions(self, widths: Widths) -> NDArray[np.float64]:
        """Return the prior precisions of the coefficients, in rows, float64 (n,)."""
        return np.asarray(_PRECISIONS[np.array(widths)[self.kinds]] * self.roughness, np.float64)

    def some(self, rows: NDArray[np.int64]) -> _Terms:
        """Return the functions in some rows."""
        return replace(self, rows=self.rows[rows])

    def factor_numbers(self, *, with_curves: bool) -> NDArray[np.int64]:
        """Return the numbers of the functions that are factors of products."""
        is_amount = self.kinds == _AMOUNT
        if is_amount.any():
            return np.flatnonzero(is_amount)
        return np.flatnonzero(with_curves | (self.kinds != _CURVE))

    def without_curves(self) -> _Terms:
        """Return the line, or the amounts."""
        # a line is the first of the functions, so that the number of each stays
        used = self.kinds != _CURVE
        parts = {name: getattr(self, name)[..., used] for name in ("rows", "means", "kinds", "roughness")}
        return replace(self, **parts)


def _terms_of(
    name: str,
    columns: Columns,
    scales: Mapping[str, ProbabilityScale],
    n_levels: Mapping[str, int],
    ordered: Collection[str],
    known: NDArray[np.bool_],
) -> _Terms | None:
    """Return the functions of a column; None if it has one known value.

    At least three levels of an `ordered` column have a line as well as amounts.
    """
    if name in n_levels:
        codes = np.asarray(columns[name], np.int32)
        shares = np.bincount(codes[known], minlength=n_levels[name]) / known.sum()
        used = np.flatnonzero((shares > 0) & (shares < 1))
        if not len(used):
            return None
        # all levels have one prior, so that few rows move the amount of theirs little
        scale = 1.0 / np.sqrt((shares * (1 - shares))[used].mean())
        # two levels mirror each other
        amounts = scale * np.eye(n_levels[name])[:, used[:1] if len(used) == 2 else used]
        line = LevelFunctions(codes[known], n_levels[name], is_ordered=name in ordered).line
        functions = indicators([name], [n_levels[name]]).combined(np.column_stack([line, amounts]))
        of_amounts = np.full(amounts.shape[1], _LINE if amounts.shape[1] == 1 else _AMOUNT)
        kinds = np.concatenate([np.full(line.shape[1], _LINE), of_amounts])
        roughness = np.ones(len(kinds))
        rows = functions.at(codes)
    else:
        places = columns.positions(name, scales[name])
        if not np.ptp(places[known]):
            return None
        of_known = places[known]
        scores = scores_of_parent(np.asarray(columns[name], np.float64)[known], of_known)
        smooth = SmoothFunctions(scores, _N_FUNCTIONS)
        functions = functions_of_places(name, smooth, scores, of_known)
        kinds = np.where(smooth.roughness > 0, _CURVE, _LINE)
        roughness = np.where(smooth.roughness > 0, smooth.roughness, 1.0)
        rows = functions.at(places)
    if not rows.shape[1]:
        return None
    means = rows[known].mean(axis=0)
    return _Terms((functions,), np.where(known[:, None], rows - means, 0.0), means, kinds, roughness)


def _product_of(first: _Terms, second: _Terms, *, with_curves: bool) -> _Terms | None:
    """Return products of the lines and amounts of two columns, and those of curves; None if they are many.

    Amounts say all that the line of ordered levels does. With curves a product is as rough as its factors together;
    None if neither column has any.
    """
    kept = [of.factor_numbers(with_curves=with_curves) for of in (first, second)]
    n_products = len(kept[0]) * len(kept[1])
    has_curves = any((of.kinds == _CURVE).any() for of in (first, second))
    if not 0 < n_products <= _LARGEST_PRODUCT or with_curves > has_curves:
        return None
    factors, parts = [], []
    for of, used in zip((first, second), kept, strict=True):
        plain, heights = _plain(of.factors[0], used)
        # B-splines and indicators add up to 1
        factors.append(plain.combined(heights - of.means[used]))
        parts.append(of.rows[:, used])
    rows = (parts[0][:, :, None] * parts[1][:, None, :]).reshape(len(parts[0]), -1)
    means = rows.mean(axis=0)
    roughness = np.outer(first.roughness[kept[0]], second.roughness[kept[1]]).ravel()
    return _Terms(tuple(factors), rows - means, means, np.full(n_products, _PRODUCT), roughness)


@dataclass(frozen=True)
class _Fit:
    """Effects of terms: coefficients (n, n_indices), their posterior covariance, and the loss of left-out rows.

    The loss is in nats of all rows. The covariance is (n_indices * n, n_indices * n), index by index. Residuals are
    indicators of levels minus their probabilities, float64 (n_rows, n_levels), or places of left-out rows minus what
    the effects say, (n_rows, 1). Levels have log probabilities in all rows, float64 (n_rows, n_levels).
    """

    coefficients: NDArray[np.float64]
    covariance: NDArray[np.float64]
    loss: float
    residuals: NDArray[np.float64]
    logs: NDArray[np.float64] | None = None


class LevelOdds:
    """The log odds of the levels of a target: a logit of two levels, or multinomial regression of more.

    `work` is the number of products of numbers that fits have taken.
    """

    def __init__(self, codes: NDArray[np.int64], n_levels: int) -> None:
        self.codes, self.targets, self.work = codes, np.eye(n_levels)[codes], 0.0
        # two levels mirror each other
        self.positions = np.array([[-0.5, 0.5]]) if n_levels == 2 else np.eye(n_levels)
        shares = self.targets.mean(axis=0)
        # what a row says of log odds, at the frequencies; of two levels the prior is that of both
        self.prior_unit = float((shares * (1 - shares)).mean()) * (0.5 if n_levels == 2 else 1.0)

    @property
    def centred(self) -> NDArray[np.float64]:
        """Indicators of the levels, of mean 0 and variance 1, float64 (n_rows, n_levels)."""
        shares = self.targets.mean(axis=0)
        return np.asarray((self.targets - shares) / np.sqrt(np.maximum(shares * (1 - shares), 1e-12)))

    def n_numbers(self, n_terms: int) -> int:
        """Return the number of coefficients."""
        return len(self.positions) * n_terms + int(self.targets.shape[1])

    def products(self, n_terms: int) -> float:
        """Return the products of numbers that a row takes, which go by the pairs of indices."""
        n_indices = len(self.positions)
        return float(n_indices * (n_indices + 1)) * (n_terms + 2) ** 2

    def some(self, rows: NDArray[np.int64]) -> LevelOdds:
        """Return the levels in some rows."""
        return LevelOdds(self.codes[rows], self.targets.shape[1])

    def fit(self, design: NDArray[np.float64], precisions: NDArray[np.float64]) -> _Fit:
        """Return the effects that maximise the posterior, given prior precisions in rows."""
        parameters, covariance, logs = self.posterior(design, precisions)
        self.work += len(design) * self.products(design.shape[1])
        n_levels = self.targets.shape[1]
        loss = -float(self.left_out(design, covariance, logs).sum())
        coefficients = parameters[n_levels:].reshape(len(self.positions), -1).T
        residuals = self.targets - np.exp(logs)
        return _Fit(coefficients, covariance[n_levels:, n_levels:], loss, residuals, logs)

    def posterior(
        self, design: NDArray[np.float64], precisions: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return constants and slopes by index, their covariance, and the log probabilities of levels in all rows."""
        n_rows, n_levels = self.targets.shape
        weights = np.ones(n_rows)
        prior = np.concatenate(
            [
                np.full(n_levels, _CONSTANT_PRECISION * n_rows),
                np.tile(self.prior_unit * precisions, len(self.positions)),
            ]
        )
        parameters = np.zeros(len(prior))
        parameters[:n_levels] = np.log(np.maximum(self.targets.mean(axis=0), 0.5 / n_rows))

        def of(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            slopes = point[n_levels:].reshape(len(self.positions), -1)
            logs = log_levels(slopes @ design.T, point[:n_levels], self.positions)
            return float((self.targets * logs).sum() - 0.5 * prior @ point**2), logs

        value, logs = of(parameters)
        for _ in range(_MOST_NEWTON_STEPS):
            gradient, information = derivatives(design, logs, self.positions, self.targets, weights)
            gradient -= prior * parameters
            information[np.diag_indices_from(information)] += prior
            factor = scipy.linalg.cho_factor(information, check_finite=False)
            step = scipy.linalg.cho_solve(factor, gradient, check_finite=False)
            if gradient @ step < _LEAST_PROMISE:
                break
            for _ in range(_MOST_HALVINGS):
                moved, of_moved = of(parameters + step)
                if moved >= value:
                    break
                step /= 2
            else:
                break
            parameters, value, logs = parameters + step, moved, of_moved
        covariance = scipy.linalg.cho_solve(factor, np.eye(len(prior)), check_finite=False)
        return parameters, covariance, logs

    def promises(
        self,
        design: NDArray[np.float64],
        precisions: NDArray[np.float64],
        logs: NDArray[np.float64],
        further: Mapping[str, _Terms],
    ) -> dict[str, tuple[float, int]]:
        """Return about how many nats left-out rows would gain by further terms, and the number of their precision.

        The gain is that of one step of Newton's method, less what as many effective numbers gain by chance.
        """
        # each is crossed with all terms so far
        self.work += sum(of.rows.size * self.n_numbers(design.shape[1]) for of in further.values())
        full = np.column_stack([np.ones(len(design)), design])
        p = np.exp(logs)
        prior = np.concatenate([[_CONSTANT_PRECISION * len(design)], self.prior_unit * precisions])
        # two levels mirror each other
        levels = range(1, 2) if len(self.positions) == 1 else range(self.targets.shape[1])
        # all levels together have one index too many
        share = max(len(levels) - 1, 1) / len(levels)
        known = []
        for level in levels:
            weights = p[:, level] * (1 - p[:, level])
            weighted = weights[:, None] * full
            factor = scipy.linalg.cho_factor(full.T @ weighted + np.diag(prior), check_finite=False)
            known.append((self.targets[:, level] - p[:, level], weights, weighted, factor))
        found = {}
        for key, terms in further.items():
            gains = np.zeros(len(_PRECISIONS) - 1)
            for residuals, weights, weighted, factor in known:
                score, crossed = terms.rows.T @ residuals, weighted.T @ terms.rows
                left = terms.rows.T @ (weights[:, None] * terms.rows)
                left -= crossed.T @ scipy.linalg.cho_solve(factor, crossed, check_finite=False)
                for number, precision in enumerate(_PRECISIONS[:-1]):
                    own = np.diag(self.prior_unit * precision * terms.roughness)
                    solved = np.linalg.solve(left + own, np.column_stack([score, left]))
                    step = solved[:, 0]
                    gains[number] += score @ step - step @ left @ step / 2 - np.trace(solved[:, 1:])
            found[key] = share * float(gains.max()), int(gains.argmax())
        return found

    def averaged(
        self,
        design: NDArray[np.float64],
        precisions: NDArray[np.float64],
        covariance: NDArray[np.float64],
        logs: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return constants and slopes that give the rows the average probabilities of their levels.

        Averages over a posterior of some covariance, whose mode has the log probabilities `logs`, are nearer to the
        frequencies of the levels where the rows say little: at the ends of curves, and of levels with few rows. They
        are those of a normal distribution of the log odds.
        """
        wanted = copy(self)
        wanted.targets = np.exp(_averaged_logs(logs, self._spread(design, covariance)))
        return wanted.posterior(design, np.full_like(precisions, _PRECISION_OF_AVERAGES))[0]

    def _spread(self, design: NDArray[np.float64], covariance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the covariances of the log odds of the levels in every row, float64 (n_rows, n_levels, n_levels)."""
        n_levels, n_terms = self.targets.shape[1], design.shape[1]
        n_indices = len(self.positions)
        of_slopes = covariance[n_levels:].reshape(n_indices, n_terms, len(covariance))
        # of two indices, and of an index and a constant; a level has the indices that its positions say
        of_indices = np.empty((len(design), n_indices, n_indices))
        of_constants = np.stack([design @ of_index[:, :n_levels] for of_index in of_slopes], axis=1)
        for p, of_index in enumerate(of_slopes):
            for q in range(p, n_indices):
                first = n_levels + q * n_terms
                moved = design @ of_index[:, first : first + n_terms]
                of_indices[:, p, q] = of_indices[:, q, p] = np.einsum("ij,ij->i", moved, design)
        crossed = self.positions.T @ of_constants
        spread = self.positions.T @ of_indices @ self.positions + crossed + crossed.transpose(0, 2, 1)
        return np.asarray(spread + covariance[:n_levels, :n_levels])

    def left_out(
        self,
        design: NDArray[np.float64],
        covariance: NDArray[np.float64],
        logs: NDArray[np.float64],
        *,
        is_average: bool = False,
    ) -> NDArray[np.float64]:
        """Return the log probability of every row that is left out, to first order, float64 (n_rows,), or its average.

        Without a row its log odds move by (1 - A W)^-1 A (y - p), with the covariance A of the odds and their
        information W (Rad & Maleki, "A scalable estimate of the out-of-sample error", 2020).
        """
        n_rows, n_levels = self.targets.shape
        p, spread = np.exp(logs), self._spread(design, covariance)
        information = p[:, :, None] * (np.eye(n_levels) - p[:, None, :])
        pulled = spread @ (self.targets - p)[:, :, None]
        # the only row of a level holds its own constant
        held = np.eye(n_levels) - _MOST_LEVERAGE * (spread @ information)
        without = np.linalg.solve(held, pulled)[:, :, 0]
        left = np.asarray(logs - without, np.float64)
        left -= scipy.special.logsumexp(left, axis=1, keepdims=True)
        if is_average:
            left = _averaged_logs(left, np.asarray(np.linalg.solve(held, spread), np.float64))
        return np.asarray(left[np.arange(n_rows), self.codes])


def _averaged_logs(logs: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logs of average probabilities of levels, float64 (n_rows, n_levels), given those of mean log odds.

    The odds are normal, with the covariances `spread` of levels (MacKay, "The evidence framework applied to
    classification networks", 1992). Of more than two levels each has the variance of its mean odds against the others.
    """
    n_levels = logs.shape[1]
    contrasts = np.eye(n_levels) - 1 / n_levels
    variances = np.einsum("ij,njk,ik->ni", contrasts, spread, contrasts).clip(0.0)
    centred = logs - logs.mean(axis=1, keepdims=True)
    centred /= np.sqrt(1 + np.pi / 4 * n_levels / (n_levels - 1) * variances)
    return np.asarray(scipy.special.log_softmax(centred, axis=1))


class _OfNumbers:
    """The place of a target on the scale of its normal scores, with normal noise of one width; `work` as of levels."""

    def __init__(self, places: NDArray[np.float64]) -> None:
        self.places, self.work = (places - places.mean()) / (places.std() or 1.0), 0.0

    @property
    def centred(self) -> NDArray[np.float64]:
        """The places, float64 (n_rows, 1)."""
        return np.asarray(self.places[:, None], np.float64)

    def products(self, n_terms: int) -> float:
        """Return the products of numbers that leaving out a row takes."""
        return float(n_terms**2)

    def some(self, rows: NDArray[np.int64]) -> _OfNumbers:
        """Return the places in some rows."""
        return _OfNumbers(self.places[rows])

    def fit(self, design: NDArray[np.float64], precisions: NDArray[np.float64]) -> _Fit:
        """Return the effects of greatest posterior density, and minus the log density of left-out rows."""
        self.work += len(design) * self.products(design.shape[1])
        full = np.column_stack([np.ones(len(design)), design])
        prior = np.concatenate([[_CONSTANT_PRECISION], precisions])
        coefficients, residuals = left_out_residuals(self.places[:, None], full, prior)
        variance = float((residuals**2).mean())
        covariance = variance * np.linalg.inv(full.T @ full + np.diag(prior))
        loss = 0.5 * len(design) * float(np.log(variance))
        return _Fit(coefficients[1:], covariance[1:, 1:], loss, residuals)


class _Choice:
    """Parents and widths of a target, given the functions of all columns that may be parents."""

    def __init__(self, target: LevelOdds | _OfNumbers, terms: Mapping[str, _Terms]) -> None:
        self._target, self._terms = target, terms
        self._fits: dict[tuple[tuple[str, ...], Widths], _Fit] = {}

    def design(
        self, names: Sequence[str], widths: Widths
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the functions that some parents have, their precisions, and whose they are, by number."""
        terms = [self._terms[name] for name in names]
        n_rows = len(next(iter(self._terms.values())).rows)
        columns = np.concatenate([np.empty((n_rows, 0)), *(of.rows for of in terms)], axis=1)
        precisions = np.concatenate([np.empty(0), *(of.precisions(widths) for of in terms)])
        owners = np.repeat(np.arange(len(terms)), [of.rows.shape[1] for of in terms])
        used = np.isfinite(precisions)
        return columns[:, used], precisions[used], owners[used]

    def fit(self, names: Sequence[str], widths: Widths) -> _Fit:
        """Return the effects of some parents under some widths."""
        key = tuple(names), widths
        if key not in self._fits:
            columns, precisions, _ = self.design(names, widths)
            self._fits[key] = self._target.fit(columns, precisions)
        return self._fits[key]

    def widths(
        self,
        names: Sequence[str],
        first: Widths,
        steps: Sequence[int],
        fewest: Widths = (0, 0, 0, 0),
        is_late: Callable[[], bool] = never,
    ) -> Widths:
        """Return the widths near the first ones under which left-out rows lose least, or lose so far if it is late."""
        widths, kinds = first, sorted({int(kind) for name in names for kind in self._terms[name].kinds})
        least, is_better = self._priced(names, widths), True
        while is_better:
            is_better = False
            for kind in kinds:
                for step in steps:
                    number = int(np.clip(widths[kind] + step, fewest[kind], len(_PRECISIONS) - 1))
                    # a line is the first of all functions
                    if kind == _LINE and np.isinf(_PRECISIONS[number]):
                        continue
                    if is_late():
                        return widths
                    other = (*widths[:kind], number, *widths[kind + 1 :])
                    loss = self._priced(names, other)
                    if loss < least - _LEAST_GAIN:
                        widths, least, is_better = other, loss, True
        return widths

    def _priced(self, names: Sequence[str], widths: Widths) -> float:
        """Return the loss of left-out rows with the price of curves."""
        has_curves = bool(np.isfinite(_PRECISIONS[widths[_CURVE]]))
        return self.fit(names, widths).loss + _PRICE_OF_CURVES * has_curves

    def path(
        self, required: Iterable[str], most: float = np.inf, is_late: Callable[[], bool] = never
    ) -> tuple[list[tuple[list[str], float]], Widths]:
        """Return ever smaller sets of parents, from all to those required, with the loss of left-out rows, and widths.

        Those that leave next are needed least: half the squared distance of their coefficients from 0, in units of
        their posterior covariance, less their number. Of fewer than 20 parents one leaves at a time. If it is late, all
        but the `most` needed ones leave at once, and none after them.
        """
        names, kept = list(self._terms), set(required)
        widths = self.widths(names, _FIRST, _STEPS, is_late=is_late)
        # sums of fewer lines may be surer by chance, and sums with fewer amounts of levels are wider
        fewest = (widths[_LINE], widths[_CURVE], 0, 0)
        found = [(names, self.fit(names, widths).loss)]
        while set(names) - kept:
            late = is_late()
            if late and len(names) <= most:
                break
            fit, (_, precisions, owners) = self.fit(names, widths), self.design(names, widths)
            needs = {
                name: self._need(fit, precisions, np.flatnonzero(owners == number))
                for number, name in enumerate(names)
                if name not in kept
            }
            n_leaving = len(names) - int(most) if late else max(len(names) // _PART, 1)
            leaving = sorted(needs, key=lambda name: needs[name])[:n_leaving]
            names = [name for name in names if name not in leaving]
            widths = self.widths(names, widths, (1, -1), fewest, is_late)
            found.append((names, self.fit(names, widths).loss))
        return found, widths

    def _need(self, fit: _Fit, precisions: NDArray[np.float64], places: NDArray[np.int64]) -> float:
        """Return about how much more left-out rows would lose without some coefficients, in nats."""
        n_terms, n_indices = fit.coefficients.shape
        own = np.concatenate([index * n_terms + places for index in range(n_indices)])
        if not len(own):
            return 0.0
        covariance = fit.covariance[np.ix_(own, own)]
        coefficients = fit.coefficients[places].T.ravel()
        # coefficients of all levels may move together
        distance = float(coefficients @ np.linalg.pinv(covariance, hermitian=True) @ coefficients)
        return distance / 2 - len(own)


@dataclass(frozen=True)
class TargetRules:
    """Columns that may be parents of a target, those that must, and the most parents."""

    may_enter: tuple[str, ...]
    required: tuple[str, ...] = ()
    most: float = np.inf


def chosen_parents(
    target: str,
    table: Table,
    known: Mapping[str, NDArray[np.bool_]],
    scales: Mapping[str, ProbabilityScale],
    rules: TargetRules,
    clock: FitClock = NO_LIMIT,
) -> dict[str, float]:
    """Return the parents of a target under which left-out rows lose least, within some rules.

    The one that is needed most stands first, and those that act by products alone last; each has what it adds for
    left-out rows, in nats.
    Required ones stay. Cells of the table that are not `known`, bool (n_rows,) by column, count nothing. Of a long
    table, or one with many columns, some random rows choose, and fewer where the clock leaves little time. If 1,000
    rows are still too many, columns that tell least of the target by themselves have no curves, and if lines are too
    many, too, such columns are left out before. The choice ends with what it has found after an amount of work that
    grows with the cells of the table, or when it has taken half of the time that is left.
    """
    columns = Columns({column.name: column.values for column in table.columns})
    n_levels = {column.name: len(column.levels) for column in table.columns if column.levels is not None}
    ordered = {column.name for column in table.columns if column.has_order}
    terms: dict[str, _Terms] = {}
    for name in table.names:
        if name in rules.may_enter or name in rules.required:
            of_name = _terms_of(name, columns, scales, n_levels, ordered, known[name])
            if of_name is not None:
                terms[name] = of_name
    if not terms:
        return dict.fromkeys(rules.required, 0.0)
    followed = _followed(target, columns, scales, n_levels)
    n_terms = sum(of.rows.shape[1] for of in terms.values())
    of_choice = clock.part(_SHARE_OF_TIME)
    most_work = _most_work(table.n_rows, len(terms))
    affordable = of_choice.left / (_SECONDS_OF_PRODUCT * _N_FITS)
    if affordable < min(most_work / _N_FITS, table.n_rows * followed.products(n_terms)):
        clock.note(PARENTS)
    most_products = max(min(most_work / _N_FITS, affordable), 0.0)
    n_rows = min(_MOST_ROWS, max(int(most_products / followed.products(n_terms)), _FEWEST_ROWS), table.n_rows)
    if table.n_rows > n_rows:
        some = np.sort(np.random.default_rng(_SEED).permutation(table.n_rows)[:n_rows])
        followed, terms = followed.some(some), {name: of.some(some) for name, of in terms.items()}
    terms = _telling(followed, terms, rules.required, most_products / n_rows)
    required = [name for name in rules.required if name in terms]
    is_late = _ended(followed, most_work, of_choice.late(PARENTS))
    found, widths = _Choice(followed, terms).path(required, max(rules.most, len(required)), is_late)
    sets = [(names, loss) for names, loss in found if len(names) <= rules.most] or found[-1:]
    best = min(range(len(sets)), key=lambda number: sets[number][1])
    gains = dict.fromkeys(sets[-1][0], 0.0)
    for (names, loss), (fewer, without) in reversed(list(zip(sets[best:], sets[best + 1 :], strict=False))):
        # those that leave together share what they add
        entering = [name for name in names if name not in fewer]
        gains |= dict.fromkeys(entering, max(without - loss, 0.0) / len(entering))
    return gains | _gains_of_pairs(followed, terms, list(gains), widths, rules.most, is_late)


def _most_work(n_rows: int, n_columns: int) -> float:
    """Return the products of numbers after which a choice ends, so that it is the same however busy the machine is."""
    return float(np.clip(_WORK_OF_CELL * n_rows * n_columns, *_WORK))


def _ended(
    followed: LevelOdds | _OfNumbers, most_work: float, is_late: Callable[[], bool]
) -> Callable[[], bool]:
    """Return a function that says whether fits of a target have taken some work, or it is late."""
    return lambda: followed.work > most_work or is_late()


def _gains_of_pairs(
    followed: LevelOdds | _OfNumbers,
    terms: Mapping[str, _Terms],
    parents: Sequence[str],
    widths: Widths,
    most: float,
    is_late: Callable[[], bool],
) -> dict[str, float]:
    """Return further parents that act by a product with another column, each with half of what the pair adds, in nats.

    A column that tells nothing by itself has left before. Pairs enter one after another, always the one whose products
    of lines and amounts explain most of what is left, less what as many explain by chance. Two columns must gain more
    than twice what the best of all pairs would by chance, for left-out rows too.
    """
    pairs = [pair for pair in combinations(list(terms)[:_MOST_IN_PAIRS], 2) if not set(pair) <= set(parents)]
    gains: dict[str, float] = {}
    if not pairs or is_late():
        return gains
    price = 2 * np.log(max(len(pairs), 2))
    joined = {name: terms[name] for name in parents}
    fit = _Choice(followed, terms).fit(list(parents), widths)
    widths = (*widths[:_PRODUCT], _FIRST[_PRODUCT])
    while pairs and not is_late():
        residuals = fit.residuals / (fit.residuals.std(axis=0) + 1e-12)
        share = 1 - 1 / residuals.shape[1] if residuals.shape[1] > 1 else 1.0
        promises: dict[tuple[str, str], float] = {}
        for pair in pairs:
            # all of them at once would take much memory
            product = _product_of(terms[pair[0]], terms[pair[1]], with_curves=False)
            if product is not None:
                explained = product.rows @ np.linalg.lstsq(product.rows, residuals, rcond=None)[0]
                by_chance = product.rows.shape[1] * residuals.shape[1]
                promises[pair] = share * float((explained * residuals).sum() - by_chance) / 2
        best = max(promises, key=promises.__getitem__, default=None)
        if best is None or promises[best] < price:
            break
        entering = [name for name in best if name not in joined]
        product = _product_of(terms[best[0]], terms[best[1]], with_curves=False)
        if product is None or len(parents) + len(gains) + len(entering) > most:
            break
        joined |= {name: terms[name] for name in entering} | {"\0".join(best): product}
        of_pair = _Choice(followed, joined).fit(list(joined), widths)
        if (gain := fit.loss - of_pair.loss) < price:
            break
        gains |= dict.fromkeys(entering, gain / 2)
        pairs = [pair for pair in pairs if not set(pair) <= joined.keys()]
        fit = of_pair
    return gains


def _telling(
    followed: LevelOdds | _OfNumbers,
    terms: Mapping[str, _Terms],
    required: Sequence[str],
    most_products: float,
) -> dict[str, _Terms]:
    """Return the terms of required columns, and of those that tell most of the target, as many as are affordable.

    What a column tells by itself is the share of the target that its functions explain in a regression, less what as
    many functions explain by chance. A row may take `most_products` products, but one column stays. Lines and amounts
    come first, then the curves of as many of these columns.
    """
    if followed.products(sum(of.rows.shape[1] for of in terms.values())) <= most_products:
        return dict(terms)
    targets = followed.centred

    def explained_share(name: str) -> float:
        rows = terms[name].rows
        explained = rows @ np.linalg.lstsq(rows, targets, rcond=None)[0]
        return float((explained * targets).sum() - targets.shape[1] * rows.shape[1])

    order = sorted(terms, key=lambda name: (name not in required, -explained_share(name)))
    n_terms, kept = 0, dict[str, _Terms]()
    for name in order:
        plain = terms[name].without_curves()
        n_terms += plain.rows.shape[1]
        if len(kept) >= max(len(required), 1) and followed.products(n_terms) > most_products:
            break
        kept[name] = plain
    for name in list(kept):
        n_terms += terms[name].rows.shape[1] - kept[name].rows.shape[1]
        if followed.products(n_terms) > most_products:
            break
        kept[name] = terms[name]
    return {name: kept[name] for name in terms if name in kept}


def _followed(
    target: str, columns: Columns, scales: Mapping[str, ProbabilityScale], n_levels: Mapping[str, int]
) -> LevelOdds | _OfNumbers:
    if target in n_levels:
        return LevelOdds(np.asarray(columns[target], np.int64), n_levels[target])
    return _OfNumbers(columns.positions(target, scales[target]))


def fitted_target(
    target: str,
    parents: Sequence[str],
    columns: Columns,
    scales: Mapping[str, ProbabilityScale],
    n_levels: Mapping[str, int],
    ordered: Collection[str] = (),
    is_late: Callable[[], bool] = never,
) -> Member | None:
    """Return the logit of a discrete target with given parents, and the log probabilities of left-out rows.

    Levels of `ordered` columns are in their order.
    The widths of the effects are those under which left-out rows lose least, of those tried before the work of the
    choice is done, or it is late. None if no parent tells anything.
    """
    everything = np.ones(columns.n_rows, np.bool_)
    found = {name: _terms_of(name, columns, scales, n_levels, ordered, everything) for name in parents}
    terms = {name: of for name, of in found.items() if of is not None}
    if not terms:
        return None
    followed = LevelOdds(np.asarray(columns[target], np.int64), n_levels[target])
    has_ended = _ended(followed, _most_work(columns.n_rows, len(terms)), is_late)
    widths = _Choice(followed, terms).widths(list(terms), _FIRST, _STEPS, is_late=has_ended)
    if not has_ended():
        terms, widths = _with_products(followed, terms, widths, has_ended)
    rows, precisions, _ = _Choice(followed, terms).design(list(terms), widths)
    parameters, covariance, logs = followed.posterior(rows, precisions)
    left_out, of_averages = (
        followed.left_out(rows, covariance, logs, is_average=is_average) for is_average in (False, True)
    )
    worth = left_out - of_averages
    # parents and widths were chosen by what left-out rows lose under the likeliest effects
    if worth.sum() < np.sqrt(len(worth)) * worth.std():
        parameters, left_out = followed.averaged(rows, precisions, covariance, logs), of_averages
    constants, slopes = np.split(parameters, [n_levels[target]])
    factors: list[Functions] = []
    functions, heights, place = [], [], 0
    intercepts = np.zeros(len(followed.positions))
    for of in terms.values():
        used = np.flatnonzero(np.isfinite(of.precisions(widths)))
        if not len(used):
            continue
        of_terms = slopes.reshape(len(followed.positions), -1)[:, place : place + len(used)].T
        place += len(used)
        intercepts -= of.means[used] @ of_terms
        if len(of.factors) > 1:
            factors += of.factors
            heights.append(of_terms)
            continue
        plain, of_plain = _plain(of.factors[0], used)
        functions.append(plain)
        heights.append(of_plain @ of_terms)
    if not heights:
        # no parent tells anything of the target
        return None
    pairs = tuple((2 * number, 2 * number + 1) for number in range(len(factors) // 2))
    of_parents = {name for of in (*functions, *factors) for name in of.of}
    fitted = FamilyLogit(
        tuple(name for name in parents if name in of_parents and name not in n_levels),
        tuple(name for name in parents if name in of_parents and name in n_levels),
        Terms(tuple(functions), tuple(factors), pairs),
        np.concatenate([intercepts[None], *heights]).T,
        constants,
        followed.positions,
    )
    return Member(fitted, left_out)


def _with_products(
    followed: LevelOdds, terms: Mapping[str, _Terms], widths: Widths, is_late: Callable[[], bool]
) -> tuple[dict[str, _Terms], Widths]:
    """Return the terms of parents with products of pairs of them under which left-out rows lose less, and the widths.

    A pair may have products of lines and amounts, or these and products of curves. Pairs enter one after another,
    always the one that promises most by a penalised score statistic (Rao, "Large sample tests of statistical hypotheses
    concerning several parameters", 1948). Each must gain more than the best of as many pairs without an effect would
    by chance, ln n nats.
    """
    found, waiting = dict(terms), _products(terms)
    price = np.log(max(len(waiting), 1))
    fit = _Choice(followed, found).fit(list(found), widths)
    promises: dict[str, tuple[float, int]] = {}
    renewed = list(waiting)
    while waiting and len(found) - len(terms) < _MOST_PAIRS and not is_late():
        design, precisions, _ = _Choice(followed, found).design(list(found), widths)
        assert fit.logs is not None
        promises |= followed.promises(design, precisions, fit.logs, {key: waiting[key] for key in renewed})
        best = max(waiting, key=lambda key: promises[key][0])
        if promises[best][0] < price:
            break
        wider = {**found, best: waiting.pop(best)}
        choice, moved = _Choice(followed, wider), widths
        if len(found) == len(terms):
            moved = (*widths[:_PRODUCT], promises[best][1])
            moved = choice.widths(list(wider), moved, (1, -1), (*widths[:_PRODUCT], 0), is_late)
        of_wider = choice.fit(list(wider), moved)
        if fit.loss - of_wider.loss < price:
            break
        found, widths, fit = wider, moved, of_wider
        renewed = sorted(waiting, key=lambda key: -promises[key][0])[:_N_RENEWED]
    if len(found) > len(terms):
        widths = _Choice(followed, found).widths(list(found), widths, (1, -1), is_late=is_late)
    return found, widths


def _products(terms: Mapping[str, _Terms]) -> dict[str, _Terms]:
    """Return the products that pairs of parents may have, by names that no columns have."""
    pairs = {}
    for first, second in combinations(list(terms)[:_MOST_IN_PRODUCTS], 2):
        for with_curves in (False, True):
            product = _product_of(terms[first], terms[second], with_curves=with_curves)
            if product is not None:
                pairs[f"{first}\0{second}\0{with_curves}"] = product
    return pairs


def _plain(functions: Functions, used: NDArray[np.int64]) -> tuple[Functions, NDArray[np.float64]]:
    """Return B-splines or indicators of a parent, and some of its functions as sums of these, float64 (n, n_used)."""
    if not functions.of_levels and functions.degree > 1 and used.tolist() == [0]:
        ends = functions.knots[[0, -1]]
        return broken_line(functions.of[0], ends, in_units=False), functions.at(ends)[:, :1]
    return replace(functions, matrix=np.eye(len(functions.matrix))), functions.matrix[:, used]
