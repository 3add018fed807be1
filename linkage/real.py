"""Linkage models of real variables: families of subsets whose values are drawn together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, check_choice, check_integer
from gomea_bn.linkage.interaction_tree import StaticTree
from gomea_bn.linkage.models import (
    Custom,
    Full,
    Linkage,
    LinkageModel,
    LinkageTree,
    Univariate,
    average_linkage,
    from_subsets,
    single_genes,
)

MOST_EXPLAINED = 1.0 - 1e-15
"""Largest share of a variance that another variable explains, so that what they have in common stays finite."""


@runtime_checkable
class RealLinkageModel(Protocol):
    """An object that turns a covariance matrix into a family of subsets."""

    # whether the subsets depend on the covariances and therefore change between generations
    learned: bool

    def learn(self, covariance: NDArray[np.float64], generator: np.random.Generator) -> Linkage:
        """Return the subsets for covariances of shape (n_variables, n_variables)."""


def gaussian_similarities(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mutual information in nats of each pair of normal variables, -ln(1 - r^2) / 2, shape (l, l).

    A variable without variance has similarity 0 to all variables. r^2 is limited to a value below 1, so that all
    similarities are finite.
    """
    variances = np.diagonal(covariance)
    valid = (variances > 0) & np.isfinite(variances)
    scale = np.zeros(len(variances))
    scale[valid] = 1.0 / np.sqrt(variances[valid])
    correlation = covariance * scale[:, None] * scale[None, :]
    squared = np.nan_to_num(correlation * correlation, nan=0.0, posinf=0.0)
    similarity = np.asarray(-0.5 * np.log1p(-np.minimum(squared, MOST_EXPLAINED)), np.float64)
    np.fill_diagonal(similarity, 0.0)
    return similarity


def _tree(similarities: NDArray[np.float64], generator: np.random.Generator, max_size: int | None) -> Linkage:
    """Return all nodes of the average-linkage tree, root included, with at most `max_size` variables."""
    n = len(similarities)
    if n == 1:
        return single_genes(1)
    # equal similarities must not favour variables of low index
    order = generator.permutation(n)
    shuffled = np.ascontiguousarray(similarities[order[:, None], order])
    tree, _, _ = average_linkage(shuffled, generator)
    keep = tree.sizes <= (n if max_size is None else max_size)
    return Linkage(order[tree.members], tree.starts[keep], tree.sizes[keep])


@dataclass(frozen=True)
class InteractionTree:
    """A fixed linkage tree over pairs of variables that are known to interact, with subsets up to `max_size`.

    Examples
    --------
    >>> import numpy as np
    >>> tree = InteractionTree([(0, 1), (2, 3)], max_size=2).learn(np.eye(4), np.random.default_rng(1))
    >>> sorted(sorted(subset) for subset in tree.lists())
    [[0], [0, 1], [1], [2], [2, 3], [3]]
    """

    interactions: Iterable[tuple[int, int]]
    max_size: int | None = None
    learned = False

    def __post_init__(self) -> None:
        check_integer("InteractionTree: max_size", self.max_size, 1, optional=True)

    def learn(self, covariance: NDArray[np.float64], generator: np.random.Generator) -> Linkage:
        """Return the nodes of a tree that joins interacting variables first; ties are broken at random."""
        n = len(covariance)
        similarities = generator.random((n, n)) * 1e-6
        similarities += similarities.T
        for i, j in self.interactions:
            if not (0 <= i < n and 0 <= j < n) or i == j:
                raise GomeaBnError(
                    f"InteractionTree: a pair must be two different variables from 0 to {n - 1}, got ({i}, {j})."
                )
            similarities[i, j] += 1.0
            similarities[j, i] += 1.0
        return _tree(similarities, generator, self.max_size)


@dataclass(frozen=True)
class Blocks:
    """Consecutive blocks of `size` variables; the last one may be smaller.

    Examples
    --------
    >>> import numpy as np
    >>> [list(block) for block in Blocks(2).learn(np.eye(5), np.random.default_rng(1)).lists()]
    [[0, 1], [2, 3], [4]]
    """

    size: int
    learned = False

    def __post_init__(self) -> None:
        check_integer("Blocks: size", self.size, 1)

    def learn(self, covariance: NDArray[np.float64], generator: np.random.Generator) -> Linkage:
        """Return the blocks."""
        n = len(covariance)
        return from_subsets(range(first, min(first + self.size, n)) for first in range(0, n, self.size))


@dataclass
class _OfReals:
    """A model of discrete genes over real variables.

    The linkage tree is learned again every generation, by average linkage (UPGMA) over -ln(1 - r^2) / 2. The subsets of
    other models depend on the number of variables alone.
    """

    model: LinkageModel
    learned: bool

    def learn(self, covariance: NDArray[np.float64], generator: np.random.Generator) -> Linkage:
        """Return the subsets; of a tree single variables first, then merges in order, the root last."""
        if isinstance(self.model, LinkageTree):
            return _tree(gaussian_similarities(covariance), generator, self.model.max_set_size)
        n = len(covariance)
        return self.model.learn(np.zeros((1, n), np.int16), np.ones(n, np.int64), generator)


def real_linkage_model(
    model: str | RealLinkageModel | LinkageModel,
    interactions: list[tuple[int, int]] | None = None,
) -> RealLinkageModel:
    """Return a model by name ("tree", "interaction-tree" of `interactions`, "univariate", "full"), or the object.

    `Custom`, `Full`, `StaticTree` and `Univariate` have the same subsets as over discrete genes. `LinkageTree` is
    learned from correlations, and only its ``max_set_size`` counts.
    """
    if isinstance(model, str) and model == "interaction-tree":
        if interactions is None:
            raise GomeaBnError(
                "linkage='interaction-tree' needs a problem that states its interactions, and this one has none; "
                "use 'tree' or InteractionTree(pairs)."
            )
        return InteractionTree(interactions)
    named: dict[str, LinkageModel] = {
        "auto": LinkageTree(),
        "tree": LinkageTree(),
        "univariate": Univariate(),
        "full": Full(),
    }
    names = ["interaction-tree", *named]
    if isinstance(model, str):
        check_choice("linkage", model, names)
        model = named[model]
    if isinstance(model, (Custom, Full, LinkageTree, StaticTree, Univariate)):
        return _OfReals(model, learned=isinstance(model, LinkageTree))
    if not isinstance(model, RealLinkageModel):
        wanted = "a model of real variables, with learn(covariance, generator) and learned"
        discrete = ", which is one of discrete genes" if hasattr(model, "learn") else ""
        raise GomeaBnError(
            f"linkage must be one of {', '.join(map(repr, names))} or {wanted}, got {model!r:.80}{discrete}."
        )
    return model
