"""Rules that runs with one and with several objectives share: refinement, values in use, defaults, option names."""

import itertools
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from compiled_example import compiled_trap
from mo_oracles import network_problem, same
from numpy.typing import NDArray
from oracles import make_problem, random_variables
from processor_time import at_most, interrupt_the_next_run, work_for
from search_examples import shared_last_generations

from gomea_bn import GOMEA, MOGOMEA, GomeaBnError, LinkageTree, optimise
from gomea_bn.algorithms.discrete_run import finished_prefix, stall_limit, variation_rules
from gomea_bn.algorithms.gomea import GomeaRun
from gomea_bn.algorithms.mogomea import FrontRun
from gomea_bn.linkage import Linkage, linkage_model
from gomea_bn.linkage.models import single_genes
from gomea_bn.operators.mixing import CUT_SHORT, FINISHED, NOT_RUN, STATUS
from gomea_bn.problems import PythonProblem, StructureProblem, sphere, with_real_defaults
from gomea_bn.problems.base import with_defaults
from gomea_bn.runtime import Limits

LIMITS = Limits(max_evaluations=2_000)


class Recorder:
    """A refiner that changes nothing and records the evaluations at which it was asked."""

    def __init__(self) -> None:
        self.asked_at: list[int] = []

    def affordable(self, n_eval: int) -> bool:
        self.asked_at.append(n_eval)
        return True

    def improved(self, genotype: NDArray[np.int16], generator: Any, in_use: Any) -> NDArray[np.int16]:
        return genotype

    def state(self) -> dict[str, Any]:
        return {"asked_at": self.asked_at}

    def restore(self, state: Any) -> None:
        self.asked_at = state["asked_at"]


class Sum:
    """The sum of genes, or the sum and its opposite; only 0 and 1 are drawn."""

    n_variables, alphabet = 8, 4

    def __init__(self, n_objectives: int = 1) -> None:
        self.n_objectives = n_objectives

    def evaluate(self, x: NDArray[np.int16]) -> Any:
        total = float(x.sum())
        return total if self.n_objectives == 1 else np.array([total, total + float(x[0])])

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.int64]:
        return generator.integers(0, 2, (n, self.n_variables))


class Patient(Recorder):
    """A refiner that works until the flag stops it."""

    def __init__(self, stop: NDArray[np.uint8]) -> None:
        super().__init__()
        self.stop, self.was_stopped = stop, False

    def improved(self, genotype: NDArray[np.int16], generator: Any, in_use: Any) -> NDArray[np.int16]:
        while not self.stop[0]:
            work_for(0.001)
        self.was_stopped = bool(self.stop[0])
        return genotype


class Refined(PythonProblem):
    def __init__(self, n_objectives: int = 1) -> None:
        super().__init__(Sum(n_objectives))
        self.recorder = Recorder()

    def refiner(self, stop: NDArray[np.uint8]) -> Recorder:
        return self.recorder


class PatientlyRefined(Refined):
    def refiner(self, stop: NDArray[np.uint8]) -> Recorder:
        self.patient = Patient(stop)
        return self.patient


def asked_at(refine: str) -> tuple[list[int], int]:
    """The evaluations at which the refiner was asked, and the number of generations."""
    problem = Refined()
    settings = GOMEA(refine=refine, max_population_size=64)
    result = settings.run(problem, Limits(max_generations=40), random_state=1)
    return problem.recorder.asked_at, result.n_generations


@pytest.mark.parametrize(("algorithm", "n_objectives"), [(GOMEA(), 1), (MOGOMEA(), 2)])
def test_the_deadline_ends_a_refinement(algorithm: GOMEA | MOGOMEA, n_objectives: int) -> None:
    # the first refinement of a kind of problem compiles kernels, and has no deadline
    algorithm.run(Refined(n_objectives), Limits(max_generations=1), random_state=1)
    problem = PatientlyRefined(n_objectives)
    result = algorithm.run(problem, Limits(max_seconds=0.2), random_state=1)
    assert result.stopped_by == "max_seconds"
    assert problem.patient.was_stopped


@pytest.mark.long
def test_best_is_refined_after_every_generation_or_when_evaluations_have_doubled() -> None:
    (every, n_generations), (doubled, _) = asked_at("best"), asked_at("doubling")
    assert len(every) == n_generations > 10
    assert 3 < len(doubled) < n_generations
    assert all(later >= 2 * earlier for earlier, later in itertools.pairwise(doubled))
    # a sample of one in eight, at least one, joins the best one
    sampled, n_generations = asked_at("sample")
    assert len(sampled) >= 2 * n_generations
    assert sampled.count(sampled[0]) == 2
    assert asked_at("none")[0] == []


