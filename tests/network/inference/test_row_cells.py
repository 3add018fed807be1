"""Answers about one unknown number: against quadrature over points that are dense at every peak."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import averaged_example, lines_of, sets_of, with_lines
from conditional_oracles import random_conditionals_network
from network_examples import network_with
from numpy.typing import NDArray

from gomea_bn import DiscretizedBayesNet, Shape
from gomea_bn.network.conditionals import Conditionals, FamilyEffects, TableSet, Terms, broken_line
from gomea_bn.network.inference import cell_engine
from gomea_bn.network.inference.row_grids import FixedEnds

SUPPORT = {"w": (-1.0, 1.0), "x": (-2.0, 2.0), "y": (-1.0, 3.0), "z": (-9.0, 9.0)}
PARENTS: dict[str, tuple[str, ...]] = {"w": (), "x": ("w",), "y": ("x",), "z": ("w", "x")}
LINES = tuple(broken_line(name, np.array(SUPPORT[name]), in_units=True) for name in "wx")
TOLERANCE = 1e-4


def _zigzag(scale: float) -> DiscretizedBayesNet:
    """Return a network in which y is a zigzag of x and z a surface, so that x has up to three narrow modes."""
    rng = np.random.default_rng(1)

    def copy() -> TableSet:
        cuts = {name: np.sort(rng.uniform(*ends, 2)) for name, ends in SUPPORT.items()}
        tables = {n: rng.dirichlet(np.ones(3), [3] * len(of_n)) for n, of_n in PARENTS.items()}
        return TableSet(cuts, PARENTS, tables)

    copies = [copy(), copy(), copy()]
    # slopes 1, -1 and 1
    broken = broken_line("x", np.array([-2.0, -1.0, 1.0, 2.0]), in_units=True)
    zigzag = FamilyEffects(
        ("x",), (), Terms((broken,)), np.array([0.0, 0.0, 1.0, -1.0, 0.0]), np.array([4 * scale]), np.array([6.0]),
        in_units=True,
    )  # fmt: skip
    # w + x / 2 + w x + .7 x^2
    w, x = LINES
    positions = [line.combined(line.knots[1:-1, None]) for line in (w, x)]
    surface = FamilyEffects(
        ("w", "x"), (), Terms((w, x), tuple(positions), ((0, 1), (1, 1))),
        np.array([0.0, -1.0, 1.0, -1.0, 1.0, 1.0, 0.7]), np.array([2.0]), np.array([40.0]), in_units=True,
    )  # fmt: skip
    units = dict.fromkeys(SUPPORT, (0.0, 1.0))
    return network_with(
        tuple(SUPPORT),
        [(parent, child) for child, of_child in PARENTS.items() for parent in of_child],
        cut_points=copies[0].cut_points,
        support=SUPPORT,
        tables=copies[0].tables,
        shapes={"x": Shape([-2.0, 0.5, 2.0], [0.5, 1.5], [1.0, 4 / 3])},
        pseudo_count="auto",
        conditionals=Conditionals.of_tables(
            copies, further={"y": (0.9, zigzag), "z": (0.8, surface)}, units=units, n_rows=100
        ),
    )


def _slow(
    network: DiscretizedBayesNet, row: dict[str, Any], target: str, centres: list[float], scale: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of 100,000 cells, and their probabilities by the density of complete rows at their middles."""
    low, high = network.support[target]
    assert network.conditionals is not None
    cuts = [copy.cut_points[target] for copy in sets_of(network)]
    steps = np.geomspace(1e-3, 1e9, 15_000) * scale * (high - low)
    near = [centre + sign * steps for centre in centres for sign in (-1, 1)]
    edges = np.concatenate([np.linspace(low, high, 20_001), network.cut_points[target], *cuts, *near])
    of_others = [shape.edges for name, shape in network.conditionals.scales.items() if name == target]
    of_shape = [network.shapes[target].edges] if target in network.shapes else []
    edges = np.unique(np.clip(np.concatenate([edges, *of_others, *of_shape]), low, high))
    middles = (edges[:-1] + edges[1:]) / 2
    logs = network.log_density(pd.DataFrame({**row, target: middles}))
    masses = np.exp(logs - logs.max()) * np.diff(edges)
    return edges, masses / masses.sum()


