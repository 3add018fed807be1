"""Every plot draws hostile names as they are, uses given axes, and changes nothing global."""

import itertools
import warnings

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from network_examples import HOSTILE_NAMES, small_network
from plot_examples import FIRST

from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.plots import plot_conditional_density, plot_density, plot_front, plot_history, plot_network
from gomea_bn.plots.axes import plain_text

HOSTILE = ["$\\frac{", "a_b^c", "_x", "100% $5 and $6", "v" * 300, "two\nlines", "tab\there\\", "<&>", "$a$"]


def hostile_network():
    edges = list(itertools.pairwise(HOSTILE))
    cards = dict.fromkeys(HOSTILE, 2) | {HOSTILE[0]: len(HOSTILE)}
    parents = dict.fromkeys(HOSTILE, ()) | {child: (parent,) for parent, child in edges}
    continuous = HOSTILE[1:]
    return DiscretizedBayesNet(
        HOSTILE,
        edges,
        cut_points={name: [0.5] for name in continuous},
        support=dict.fromkeys(continuous, (0.0, 1.0)),
        levels={HOSTILE[0]: HOSTILE},
        tables={
            name: np.full([cards[member] for member in (*parents[name], name)], 1 / cards[name])
            for name in HOSTILE
        },
    )


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
    for name, title in zip(HOSTILE, titles, strict=True):
        if name in ("$\\frac{", "a_b^c", "_x", "100% $5 and $6", "two\nlines", "<&>", "$a$"):
            assert title == name
    assert titles[HOSTILE.index("tab\there\\")] == "tab\\there\\"
    long = titles[HOSTILE.index("v" * 300)].replace("\n", "")
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
