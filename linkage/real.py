"""Linkage models of real variables: families of subsets whose values are drawn together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.linkage.kernels.tree import tree_slices, upgma
from gomea_bn.linkage.models import Linkage

__all__ = [
    "Blocks",
    "InteractionTree",
    "RealCustom",
    "RealFull",
    "RealLinkageModel",
    "RealLinkageTree",
    "RealUnivariate",
    "gaussian_similarities",
    "real_linkage_model",
]

# the similarity of two variables of which one determines the other
_IDENTICAL = 1.0 - 1e-15


class RealLinkageModel(Protocol):
    """Anything that turns a covariance matrix into a family of subsets."""

    learned: bool  # whether the subsets depend on the covariances, so that they change from generation to generation

    def learn(self, covariance: NDArray[np.float64], generator: np.random.Generator) -> Linkage:
        """Return the subsets for covariances of shape (n_variables, n_variables)."""


def _from_subsets(subsets: list[list[int]]) -> Linkage:
    sizes = np.array([len(subset) for subset in subsets], np.int64)
    members = np.array([variable for subset in subsets for variable in subset], np.int64)
    return Linkage(members, np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64), sizes)


def gaussian_similarities(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mutual information in nats of every two normal variables, -ln(1 - r^2) / 2, shape (l, l).

    A variable of no variance has no similarity to any; r^2 is kept below 1, so that the values are finite.
    """
    variances = np.diagonal(covariance)
    valid = (variances > 0) & np.isfinite(variances)
    scale = np.zeros(len(variances))
    scale[valid] = 1.0 / np.sqrt(variances[valid])
    correlation = covariance * scale[:, None] * scale[None, :]
    squared = np.nan_to_num(correlation * correlation, nan=0.0, posinf=0.0)
    similarity: NDArray[np.float64] = -0.5 * np.log1p(-np.minimum(squared, _IDENTICAL))
    np.fill_diagonal(similarity, 0.0)
    return similarity


def _tree(similarities: NDArray[np.float64], generator: np.random.Generator, max_size: int | None) -> Linkage:
    """Return all nodes of the average-linkage tree, root included, that are no larger than `max_size`."""
    n = len(similarities)
    if n == 1:
        return _from_subsets([[0]])
    children, strength = np.zeros((n - 1, 2), np.int64), np.zeros(n - 1)
    work, chain = np.zeros((2, n), np.int64), np.zeros(n + 2, np.int64)
    # equal similarities must not favour variables of low index
    order = generator.permutation(n)
    shuffled = np.ascontiguousarray(similarities[order[:, None], order])
    upgma(shuffled, generator, work[0], work[1], chain, children, strength)
    sizes, starts = np.zeros(2 * n - 1, np.int64), np.zeros(2 * n - 1, np.int64)
    leaves = np.zeros(n, np.int64)
    tree_slices(children, sizes, starts, leaves)
    keep = sizes <= (n if max_size is None else max_size)
    return Linkage(order[leaves], starts[keep], sizes[keep])


@dataclass(frozen=True)
class RealLinkageTree:
    """The linkage tree, relearned every generation by average linkage (UPGMA) over -ln(1 - r^2) / 2.

    Parameters
    ----------
    max_size : int, optional
        Leave out larger subsets; the root, which holds all variables, is included if not given.
    """

    max_size: int | None = None
    learned = True

    def __post_init__(self) -> None:
        if self.max_size is not None and self.max_size < 1:
            raise GomeaBnError(f"RealLinkageTree: max_size must be at least 1, got {self.max_size!r}.")

    def learn(self, covariance: NDArray[np.float64], generator: np.random.Generator) -> Linkage:
        """Return single variables first, then merges in order, the root last."""
        return _tree(gaussian_similarities(covariance), generator, self.max_size)