def _check(
    network: DiscretizedBayesNet,
    row: dict[str, Any],
    target: str,
    centres: list[float],
    scale: float,
    tolerance: float = TOLERANCE,
) -> None:
    edges, masses = _slow(network, row, target, centres, scale)
    middles = (edges[:-1] + edges[1:]) / 2
    mean = masses @ middles
    deviation = float(np.sqrt(masses @ (middles - mean) ** 2))
    frame = pd.DataFrame([{**row, target: np.nan}])
    below = np.concatenate(([0.0], np.cumsum(masses)))
    levels = (0.001, 0.05, 0.3, 0.95)
    interval = network.predict_interval(frame, target, levels).iloc[0]
    assert network.predict(frame, target)[0] == pytest.approx(mean, abs=tolerance * deviation)
    for name, level in zip(("median", *interval.index[2:]), (0.5, *levels), strict=True):
        # a quantile is as uncertain as the probabilities between which it lies
        ends = np.interp([level - tolerance / 10, level + tolerance / 10], below, edges)
        assert ends[0] - tolerance * deviation <= interval[name] <= ends[1] + tolerance * deviation
    answer = network.query(target, row)
    shares = np.diff([0.0, *np.interp(network.cut_points[target], edges, below), 1.0])
    assert answer.to_numpy() == pytest.approx(shares, abs=tolerance)
    assert answer.attrs["resolution_error"] <= tolerance


@pytest.mark.parametrize("scale", [1e-6, 1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("y", [0.3, -0.9, 1.0])
def test_parents_of_narrow_children_are_exact_with_several_modes(scale, y):
    # y = x + 2, -x, and x - 2 by part
    centres = [centre for centre in (y - 2, -y, y + 2) if -2 <= centre <= 2]
    _check(_zigzag(scale), {"w": 0.4, "y": y, "z": 0.8}, "x", centres, scale)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 0.1])
def test_a_narrow_child_is_exact(scale):
    _check(_zigzag(scale), {"w": 0.4, "x": 0.25, "z": 0.8}, "y", [-0.25], scale)


def test_children_that_contradict_each_other_leave_what_both_allow():
    """The far tails of two narrow densities decide where they meet."""
    network = _zigzag(1e-3)
    assert network.conditionals is not None
    narrow = FamilyEffects(
        ("w", "x"),
        (),
        Terms(LINES[1:]),
        np.array([0.0, -2.0, 2.0]),
        np.array([1e-3]),
        np.array([1e3]),
        in_units=True,
    )
    network = with_lines(network, {"y": (0.9, lines_of(network)["y"]), "z": (0.99, narrow)})
    _check(network, {"w": 0.4, "y": 0.3, "z": -0.31}, "x", [-0.3, -0.31, -1.7], 1e-3)


@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("target", ["x", "w", "y"])
def test_random_networks_are_exact(seed, target):
    network = random_conditionals_network(seed)
    if target in network.shapes and network.shapes[target].points:
        pytest.skip("the slow twin has no point masses")
    drawn = network.sample(1, random_state=seed, values="numbers").drop(columns=target)
    row = {str(name): value for name, value in drawn.iloc[0].items()}
    # cells of a column do not follow its transformation
    transformed = [one for one in lines_of(network).values() if one.transform is not None]
    _check(network, row, target, [], 1.0, 2e-3 if transformed else TOLERANCE)


@pytest.mark.long
def test_point_masses_keep_their_probabilities():
    """Answers about "p", which is 0 with a probability of its own, are those of sampling."""
    network = averaged_example()
    rows = network.sample(12, random_state=3, values="numbers")
    expected = network.predict_proba(rows, "p", method="sampling", n_draws=100_000, random_state=1)
    errors = np.array(expected.attrs["standard_error"])[:, None]
    answers = network.predict_proba(rows, "p")
    assert (np.abs(answers.to_numpy() - expected.to_numpy()) < 5 * errors + 1e-3).all()
    means = network.predict(rows, "p")
    assert means.to_numpy() == pytest.approx(
        network.predict(rows, "p", method="sampling", n_draws=100_000, random_state=1), abs=0.15
    )


