"""Draw the pictures of README and guides from the Wine table.

    python scripts/pictures.py --out docs/pictures
    python scripts/pictures.py --only concepts,packages

The pictures of pages need Chromium. The same version of the package gives the same pictures.
"""

import argparse
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from demo_wine import wine

from gomea_bn import (
    BayesNetLearner,
    ExpertKnowledge,
    ExpertNetwork,
    Front,
    ParetoBayesNetLearner,
    network_report,
)
from gomea_bn.plots import (
    plot_conditional_density,
    plot_density,
    plot_effects,
    plot_front,
    plot_history,
    plot_network,
)
from gomea_bn.review import review_page

_ROOT = Path(__file__).resolve().parent.parent
_COLUMNS = ["alcohol", "flavanoids", "color_intensity", "hue", "proline", "cultivar"]
_EXPERT_OF_SIX = [("cultivar", "alcohol"), ("cultivar", "flavanoids"), ("flavanoids", "hue")]
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
    _photograph(lambda file: review_page(front, file), out / "page.png", height=900)


def draw_network(out: Path) -> None:
    """Write a picture of a learned network, and of the bins of one column."""
    figure, (left, right) = _figure(1, 2, width=10, height=3.6)
    learner = _learner(30_000)
    plot_network(learner.network_, ax=left)
    plot_density(learner.network_, "flavanoids", table=learner.table_, ax=right)
    figure.savefig(out / "network.png", dpi=110)


def draw_first_pages(out: Path) -> None:
    """Write pictures of the two pages of the guide to the first network: a report, and a front."""
    learner, front = _learner(30_000), _front()
    report = out / "first_report.png"
    _photograph(lambda file: network_report(learner.network_, learner.table_, file), report, height=900)
    _photograph(lambda file: review_page(front, file), out / "first_front.png", height=900)


def draw_concepts(out: Path) -> None:
    """Write one picture per concept: bins, score, search, front with its knee, probabilities of edges."""
    figure, axes = _figure(1, 2, width=10, height=3.2)
    for shape, ax in zip(("uniform", "marginal"), axes, strict=True):
        learner = _learner(10_000, shape=shape)
        plot_density(learner.network_, "flavanoids", table=learner.table_, ax=ax)
        ax.set_title({"uniform": "uniform inside bins", "marginal": "shape of the column inside bins"}[shape])
    figure.savefig(out / "concept_bins.png", dpi=110)

    figure, ax = _figure(1, 1, width=6, height=3.4)
    numbers = list(range(1, 13))
    ax.plot(numbers, [_score_by_bins(n) for n in numbers], marker="o", color="#0072b2")
    ax.set(xlabel="number of bins of flavanoids (equal frequency)", ylabel="score of the best network, nats")
    figure.savefig(out / "concept_score.png", dpi=110)

    figure, ax = _figure(1, 1, width=6, height=3.4)
    plot_history({f"seed {seed}": _learner(20_000, random_state=seed) for seed in (1, 2, 3)}, ax=ax)
    figure.savefig(out / "concept_search.png", dpi=110)

    front, (figure, ax) = _front(), _figure(1, 1, width=6, height=3.6)
    plot_front(front, objectives=["misfit", "complexity"], ax=ax)
    knee = front.knee()
    position = knee.objectives["misfit"], knee.objectives["complexity"]
    ax.annotate("knee", position, (30, 30), textcoords="offset points", arrowprops={"arrowstyle": "->"})
    figure.savefig(out / "concept_front.png", dpi=110)

    figure, ax = _figure(1, 1, width=6, height=4)
    learner = _learner(20_000)
    plot_network(learner.edge_probabilities().recorded_network(), ax=ax)
    figure.savefig(out / "concept_edges.png", dpi=110)


def draw_plots(out: Path) -> None:
    """Write the pictures of the gallery, by its calls."""
    learner, front = _learner(20_000), _front()
    knowledge = ExpertKnowledge(required_edges=[("cultivar", "proline")])
    informed = _learner(20_000, knowledge=knowledge)
    drawings: dict[str, Callable[[Any], object]] = {
        "network": lambda ax: plot_network(learner.network_, reference=_EXPERT_OF_SIX, ax=ax),
        "density": lambda ax: plot_density(learner.network_, "proline", table=learner.table_, ax=ax),
        "conditional": lambda ax: plot_conditional_density(learner.network_, "alcohol", ax=ax),
        "history": lambda ax: plot_history({"seed 1": learner, "informed": informed}, ax=ax),
        "front": lambda ax: plot_front(front, expert=True, objectives=["misfit", "complexity"], ax=ax),
    }
    for name, draw in drawings.items():
        figure, ax = _figure(1, 1, width=6, height=3.6)
        draw(ax)
        figure.savefig(out / f"plot_{name}.png", dpi=110)
    figure = mpl.figure.Figure(figsize=(6, 2.6), layout="constrained")
    plot_effects(learner.network_, "alcohol", figure=figure)
    figure.savefig(out / "plot_effects.png", dpi=110)


