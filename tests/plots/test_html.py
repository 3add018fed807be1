"""What notebooks show: well-formed, escaped and small."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from averaged_examples import averaged_example, conditionals_of, lines_of
from front_examples import example_front

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, average_families, read_table
from gomea_bn.plots.html import effects_svg, network_svg, rows_html

SVG = "{http://www.w3.org/2000/svg}"
WICKED = "<script>alert(\"1\")</script> & 'x'"


def frame(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            WICKED: x,
            "y": x + rng.normal(scale=0.2, size=n),
            "g": rng.choice([WICKED, "b"], n),
            "count": rng.integers(0, 99, n),
        }
    )


def network() -> DiscretizedBayesNet:
    edges = [(WICKED, "y"), ("y", "g"), (WICKED, "g")]
    return DiscretizedBayesNet.from_table(
        read_table(frame()), edges, {WICKED: [0.0], "y": [-0.5, 0.5], "count": []}
    )


def parsed(html: str) -> ElementTree.Element:
    """Return the HTML as a tree; it must be well-formed and must not hold a script."""
    tree = ElementTree.fromstring(html)
    assert not [element for element in tree.iter() if "script" in element.tag]
    return tree


def cells(tree: ElementTree.Element) -> list[list[str]]:
    return [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]


def test_a_network_shows_its_nodes_edges_and_bins():
    shown = network()
    tree = parsed(shown._repr_html_())
    titles = [title.text for title in tree.iter(f"{SVG}title")]
    assert titles == list(shown.names)
    assert len([path for path in tree.iter(f"{SVG}path") if path.get("marker-end")]) == len(shown.edges)
    rows = {row[0]: row for row in cells(tree)}
    assert rows["y"][1] == "3 bins"
    assert "(-0.5, 0.5]" in rows["y"][2]
    assert rows["g"][3] == f"{WICKED}, y"
    assert WICKED in rows["g"][2]


def test_arrows_end_at_the_border_of_the_child():
    tree = ElementTree.fromstring(network_svg(["a", "b"], [("a", "b")]))
    (path,) = (path for path in tree.iter(f"{SVG}path") if path.get("marker-end"))
    (x, y), (u, v) = re.findall(r"[ML]([\d.]+) ([\d.]+)", path.get("d", ""))
    boxes = [
        {key: float(box.get(key, "0")) for key in ("x", "y", "width", "height")}
        for box in tree.iter(f"{SVG}rect")
    ]
    assert float(y) == boxes[0]["y"] + boxes[0]["height"]
    assert boxes[1]["y"] - 3 <= float(v) <= boxes[1]["y"]
    for place, box in zip((x, u), boxes):
        assert box["x"] < float(place) < box["x"] + box["width"]
    assert all(box["x"] + box["width"] <= float(tree.get("width", "0")) for box in boxes)
    assert all(box["y"] + box["height"] <= float(tree.get("height", "0")) for box in boxes)


def test_a_network_with_conditionals_shows_its_lines():
    averaged = average_families(network(), frame(), random_state=1)
    tree = parsed(averaged._repr_html_())
    header, *rows = cells(tree)
    assert header[-1] == "weight of effects"
    assert {row[0] for row in rows if row[-1]} == set(lines_of(averaged))
    n_sets = conditionals_of(averaged).n_sets
    assert f"averaged over {n_sets} sets of cuts" in "".join(tree.itertext())


def test_columns_that_show_effects_have_a_panel_for_each_parent():
    averaged = averaged_example()
    effects = averaged.column_effects("c")
    tree = parsed(averaged._repr_html_())
    text = "".join(tree.itertext())
    assert f"c: {effects.sentence}." in text
    drawings = [svg for svg in tree.iter(f"{SVG}svg") if svg.find(f"{SVG}title") is not None]
    assert len(drawings) == 1
    assert [panel.tag for panel in drawings[0]].count(f"{SVG}g") == len(effects.effects)
    # of tables alone nothing is shown
    assert "Effects of parents" not in "".join(parsed(averaged.of_tables()._repr_html_()).itertext())


@pytest.mark.parametrize("name", ["b", "d", "g"])
def test_the_drawing_of_effects_holds_everything_inside(name):
    averaged = averaged_example()
    effects = averaged.column_effects(name)
    tree = parsed(effects_svg(averaged, effects))
    width, height = float(tree.get("width", "0")), float(tree.get("height", "0"))
    panels = tree.findall(f"{SVG}g")
    assert len(panels) == len(averaged.parents(name))
    for panel in panels:
        left, top = map(float, re.findall(r"[\d.]+", panel.get("transform", "")))
        for rect in panel.iter(f"{SVG}rect"):
            x, y, w, h = (float(rect.get(part, "0")) for part in ("x", "y", "width", "height"))
            assert left + x + w <= width
            assert 0 <= y <= y + h <= height - top
        for path in panel.iter(f"{SVG}path"):
            numbers = list(map(float, re.findall(r"-?[\d.]+", path.get("d", ""))))
            assert min(numbers) >= 0
    # a line for each of more than two levels
    lines = [path for path in panels[0].iter(f"{SVG}path") if path.get("stroke-width") == "1.8"]
    n_lines = len(effects.shown_outcomes)
    assert len(lines) == n_lines * (1 if effects.effects[0].is_continuous else len(effects.effects[0].values))


def test_a_table_shows_kinds_ranges_and_rules():
    table = read_table(
        frame().assign(o=pd.Categorical(["low"] * 40 + ["high"] * 40, ["low", "high"], ordered=True))
    )
    rows = {row[0]: row for row in cells(parsed(table._repr_html_()))}
    assert rows["g"][1:3] == ["discrete", f"{WICKED}, b"]
    assert rows["o"][1:3] == ["ordered", "low, high"]
    low, high = frame()["count"].min(), frame()["count"].max()
    assert rows["count"][1:3] == ["continuous", f"{low} to {high}"]
    assert rows["count"][3] == table.columns[3].reason


def test_a_learner_shows_options_before_and_figures_after_fit():
    learner = BayesNetLearner(max_seconds=None, max_evaluations=300, random_state=5)
    assert "not fitted" in "".join(parsed(learner._repr_html_()).itertext())
    learner.fit(frame())
    rows = {row[0]: row[1] for row in cells(parsed(learner._repr_html_())) if len(row) == 2}
    assert rows["evaluations"] == f"{learner.n_eval_:,}"
    assert rows["seed"] == "5"
    assert rows["score"] == f"{learner.score_:,.2f} nats"


def test_a_front_shows_its_ends_and_its_knee():
    front = example_front()
    rows = {row[0]: row for row in cells(parsed(front._repr_html_()))}
    assert rows["knee"][1] == str(front.knee().index)
    assert rows["least complexity"][1] == str(front.best("complexity").index)


def test_large_networks_have_a_table_only():
    names = [f"v{k}" for k in range(70)]
    assert "70 nodes" in network_svg(names, [])
    rows = rows_html(["a"], [[name] for name in names])
    assert rows.count("<tr>") == 62
    assert "and 10 more" in rows


@pytest.mark.parametrize("n", [1, 5, 40])
def test_the_page_is_small(n):
    names = [f"variable {k}" for k in range(n)]
    edges = [(names[k // 2], names[k]) for k in range(1, n)]
    assert len(network_svg(names, edges)) < 1000 + 600 * n


def test_an_explanation_shows_its_sentences_and_what_the_rows_say():
    known = network().with_rows(read_table(frame()))
    explanation = known.explain("g", {"y": pd.Interval(0.5, 9)}, state=WICKED)
    text = "".join(parsed(explanation._repr_html_()).itertext())
    assert all(sentence in text for sentence in explanation.sentences)
    assert explanation.rows.words in text
    assert "Sensitivity" in text


def test_a_network_with_a_target_shows_its_rows():
    n = 400
    rng = np.random.default_rng(3)
    x = rng.choice(["a", "b"], n)
    y = np.where(rng.random(n) < np.where(x == "a", 0.8, 0.3), "yes", WICKED)
    table = read_table(pd.DataFrame({"x": x, "y": y}))
    known = DiscretizedBayesNet.from_table(table, [("x", "y")], {}).with_metadata(target="y").with_rows(table)
    rows = cells(parsed(known._repr_html_()))
    share, count = (y[x == "a"] == "yes").mean(), (x == "a").sum()
    figures = [row for row in rows if row[:2] == ["x a", "y yes"] or row[:2] == ["x b", "y yes"]]
    assert len(figures) == 1
    if figures[0][0] == "x a":
        assert figures[0][3] == f"{100 * share:.1f} % of {count:,}"
    assert "next to the rows" not in known.with_metadata(target=None)._repr_html_()
    assert "next to the rows" not in DiscretizedBayesNet.from_table(table, [], {})._repr_html_()
