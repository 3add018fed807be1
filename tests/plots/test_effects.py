"""The plots of effects: what is drawn, on which axes, and which parents are refused."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from averaged_examples import averaged_example, copy_with
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle
from network_examples import HOSTILE_NAMES, network_with

from gomea_bn import GomeaBnError
from gomea_bn.plots import plot_effect, plot_effects


@pytest.mark.parametrize("network", [copy_with(1), averaged_example()])
def test_panels_draw_the_effects_of_all_parents_on_one_scale(network):
    effects = network.column_effects("b")
    drawn = plot_effects(network, "b")
    assert len(drawn) == 3
    assert len({ax.get_ylim() for ax in drawn}) == 1
    low, high = drawn[0].get_ylim()
    for ax, effect in zip(drawn, effects.effects, strict=True):
        assert ax.get_title().startswith(f"{effect.parent} (")
        assert low < effect.lows.min() < effect.highs.max() < high
        if effect.is_continuous:
            (line,) = ax.lines
            np.testing.assert_array_equal(line.get_xdata(), effect.values)
            np.testing.assert_array_equal(line.get_ydata(), effect.means[:, 0])
        else:
            (steps,) = [one for one in ax.collections if isinstance(one, LineCollection)]
            heights = [segment[0, 1] for segment in steps.get_segments()]
            np.testing.assert_array_equal(heights, effect.means[:, 0])
            assert [text.get_text() for text in ax.get_xticklabels()] == ["no", "yes"]
        # bars of rows lie below everything else
        bars = [bar for bar in ax.patches[-len(effect.values) :] if isinstance(bar, Rectangle)]
        top = ax.get_xaxis_transform().transform((0, max(bar.get_height() for bar in bars)))[1]
        assert top < ax.transData.transform((0, effect.lows.min()))[1]
    assert [bool(ax.get_ylabel()) for ax in drawn] == [True, False, False]


def test_every_level_of_more_than_two_has_a_line():
    ax = plot_effect(averaged_example(), "d", "c")
    assert len(ax.lines) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1", "2"]
    # the second one of two levels has a band
    ax = plot_effect(averaged_example(), "g", "a")
    assert len(ax.lines) == 1
    assert ax.get_ylabel() == "P(g = yes)"
    assert ax.get_legend() is None


def test_hostile_names_and_given_figures_are_drawn():
    names = [*HOSTILE_NAMES[:6], "y"]
    network = network_with(
        names,
        [(name, "y") for name in names[:-1]],
        levels=dict.fromkeys(names, names[:2]),
        tables={
            **{name: [0.4, 0.6] for name in names[:-1]},
            "y": np.random.default_rng(0).dirichlet([1.0, 1.0], (2,) * 6),
        },
    )
    figure = plt.figure(figsize=(7, 5), layout="constrained")
    drawn = plot_effects(network, "y", figure=figure)
    figure.canvas.draw()
    assert drawn == figure.axes
    # two lines of panels
    assert len({round(ax.get_position().y0, 3) for ax in drawn}) == 2
    boxes = [ax.get_window_extent() for ax in drawn]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    texts = [text for ax in drawn for text in (ax.title, *ax.get_xticklabels())]
    assert not any(text.get_parse_math() or text.get_usetex() for text in texts)


def test_others_than_parents_are_refused():
    network = averaged_example()
    with pytest.raises(
        GomeaBnError, match="parent must be a parent of 'c', which has the parents b; got 'a'"
    ):
        plot_effect(network, "c", "a")
    with pytest.raises(GomeaBnError, match="'a' has no parents"):
        plot_effects(network, "a")
