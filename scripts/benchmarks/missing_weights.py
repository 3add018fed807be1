"""Scores on available cases with and without weights of the rows, for values that are not missing at random.

Hill climbing over graphs of discrete columns, with the score of `BayesNetLearner` on available cases in plain Python.
With weights a row counts by the inverse of the probability that its values are observed (Liu & Constantinou 2022). The
probability that a column is observed is estimated given the columns that predict it best. Columns whose predictors are
all in the family need no weights. "weighted": the weights of a family sum to its number of complete rows. "weighted,
effective": they sum to the effective number of rows, (sum of w)^2 / sum of w^2.

Probability tables come from all rows by `DiscretizedBayesNet.from_table`, without weights.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pandas as pd
from harness.printing import print_table
from missing_values import MECHANISMS, amputated, skeleton_f1
from numpy.typing import NDArray
from scipy.special import gammaln

from gomea_bn import DiscretizedBayesNet, read_table
from gomea_bn.experiments.tables import published_network
from gomea_bn.simulation import random_network

_FORMS = ("available", "weighted", "weighted, effective")
_MOST_PARENTS = 4
_MOST_CAUSES = 2
# a row counts at most this many times as much as without weights
_LARGEST_WEIGHT = 10.0

Family = tuple[int, tuple[int, ...]]


class Rows:
    """Rows of discrete columns, and the scores of families on them.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_columns), int64
        -1 where missing.
    cards : sequence of int
    form : {"available", "weighted", "weighted, effective"}
    """

    def __init__(self, codes: NDArray[np.int64], cards: Sequence[int], form: str) -> None:
        self.codes, self.cards, self.form = codes, list(cards), form
        self.is_observed = codes >= 0
        self._scores: dict[Family, float] = {}
        self._weights: dict[int, tuple[tuple[int, ...], NDArray[np.float64]]] = {}
        if form != "available":
            self._weights = {v: self._inverse_chances(v) for v in range(len(cards))}

    def score(self, child: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family: the sum of the gains of its parents, weakest first, and of its own rows."""
        if (child, parents) not in self._scores:
            self._scores[child, parents] = self._score(child, parents)
        return self._scores[child, parents]

    def _score(self, child: int, parents: tuple[int, ...]) -> float:
        n_rows, n_columns = self.codes.shape
        weights = self.weights((child, *parents))
        chosen = np.flatnonzero(weights)
        scale = n_rows / max(len(chosen), 1)
        whole = self._marginal(child, parents, chosen, weights)
        if not parents:
            return scale * whole
        without = [tuple(p for p in parents if p != parent) for parent in parents]
        gains = [whole - self._marginal(child, others, chosen, weights) for others in without]
        weakest = int(np.argmin(gains))
        # edges are charged alike, whatever rows they have
        return scale * gains[weakest] - np.log(n_columns - 1) + self.score(child, without[weakest])

    def _marginal(
        self,
        child: int,
        parents: tuple[int, ...],
        chosen: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> float:
        """Return the log marginal likelihood of a child on some rows, with a Dirichlet(1) prior."""
        r = self.cards[child]
        index = np.zeros(len(chosen), np.int64)
        for member in (*parents, child):
            index = index * self.cards[member] + self.codes[chosen, member]
        size = int(np.prod([self.cards[member] for member in (*parents, child)]))
        counts = np.bincount(index, weights[chosen], minlength=size).reshape(-1, r)
        counts = counts[counts.sum(axis=1) > 0]
        totals = gammaln(counts.sum(axis=1) + r)
        return float(gammaln(counts + 1).sum() + len(counts) * gammaln(r) - totals.sum())

    def weights(self, members: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the weights of the rows for a family, float64 (n_rows,), 0 where a member is missing."""
        weights = np.asarray(self.is_observed[:, list(members)].all(axis=1), np.float64)
        n_complete = weights.sum()
        if self.form == "available" or not n_complete:
            return weights
        for member in members:
            causes, inverse = self._weights[member]
            if not set(causes) <= set(members):
                weights = weights * inverse
        total = weights.sum()
        if self.form == "weighted, effective":
            n_complete = total**2 / (weights**2).sum()
        return np.asarray(weights * n_complete / total)

    def _inverse_chances(self, v: int) -> tuple[tuple[int, ...], NDArray[np.float64]]:
        """Return the columns that predict best, by BIC, whether a column is observed, and the weights of all rows."""
        n_rows = len(self.codes)
        is_observed = self.is_observed[:, v]
        causes: tuple[int, ...] = ()
        chance = np.full(n_rows, is_observed.mean())
        best = _log_likelihood(is_observed, chance) - 0.5 * np.log(n_rows)
        while len(causes) < _MOST_CAUSES and not is_observed.all():
            tried = {}
            for new in set(range(len(self.cards))) - {v, *causes}:
                # a missing value is a level of its own
                index = np.zeros(n_rows, np.int64)
                for cause in (*causes, new):
                    index = index * (self.cards[cause] + 1) + self.codes[:, cause] + 1
                _, index = np.unique(index, return_inverse=True)
                n_all = np.bincount(index)
                chances = (np.bincount(index, is_observed) + 0.5) / (n_all + 1.0)
                penalty = 0.5 * np.log(n_rows) * len(n_all)
                tried[new] = _log_likelihood(is_observed, chances[index]) - penalty, chances[index]
            new = max(tried, key=lambda key: tried[key][0])
            if tried[new][0] <= best:
                break
            best, chance = tried[new]
            causes = (*causes, new)
        return causes, np.minimum(is_observed.mean() / chance, _LARGEST_WEIGHT)


def _log_likelihood(is_observed: NDArray[np.bool_], chance: NDArray[np.float64]) -> float:
    chance = np.clip(chance, 1e-9, 1 - 1e-9)
    return float(np.log(np.where(is_observed, chance, 1 - chance)).sum())


def climbed(rows: Rows) -> list[set[int]]:
    """Return the parents of every column in the graph that no added, removed or reversed edge improves."""
    n = len(rows.cards)
    parents: list[set[int]] = [set() for _ in range(n)]

    def reaches(start: int, end: int) -> bool:
        waiting, seen = [end], set()
        while waiting:
            v = waiting.pop()
            if v == start:
                return True
            if v not in seen:
                seen.add(v)
                waiting += parents[v]
        return False

    def score(child: int, of: set[int]) -> float:
        return rows.score(child, tuple(sorted(of)))

    while True:
        best, chosen = 1e-9, None
        for p, c in permutations(range(n), 2):
            now = score(c, parents[c])
            if p in parents[c]:
                removed = score(c, parents[c] - {p}) - now
                changes = [(removed, {c: parents[c] - {p}})]
                parents[c].discard(p)
                if len(parents[p]) < _MOST_PARENTS and not reaches(p, c):
                    gain = score(p, parents[p] | {c}) - score(p, parents[p])
                    changes.append((removed + gain, {c: set(parents[c]), p: parents[p] | {c}}))
                parents[c].add(p)
            elif len(parents[c]) < _MOST_PARENTS and not reaches(c, p):
                changes = [(score(c, parents[c] | {p}) - now, {c: parents[c] | {p}})]
            else:
                continue
            for gain, change in changes:
                if gain > best:
                    best, chosen = gain, change
        if chosen is None:
            return parents
        for v, of in chosen.items():
            parents[v] = of


def measured(options: argparse.Namespace) -> list[tuple[str, str, int, float, float]]:
    """Return mechanism, form, seed, F1 and density of every run."""
    results = []
    for seed in range(options.first, options.first + options.networks):
        if options.published:
            truth = published_network(options.published)
        else:
            truth = random_network(options.variables, random_state=seed)
        cards = [truth.cardinality(name) for name in truth.names]
        sampled = truth.discretize(truth.sample(options.n_rows, random_state=seed))
        test = truth.discretize(truth.sample(5_000, random_state=seed + 10**6))
        for mechanism in options.mechanisms:
            generator = np.random.default_rng([seed, int(100 * options.share)])
            gaps = amputated(sampled.astype(float), mechanism, options.share, generator)
            codes = gaps.fillna(-1).to_numpy(np.int64)
            for form in ("full data", *_FORMS):
                used = sampled.to_numpy(np.int64) if form == "full data" else codes
                parents = climbed(Rows(used, cards, "available" if form == "full data" else form))
                f1, density = _judged(truth, used, cards, parents, test)
                results.append((mechanism, form, seed, f1, density))
    return results


def _judged(
    truth: DiscretizedBayesNet,
    codes: NDArray[np.int64],
    cards: Sequence[int],
    parents: Sequence[set[int]],
    test: pd.DataFrame,
) -> tuple[float, float]:
    """Return the F1 score of a skeleton and the held-out log probability, with tables from all rows."""
    names = truth.names
    columns = {
        name: pd.Categorical.from_codes(codes[:, v], pd.Index(range(cards[v])))
        for v, name in enumerate(names)
    }
    edges = [(names[p], names[c]) for c, of in enumerate(parents) for p in of]
    table = read_table(pd.DataFrame(columns), missing="keep")
    network = DiscretizedBayesNet.from_table(table, edges, {}, pseudo_count="auto")
    return skeleton_f1(truth, network), network.score(test)


def main(arguments: list[str] | None = None) -> None:
    """Print a table for every mechanism: means, and paired differences from the score without weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="Seed of the first network.")
    parser.add_argument("--variables", type=int, default=8)
    parser.add_argument("--published", help="Name of a published network, such as asia, instead.")
    parser.add_argument("--n-rows", type=int, default=2_000)
    parser.add_argument("--share", type=float, default=0.3)
    choices = (*MECHANISMS, "another")
    parser.add_argument("--mechanisms", nargs="+", default=list(choices), choices=choices)
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        # constant and empty columns, and duplicate rows
        warnings.simplefilter("ignore")
        frame = pd.DataFrame(measured(options), columns=["mechanism", "form", "seed", "F1", "density"])
    for mechanism, part in frame.groupby("mechanism", sort=False):
        of = {form: runs.set_index("seed") for form, runs in part.groupby("form", sort=False)}
        lines = [
            (
                form,
                f"{runs.F1.mean():.3f}",
                f"{(of['full data'].density - runs.density).mean():.4f}",
                _difference(runs.F1 - of["available"].F1),
                _difference(runs.density - of["available"].density),
            )
            for form, runs in of.items()
        ]
        print_table(
            f"{options.share:.0%} missing by {mechanism}, {options.n_rows} rows",
            ["score", "F1", "loss of density", "F1 - available", "density - available"],
            lines,
        )


def _difference(values: pd.Series) -> str:
    error = values.std() / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():+.4f} ± {error:.4f}"


if __name__ == "__main__":
    main()
