"""The effects of parents in the panel of a column of the page, in a browser."""

import numpy as np
import pytest
from averaged_examples import averaged_example
from network_examples import HOSTILE_NAMES, network_with

from gomea_bn import DiscretizedBayesNet
from gomea_bn.network.effects import shows_effects

pytestmark = pytest.mark.filterwarnings("error")


def find(page, name: str) -> None:
    page.fill("#find", name)
    page.press("#find", "Enter")


@pytest.mark.long
def test_a_column_that_follows_effects_shows_a_panel_for_each_parent(shown):
    network = averaged_example()
    with shown(network) as page:
        find(page, "c")
        (effect,) = network.column_effects("c").effects
        text = page.locator("#panel").inner_text()
        assert "How it goes with its parents" in text
        assert f"{effect.words} (100\u00a0% of the effects)" in text
        assert page.locator("#effects .effect").count() == 1
        assert page.locator("#effects polyline").count() == 1
        assert page.locator("#effects .bar").count() == len(effect.values)
        # the table is folded
        assert not page.locator("#probabilities").is_visible()
        page.click("text=As a table over bins")
        assert page.locator("#probabilities").is_visible()
        # small tables stay tables
        find(page, "d")
        assert page.locator("#effects").count() == 0
        assert page.locator("#probabilities").is_visible()


@pytest.mark.long
@pytest.mark.parametrize("width", [360, 800, 1600])
def test_the_panels_of_many_parents_fit_the_page(shown, width):
    network = wide_family()
    assert shows_effects(network, "y")
    options = {"viewport": {"width": width, "height": 800}}
    with shown(network, **options) as page:
        find(page, "y")
        panel, drawing = (page.locator(part).bounding_box() for part in ("#panel", "#effects"))
        assert panel["x"] <= drawing["x"]
        assert drawing["x"] + drawing["width"] <= panel["x"] + panel["width"]
        boxes = [box.bounding_box() for box in page.locator("#effects .effect").all()]
        assert len(boxes) == len(network.parents("y"))
        assert all(box["x"] + box["width"] <= drawing["x"] + drawing["width"] + 1 for box in boxes)
        assert page.locator(".effect-name").count() == 3


def wide_family() -> DiscretizedBayesNet:
    """Return a network whose column of three levels has hostile names of continuous and discrete parents."""

    parents = [*HOSTILE_NAMES[:4], "g"]
    cuts = {name: [0.3] for name in parents[:4]}
    return network_with(
        [*parents, "y"],
        [(parent, "y") for parent in parents],
        cut_points=cuts,
        support=dict.fromkeys(cuts, (0.0, 1.0)),
        levels={"g": tuple("abcdefghij"), "y": ("s", "t", "u")},
        tables={
            **{name: [0.4, 0.6] for name in cuts},
            "g": np.full(10, 0.1),
            "y": np.random.default_rng(0).dirichlet(np.ones(3), (2, 2, 2, 2, 10)),
        },
    )
