"""The distance of networks to an expert's network, over a fixed sample from the expert's network."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, Setting
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.bin_distributions import unshared_points
from gomea_bn.network.graph import layers
from gomea_bn.network.recorded import NetworkLike, columns_of_expert_fit
from gomea_bn.network.tables import family_index
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.front_problem import ExpertSample

DEFAULT_SAMPLE = 4096
"""Number of rows that are drawn from the expert's network by default."""
LARGEST_SAMPLE = 1 << 20
"""Largest number of rows that a front draws."""


def draw_expert_sample(
    network: NetworkLike, n_samples: int, random_state: int, mentioned: frozenset[str] | None = None
) -> ExpertSample:
    """Return rows drawn from an expert's network with scrambled Sobol points, one coordinate per variable.

    The number of rows is rounded up to a power of two, for which Sobol points are balanced. `random_state` is the seed
    of the scrambling. The families of the variables `mentioned` count, by default all. A coordinate becomes a value
    through the inverse distribution function of the variable given its parents' bins, so that the sample of every
    variable is stratified. A variable with a shape is distributed as the shape inside its bins. The mean log density
    uses the same rows, so that a network equal to the expert's has distance 0 up to rounding.
    """
    from scipy.stats import qmc

    n_bits = max(int(n_samples) - 1, 1).bit_length()
    points = qmc.Sobol(
        len(network.names), scramble=True, rng=np.random.default_rng(random_state)
    ).random_base2(n_bits)
    names, cuts, support, shapes = network.names, network.cut_points, network.support, network.shapes
    cards = tuple(network.cardinality(name) for name in names)
    position_of = {name: i for i, name in enumerate(names)}
    codes: list[NDArray[np.int32]] = [np.zeros(len(points), np.int32) for _ in names]
    values: list[NDArray[np.float64] | NDArray[np.int32]] = list(codes)
    counted = np.array([mentioned is None or name in mentioned for name in names])
    total = np.zeros(len(points))
    everywhere = np.arange(len(points))
    parent_positions = [tuple(position_of[parent] for parent in network.parents(name)) for name in names]
    for i in chain.from_iterable(layers(parent_positions, names)):
        rows = family_index(codes, parent_positions[i], i, cards) // cards[i]
        table = network.tables[names[i]].reshape(-1, cards[i])[rows]
        upper = np.cumsum(table, axis=1)
        u = points[:, i] * upper[:, -1]
        codes[i] = np.minimum((u[:, None] >= upper).sum(axis=1), cards[i] - 1).astype(np.int32)
        # rounding may end on a bin of probability 0
        codes[i] = np.where(table[everywhere, codes[i]] > 0, codes[i], table.argmax(axis=1)).astype(np.int32)
        probability = table[everywhere, codes[i]]
        log_density = np.log(probability)
        if names[i] in cuts:
            start = upper[everywhere, codes[i]] - probability
            inside = np.clip((u - start) / probability, 0.0, 1.0)
            if (shape := shapes.get(names[i])) is not None:
                drawn = shape.inside(codes[i], cuts[names[i]], inside)
                log_density = log_density + shape.log_inside(drawn, cuts[names[i]])
                values[i] = drawn
            else:
                low, high = support[names[i]]
                edges = np.concatenate(([low], cuts[names[i]], [high]))
                left, right = edges[codes[i]], edges[codes[i] + 1]
                # the left edge belongs to the bin below
                values[i] = np.maximum(left + inside * (right - left), np.nextafter(left, right))
                log_density -= np.log(right - left)
        else:
            values[i] = codes[i]
        if counted[i]:
            total += log_density
    return ExpertSample(tuple(values), float(total.mean()), counted)


def mentioned_names(expert: NetworkLike) -> frozenset[str]:
    """Return the variables that the expert mentioned, for a network from `ExpertNetwork.fitted`; otherwise all."""
    return frozenset(expert.names) - columns_of_expert_fit(expert, "not_mentioned")


def check_point_masses(expert: NetworkLike, shapes: Mapping[str, Shape]) -> None:
    """Raise `GomeaBnError` if the expert's network has a point mass that the given shapes of networks lack.

    Only variables that the expert mentions count. The distance would be infinite.
    """
    mentioned = mentioned_names(expert)
    of_expert = {name: shape for name, shape in expert.shapes.items() if name in mentioned}
    for name, value in unshared_points(of_expert, shapes):
        # a column gets a shape without the point where its rows do not repeat the value often enough
        advice: list[str | Setting] = [] if name in shapes else [Setting("shape", "auto")]
        lacking = "the shape of its column lacks" if name in shapes else "the other networks lack"
        raise GomeaBnError(
            f"The distance to the expert's network is infinite: its variable {name!r} has a point mass at {value:g}, "
            f"which {lacking}.",
            [*advice, "give the expert's edges and cut points without tables"],
        )


def expert_distance(
    expert: DiscretizedBayesNet,
    network: DiscretizedBayesNet,
    *,
    n_samples: int = DEFAULT_SAMPLE,
    random_state: int = 0,
) -> float:
    """Return KL(expert || network) in nats, over the families of the variables that the expert mentions.

    This is the objective "expert_distance": the mean of ln p - ln q over a fixed sample from the expert's network,
    where both terms are sums over these families, or 0 if the mean is below 0. The expert's network is that of
    `ExpertNetwork.fitted`. Raises `GomeaBnError` if it has a point mass that the other network lacks, so that the
    distance is infinite.
    """
    return expert_distance_estimate(expert, network, n_samples=n_samples, random_state=random_state)[0]


def expert_distance_estimate(
    expert: DiscretizedBayesNet,
    network: DiscretizedBayesNet,
    *,
    n_samples: int = DEFAULT_SAMPLE,
    random_state: int = 0,
) -> tuple[float, float]:
    """Return the distance of `expert_distance` and its standard error; parameters and errors are the same.

    The standard error is as if the rows were drawn independently. The error of the scrambled Sobol points is smaller.
    """
    mentioned = mentioned_names(expert)
    check_point_masses(expert, network.shapes)
    sample = draw_expert_sample(expert, n_samples, random_state, mentioned)
    frame = pd.DataFrame(
        {
            name: pd.Categorical.from_codes(values, pd.Index(list(expert.levels[name]), dtype=object))
            if name in expert.levels
            else values
            for name, values in zip(expert.names, sample.values, strict=True)
        }
    )
    of_expert, of_network = expert.log_density_terms(frame), network.log_density_terms(frame)
    differences = np.zeros(len(frame))
    for name in mentioned:
        differences += of_expert[name] - of_network[name]
    error = float(differences.std(ddof=1) / np.sqrt(len(differences)))
    # the mean of the sample is that of the search, to the last bit
    total = sum(of_network[name].mean() for name in network.names if name in mentioned)
    return max(0.0, float(sample.mean_log_density - total)), error