@dataclass(frozen=True)
class InteractionTree:
    """A fixed linkage tree over pairs of variables that are known to interact.

    Parameters
    ----------
    interactions : iterable of pairs of int
    max_size : int, optional
        Leave out larger subsets.
    """

    interactions: Iterable[tuple[int, int]]
    max_size: int | None = None
    learned = False

    def learn(self, covariance: NDArray[np.float64], generator: np.random.Generator) -> Linkage:
        """Return the nodes of a tree that joins interacting variables first; ties are broken at random."""
        n = len(covariance)
        similarities = generator.random((n, n)) * 1e-6
        similarities += similarities.T
        for i, j in self.interactions:
            if not (0 <= i < n and 0 <= j < n) or i == j:
                raise GomeaBnError(
                    f"InteractionTree: pairs are of two different variables 0 to {n - 1}, got ({i}, {j})."
                )
            similarities[i, j] += 1.0
            similarities[j, i] += 1.0
        return _tree(similarities, generator, self.max_size)


@dataclass(frozen=True)
class Blocks:
    """Consecutive blocks of `size` variables; the last one may be smaller."""

    size: int
    learned = False

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise GomeaBnError(f"Blocks: size must be an integer of at least 1, got {self.size!r}.")

    def learn(self, covariance: NDArray[np.float64], generator: np.random.Generator) -> Linkage:
        """Return the blocks."""
        n = len(covariance)
        return _from_subsets([list(range(a, min(a + self.size, n))) for a in range(0, n, self.size)])


@dataclass(frozen=True)
class RealUnivariate:
    """Every variable on its own."""

    learned = False

    def learn(self, covariance: NDArray[np.float64], generator: np.random.Generator) -> Linkage:
        """Return one subset per variable."""
        return _from_subsets([[variable] for variable in range(len(covariance))])


@dataclass(frozen=True)
class RealFull:
    """All variables together."""

    learned = False

    def learn(self, covariance: NDArray[np.float64], generator: np.random.Generator) -> Linkage:
        """Return one subset."""
        return _from_subsets([list(range(len(covariance)))])


@dataclass(frozen=True)
class RealCustom:
    """A fixed family of subsets.

    Parameters
    ----------
    subsets : iterable of iterables of int
        Variables; every subset not empty and without repeats. Variables in no subset move only with the mean.
    """

    subsets: Iterable[Iterable[int]]
    learned = False

    def __post_init__(self) -> None:
        listed = [[int(variable) for variable in subset] for subset in self.subsets]
        object.__setattr__(self, "subsets", listed)
        if not listed:
            raise GomeaBnError("RealCustom linkage needs at least one subset.")
        for subset in listed:
            if not subset or len(set(subset)) != len(subset):
                raise GomeaBnError(
                    f"RealCustom linkage: subsets must be non-empty and without repeats, got {subset}."
                )

    def learn(self, covariance: NDArray[np.float64], generator: np.random.Generator) -> Linkage:
        """Return the fixed subsets; raises `GomeaBnError` if one names a variable that does not exist."""
        subsets = [list(subset) for subset in self.subsets]
        for subset in subsets:
            if min(subset) < 0 or max(subset) >= len(covariance):
                raise GomeaBnError(
                    f"RealCustom linkage: variables are 0 to {len(covariance) - 1}, got the subset {subset}."
                )
        return _from_subsets(subsets)


def real_linkage_model(
    model: str | RealLinkageModel, interactions: list[tuple[int, int]] | None = None
) -> RealLinkageModel:
    """Return a linkage model from its name or as it is.

    Parameters
    ----------
    model : {"tree", "interaction-tree", "univariate", "full"} or RealLinkageModel
    interactions : list of pairs, optional
        What "interaction-tree" is built of.

    Raises
    ------
    GomeaBnError
        For an unknown name, an object without ``learn`` and ``learned``, or missing interactions.
    """
    if model == "interaction-tree":
        if interactions is None:
            raise GomeaBnError(
                "linkage='interaction-tree' needs a problem that states its interactions, and this one does not; "
                "use 'tree', or InteractionTree(pairs)."
            )
        return InteractionTree(interactions)
    named: dict[str, RealLinkageModel] = {
        "tree": RealLinkageTree(),
        "univariate": RealUnivariate(),
        "full": RealFull(),
    }
    if isinstance(model, str):
        if model in named:
            return named[model]
    elif hasattr(model, "learn") and hasattr(model, "learned"):
        return model
    known = sorted([*named, "interaction-tree"])
    raise GomeaBnError(f"linkage must be one of {known} or an object with learn and learned, got {model!r}.")