def test_solutions_count_up_to_the_first_that_was_not_run() -> None:
    def counted(*states: int) -> int:
        tallies = np.zeros((len(states), 4), np.int64)
        tallies[:, STATUS] = states
        return finished_prefix(tallies)

    assert counted(FINISHED, FINISHED) == 2
    assert counted(FINISHED, NOT_RUN, FINISHED) == 1
    assert counted(FINISHED, CUT_SHORT, NOT_RUN) == 2
    assert counted(NOT_RUN) == 0


@pytest.mark.long
@pytest.mark.parametrize("kind", ["one objective", "several"])
def test_values_of_initial_solutions_stay_in_use(kind: str) -> None:
    initial = np.full((1, 8), 3)
    options: dict[str, Any] = {"random_state": 2, "initial": initial}
    run: GomeaRun | FrontRun
    if kind == "several":
        run = FrontRun(
            MOGOMEA(max_population_size=8), with_defaults(PythonProblem(Sum(2))), LIMITS, **options
        )
    else:
        run = GomeaRun(GOMEA(max_population_size=4), with_defaults(PythonProblem(Sum())), LIMITS, **options)
    vanished = False
    with run:
        for _ in range(12):
            going_on = run.step()
            values = set(run._values_in_use(0).tolist())
            present = {int(value) for p in run.populations if p.active for value in p.data.parents[:, 0]}
            present |= {int(value) for p in run.populations if p.active for value in p.data.genotypes[:, 0]}
            assert values == present | set(run.best()[0][:, 0].tolist()) | {3}
            vanished |= 3 not in present
            if not going_on:
                break
    assert vanished


def test_improvement_is_forced_after_one_generation_more_than_the_size_has_digits_less_one() -> None:
    assert [stall_limit(size) for size in (1, 9, 10, 99, 100, 1000)] == [1, 1, 2, 2, 3, 4]
    assert variation_rules(compiled_trap(2), 100, climbs=False).stall_limit == 3


class OnlyLearns:
    """A user's linkage model: the one method that is documented."""

    def learn(
        self, genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], generator: np.random.Generator
    ) -> Linkage:
        return single_genes(len(alphabet))


@pytest.mark.long
def test_a_linkage_model_of_a_user_needs_only_learn() -> None:
    result = GOMEA(linkage=OnlyLearns()).run(compiled_trap(3), LIMITS, random_state=1)
    named = GOMEA(linkage="univariate").run(compiled_trap(3), LIMITS, random_state=1)
    assert result.X.tolist() == named.X.tolist()
    tree = LinkageTree()
    assert linkage_model(tree) is tree


class Bare:
    """A compiled problem of a user with the members that have no default."""

    n_variables, n_terms, n_aux, n_objectives = 15, 3, 0, 1

    def __init__(self) -> None:
        self.trap = compiled_trap(3)
        self.alphabet, self.allowed, self.ordinal = self.trap.alphabet, self.trap.allowed, self.trap.ordinal
        self.n_chunks = 0

    def kernel_data(self, n_threads: int) -> list[Any]:
        return self.trap.kernel_data(n_threads)

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.int16]:
        return self.trap.sample(generator, n)

    def chunk_ended(self, thread: int, data: Any) -> Any:
        self.n_chunks += 1
        return data


@pytest.mark.long
@pytest.mark.parametrize("algorithm", [GOMEA(), MOGOMEA()])
def test_a_compiled_problem_of_a_user_needs_no_member_with_a_default(algorithm: Any) -> None:
    bare: Any = Bare()
    result = algorithm.run(bare, LIMITS, random_state=1)
    assert result.F.tolist() == algorithm.run(compiled_trap(3), LIMITS, random_state=1).F.tolist()
    assert bare.n_chunks > 1
    problem = with_defaults(bare)
    assert (problem.is_real, problem.target, problem.climbs, problem.max_tries) == (False, None, False, None)
    assert problem.refiner(np.zeros(1, np.uint8)) is None
    bare.climbs = True
    assert with_defaults(bare).climbs
    complete = compiled_trap(3)
    assert with_defaults(complete) is complete