def draw_packages(out: Path) -> None:
    """Write a picture of the layers of the packages, as import-linter checks them."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract, *_ = project["tool"]["importlinter"]["contracts"]
    layers: Sequence[str] = contract["layers"]
    figure, ax = _figure(1, 1, width=7, height=0.42 * len(layers))
    for row, layer in enumerate(layers):
        names = layer.split(" | ")
        for k, name in enumerate(names):
            width = 10 / len(names)
            box = (k * width + 0.05, -row), width - 0.1, 0.7
            ax.add_patch(mpl.patches.Rectangle(*box, facecolor="#dce9f3", edgecolor="#0072b2"))
            ax.text((k + 0.5) * width, 0.35 - row, name, ha="center", va="center", fontsize=9)
    ax.set(xlim=(0, 10), ylim=(-len(layers) + 0.9, 0.8))
    ax.axis("off")
    figure.savefig(out / "packages.png", dpi=110)


# by picture of the guide to the architecture: boxes by name, as (column, row, heading, file), and arrows between them
_SEARCH = (
    {
        "table": (0, 0, "Table\nvalues, kinds, levels, shapes", "data/table.py"),
        "problem": (0, 1, "Problem\ngenes for edges and cuts", "learning/learning_problem.py"),
        "climb": (1, 0, "Local searches over parents,\nwith exact cuts", "problems/parents.py"),
        "stages": (1, 1, "Stages: edges and cuts,\nthen edges alone", "search/staged_search.py"),
        "run": (1, 2, "Populations that mix genes\nalong learned linkage", "algorithms/gomea.py"),
        "score": (2, 1, "Score of the families\nthat an exchange changed", "problems/family_scorer.py"),
        "cuts": (2, 2, "Libraries of best cuts,\nby dynamic programming", "problems/cuts/libraries.py"),
        "shown": (2, 0, "Shown cuts, conditionals,\ncomparison with the rows", "learning/fit.py"),
    },
    [
        "table problem",
        "problem climb",
        "climb stages",
        "stages run",
        "run score",
        "score cuts",
        "stages shown",
    ],
)
_CONDITIONAL = (
    {
        "winner": (0, 0, "Family that won the search\nparents, form, cuts", "problems/family_scorer.py"),
        "fit": (0, 1, "Fit to the rows, by the\nprior of the score", "learning/averaging/families.py"),
        "stack": (1, 1, "Stack of one column\nmembers and their weights", "conditionals/kind.py"),
        "kinds": (
            1,
            0,
            "Kinds: table, effects, logit,\ncounts, mixture, odds, value",
            "conditionals/kinds.py",
        ),
        "shown": (2, 0, "Shown: curves, bars and\ntables in the column's units", "network/effects.py"),
        "kept": (2, 1, "Kept in a file, drawn,\nwritten in words", "network/bayes_net.py"),
        "asked": (2, 2, "Asked: density of a row,\ntable over cells, draws", "conditionals/conditionals.py"),
    },
    ["winner fit", "fit stack", "kinds stack", "stack shown", "stack kept", "stack asked"],
)
_ANSWER = (
    {
        "findings": (0, 0, "Findings\nvalues, ranges, levels", "inference/evidence.py"),
        "cells": (0, 1, "Cells of the columns that\nmatter to the answer", "inference/row_cells.py"),
        "engine": (1, 1, "Elimination of variables,\nor draws where that is large", "inference/engine.py"),
        "answer": (2, 1, "Answer\nprobabilities, mean, quantiles", "inference/answers.py"),
        "interval": (1, 0, "Interval: parameters,\ngraph, bins, misfit", "inference/answer_errors.py"),
        "rows": (1, 2, "Rows that satisfy the findings,\nand how many they are", "network/matched_rows.py"),
    },
    ["findings cells", "cells engine", "engine answer", "interval answer", "rows answer"],
)


def draw_architecture(out: Path) -> None:
    """Write the pictures of a search, a conditional and an answer, with the file that has each step."""
    for name, steps in {"search": _SEARCH, "conditional": _CONDITIONAL, "answer": _ANSWER}.items():
        boxes, arrows = steps
        n_rows = 1 + max(row for _, row, _, _ in boxes.values())
        figure, ax = _figure(1, 1, width=9.5, height=1.25 * n_rows)
        for column, row, heading, file in boxes.values():
            x, y = 3.3 * column, -1.25 * row
            ax.add_patch(mpl.patches.Rectangle((x, y), 2.7, 0.9, facecolor="#dce9f3", edgecolor="#0072b2"))
            ax.text(x + 1.35, y + 0.57, heading, ha="center", va="center", fontsize=9)
            ax.text(x + 1.35, y + 0.14, file, ha="center", va="center", fontsize=7.5, family="monospace")
        for arrow in arrows:
            (column, row, *_), (to_column, to_row, *_) = (boxes[end] for end in arrow.split())
            start, end = _facing_edges(column, row, to_column, to_row)
            ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "#444444"})
        ax.set(xlim=(-0.1, 9.4), ylim=(-1.25 * (n_rows - 1) - 0.1, 1.0))
        ax.axis("off")
        figure.savefig(out / f"architecture_{name}.png", dpi=110)


def _facing_edges(
    column: int, row: int, to_column: int, to_row: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the points at which an arrow leaves one box and meets another."""
    x, y, to_x, to_y = 3.3 * column, -1.25 * row, 3.3 * to_column, -1.25 * to_row
    if column == to_column:
        down = to_row > row
        return (x + 1.35, y + (0 if down else 0.9)), (to_x + 1.35, to_y + (0.9 if down else 0))
    right = to_column > column
    return (x + (2.7 if right else 0), y + 0.45), (to_x + (0 if right else 2.7), to_y + 0.45)


