"""Networks with conditionals made by hand, with every kind of variable and lines, and rows to learn from."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import DiscretizedBayesNet, Shape, read_table
from gomea_bn.network.conditionals import (
    Columns,
    Conditionals,
    FamilyEffects,
    FamilyOdds,
    FamilyTable,
    Fitted,
    FixedValue,
    Functions,
    ProbabilityScale,
    Stack,
    TableSet,
    Terms,
    broken_line,
    indicators,
)
from gomea_bn.network.conditionals.conditionals import table_over_grid
from gomea_bn.network.conditionals.terms import SumOfTerms
from gomea_bn.network.tables import PseudoCount
from gomea_bn.problems.cuts import equal_frequency_cuts, table_shapes

NAMES = ("a", "g", "p", "b", "c", "d")
EDGES = [("a", "g"), ("a", "b"), ("g", "b"), ("p", "b"), ("b", "c"), ("c", "d")]
SUPPORT = {"a": (-1.0, 3.0), "p": (0.0, 10.0), "b": (5.0, 7.0), "c": (0.0, 1.0)}
LEVELS = {"g": ("no", "yes"), "d": (0, 1, 2)}
SHAPES = {
    # with a jump, with a point mass at an end, and with a slope
    "a": Shape([-1.0, 0.0, 3.0], [1.8, 0.6], [1.4, 1.0]),
    "p": Shape([0.0, 10.0], [0.9], [0.5], {0.0: 0.3}),
    "c": Shape([0.0, 1.0], [0.5], [1.5]),
}
SHAPE_OF_B = Shape([5.0, 6.0, 7.0], [0.5, 1.0], [1.0, 1.5])
N_ROWS = 60
UNITS = {"b": (6.1, 0.5), "c": (0.6, 0.25)}
"""Centre and spread of the columns of the curve."""


def copy_with(seed: int) -> DiscretizedBayesNet:
    """Return a network of the graph with random cuts and tables."""
    rng = np.random.default_rng(seed)
    cuts = {
        name: np.sort(rng.uniform(low, high, rng.integers(1, 4))) for name, (low, high) in SUPPORT.items()
    }
    cards = {name: len(cuts[name]) + 1 if name in cuts else len(LEVELS[name]) for name in NAMES}
    tables = {}
    for name in NAMES:
        parents = [parent for parent in NAMES if (parent, name) in EDGES]
        tables[name] = rng.dirichlet(np.full(cards[name], 2.0), size=tuple(cards[p] for p in parents))
    return DiscretizedBayesNet(
        NAMES, EDGES, cut_points=cuts, support=SUPPORT, levels=LEVELS, tables=tables, shapes=SHAPES,
        pseudo_count="auto",
    )  # fmt: skip


def line_of_b(**parts: Any) -> FamilyEffects:
    """Return a sum of effects on "b": lines of two parents, that of the first one for every level of "g"."""
    line = broken_line("a", np.array([-3.0, 3.0]), in_units=False)
    content: dict[str, Any] = {
        "parents": ("a", "p"), "groups": ("g",),
        "terms": Terms(
            (indicators(["g"], [2]), broken_line("p", np.array([-3.0, 3.0]), in_units=False)),
            (indicators(["g"], [2]), line),
            ((0, 1),),
        ),
        "coefficients": np.array([-0.1, 0.2, -0.2, 1.2, -1.2, -2.4, 2.4, 2.1, -2.1]),
        "scales": np.array([0.4, 0.2]), "freedom": np.array([61.0, 20.0]), **parts,
    }  # fmt: skip
    return FamilyEffects(**content)


def curve_of_c(**parts: Any) -> FamilyEffects:
    """Return a sum of effects on "c" in own units: a broken line, a cubic curve and a square of "b"."""
    broken = broken_line("b", np.array([-2.5, -0.5, 0.4, 2.5]), in_units=True)
    cubic = Functions(("b",), np.repeat([-2.5, 2.5], 4), np.eye(4), in_units=True)
    line = Functions(("b",), np.array([-2.5, -2.5, 2.5, 2.5]), np.array([[-2.5], [2.5]]), in_units=True)
    content: dict[str, Any] = {
        "parents": ("b",), "groups": (), "terms": Terms((broken, cubic), (line,), ((0, 0),)),
        "coefficients": np.array([0.2, 2.0, 0.4, 0.1, -0.5, 0.3, -0.4, 0.5, -0.3, 0.3]),
        "scales": np.array([0.3]), "freedom": np.array([6.0]), "in_units": True, **parts,
    }  # fmt: skip
    return FamilyEffects(**content)


def tables_of(network: DiscretizedBayesNet) -> TableSet:
    """Return the cuts and tables of a network as one set of cuts of conditionals."""
    return TableSet(
        network.cut_points, {name: network.parents(name) for name in network.names}, dict(network.tables)
    )


def network_of_tables(network: DiscretizedBayesNet, tables: TableSet) -> DiscretizedBayesNet:
    """Return a network without conditionals that has the cuts and tables of one set of cuts."""
    return network.changed(conditionals=None, cut_points=tables.cut_points, tables=tables.tables)


def conditionals_example(**parts: Any) -> Conditionals:
    """Return an average over three sets of cuts, with effects on "b" and on "c"; `parts` replace its parts.

    These are `copies`, the sets of cuts; `lines` with their weights; `fixed` values; and keywords of `Conditionals`.
    """
    cut_points = copy_with(1).cut_points
    content: dict[str, Any] = {
        "copies": [tables_of(copy_with(seed)) for seed in (1, 2, 3)],
        "lines": {"b": (0.4, line_of_b()), "c": (0.7, curve_of_c())},
        "scales": {**SHAPES, "b": SHAPE_OF_B},
        "units": UNITS,
        "n_rows": N_ROWS,
        "cut_probabilities": {name: np.linspace(0.3, 0.95, len(cuts)) for name, cuts in cut_points.items()},
        "cut_intervals": {
            name: [
                (max(cut - 0.1, SUPPORT[name][0]), min(cut + 0.2, SUPPORT[name][1])) for cut in cuts.tolist()
            ]
            for name, cuts in cut_points.items()
        },
        **parts,
    }
    fixed = {name: Stack.of(FixedValue(value)) for name, value in content.pop("fixed", {}).items()}
    known = Conditionals.of_tables(content.pop("copies"), content.pop("lines"), **content)
    return known.changed(stacks={**known.stacks, **fixed}) if fixed else known


def averaged_example(**parts: Any) -> DiscretizedBayesNet:
    """Return the network that has the conditionals of `conditionals_example`, and the tables that follow from them."""
    return with_conditionals(copy_with(1), conditionals_example(**parts))


def with_conditionals(network: DiscretizedBayesNet, conditionals: Conditionals) -> DiscretizedBayesNet:
    """Return a network with conditionals, and with tables of the middles of their cells."""
    network = network.changed(conditionals=conditionals)
    cuts = network.cut_points
    return network.changed(tables={name: table_over_grid(network, name, cuts) for name in network.names})


def conditionals_of(network: DiscretizedBayesNet) -> Conditionals:
    """Return the conditionals of a network that has some."""
    assert network.conditionals is not None
    return network.conditionals


def sets_of(network: DiscretizedBayesNet) -> list[TableSet]:
    """Return the tables of all columns by set of cuts; columns with fewer sets have them again."""
    tables = {}
    for name, stack in conditionals_of(network).stacks.items():
        [tables[name]] = [one.tables for _, one in stack.members if isinstance(one, FamilyTable)]
    sets = []
    for k in range(conditionals_of(network).n_sets):
        of_set = {name: of_name[k % len(of_name)] for name, of_name in tables.items()}
        sets.append(
            TableSet(
                {name: one.cuts for name, one in of_set.items() if one.cuts is not None},
                {name: one.parents for name, one in of_set.items()},
                {name: one.table for name, one in of_set.items()},
                {name: one.counts for name, one in of_set.items() if one.counts is not None},
            )
        )
    return sets


def stack_without_odds(network: DiscretizedBayesNet, name: str) -> Stack:
    """Return what a column follows, apart from odds of its cells."""
    stack = conditionals_of(network).stacks[name]
    fitted = stack.members[0][1]
    return fitted.stack if isinstance(fitted, FamilyOdds) else stack


def lines_of(network: DiscretizedBayesNet) -> dict[str, Any]:
    """Return lines, mixtures of lines and logits by column."""
    return {name: fitted for name in network.names for _, fitted in stack_without_odds(network, name).smooth}


def with_lines(
    network: DiscretizedBayesNet, lines: Mapping[str, tuple[float, Fitted]]
) -> DiscretizedBayesNet:
    """Return a network with the same tables, and other smooth members with their weights; 1 leaves no tables."""
    stacks = {}
    for name, stack in conditionals_of(network).stacks.items():
        tables = [fitted for _, fitted in stack.members if isinstance(fitted, FamilyTable)]
        if name in lines:
            weight, fitted = lines[name]
            stacks[name] = Stack.of(fitted) if weight == 1 else Stack.of(tables[0], fitted, weight)
        else:
            stacks[name] = Stack.of(tables[0]) if tables else stack
    return network.changed(conditionals=conditionals_of(network).changed(stacks=stacks))


def weight_of(network: DiscretizedBayesNet, name: str) -> float:
    """Return the weight of the line, or of what takes its place, of a column."""
    return conditionals_of(network).stacks[name].smooth_weight


def effects_on(network: DiscretizedBayesNet, name: str) -> FamilyEffects:
    """Return the sum of effects that a column follows."""
    [effects] = [
        fitted for _, fitted in stack_without_odds(network, name).smooth if isinstance(fitted, FamilyEffects)
    ]
    return effects


def sums_at(network: DiscretizedBayesNet, name: str, rows: pd.DataFrame) -> NDArray[np.float64]:
    """Return the sum of the effects on a column in some rows, on the scale of the column."""
    effects, facts = effects_on(network, name), network.families[name].facts
    values = {
        str(member): np.array([network.levels[str(member)].index(level) for level in column])
        if member in network.levels
        else column.to_numpy(np.float64)
        for member, column in rows.items()
    }
    return np.asarray(
        SumOfTerms(effects.terms, effects.coefficients, facts.scales, facts.n_levels).of(Columns(values))
    )


def slope_of(network: DiscretizedBayesNet, name: str, parent: str, **others: Any) -> float:
    """Return the mean slope of the effects on a column along a parent, from its lower to its upper quartile.

    Both are on their probability scales, or the column in its units; `others` are values of the other parents.
    """
    known = conditionals_of(network)
    scale = ProbabilityScale(known.scales[parent], known.n_rows)
    rows = pd.DataFrame({parent: scale.values_of(np.array([-0.7, 0.7]))}).assign(**others)
    low, high = sums_at(network, name, rows)
    return float(high - low) / 1.4


def breaks_of(network: DiscretizedBayesNet, name: str) -> NDArray[np.float64]:
    """Return the values where the density of a column may jump: its ends, all cuts, and the edges of its scale."""
    known = conditionals_of(network)
    shape = known.scales.get(name)
    ends = [*network.support[name], *(() if shape is None else shape.edges.tolist())]
    return np.unique(np.concatenate([ends, *(one.cut_points[name] for one in sets_of(network))]))


def grid_of(
    network: DiscretizedBayesNet, name: str, n_cells: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mid-points and widths of cells of the support, none of which holds a cut or an edge of a shape inside."""
    breaks = breaks_of(network, name)
    counts = np.ceil(np.diff(breaks) / (breaks[-1] - breaks[0]) * n_cells).astype(int)
    edges = np.concatenate(
        [
            *(
                np.linspace(a, b, n, endpoint=False)
                for a, b, n in zip(breaks, breaks[1:], counts, strict=False)
            ),
            breaks[-1:],
        ]
    )
    return (edges[:-1] + edges[1:]) / 2, np.diff(edges)


