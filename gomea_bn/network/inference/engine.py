"""Inference for many rows at once: probabilities of evidence, joint distributions, marginals and draws of a network.

`ExactEngine` eliminates variables in tables over bins. `CellEngine` does so over cells of conditional densities, in
which observed numbers count exactly. `Sampler` weights draws by their likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from gomea_bn.errors import check_choice, check_integer
from gomea_bn.network.inference.cell_engine import OF_QUESTION, OF_ROWS, CellEngine
from gomea_bn.network.inference.elimination import ExactEngine
from gomea_bn.network.inference.question import Evidence, Joint
from gomea_bn.network.inference.sampler import SEED, Sampler, contradicts, drawn_joint
from gomea_bn.network.parts import random_generator
from gomea_bn.network.recorded import NetworkLike

Seed: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None

METHODS = ("exact", "sampling")
"""Ways to compute an answer."""

N_DRAWS = 10_000
"""Number of draws per row of an answer by sampling."""

# draws of questions about the same rows
_DRAWS_OF_QUESTIONS = 2**15

Engine: TypeAlias = ExactEngine | CellEngine | Sampler
"""Inference in one network, exact or by sampling.

Evidence and answers are about the bins of `network`: the network itself, or its cells if it has conditional densities.
"""


def engine_for(
    network: NetworkLike,
    method: str = "exact",
    n_draws: int = N_DRAWS,
    random_state: Seed = None,
    cells: int | str | None = None,
    *,
    is_single: bool = False,
    most_numbers: int | None = None,
) -> Engine:
    """Return the engine of a method; the answers of a network with conditional densities come from these.

    `n_draws` and `random_state` are for "sampling". `cells` is the largest number of cells of a continuous variable of
    such a network, None for as many as the time of an answer allows, and "bins" for the tables over the shown bins. A
    single question may take longer than a row of many. `most_numbers` limits the work space of exact inference in
    tables, in float64 numbers.
    """
    check_choice("method", method, METHODS)
    check_integer("n_draws", n_draws, 2)
    if isinstance(cells, str):
        check_choice("cells", cells, ("bins",))
    elif cells is not None:
        check_integer("cells", cells, 1)
    in_tables = network.conditionals is None or cells == "bins"
    if method == "sampling":
        return Sampler(network, n_draws, random_generator(random_state), in_tables=in_tables)
    if in_tables:
        return ExactEngine(network, most_numbers)
    return CellEngine(
        network, OF_QUESTION if is_single else OF_ROWS, None if isinstance(cells, str) else cells
    )


def engine_of_question(network: NetworkLike, rows: Sequence[Evidence], target: int) -> Engine:
    """Return the engine whose answers about one variable are surer for some single rows: exact inference, or draws.

    Cells are those of a single question: few draws have rare values, and could not tell that coarser ones are wrong.
    Draws also answer for the coarsest cells, whose error is unknown.
    """
    engine = engine_for(network, is_single=True)
    if not isinstance(engine, CellEngine):
        return engine
    for row in rows:
        answer = engine.joint(row, [target], in_bins=True)
        used = answer.resolution
        is_coarsest = used is not None and used.summed.any() and engine.over_half(used) is None
        if is_coarsest or draws_contradict(network, row, target, answer):
            return Sampler(network, _DRAWS_OF_QUESTIONS, np.random.default_rng(SEED), in_tables=False)
    return engine


def draws_contradict(network: NetworkLike, row: Evidence, target: int, answer: Joint) -> bool:
    """Return whether draws show that an answer over cells, about one row and variable, is wrong."""
    # draws stand in for tables that would be too large
    return answer.errors is not None or contradicts(
        *drawn_joint(network, row, [target], _DRAWS_OF_QUESTIONS), answer
    )
