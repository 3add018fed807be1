"""The plot of explanations draws the answers of their tables."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from network_examples import small_network

from gomea_bn.errors import GomeaBnError
from gomea_bn.plots import plot_explanation


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