@pytest.mark.long
def test_sampling_counts_intervals_that_are_narrower_than_cells():
    network = _zigzag(1e-4)
    # where the zigzag crosses a cut of x
    cut = network.cut_points["x"][-1]
    at_cut = float(np.interp(cut, [-2, -1, 1, 2], [0, 1, -1, 0]))
    interval = (at_cut + 0.001, at_cut + 0.007)
    drawn = network.sample(1_000_000, random_state=4, values="numbers")
    agrees = drawn["y"].between(*interval)
    shares = network.discretize(drawn[agrees])["x"].value_counts(normalize=True)
    answer = network.query("x", {"y": interval}, method="sampling", n_draws=1_000_000, random_state=5)
    expected = [shares.get(code, 0.0) for code in range(len(answer))]
    assert agrees.sum() > 1_000
    assert answer.to_numpy() == pytest.approx(expected, abs=0.05)


def test_log_density_with_one_gap_is_the_integral_over_it():
    network, row = _zigzag(1e-4), {"w": 0.4, "y": 0.3, "z": 0.8}
    edges, masses = _slow(network, row, "x", [-0.3, -1.7], 1e-4)
    cell = int(masses.argmax())
    x = (edges[cell] + edges[cell + 1]) / 2
    joint = network.log_density(pd.DataFrame([{**row, "x": x}]))[0]
    expected = joint - np.log(masses[cell] / (edges[cell + 1] - edges[cell]))
    assert network.log_density(pd.DataFrame([{**row, "x": np.nan}]))[0] == pytest.approx(expected, abs=1e-4)


def test_answers_do_not_depend_on_other_rows():
    """Rows whose cells are divided stand between rows whose cells are not."""
    network = _zigzag(1e-3)
    rows = network.sample(12, random_state=6, values="numbers")
    # far from the zigzag the tables alone count
    rows.loc[::2, "y"] = 2.9
    together = network.predict_interval(rows, "x", (0.1, 0.9)).to_numpy()
    alone = [
        network.predict_interval(rows.iloc[[k]], "x", (0.1, 0.9)).to_numpy()[0] for k in range(len(rows))
    ]
    assert together == pytest.approx(np.array(alone), rel=1e-9)


def test_the_stated_error_of_a_wide_density_is_smaller_than_that_of_a_narrow_one():
    row = {"w": 0.4, "x": 0.25, "z": 0.8}
    wide, narrow = (_zigzag(scale).query("y", row).attrs["resolution_error"] for scale in (1.0, 1e-3))
    assert 0 < wide < narrow < TOLERANCE


def test_threads_that_share_blocks_of_rows_answer_as_one_of_them_does(monkeypatch):
    network = _zigzag(0.01)
    rows = network.sample(40, 1).drop(columns="x")
    whole = network.predict(rows, "x"), network.predict_interval(rows, "x")
    n_blocks = []

    def in_turn(function, blocks, *, n_threads):
        n_blocks.append((len(blocks), n_threads))
        return list(map(function, blocks))

    for patched in (None, in_turn):
        monkeypatch.setattr(cell_engine, "BLOCK_OF_ROWS", 3)
        monkeypatch.setattr(cell_engine, "_BLOCKS_AT_A_TIME", 4)
        if patched is not None:
            monkeypatch.setattr(cell_engine, "in_threads", patched)
        np.testing.assert_array_equal(network.predict(rows, "x"), whole[0])
        np.testing.assert_array_equal(network.predict_interval(rows, "x"), whole[1])
    assert set(n_blocks) == {(4, -1), (2, -1)}


@pytest.mark.parametrize("seed", range(5))
def test_masses_below_numbers_are_sums_over_the_cells_of_the_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = np.sort(rng.choice(np.arange(0.0, 8.0), 4, replace=False))
    ends = FixedEnds((0.0, 8.0), np.array([2.5, 3.0]), np.empty(0), points)
    grid = ends.grid(np.sort(rng.uniform(0, 8, (3, 6)), axis=1))
    masses = rng.random(grid.lows.shape) * ((grid.highs > grid.lows) | grid.is_point)
    numbers = np.concatenate([grid.highs, grid.lows, rng.uniform(-1, 9, (3, 20))], axis=1)
    for row, (lows, highs, of_row) in enumerate(zip(grid.lows, grid.highs, masses, strict=True)):
        expected = [
            sum(
                mass
                * (1.0 if number >= high else max((number - low) / (high - low), 0.0) if high > low else 0.0)
                for low, high, mass in zip(lows, highs, of_row, strict=True)
            )
            for number in numbers[row]
        ]
        np.testing.assert_allclose(grid.below(masses, numbers)[row], expected, atol=1e-12)
