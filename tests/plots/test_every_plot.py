"""Every plot draws hostile names as they are, uses given axes, changes nothing global; the plot of explanations."""

import itertools
import warnings

import matplotlib
import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from network_examples import HOSTILE_NAMES, simple_network, small_network
from plot_examples import FIRST

from gomea_bn import GomeaBnError
from gomea_bn.plots import (
    plot_conditional_density,
    plot_density,
    plot_explanation,
    plot_front,
    plot_history,
    plot_network,
)
from gomea_bn.plots.axes import plain_text

HOSTILE = ["$\\frac{", "a_b^c", "_x", "100% $5 and $6", "v" * 300, "two\nlines", "tab\there\\", "<&>", "$a$"]


def hostile_network():
    cuts = {name: [0.5] for name in HOSTILE[1:]}
    return simple_network({HOSTILE[0]: HOSTILE}, itertools.pairwise(HOSTILE), cuts=cuts)


def test_hostile_names_are_drawn_as_they_are():
    network = hostile_network()
    with warnings.catch_warnings(), matplotlib.rc_context({"text.parse_math": True}):
        warnings.simplefilter("error")
        drawings = [
            plot_network(network, reference=network.edges[1:]),
            plot_density(network, HOSTILE[0]),
            plot_density(network, HOSTILE[1]),
            plot_conditional_density(network, HOSTILE[1]),
            plot_history(dict.fromkeys(HOSTILE, FIRST)),
        ]
        for ax in drawings:
            ax.figure.canvas.draw()
    titles = [text.get_text() for text in drawings[0].texts][::2]
    for name, title in zip(network.names, titles, strict=True):
        if name in ("$\\frac{", "a_b^c", "_x", "100% $5 and $6", "two\nlines", "<&>", "$a$"):
            assert title == name
    assert titles[network.names.index("tab\there\\")] == "tab\\there\\"
    long = titles[network.names.index("v" * 300)].replace("\n", "")
    assert len(long) == 48
    assert set(long) == {"v", "…"}
    assert drawings[2].get_xlabel() == "a_b^c"
    named = [*drawings[0].texts, drawings[2].xaxis.label, *drawings[1].get_xticklabels()]
    named += drawings[3].get_legend().get_texts()
    assert len(named) > 30
    assert not any(text.get_parse_math() or text.get_usetex() for text in named)


def test_the_shared_hostile_names_can_be_drawn():
    network = small_network(5, names=HOSTILE_NAMES)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        ax = plot_network(network)
        ax.figure.canvas.draw()
        titles = [text.get_text().replace("\n", "") for text in ax.texts][::2]
        assert titles == [plain_text(name, 48).replace("\n", "") for name in network.names]
        for name in network.names[:6]:
            ax = plot_density(network, name)
            ax.figure.canvas.draw()
            assert ax.get_xlabel() == plain_text(name, 60)


def test_given_axes_are_used_and_nothing_global_changes(front, truth, frame):
    figure, axs = plt.subplots(2, 2, figsize=(10, 8))
    settings_before, open_before = dict(matplotlib.rcParams), plt.get_fignums()
    current = plt.gca()
    name = next(iter(truth.cut_points))
    for draw, ax in zip(
        [
            lambda ax: plot_network(truth, reference=front.expert, ax=ax),
            lambda ax: plot_density(truth, name, table=frame, ax=ax),
            lambda ax: plot_front(front, objectives=front.names[:2], ax=ax),
            lambda ax: plot_history(FIRST, ax=ax),
        ],
        axs.flat,
        strict=True,
    ):
        assert draw(ax) is ax
    assert plt.get_fignums() == open_before
    assert plt.gca() is current
    assert dict(matplotlib.rcParams) == settings_before
    assert figure.axes == list(axs.flat)


def bars_of(ax: Axes) -> list[Rectangle]:
    return [bar for bar in ax.patches if isinstance(bar, Rectangle)]


def test_bars_lead_from_one_answer_to_the_other():
    network = small_network(5, 5).with_metadata(n_rows=100)
    row = network.sample(1, random_state=1, values="numbers").iloc[0]
    known = {name: row[name] for name in network.names[1:3]}
    explanation = network.explain(network.names[0], known)
    columns = {
        "drivers": ("lowest", "highest"),
        "measure_next": ("lowest", "highest"),
        "parameters": ("low", "high"),
    }
    for part, (first, second) in columns.items():
        ax = plot_explanation(explanation, part)
        frame = getattr(explanation, part).head(12)
        bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars_of(ax)]
        assert [end for bar in bars for end in bar] == pytest.approx(
            frame[[first, second]].to_numpy().ravel()
        )
        plt.close("all")
    ax = plot_explanation(explanation)
    assert [bar.get_x() for bar in bars_of(ax)] == pytest.approx(explanation.pushes["without"])
    assert [bar.get_x() + bar.get_width() for bar in bars_of(ax)] == pytest.approx([explanation.answer] * 2)
    assert [
        text.get_text().split(" = ")[0] for text in ax.get_yticklabels()
    ] == explanation.pushes.index.tolist()
    plt.close("all")


def test_parts_without_rows_are_refused():
    explanation = small_network(5, 5).explain("v0")
    with pytest.raises(GomeaBnError, match="no rows in part 'pushes'"):
        plot_explanation(explanation, "pushes")
    with pytest.raises(GomeaBnError, match="part must be one of"):
        plot_explanation(explanation, "causes")
