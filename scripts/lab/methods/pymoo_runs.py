"""pymoo's multi-objective algorithms on one of our problems, with the same sampler, repair, evaluation and clock.

The genotype is categorical. pymoo has a crossover for that, but no mutation that respects alphabets. Here crossover is
uniform, and a mutation gives one gene in expectation another value; an ordinal gene steps to a neighbouring value.
"""

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.algorithms.moo.age import AGEMOEA
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.core.evaluator import Evaluator
from pymoo.core.mutation import Mutation
from pymoo.core.problem import Problem
from pymoo.core.termination import NoTermination
from pymoo.operators.crossover.ux import UniformCrossover
from pymoo.util.ref_dirs import get_reference_directions

from gomea_bn.algorithms.archive import ElitistArchive
from gomea_bn.algorithms.optimisation import evaluate_genotypes

PEERS = ("NSGA-II", "NSGA-III", "AGE-MOEA")


class _Genotypes(Problem):
    """Bounds of the genes; the evaluator evaluates."""

    def __init__(self, problem: Any) -> None:
        super().__init__(
            n_var=problem.n_variables,
            n_obj=problem.n_objectives,
            n_ieq_constr=1,
            xl=np.zeros(problem.n_variables),
            xu=np.asarray(problem.alphabet, float) - 1.0,
            vtype=int,
        )
        self.wrapped = problem


class _Evaluations(Evaluator):
    """Evaluates in compiled code, writes repaired genotypes back, and keeps every batch for the archive."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[tuple[float, NDArray[np.int16], NDArray[np.float64], NDArray[np.float64]]] = []

    def _eval(self, problem: Any, pop: Any, evaluate_values_of: Any, **kwargs: Any) -> None:
        genotypes = np.asarray(pop.get("X"), np.int64)
        objectives, violations, repaired = evaluate_genotypes(problem.wrapped, genotypes)
        pop.set("X", repaired.astype(np.int64))
        pop.set("F", objectives.copy())
        pop.set("G", violations[:, None].copy())
        pop.set("H", np.zeros((len(genotypes), 0)))
        pop.apply(lambda individual: individual.evaluated.update(("F", "G", "H")))
        self.batches.append((perf_counter(), repaired, objectives, violations))


class _OtherValue(Mutation):
    """Gives every gene another value with probability 1 / l."""

    def _do(self, problem: Any, X: Any, *args: Any, random_state: Any = None, **kwargs: Any) -> Any:
        wrapped = problem.wrapped
        alphabet = np.asarray(wrapped.alphabet)
        chosen = random_state.random(X.shape) < 1.0 / X.shape[1]
        another = (
            X + 1 + np.floor(random_state.random(X.shape) * (alphabet - 1)).astype(np.int64)
        ) % alphabet
        step = X + np.where(random_state.random(X.shape) < 0.5, -1, 1)
        # at the end of its range an ordinal gene can only step back
        step = np.where(step < 0, np.minimum(1, alphabet - 1), np.where(step >= alphabet, X - 1, step))
        return np.where(chosen, np.where(wrapped.ordinal, np.maximum(step, 0), another), X)


def _algorithm(name: str, population: int, n_objectives: int, start: NDArray[np.int64], seed: int) -> Any:
    """Return a peer; NSGA-III takes the largest even set of directions that fits its population."""
    options: dict[str, Any] = {
        "sampling": start,
        "crossover": UniformCrossover(prob=0.9),
        "mutation": _OtherValue(),
        "eliminate_duplicates": True,
        "seed": seed,
        "termination": NoTermination(),
    }
    if name == "NSGA-II":
        return NSGA2(pop_size=population, **options)
    if name == "AGE-MOEA":
        return AGEMOEA(pop_size=population, **options)
    parts = 1
    while len(get_reference_directions("das-dennis", n_objectives, n_partitions=parts + 1)) <= population:
        parts += 1
    directions = get_reference_directions("das-dennis", n_objectives, n_partitions=parts)
    return NSGA3(directions, pop_size=population, **options)


def run_peer(
    name: str, problem: Any, *, seconds: float, random_state: int, population: int, archive_size: int
) -> tuple[NDArray[np.float64], int]:
    """Return the archive (n, n_objectives) of what a peer evaluated within `seconds`, and the number of evaluations.

    It holds all feasible solutions. Keeping it does not count in the peer's seconds: solutions are offered, batch by
    batch, after its clock has stopped. Solutions evaluated after the deadline are left out.
    """
    start = problem.sample(np.random.default_rng(random_state), population).astype(np.int64)
    wrapped = _Genotypes(problem)
    trial = _algorithm(name, population, problem.n_objectives, start, random_state)
    trial.setup(wrapped, evaluator=_Evaluations(), verbose=False)
    for _ in range(3):
        trial.next()  # compiles our kernels and pymoo's
    algorithm = _algorithm(name, population, problem.n_objectives, start, random_state)
    evaluator = _Evaluations()
    algorithm.setup(wrapped, evaluator=evaluator, verbose=False)
    began = perf_counter()
    while perf_counter() - began < seconds:
        algorithm.next()
    archive = ElitistArchive(problem.n_variables, problem.n_objectives, archive_size)
    n_eval = 0
    for ended, genotypes, objectives, violations in evaluator.batches:
        if ended - began > seconds:
            break
        feasible = violations == 0
        archive.offer(genotypes[feasible], objectives[feasible])
        archive.adapt()
        n_eval += len(genotypes)
    return archive.objectives.copy(), n_eval
