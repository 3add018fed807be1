"""Discrete variables in a search over real ones: their linkage with these, and their exchange between solutions.

Sadowski, Thierens & Bosman, "GAMBIT: a parameterless model-based evolutionary algorithm for mixed-integer problems",
Evolutionary Computation 26, 2018.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.models import Linkage, LinkageTree, from_subsets
from gomea_bn.linkage.real import MOST_EXPLAINED
from gomea_bn.operators.mixing import MixingRules, MixingWork, PopulationData, vary_range
from gomea_bn.operators.real_estimation import RealPopulation
from gomea_bn.operators.real_mixing import BUDGET, RealWork


class Groups(NamedTuple):
    """Some solutions in groups of equal values, for every one of d discrete variables."""

    codes: NDArray[np.int16]  # (n, d) numbers of the groups
    values: list[NDArray[np.float64]]  # for each discrete variable, its values in ascending order
    # for each one, (n_values, n_real): means of the groups minus the mean of all
    means: list[NDArray[np.float64]]
    information: NDArray[np.float64]  # (d, n_real) about each real variable, in nats


class MixedVariables:
    """What a search over mixed variables computes from its solutions; the alphabet is 0 for real variables."""

    def __init__(self, alphabet: NDArray[np.int64]) -> None:
        self.alphabet = alphabet
        self.is_discrete = alphabet > 0
        self.discrete = np.flatnonzero(self.is_discrete)
        self.real = np.flatnonzero(~self.is_discrete)

    def groups(self, rows: NDArray[np.float64]) -> Groups:
        """Return the groups of solutions of shape (n, n_variables).

        The information is -ln(1 - e) / 2, where e is the share of the variance between the groups. That of s groups is
        (s - 1) / 2n by chance, that of two real variables 1 / 2n; the excess is subtracted.
        """
        n, n_real = len(rows), len(self.real)
        centred = rows[:, self.real] - rows[:, self.real].mean(axis=0)
        totals = (centred**2).sum(axis=0)
        found = Groups(
            np.zeros((n, len(self.discrete)), np.int16), [], [], np.zeros((len(self.discrete), n_real))
        )
        for k, variable in enumerate(self.discrete):
            values, codes, counts = np.unique(rows[:, variable], return_inverse=True, return_counts=True)
            sums = np.zeros((len(values), n_real))
            np.add.at(sums, codes, centred)
            between = (sums**2 / counts[:, None]).sum(axis=0)
            explained = np.divide(between, totals, out=np.zeros(n_real), where=totals > 0)
            found.codes[:, k] = codes
            found.values.append(values)
            found.means.append(sums / counts[:, None])
            found.information[k] = -0.5 * np.log1p(-np.minimum(explained, MOST_EXPLAINED))
            found.information[k] -= max(len(values) - 2, 0) / (2 * n)
        return found

    def covariance(self, groups: Groups, covariance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return covariances (n_variables, n_variables) from which linkage of all variables can be learned.

        A pair with a discrete variable gets the correlation r of two normal variables that tell as much about each
        other: -ln(1 - r^2) / 2 is the information in nats, less its excess by chance. A discrete variable has
        variance 1, or 0 if it is constant.
        """
        n_values = np.array([len(values) for values in groups.values])
        excess = np.maximum(np.outer(n_values - 1, n_values - 1) - 1, 0) / (2 * len(groups.codes))
        information = np.zeros_like(covariance)
        bits = LinkageTree("mi").similarities(groups.codes, n_values)
        information[np.ix_(self.discrete, self.discrete)] = np.log(2.0) * bits - excess
        information[np.ix_(self.discrete, self.real)] = groups.information
        information[np.ix_(self.real, self.discrete)] = groups.information.T
        deviations = np.sqrt(np.diagonal(covariance))
        deviations[self.discrete] = n_values > 1
        correlation = np.sqrt(-np.expm1(-2.0 * np.maximum(information, 0.0)))
        np.fill_diagonal(correlation, 1.0)
        mixed: NDArray[np.float64] = correlation * np.outer(deviations, deviations)
        between_reals = np.ix_(self.real, self.real)
        mixed[between_reals] = covariance[between_reals]
        return mixed

    def offsets(self, groups: Groups, solutions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the discrete variables of solutions (n, n_variables) add to the means of the real ones.

        A real variable follows the one discrete variable that tells most about it, if that is more than the most
        informative of as many independent ones would tell by chance.
        """
        offsets = np.zeros(solutions.shape)
        likely_by_chance = (np.log(len(self.discrete)) + 1.5) / len(groups.codes)
        leading = groups.information.argmax(axis=0)
        follows = groups.information.max(axis=0) > likely_by_chance
        for k in np.unique(leading[follows]):
            followers = follows & (leading == k)
            values, column = groups.values[k], solutions[:, self.discrete[k]]
            group = np.minimum(np.searchsorted(values, column), len(values) - 1)
            means = groups.means[k][group][:, followers]
            # a value that no solution of the groups has adds nothing
            offsets[:, self.real[followers]] = np.where((values[group] == column)[:, None], means, 0.0)
        return offsets

    def exchange(
        self,
        data: RealPopulation,
        linkage: Linkage,
        work: RealWork,
        *,
        target: float,
        kernel_data: Any,
        elite: Any,
        generator: np.random.Generator,
    ) -> PopulationData:
        """Exchange discrete variables between the solutions of a population (gene-pool optimal mixing).

        Solutions change in place; the result counts their evaluations, and has 0 stalls of those that improved.
        """
        subsets = self.exchanged(linkage, data.genotypes)
        n = len(data.genotypes)
        # the type has int16 genes, as most populations do
        genotypes: Any = data.genotypes
        mixing = PopulationData(
            parents=genotypes.copy(),
            genotypes=genotypes,
            terms=data.terms,
            aux=data.aux,
            objectives=data.objectives,
            violations=data.violations,
            stalls=np.zeros(n, np.int64),
            tallies=np.zeros((n, 4), np.int64),
        )
        rules = MixingRules(
            alphabet=self.alphabet,
            allowed=np.zeros((0, 0), np.bool_),
            ordinal=self.is_discrete,
            max_tries=0,
            stall_limit=0,
            forced_improvement=False,
            local_search=False,
            search_donors=False,
            immediate_elite=False,
        )
        mixing_work = MixingWork(
            journal=work.journal,
            subsets=np.zeros(len(subsets.starts), np.int64),
            genes=work.all_variables,
            donors=np.zeros(0, np.int64),
            budget=work.tallies[BUDGET:],
            stop=work.stop,
            target=np.array([target]),
        )
        vary_range(kernel_data, mixing, elite, subsets, rules, generator, mixing_work, (0, n))
        return mixing

    def sampled(self, linkage: Linkage) -> Linkage:
        """Return the parts of the subsets whose values are drawn: the real variables."""
        return linkage.within(~self.is_discrete)

    def exchanged(self, linkage: Linkage, solutions: NDArray[np.float64]) -> Linkage:
        """Return the subsets that are exchanged: varying discrete variables, with and without the real ones."""
        varying = self.is_discrete & (solutions != solutions[0]).any(axis=0)
        relevant = varying | ~self.is_discrete
        whole, discrete_parts = linkage.within(relevant), linkage.within(varying)
        n_relevant = int(relevant.sum())
        mixed = [subset for subset in whole.lists() if 0 < varying[subset].sum() < len(subset) < n_relevant]
        return from_subsets([*discrete_parts.lists(), *mixed])
