"""Milliseconds of an answer of the review page: all columns of a network under evidence, in headless Chromium.

    python scripts/benchmarks/page_answers.py [--networks alarm hepar2 win95pts] [--random 20 40 70] [--questions 50]

The networks are examples of pgmpy, by name, and random ones (law "ide-cozman", seed 0). A question sets 0 to 9 random
columns to values of a row that is drawn from the network. The milliseconds are those of the worker of the page, for the
plan and the answer; the first ten questions are not counted, while the browser compiles. The last column is the
largest difference from the exact marginals in Python. Needs pgmpy of the extra "peers", playwright and Chromium.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from harness.printing import print_table
from numpy.typing import NDArray
from playwright.sync_api import Page, sync_playwright

from gomea_bn import DiscretizedBayesNet
from gomea_bn.network.inference.engine import Evidence, ExactEngine
from gomea_bn.review import network_report
from gomea_bn.simulation.random_networks import random_network

WARM_UP = 10
ASK = """async ([network, questions]) => {
  const script = new Blob([document.getElementById("worker").textContent], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(script));
  for (const family of network.families) family.t = Float64Array.from(family.t);
  const replies = [];
  for (const [ticket, known] of questions.entries()) {
    const reply = new Promise((resolve) => { worker.onmessage = ({ data }) => resolve(data); });
    const message = { ticket, questions: [{ known, weights: [] }] };
    worker.postMessage(ticket ? message : { ...message, network });
    const { answers: [{ cells, marginals }], milliseconds } = await reply;
    replies.push({ milliseconds, cells, shares: marginals?.flatMap((marginal) => [...marginal]) });
  }
  worker.terminate();
  return replies;
}"""


def example(name: str) -> DiscretizedBayesNet:
    """Return an example of pgmpy."""
    packed = resources.files("pgmpy").joinpath("utils", "example_models", f"{name}.bif.gz").read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.bif")
        path.write_bytes(gzip.decompress(packed))
        return DiscretizedBayesNet.from_file(path)


def as_message(network: DiscretizedBayesNet) -> dict[str, Any]:
    """Return a network as the worker of the page takes it."""
    position = {name: index for index, name in enumerate(network.names)}
    return {
        "cards": [network.cardinality(name) for name in network.names],
        "families": [
            {
                "p": [position[parent] for parent in network.parents(name)],
                "t": network.tables[name].ravel().tolist(),
            }
            for name in network.names
        ],
    }


def question_codes(network: DiscretizedBayesNet, n_questions: int) -> NDArray[np.int32]:
    """Return the observed bins or levels of every question, int32 (n_questions, n_columns); -1 where unknown."""
    rng = np.random.default_rng(0)
    rows = network.discretize(network.sample(n_questions, 0)).to_numpy(np.int32)
    codes = np.full(rows.shape, -1, np.int32)
    for row, values in enumerate(rows):
        columns = rng.choice(rows.shape[1], min(rows.shape[1], row % 10), replace=False)
        codes[row, columns] = values[columns]
    return codes


def measured(page: Page, name: str, network: DiscretizedBayesNet, n_questions: int) -> list[str]:
    """Return a row of the table."""
    codes = question_codes(network, WARM_UP + n_questions)
    replies = page.evaluate(ASK, [as_message(network), codes.tolist()])
    answered = [row for row, reply in enumerate(replies) if reply.get("shares") is not None]
    exact = np.concatenate(ExactEngine(network).marginals(Evidence(codes[answered], {})), axis=1)
    shares = np.array([replies[row]["shares"] for row in answered]).reshape(exact.shape)
    worst = np.abs(shares - exact).max(initial=0.0)
    times = [replies[row]["milliseconds"] for row in answered if row >= WARM_UP]
    return [
        name,
        str(len(network.names)),
        f"{max(reply['cells'] for reply in replies):,.0f}",
        f"{len(times)}/{n_questions}",
        f"{np.median(times):.1f}" if times else "none",
        f"{max(times):.1f}" if times else "none",
        f"{worst:.0e}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", nargs="*", default=["alarm", "hepar2", "win95pts"])
    parser.add_argument("--random", nargs="*", type=int, default=[20, 40, 70])
    parser.add_argument("--questions", type=int, default=50)
    options = parser.parse_args()
    networks = {name: example(name) for name in options.networks}
    networks |= {f"random {n}": random_network(n, random_state=0) for n in options.random}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "page.html")
        network_report(random_network(2, random_state=0), None, path)
        chromium = next(
            filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
        )
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(path.as_uri())
        rows = [measured(page, name, network, options.questions) for name, network in networks.items()]
        browser.close()
    heading = f"Answers of the review page, {options.questions} questions after {WARM_UP}"
    print_table(
        heading, ["network", "columns", "cells", "answered", "median ms", "largest ms", "difference"], rows
    )


if __name__ == "__main__":
    main()
