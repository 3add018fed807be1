"""What code and files of earlier versions meet: deprecated names, curve edges, networks in every format."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import averaged_example, conditionals_of, effects_on, sets_of
from conditional_oracles import slow_noise, slow_place
from hypothesis import given
from hypothesis import strategies as st

from gomea_bn import DiscretizedBayesNet, GomeaBnError, Shape, read_front, write_front
from gomea_bn.network.conditionals import Columns, UnitScale
from gomea_bn.network.conditionals.kinds import fitted_from_content
from gomea_bn.network.conditionals.terms import SumOfTerms

# "c" has the parents "a" and "b", and a table of "a" alone
VARIABLES: list[dict[str, Any]] = [
    {
        "name": "a",
        "kind": "continuous",
        "support": [0.0, 1.0],
        "cut_points": [0.4],
        "parents": [],
        "table": [0.3, 0.7],
    },
    {"name": "b", "kind": "discrete", "levels": ["k", "l", "m"], "parents": [], "table": [0.2, 0.3, 0.5]},
    {
        "name": "c",
        "kind": "continuous",
        "support": [0.0, 2.0],
        "cut_points": [1.0],
        "parents": ["a", "b"],
        "table_parents": ["a"],
        "table": [[0.1, 0.9], [0.6, 0.4]],
    },
]
OLD: dict[str, Any] = {
    "format": "gomea-bn network", "format_version": 1, "pseudo_count": 1.0, "metadata": {"kept": 1},
    "variables": VARIABLES,
}  # fmt: skip
OLD_AVERAGED: dict[str, Any] = {
    "format": "gomea-bn averaged network",
    "format_version": 1,
    "n_rows": 40,
    "network": OLD,
    "lines": {
        "c": {
            "weight": 0.25,
            "parents": ["a"],
            "groups": ["b"],
            "coefficients": [[0.0, 0.5], [0.1, 0.5], [0.2, -0.5]],
            "scales": [0.4, 0.4, 0.5],
            "freedom": [9.0, 9.0, 9.0],
        }
    },
    "scales": {
        "a": {"edges": [0.0, 1.0], "left": [1.0], "right": [1.0]},
        "c": {"edges": [0.0, 2.0], "left": [0.5], "right": [1.5]},
    },
    "cut_probabilities": {"a": [0.8], "c": [0.9]},
    "copies": [
        {
            "cut_points": {"a": [0.4], "c": [1.0]},
            "tables": {"a": [0.3, 0.7], "b": [0.2, 0.3, 0.5], "c": [[0.1, 0.9], [0.6, 0.4]]},
        },
        {
            "cut_points": {"a": [0.5], "c": []},
            "tables": {"a": [0.5, 0.5], "b": [0.2, 0.3, 0.5], "c": [[1.0], [1.0]]},
        },
    ],
}


def old_with(variable: int, **parts: object) -> str:
    """Return the text of a network in which fields of one variable are others."""
    variables = [{**entry, **(parts if k == variable else {})} for k, entry in enumerate(VARIABLES)]
    return json.dumps({**OLD, "variables": variables})


def test_tables_of_old_files_get_an_axis_for_every_parent():
    network = DiscretizedBayesNet.from_json(json.dumps(OLD))
    assert network.parents("c") == ("a", "b")
    table = network.tables["c"]
    assert table.shape == (2, 3, 2)
    for level in range(3):
        assert table[:, level].tolist() == [[0.1, 0.9], [0.6, 0.4]]
    assert network.metadata == {"kept": 1}
    assert network.conditionals is None
    assert DiscretizedBayesNet.from_json(network.to_json()) == network
    assert "table_parents" not in network.to_json()


def test_table_parents_of_a_file_must_be_parents():
    for wrong in (["b", "q"], [["a"]], ["c"]):
        with pytest.raises(GomeaBnError, match="table_parents must be some of its parents"):
            DiscretizedBayesNet.from_json(old_with(2, table_parents=wrong))


def test_a_table_that_would_become_too_large_is_refused():
    n = 1500
    many = {"kind": "discrete", "levels": list(range(n)), "parents": [], "table": [1 / n] * n}
    child = {
        "name": "c", "kind": "discrete", "levels": ["y", "z"], "parents": ["a", "b"], "table_parents": [],
        "table": [0.5, 0.5],
    }  # fmt: skip
    content = {**OLD, "variables": [{"name": "a", **many}, {"name": "b", **many}, child]}
    with pytest.raises(
        GomeaBnError, match=r"The table of 'c' would have 4,500,000 .* the limit is 4,194,304"
    ):
        DiscretizedBayesNet.from_json(json.dumps(content))


def test_files_of_averaged_networks_are_read_as_networks_with_conditionals():
    network = DiscretizedBayesNet.from_json(json.dumps(OLD_AVERAGED))
    known = conditionals_of(network)
    assert network.of_tables() == DiscretizedBayesNet.from_json(json.dumps(OLD))
    assert [tables.parents["c"] for tables in sets_of(network)] == [("a",), ("a",)]
    assert (known.n_rows, known.units, known.cut_intervals) == (40, {}, {})
    assert network.cut_probabilities("c")["probability"].tolist() == [0.9]
    # the density of "c" is that of its two tables, and of the line
    frame = pd.DataFrame({"a": [0.45], "b": ["l"], "c": [1.5]})
    without = {**OLD_AVERAGED, "lines": {}}
    tables = DiscretizedBayesNet.from_json(json.dumps(without)).log_density_terms(frame)["c"]
    assert tables.tolist() == pytest.approx([np.log((0.4 + 0.5) / 2)])
    assert network.log_density_terms(frame)["c"][0] != tables[0]
    assert DiscretizedBayesNet.from_json(network.to_json()) == network


@pytest.mark.parametrize("fixed", [{}, {"p": 2.5, "d": 1}])
def test_files_with_sets_of_cuts_and_set_values_are_read_as_stacks(fixed):
    network = averaged_example(fixed=fixed)
    content = json.loads(network.to_json())
    known = content["conditionals"]
    # the former form; a set column had a uniform table
    sets, stacks = sets_of(averaged_example()), known.pop("stacks")
    known["copies"] = [
        {
            "cut_points": {name: cuts.tolist() for name, cuts in one.cut_points.items()},
            "parents": {name: list(parents) for name, parents in one.parents.items()},
            "tables": {name: table.tolist() for name, table in one.tables.items()},
        }
        for one in sets
    ]
    known["lines"] = {}
    known["set_values"] = fixed
    read = DiscretizedBayesNet.from_json(json.dumps(content))
    for name, stack in conditionals_of(read).stacks.items():
        assert stack.fixed_value == fixed.get(name)
        assert name in fixed or stack.to_content()[0]["tables"] == stacks[name][0]["tables"]
    for part, value, message in (
        ("lines", {"b": 5}, r"The weight of lines\['b'\] must be a number, got None"),
        ("set_values", 5, "wanted an object under 'set_values'"),
        ("copies", [{**known["copies"][0], "parents": {}}], r"copies\[0\]: parents must be lists of names"),
    ):
        damaged = {**content, "conditionals": {**known, part: value}}
        with pytest.raises(GomeaBnError, match=message):
            DiscretizedBayesNet.from_json(json.dumps(damaged))


SHAPES = {name: Shape(**content) for name, content in OLD_AVERAGED["scales"].items()}
TRANSFORM = [[-2.5, -1.0, 0.5, 3.0], [-2.0, -0.4, 0.3, 2.8]]
EARLIER_LINES: dict[str, dict[str, Any]] = {
    "lines of groups": {},
    "equal slopes": {"coefficients": [[0.0, 0.5], [0.1, 0.5], [0.2, 0.5]]},
    "without groups": {"groups": [], "coefficients": [[0.1, 0.5]], "scales": [0.3], "freedom": [4.0]},
    "knots of groups": {
        "coefficients": [[0, 0.5, 1, -2], [0.1, 0.5, 1, -2], [0.2, -1, 0.3, 1]],
        "knots": [[0.3, -0.4]],
    },
    "knots": {"coefficients": [[0, 0.5, 1, -2], [1, 0.5, 1, -2], [2, 0.5, 1, -2]], "knots": [[-0.4, 0.3]]},
    "square": {"coefficients": [[0, 0.5, 0.7], [1, 0.5, 0.7], [2, 0.5, 0.7]], "has_products": True},
    "products of knots": {
        "coefficients": [[k, 0.5, -1, 0.7] for k in range(3)],
        "knots": [[0.2]],
        "has_products": True,
        "product_knots": [[-0.3, 0.4]],
    },
    "own units": {"coefficients": [[k, 0.5, -1] for k in range(3)], "knots": [[0.2]], "in_units": True},
    "transform": {"transform": TRANSFORM},
    "with sums": {"sums": {"products": [[1.0]], "least_scale": 0.07}},
}


def earlier_line(**parts: object) -> dict[str, Any]:
    """Return the line of a file of an earlier version, with other parts."""
    return {**OLD_AVERAGED["lines"]["c"], **parts}


def slow_mean(line: dict[str, Any], group: int, places: list[float]) -> float:
    """Return the centre of a line of earlier versions: positions, hinges, products, and products of hinges."""
    n = len(places)
    terms = [1.0, *places]
    for place, knots in zip(places, line.get("knots") or [[]] * n, strict=True):
        terms += [max(place - knot, 0.0) for knot in knots]
    if line.get("has_products"):
        terms += [places[i] * places[j] for i in range(n) for j in range(i, n)]
        factors = [
            [place, *(max(place - knot, 0.0) for knot in knots)]
            for place, knots in zip(places, line.get("product_knots") or [[]] * n, strict=True)
        ]
        for i in range(n):
            for j in range(i + 1, n):
                terms += [a * b for a in factors[i] for b in factors[j]][1:]
    return math.fsum(a * b for a, b in zip(line["coefficients"][group], terms, strict=True))


@pytest.mark.parametrize("name", EARLIER_LINES)
@pytest.mark.parametrize("has_kind", [False, True])
def test_lines_of_files_have_the_densities_of_their_formula(name, has_kind):
    line = earlier_line(**EARLIER_LINES[name])
    units = {"a": [0.4, 0.25], "c": [1.1, 0.5]}
    content = {
        **OLD_AVERAGED,
        "lines": {"c": {**line, **({"kind": "line"} if has_kind else {})}},
        "units": units,
    }
    network = DiscretizedBayesNet.from_json(json.dumps(content))
    of_tables = DiscretizedBayesNet.from_json(json.dumps({**OLD_AVERAGED, "lines": {}}))
    known = conditionals_of(network)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.uniform(0, 1, 20), "b": rng.choice(["k", "l", "m"], 20), "c": rng.uniform(0, 2, 20)}
    )
    found, tables = (net.log_density_terms(frame)["c"] for net in (network, of_tables))
    in_units = bool(line.get("in_units"))
    for k, row in enumerate(frame.to_dict("records")):
        place = (row["a"] - 0.4) / 0.25 if in_units else slow_place(SHAPES["a"], row["a"], 40)
        group = "klm".index(row["b"]) if line["groups"] else 0
        mean = slow_mean(line, group, [place])
        transform = np.array(line["transform"]) if "transform" in line else None
        noise = line["scales"][group], line["freedom"][group]
        density = slow_noise(network, known, "c", row["c"], mean, *noise, in_units, transform)
        assert np.exp(found[k]) == pytest.approx(0.75 * np.exp(tables[k]) + 0.25 * density, rel=1e-7)
    assert DiscretizedBayesNet.from_json(network.to_json()) == network
    assert effects_on(network, "c").least_scale == (0.07 if name == "with sums" else 0.0)


@given(st.integers(0, 10**6))
def test_lines_of_several_parents_keep_their_sums(seed):
    rng = np.random.default_rng(seed)
    parents, has_products = ["x", "w"], bool(rng.integers(2))
    knots = [rng.normal(size=rng.integers(0, 3)).tolist() for _ in parents]
    product_knots = [rng.normal(size=rng.integers(0, 3)).tolist() for _ in parents] if has_products else []
    n_terms = 2 + sum(map(len, knots)) + 3 * has_products
    if product_knots:
        n_terms += (1 + len(product_knots[0])) * (1 + len(product_knots[1])) - 1
    shared = rng.normal(size=n_terms)
    own = has_products or rng.integers(2)
    coefficients = [[rng.normal(), *(shared if own else rng.normal(size=n_terms))] for _ in range(6)]
    line = {
        "parents": parents, "groups": ["g", "h"], "coefficients": coefficients, "scales": [1.0] * 6,
        "freedom": [3.0] * 6, "knots": knots, "has_products": has_products, "product_knots": product_knots,
        "in_units": True,
    }  # fmt: skip
    effects: Any = fitted_from_content(json.loads(json.dumps(line)))
    values: dict[str, Any] = {name: rng.uniform(-3, 3, 6) for name in parents}
    values |= {"g": np.repeat([0, 1], 3), "h": np.tile([0, 1, 2], 2)}
    scales = {True: dict.fromkeys(parents, UnitScale(0.0, 1.0, (-3.0, 3.0)))}
    sums = SumOfTerms(effects.terms, effects.coefficients, scales, {"g": 2, "h": 3}).of(Columns(values))
    expected = [slow_mean(line, k, [values["x"][k], values["w"][k]]) for k in range(6)]
    np.testing.assert_allclose(sums, expected, atol=1e-8)
    # and a logit, whose levels have amounts
    amounts = [rng.normal(size=2).tolist(), rng.normal(size=3).tolist()]
    numbers = {"constants": [0.0, 1.0], "positions": [0.0, 1.0]}
    logit: Any = fitted_from_content(
        {
            **line,
            "kind": "logit",
            "coefficients": shared.tolist(),
            "amounts": amounts,
            **numbers,
            "in_units": True,
        }
    )
    sums = SumOfTerms(logit.terms, logit.coefficients[0], scales, {"g": 2, "h": 3}).of(Columns(values))
    of_shared = {**line, "coefficients": [[0.0, *shared]]}
    expected = [
        slow_mean(of_shared, 0, [values["x"][k], values["w"][k]])
        + amounts[0][values["g"][k]]
        + amounts[1][values["h"][k]]
        for k in range(6)
    ]
    np.testing.assert_allclose(sums, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (5, "A line must be an object with the fields parents, groups"),
        ({"parents": []}, "A line must be an object with the fields parents, groups"),
        (earlier_line(coefficients=[[0.0]] * 3), "one finite coefficient for each of its 1 terms by group"),
        (earlier_line(coefficients=[]), "A line must be"),
        (earlier_line(coefficients=[["x", 1]]), "A line must be"),
        (earlier_line(coefficients=[[0.0, float("nan")]] * 3), "one finite coefficient"),
        (earlier_line(knots=5), "A line must be"),
        (earlier_line(knots=[[0.5], []]), "one finite coefficient"),
        (earlier_line(product_knots=[[0.5]]), "one finite coefficient"),
        (earlier_line(coefficients=[[0, 1, 2], [0, 1, 3], [0, 1, 2]], has_products=True), "equal ones of all groups"),
        (earlier_line(scales=[0.4, 0.4]), "A sum of effects must have"),
        (earlier_line(sums=5), "A line must be an object"),
        (earlier_line(parents=5), "A line must be an object"),
        ({**earlier_line(), "kind": "logit", "amounts": 5}, "A logit must be an object with the fields"),
        ({"kind": "logit", "amounts": []}, "A logit must be an object with the fields"),
    ],
)  # fmt: skip
def test_damaged_lines_of_earlier_versions_are_refused(line, message):
    with pytest.raises(GomeaBnError, match=message):
        fitted_from_content(line)


def test_lines_of_earlier_versions_must_fit_the_network():
    line = earlier_line(scales=[0.4, 0.4], freedom=[1.0, 1.0])
    with pytest.raises(GomeaBnError, match="The effects on 'c' must have 1 or 3 scales, got 2"):
        DiscretizedBayesNet.from_json(json.dumps({**OLD_AVERAGED, "lines": {"c": line}}))


def test_damaged_files_of_averaged_networks_are_refused():
    for part, value, message in (
        ("network", None, "wanted an object under 'network'"),
        ("network", {**OLD, "format": "x"}, "network is not a network"),
        ("network", {**OLD, "variables": [5]}, r"variables\[0\] must be an object"),
        ("copies", [5], r"copies\[0\] must be an object, got int"),
        ("copies", [], "copies must hold at least one set of cuts, got none"),
        ("n_rows", "x", "wanted an integer under 'n_rows'"),
        ("format_version", 2, "format_version 2; this release reads 1"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            DiscretizedBayesNet.from_json(json.dumps({**OLD_AVERAGED, part: value}))


FOLDER = Path(__file__).parent / "formats" / "earlier_versions"


@pytest.fixture(scope="module")
def rows():
    """Return the rows that the files were made from."""
    rng = np.random.default_rng(1)
    age = rng.uniform(20, 80, 60).round(1)
    smoker = rng.random(60) < 0.4
    cough = rng.random(60) < 0.1 + 0.4 * smoker + age / 400
    words = {"smoker": np.where(smoker, "yes", "no"), "cough": np.where(cough, "yes", "no")}
    return pd.DataFrame({"age": age, **words, "visits": rng.integers(0, 6, 60)})


@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_networks_are_those_of_the_same_rows(version, rows):
    network = DiscretizedBayesNet.from_file(FOLDER / version / "network.json")
    again = DiscretizedBayesNet.from_table(
        rows, [("smoker", "cough"), ("age", "cough")], {"age": [40.0, 60.0]}
    )
    assert network == again
    # as both releases printed them
    np.testing.assert_allclose(
        network.log_density(rows.iloc[:3]), [-7.32757713, -7.07770061, -6.80651267], atol=1e-8
    )


@pytest.mark.parametrize("version", ["0.1", "0.2", "tables of 0.2", "averaged in 0.2"])
def test_later_questions_to_networks_of_earlier_versions(version, rows):
    evidence: dict[str, object]
    if version in ("0.1", "0.2"):
        network = DiscretizedBayesNet.from_file(FOLDER / version / "network.json")
        target, state, evidence = "cough", "yes", {"smoker": "no"}
    else:
        network = DiscretizedBayesNet.from_json(json.dumps(OLD if version[0] == "t" else OLD_AVERAGED))
        target, state, evidence = "b", "l", {"a": 0.3}
        rows = network.sample(60, random_state=1, values="numbers")
    with pytest.raises(
        GomeaBnError, match=r"does not hold the counts .* an earlier version.* average_families"
    ):
        network.update(rows)
    drift = network.drift(rows)
    assert drift["log_loss"].sum() == pytest.approx(-network.score(rows))
    assert np.isfinite(drift[["expected", "p_value"]]).all(axis=None)
    answer = network.query(target, evidence)
    best = network.most_probable(evidence, target, n=1)
    assert best["probability"].iloc[0] == pytest.approx(answer.max())
    assert network.explain(target, evidence, state=state).answer == pytest.approx(answer[state])


@pytest.mark.parametrize("ending", ["bif", "xdsl", "net"])
def test_files_for_other_programs_have_the_tables(ending):
    network = DiscretizedBayesNet.from_file(FOLDER / "0.2" / "network.json")
    read = DiscretizedBayesNet.from_file(FOLDER / "0.2" / f"network.{ending}")
    assert len(read.names) == len(network.names)
    for name, other in zip(network.names, read.names, strict=True):
        np.testing.assert_allclose(read.tables[other], network.tables[name], rtol=1e-6)


def test_a_front_is_read_and_written_again_in_the_present_form(tmp_path):
    front = read_front(FOLDER / "0.2" / "front")
    printed = pd.read_csv(FOLDER / "0.2" / "front" / "front.csv")
    assert [candidate.objectives["misfit"] for candidate in front] == printed["misfit"].tolist()
    assert [len(candidate.network.edges) for candidate in front] == printed["n_edges"].tolist()
    assert any(candidate.network.edges for candidate in front)
    written = write_front(tmp_path / "front", front)
    assert {path.name for path in written} == {"front.csv", "front.json", "networks.gz"}
    again = read_front(tmp_path / "front")
    assert [candidate.network for candidate in again] == [candidate.network for candidate in front]