QUICK: dict[str, Any] = {"max_evaluations": 1500, "random_state": 1}
"""Options of a short search."""


def linear_frame(n: int = 200, noise: float = 0.1, seed: int = 0) -> pd.DataFrame:
    """Return "y", which follows "x" on a line, "z" without a relation, and the discrete "c"."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {"x": x, "y": x + noise * rng.normal(size=n), "z": rng.normal(size=n), "c": rng.choice(["k", "l"], n)}
    )


def network_of(
    frame: pd.DataFrame,
    edges: list[tuple[str, str]],
    *,
    n_bins: int = 4,
    shaped: bool = True,
    pseudo_count: PseudoCount = "auto",
    metadata: dict[str, object] | None = None,
) -> DiscretizedBayesNet:
    """Return a network with bins of equal frequency."""
    kinds = {str(name): "continuous" for name in frame if frame[name].dtype == np.float64}
    table = read_table(frame, kinds=kinds)
    shapes = {name: shape.shape for name, shape in table_shapes(table).items()}
    return DiscretizedBayesNet.from_table(
        table,
        edges,
        {c.name: equal_frequency_cuts(c.values, n_bins) for c in table.columns if c.is_continuous},
        pseudo_count=pseudo_count,
        shapes=shapes if shaped else None,
        metadata={"shape": "auto" if shaped else "uniform", **(metadata or {})},
    )