class BareReal:
    """The same for real variables."""

    n_variables, n_terms, n_objectives = 3, 3, 1

    def __init__(self) -> None:
        self.sphere = sphere(3)
        self.lower, self.upper = self.sphere.lower, self.sphere.upper
        self.initial_range = self.sphere.initial_range

    def kernel_data(self, n_threads: int) -> list[Any]:
        return self.sphere.kernel_data(n_threads)

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.float64]:
        return self.sphere.sample(generator, n)


@pytest.mark.long
def test_a_compiled_real_problem_of_a_user_needs_no_member_with_a_default() -> None:
    bare: Any = BareReal()
    result = optimise(bare, random_state=1, max_evaluations=3_000, target=1e-10)
    whole = optimise(sphere(3), random_state=1, max_evaluations=3_000, target=1e-10)
    assert result.X.tolist() == whole.X.tolist()
    assert with_real_defaults(bare).is_real
    assert with_real_defaults(bare).interactions is None


@pytest.mark.parametrize("random_state", [-1, 1.5, "one", True])
def test_random_states_that_are_no_seeds_are_refused(random_state: Any) -> None:
    with pytest.raises(GomeaBnError, match="random_state must be an integer of at least 0"):
        GOMEA().run(compiled_trap(3), LIMITS, random_state=random_state)


def of_tables(kinds: str = "ccdcd", n_rows: int = 120) -> StructureProblem:
    return make_problem(random_variables(np.random.default_rng(0), n_rows, kinds))


@pytest.fixture
def _compiled() -> None:
    """Compile before any clock counts."""
    for settings, make in BOTH:
        settings.run(make(), Limits(max_evaluations=500), random_state=0, n_jobs=2)


BOTH: list[tuple[Any, Callable[[], Any]]] = [
    (GOMEA(), of_tables),
    (MOGOMEA(), partial(network_problem, 4, 3, 6)),
]
of_both = pytest.mark.parametrize(("settings", "make"), BOTH, ids=["GOMEA", "MOGOMEA"])


@of_both
@shared_last_generations()
def test_threads_share_a_generation_that_a_limit_ends(settings: Any, make: Any) -> None:
    for limit in range(20_000, 20_200, 23):
        limits = Limits(max_evaluations=limit)
        runs = [settings.run(make(), limits, random_state=3, n_jobs=n) for n in (1, 3)]
        assert same(*runs)
        assert runs[0].n_eval == limit


@of_both
def test_errors_of_a_callback_come_through(settings: Any, make: Any) -> None:
    def fail(_: Any) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        settings.run(make(), Limits(max_generations=100), random_state=0, n_jobs=2, callback=fail)


@pytest.mark.usefixtures("_compiled")
@pytest.mark.parametrize(("settings", "make"), [*BOTH, (MOGOMEA(archive_update="immediate"), BOTH[1][1])])
def test_a_clock_that_is_up_at_once_still_gives_a_solution(settings: Any, make: Any) -> None:
    result = settings.run(make(), Limits(max_seconds=1e-9), random_state=0, n_jobs=2)
    assert result.stopped_by == "max_seconds"
    assert result.n_eval >= 1
    assert len(result.F) >= 1
    assert np.isfinite(result.F).all()


@pytest.mark.usefixtures("_compiled")
@pytest.mark.parametrize(
    ("settings", "make", "n_threads"),
    [
        *((GOMEA(), partial(of_tables, "c" * 12, 2000), n) for n in (1, 2)),
        (MOGOMEA(archive_size=200), partial(network_problem, 1, 3, 16), 2),
        (MOGOMEA(archive_size=200, archive_update="immediate"), partial(network_problem, 1, 3, 16), 2),
    ],
)
def test_an_interrupt_inside_a_generation_returns_the_best_so_far(
    settings: Any, make: Any, n_threads: int
) -> None:
    problem = make()
    # the first generation alone would take a minute
    settings = replace(settings, base_population=1 << 15)
    former = signal.getsignal(signal.SIGINT)
    interrupt_the_next_run()
    with at_most(10):
        result = settings.run(problem, Limits(max_seconds=120), random_state=0, n_jobs=n_threads)
    assert result.stopped_by == "interrupt"
    assert result.n_eval >= 1
    assert len(result.F) >= 1
    assert np.isfinite(result.F).all()
    assert signal.getsignal(signal.SIGINT) is former
