"""Draw the pictures of the README: a review page of the Wine table, and the learned network with the bins of a column.

    python scripts/pictures.py --out docs/pictures

The page needs Chromium. The same version of the package gives the same pictures.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

import matplotlib as mpl
from demo_wine import wine
from playwright.sync_api import sync_playwright

from gomea_bn import BayesNetLearner, ExpertNetwork, ParetoBayesNetLearner
from gomea_bn.plots import plot_density, plot_network
from gomea_bn.review import review_page

_EXPERT = [("cultivar", "alcohol"), ("cultivar", "flavanoids"), ("flavanoids", "total phenols")]


def draw_page(out: Path) -> None:
    """Write a picture of the review page of a front."""
    frame = wine().rename(
        columns={
            "total_phenols": "total phenols",
            "od280/od315_of_diluted_wines": "protein content",
            "nonflavanoid_phenols": "nonflavanoids",
            "alcalinity_of_ash": "alcalinity",
        }
    )
    learner = ParetoBayesNetLearner(
        expert=ExpertNetwork.from_edges(_EXPERT),
        max_seconds=None,
        max_evaluations=400_000,
        single_evaluations=100_000,
        random_state=1,
    )
    front = learner.fit(frame).front_
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "page.html"
        review_page(front, page_file)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
        page.goto(page_file.as_uri())
        page.wait_for_selector("body[data-ready='1']")
        page.screenshot(path=out / "page.png")
        browser.close()


def draw_network(out: Path) -> None:
    """Write a picture of a learned network, and of the bins of one column."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    frame = wine()[["alcohol", "flavanoids", "color_intensity", "hue", "proline", "cultivar"]]
    learner = BayesNetLearner(max_seconds=None, max_evaluations=30_000, random_state=1).fit(frame)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    plot_network(learner.network_, ax=left)
    plot_density(learner.network_, "flavanoids", table=learner.table_, ax=right)
    figure.savefig(out / "network.png", dpi=110)


def main() -> None:
    """Draw both pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"), help="folder of the pictures")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    draw_page(options.out)
    draw_network(options.out)


if __name__ == "__main__":
    main()