def _learner(evaluations: int, **options: Any) -> BayesNetLearner:
    """Return a learner that has learned from six columns of the table."""
    settings = {"max_seconds": None, "max_evaluations": evaluations, "random_state": 1, **options}
    return BayesNetLearner(**settings).fit(wine()[_COLUMNS])


def _front() -> Front:
    """Return a front over six columns, with an expert."""
    learner = ParetoBayesNetLearner(
        expert=ExpertNetwork.from_edges(_EXPERT_OF_SIX),
        max_seconds=None,
        max_evaluations=60_000,
        random_state=1,
    )
    return learner.fit(wine()[_COLUMNS]).front_


def _score_by_bins(n_bins: int) -> float:
    """Return the best score with a number of equal-frequency bins of flavanoids."""
    frame = wine()[["flavanoids", "hue", "cultivar"]]
    quantiles = [k / n_bins for k in range(1, n_bins)]
    cuts = pd.Series(frame["flavanoids"]).quantile(quantiles).tolist()
    learner = BayesNetLearner(
        cut_points={"flavanoids": cuts},
        curves="none",
        max_seconds=None,
        max_evaluations=1_000,
        random_state=1,
    )
    return learner.fit(frame).score_


def _figure(n_rows: int, n_columns: int, *, width: float, height: float) -> tuple[Any, Any]:
    """Return a figure without a window, and its axes."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt.subplots(n_rows, n_columns, figsize=(width, height), layout="constrained")


def _photograph(write: Callable[[Path], object], picture: Path, *, height: int) -> None:
    """Write a picture of a page that `write` puts into a file."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "page.html"
        write(page_file)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": height}, color_scheme="light")
        page.goto(page_file.as_uri())
        page.wait_for_selector("body[data-ready='1']")
        page.screenshot(path=picture)
        browser.close()


_DRAWINGS: dict[str, Callable[[Path], None]] = {
    "page": draw_page,
    "network": draw_network,
    "first": draw_first_pages,
    "concepts": draw_concepts,
    "plots": draw_plots,
    "packages": draw_packages,
    "architecture": draw_architecture,
}


def main() -> None:
    """Draw all pictures, or those that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"), help="folder of the pictures")
    parser.add_argument("--only", default=",".join(_DRAWINGS), help="names of pictures, with commas between")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(_DRAWINGS)
    if unknown:
        parser.error(f"--only must be among {', '.join(_DRAWINGS)}, got {', '.join(sorted(unknown))}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only.split(","):
        _DRAWINGS[name](options.out)


if __name__ == "__main__":
    main()
