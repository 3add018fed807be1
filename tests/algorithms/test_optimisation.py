"""`optimise` with compiled problems, Python objects, constraints, limits and mistakes."""

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled_example import PartialPythonTrap, PythonTrap, compiled_trap
from rich.console import Console
from wrong_input import untyped

from gomea_bn import (
    GOMEA,
    RVGOMEA,
    Custom,
    Full,
    GomeaBnError,
    LinkageTree,
    MarginalProduct,
    Univariate,
    check_problem,
    optimise,
)
from gomea_bn.algorithms.optimisation import evaluate_genotypes
from gomea_bn.linkage import Linkage, from_subsets
from gomea_bn.linkage.real import Blocks
from gomea_bn.runtime import Limits, Result, progress


@pytest.mark.parametrize("settings", [GOMEA(), GOMEA(linkage="univariate"), GOMEA(local_search=True)])
def test_python_and_compiled_problems_give_the_same_run(settings):
    compiled = compiled_trap(4)
    # as in Python objects every solution has random numbers of its own
    compiled.solutions_per_block = 1
    results = [
        optimise(problem, settings, random_state=3, target=-1e9, max_evaluations=3_000)
        for problem in (compiled, PythonTrap(4), PartialPythonTrap(4))
    ]
    for result in results[1:]:
        np.testing.assert_array_equal(result.X, results[0].X)
        assert result.F == results[0].F
        assert (result.n_eval, result.n_generations) == (3_000, results[0].n_generations)
        trace = [(h.n_eval, h.objective, h.population_size) for h in result.history]
        assert trace == [(h.n_eval, h.objective, h.population_size) for h in results[0].history]


def test_full_evaluation_equivalents_count_touched_terms():
    full = optimise(PythonTrap(4), random_state=1, target=-1e9, max_evaluations=2_000)
    partial = optimise(compiled_trap(4), random_state=1, target=-1e9, max_evaluations=2_000)
    assert full.n_eval_full == full.n_eval == 2_000
    assert partial.n_eval_full < 0.8 * partial.n_eval


def test_python_functions_are_called_as_often_as_counted():
    problem, partial = PythonTrap(4), PartialPythonTrap(4)
    limits: dict[str, Any] = {"random_state": 1, "max_evaluations": 500, "target": -1e9, "cache": False}
    assert optimise(problem, **limits).n_eval == problem.calls
    optimise(partial, **limits)
    assert 0 < partial.partial_calls < 500


def test_the_problem_s_own_target_stops_the_run():
    result = optimise(compiled_trap(4), random_state=1, max_evaluations=100_000)
    assert result.stopped_by == "target"
    assert result.F[0] == -20
    assert result.X.tolist() == [1] * 20
    assert result.time_to_best <= result.exec_time


class Knapsack:
    """Maximise value within a weight: infeasible solutions carry their excess as violation."""

    n_variables, alphabet = 12, 2
    values = np.array([6, 5, 8, 9, 6, 7, 3, 4, 9, 1, 5, 8])
    weights = np.array([2, 3, 6, 7, 5, 9, 3, 4, 8, 1, 4, 6])

    def evaluate(self, x):
        return -float(self.values @ x), max(float(self.weights @ x) - 20.0, 0.0)


def test_feasible_solutions_come_first():
    bits = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    feasible = bits[bits @ Knapsack.weights <= 20]
    best = -(feasible @ Knapsack.values).max()
    result = optimise(Knapsack(), random_state=1, max_evaluations=20_000)
    assert result.F[0] == best
    assert result.X @ Knapsack.weights <= 20


class NeverFeasible:
    n_variables, alphabet = 6, 3

    def evaluate(self, x):
        return 0.0, 1.0 + float(x.sum())


def test_without_feasible_solutions_the_least_violation_wins():
    assert optimise(NeverFeasible(), random_state=1, max_evaluations=3_000).X.tolist() == [0] * 6


class RealNeverFeasible:
    n_variables, bounds = 3, (0.0, 1.0)

    def evaluate(self, x):
        return float(x.sum()), 2.0 + float(x[0] > 0.5)


class FrontNeverFeasible(NeverFeasible):
    n_objectives = 2

    def evaluate(self, x):
        return [float(x.sum()), -float(x.sum())], 1.0 + float(x.sum())


@pytest.mark.parametrize(
    ("problem", "violation"),
    [(NeverFeasible(), 1.0), (RealNeverFeasible(), 2.0), (FrontNeverFeasible(), 1.0)],
)
def test_a_result_without_a_feasible_solution_says_so_and_what_came_nearest(problem, violation):
    result = optimise(problem, random_state=1, max_evaluations=3_000)
    assert not result.feasible
    assert result.nearest is not None
    assert result.nearest.violation == violation
    answer, of_nearest = problem.evaluate(result.nearest.X)
    assert (np.atleast_1d(answer).tolist(), of_nearest) == (result.nearest.F.tolist(), violation)
    assert f"no feasible solution, the nearest has the violation {violation:g}" in str(result)


def test_a_feasible_result_has_no_nearest_solution():
    result = optimise(Knapsack(), random_state=1, max_evaluations=500)
    assert result.feasible
    assert result.nearest is None
    assert "feasible" not in str(result)


@pytest.mark.parametrize("n_evaluations", [1, 7, 300])
def test_the_nearest_solution_of_a_front_has_the_least_violation_of_all(n_evaluations):
    class Recording(FrontNeverFeasible):
        def __init__(self):
            self.violations = []

        def evaluate(self, x):
            answer = super().evaluate(x)
            self.violations.append(answer[1])
            return answer

    problem = Recording()
    result = optimise(problem, random_state=2, max_evaluations=n_evaluations)
    assert result.nearest is not None
    assert result.nearest.violation == min(problem.violations)


def test_an_infeasible_solution_does_not_meet_the_target():
    assert optimise(NeverFeasible(), random_state=1, target=100.0, max_evaluations=300).stopped_by != "target"


class Ellipsoid:
    n_variables, bounds = 5, (-5.0, (5, 5, 5, 5, 0.5))
    scale = 10.0 ** np.arange(5)

    def evaluate(self, x):
        return float((self.scale * (x - 1.0) ** 2).sum())


class PartialEllipsoid(Ellipsoid):
    n_terms = 5

    def evaluate(self, x):
        terms = self.scale * (x - 1.0) ** 2
        return terms.sum(), 0.0, terms

    def evaluate_partial(self, x, changed, parent_terms):
        terms = parent_terms.copy()
        terms[changed] = self.scale[changed] * (x[changed] - 1.0) ** 2
        return terms.sum(), 0.0, terms


@pytest.mark.parametrize(
    ("problem", "shown"),
    [(Knapsack(), "objective"), (NeverFeasible(), "violation"), (Ellipsoid(), "objective")],
)
def test_a_live_table_shows_the_objective_with_its_own_sign(problem, shown, monkeypatch):
    texts = io.StringIO()
    console = Console(file=texts, force_terminal=True, width=120)
    monkeypatch.setattr(progress, "Console", lambda **_options: console)
    result = optimise(problem, random_state=1, max_evaluations=2_000, verbose=True)
    assert shown in texts.getvalue()
    assert f" {result.F[0]:.6g}" in texts.getvalue()
    assert "evaluations/s" in texts.getvalue()
    assert "families" not in texts.getvalue()
    assert "score" not in texts.getvalue()


def test_bounds_make_a_real_problem_and_hold():
    results = [optimise(p, random_state=1, max_evaluations=20_000) for p in (Ellipsoid(), PartialEllipsoid())]
    for result in results:
        np.testing.assert_allclose(result.X, [1, 1, 1, 1, 0.5], atol=1e-3)
        assert result.X[4] <= 0.5
        assert result.X.dtype == np.float64
    assert results[1].n_eval_full < results[1].n_eval
    np.testing.assert_array_equal(
        results[0].X, optimise(Ellipsoid(), random_state=1, max_evaluations=20_000).X
    )


@pytest.mark.parametrize("linkage", ["tree", "full", "univariate"])
def test_the_real_valued_search_calls_python_as_often_as_it_counts(linkage):
    class Counting(Ellipsoid):
        calls = 0

        def evaluate(self, x):
            self.calls += 1
            return super().evaluate(x)

    problem = Counting()
    # calls that take long on a busy machine would be looked up
    result = optimise(problem, RVGOMEA(linkage=linkage), random_state=1, max_evaluations=2_000, cache=False)
    assert result.n_eval == problem.calls == 2_000


class Mixed:
    n_variables, alphabet = 4, (2, 5, 3, 9)

    def evaluate(self, x):
        return -float(x.sum())


def test_alphabets_may_differ_by_gene():
    result = optimise(Mixed(), random_state=1, max_evaluations=2_000)
    assert result.X.tolist() == [1, 4, 2, 8]


def test_termination_and_callback_see_progress_and_stop():
    seen = []
    result = optimise(
        compiled_trap(4),
        random_state=1,
        target=-1e9,
        termination=lambda p: p.n_eval > 300,
        callback=seen.append,
    )
    assert result.stopped_by == "callback"
    assert seen[-1].n_eval > 300 >= seen[-2].n_eval
    assert seen[-1].best == result.F[0]


def test_termination_alone_is_a_limit():
    assert (
        optimise(
            PythonTrap(4), random_state=1, target=-1e9, termination=lambda p: p.n_generations >= 3
        ).n_generations
        == 3
    )


def test_initial_solutions_enter_the_population():
    result = optimise(compiled_trap(4), random_state=1, initial=np.ones((1, 20), int), max_evaluations=50)
    assert result.F[0] == -20


class Broken:
    n_variables, alphabet = 5, 2

    def __init__(self, answer):
        self.answer = answer

    def evaluate(self, x):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_an_exception_in_a_function_reaches_the_caller():
    with pytest.raises(ZeroDivisionError, match="mine"):
        optimise(Broken(ZeroDivisionError("mine")), random_state=1, max_evaluations=100)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (float("nan"), "objectives must not be NaN and the violation must be at least 0"),
        ((1.0,), "must return a number or"),
        ((1.0, -1.0), "objectives must not be NaN and the violation must be at least 0"),
        ((0.0, 0.0, [1.0, 2.0]), "must return a number or"),
        ("x", "evaluate must return numbers, got 'x'"),
        ("3", "evaluate must return numbers, got '3'"),
        (10**400, "evaluate must return numbers, got 1000.*too large"),
        ((0.0, 10**400), r"evaluate must return numbers, got \(0.0, 1000.*too large"),
        (
            np.complex128(1j),
            "evaluate must return numbers, got .*1j.*complex128 is not a type of real numbers",
        ),
    ],
)
def test_wrong_answers_are_refused(answer, message):
    with pytest.raises(GomeaBnError, match=message):
        optimise(Broken(answer), random_state=1, max_evaluations=100)


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"n_variables": 0}, {"max_evaluations": 5}, "n_variables"),
        ({"alphabet": "ab"}, {"max_evaluations": 5}, "alphabet"),
        ({"alphabet": [2, 2]}, {"max_evaluations": 5}, "alphabet"),
        ({"alphabet": 0}, {"max_evaluations": 5}, "cardinalities"),
        ({"alphabet": 2.5}, {"max_evaluations": 5}, "alphabet must be an integer"),
        ({"n_terms": -1}, {"max_evaluations": 5}, "n_terms must be an integer of at least 1"),
        ({"n_objectives": "two"}, {"max_evaluations": 5}, "n_objectives must be an integer of at least 1"),
        ({}, {"max_evaluations": 5, "n_jobs": 0}, "n_jobs must be None, -1 or an integer of at least 1"),
        ({"evaluate": None}, {"max_evaluations": 5}, "needs a method evaluate"),
        ({}, {}, "Set a limit"),
        ({}, {"max_evaluations": 5, "termination": 3}, "termination must be a callable"),
        (
            {},
            {"max_evaluations": 5, "callback": 3},
            "callback must be a callable that takes a Progress, or None, got 3",
        ),
        ({}, {"max_evaluations": 5, "verbose": "yes"}, "verbose must be True or False, got 'yes'"),
        ({}, {"max_evaluations": 5, "initial": np.full((1, 5), 2)}, "row 0 has the value 2 in gene 0"),
        ({}, {"max_evaluations": 5, "initial": np.zeros((1, 4), int)}, "shape"),
        ({}, {"max_evaluations": 0}, "max_evaluations"),
        ({}, {"max_seconds": -1}, "max_seconds"),
        ({}, {"max_evaluations": 5, "algorithm": "GOMEA"}, "algorithm must be a GOMEA"),
        (
            {"bounds": (0, 1), "alphabet": None},
            {"max_evaluations": 5, "algorithm": GOMEA()},
            "algorithm must be an RVGOMEA",
        ),
        ({"bounds": (1, 0), "alphabet": None}, {"max_evaluations": 5}, "swapped"),
        ({"bounds": 3, "alphabet": None}, {"max_evaluations": 5}, "bounds must be"),
        ({"bounds": (0, np.inf), "alphabet": None}, {"max_evaluations": 5}, "needs a finite initial range"),
    ],
)
def test_mistakes_are_named(changes, options, message):
    problem = Broken(1.0)
    for name, value in changes.items():
        setattr(problem, name, value)
    with pytest.raises(GomeaBnError, match=message):
        optimise(problem, random_state=1, **options)


def test_integers_within_the_range_of_floats_are_objectives():
    assert optimise(Broken(10**300), random_state=1, max_evaluations=5).F[0] == 1e300


@pytest.mark.parametrize(
    ("algorithm", "problem", "message"),
    [
        (
            GOMEA(),
            Ellipsoid(),
            "GOMEA takes problems of discrete variables, this one has real or mixed ones; use RV",
        ),
        (RVGOMEA(), Knapsack(), "RVGOMEA takes problems of real or mixed variables, .* use GOMEA or MOGOMEA"),
    ],
)
def test_algorithms_refuse_problems_of_the_other_kind_of_variables(algorithm, problem, message):
    with pytest.raises(GomeaBnError, match=message):
        algorithm.run(problem, Limits(max_evaluations=5))


@pytest.mark.parametrize(("algorithm", "problem"), [(GOMEA(), Knapsack()), (RVGOMEA(), Ellipsoid())])
def test_algorithms_run_the_problems_that_optimise_takes(algorithm, problem):
    alone = algorithm.run(problem, Limits(max_evaluations=500), random_state=1)
    assert alone.F == optimise(problem, algorithm, max_evaluations=500, random_state=1).F
    for options, message in (
        ({"callback": 3}, "callback must be"),
        ({"limits": 3}, "limits must be a Limits"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            algorithm.run(problem, **untyped({"limits": Limits(max_evaluations=5), **options}))


class Answering:
    """A linkage model whose answer is given."""

    learned = False

    def __init__(self, answer):
        self.answer = answer

    def learn(self, *_population):
        return self.answer


class DiscreteAnswering:
    def __init__(self, answer):
        self.learn = Answering(answer).learn


def with_linkage(is_real, answer):
    """The objective that a search reaches with a model that returns the answer."""
    if is_real:
        return optimise(
            Ellipsoid(), RVGOMEA(linkage=Answering(answer)), random_state=1, max_evaluations=400
        ).F[0]
    problem = Knapsack()
    return optimise(problem, GOMEA(linkage=DiscreteAnswering(answer)), random_state=1, max_evaluations=400).F[
        0
    ]


@pytest.mark.parametrize("is_real", [False, True])
def test_own_linkage_may_be_lists_of_subsets(is_real):
    subsets = [[0, 1], [2], [3, 4]]
    assert with_linkage(is_real, subsets) == with_linkage(is_real, from_subsets(subsets))


@pytest.mark.parametrize("is_real", [False, True])
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "subsets must be lists of integers"),
        (np.array([0, 1]), "subsets must be lists of integers"),
        ([[0.5]], "subsets must be lists of integers"),
        ([[0, 0]], "without duplicates"),
        ([[0, 40]], "are 0 to .*, got the subset"),
        (Linkage(np.array([0, 99]), np.array([0]), np.array([2])), "are 0 to .*, got the subset"),
        (Linkage(np.array([0, 1]), np.array([1]), np.array([2])), "reach beyond its 2 members"),
    ],
)
def test_own_linkage_that_is_wrong_is_refused(is_real, answer, message):
    with pytest.raises(GomeaBnError, match=rf"Answering\.learn: .*{message}"):
        with_linkage(is_real, answer)


@pytest.mark.parametrize(
    ("model", "name"),
    [(Custom([range(5)]), "full"), (Full(), "full"), (Univariate(), "univariate"), (LinkageTree(), "tree")],
)
def test_linkage_models_are_those_of_real_variables_too(model, name):
    results = [
        optimise(Ellipsoid(), RVGOMEA(linkage=linkage), random_state=1, max_evaluations=500)
        for linkage in (model, name)
    ]
    np.testing.assert_array_equal(results[0].X, results[1].X)


def test_linkage_models_of_the_other_kind_are_named():
    with pytest.raises(
        GomeaBnError, match=r"a model of real variables, .* got MarginalProduct.*discrete genes"
    ):
        RVGOMEA(linkage=untyped(MarginalProduct()))
    with pytest.raises(GomeaBnError, match=r"Blocks.*, which is one of real variables, for RVGOMEA"):
        GOMEA(linkage=untyped(Blocks(2)))


def test_problems_without_a_domain_are_told_what_they_need():
    class WithoutDomain:
        n_variables = 3

        def evaluate(self, x):
            return 0.0

    with pytest.raises(
        GomeaBnError, match=r"WithoutDomain needs a space, alphabet \(.*\) or bounds \(.*\)\.$"
    ):
        optimise(WithoutDomain(), max_evaluations=5)

    class OfPymoo(WithoutDomain):
        n_var = 3

        def bounds(self):
            return np.zeros(3), np.ones(3)

    with pytest.raises(
        GomeaBnError, match=r"give gomea_bn\.pymoo\.GOMEA .* or RVGOMEA .* to pymoo's minimize"
    ):
        optimise(OfPymoo(), max_evaluations=5)


def test_several_objectives_without_their_number_are_told_how_to_say_it():
    with pytest.raises(GomeaBnError, match="Several objectives need an object with n_objectives"):
        optimise(Broken(np.array([1.0, 2.0])), random_state=1, max_evaluations=5)


def test_threads_are_counted_as_in_the_learners():
    results = [
        optimise(compiled_trap(8), n_jobs=n_jobs, random_state=1, max_evaluations=500)
        for n_jobs in (None, 1, -1)
    ]
    assert len({result.F[0] for result in results}) == 1


def test_evaluate_genotypes_agrees_with_the_function_and_changes_nothing():
    genotypes = np.random.default_rng(0).integers(0, 2, (7, 20))
    before = genotypes.copy()
    objectives, violations, repaired = evaluate_genotypes(compiled_trap(4), genotypes)
    expected = [PythonTrap(4).evaluate(x) for x in genotypes]
    np.testing.assert_array_equal(objectives[:, 0], expected)
    np.testing.assert_array_equal(repaired, before)
    np.testing.assert_array_equal(genotypes, before)
    assert not violations.any()


def test_linkage_finds_what_single_genes_cannot():
    tree = optimise(
        compiled_trap(8),
        GOMEA(linkage=LinkageTree("mi", filtered=False)),
        random_state=2,
        max_evaluations=30_000,
    )
    single = optimise(compiled_trap(8), GOMEA(linkage=Univariate()), random_state=2, max_evaluations=30_000)
    assert tree.F[0] == -40
    assert single.F[0] > -40


SOURCE = """
from typing import NamedTuple
import numpy as np
from gomea_bn import KernelProblem, kernel, optimise, register_problem

class Data(NamedTuple):
    weight: float

@kernel
def cost(data, solution, journal, generator):
    total = 0.0
    for g in range(solution.genotype.shape[0]):
        total += SIGN * data.weight * solution.genotype[g]
    solution.objectives[0] = total
    solution.violation[0] = 0.0
    return 1

register_problem(Data, cost, cost)

def run():
    problem = KernelProblem(Data(1.0), np.full(6, 2), n_terms=1)
    return optimise(problem, random_state=1, max_evaluations=400).X.tolist()
"""


@pytest.mark.long
def test_a_module_may_run_a_search_while_it_is_imported(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "eager.py").write_text(SOURCE.replace("SIGN", "1.0") + "\nprint(run())\n")
    command = [sys.executable, "-c", "import eager"]
    out = subprocess.run(
        command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=600
    ).stdout
    assert out.strip() == str([0] * 6)


@pytest.mark.long
def test_an_edited_problem_is_compiled_again(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    answers = []
    for sign in ("1.0", "-1.0", "1.0"):
        (tmp_path / "my_problem.py").write_text(SOURCE.replace("SIGN", sign))
        code = "import my_problem; print(my_problem.run())"
        out = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout
        answers.append(out.strip())
    assert answers == [str([0] * 6), str([1] * 6), str([0] * 6)]


class TwoObjectives:
    n_variables, alphabet, n_objectives = 6, 2, 2

    def __init__(self, answer):
        self.answer = answer

    def evaluate(self, x):
        return self.answer(float(x.sum()), float(len(x) - x.sum()))


@pytest.mark.parametrize(
    "answer", [lambda f, g: [f, g], lambda f, g: np.array([f, g]), lambda f, g: ((f, g), 0.0)]
)
def test_several_objectives_come_as_a_list_an_array_or_with_a_violation(answer):
    result = optimise(TwoObjectives(answer), random_state=1, max_evaluations=500)
    assert result.F.tolist() == [[k, 6.0 - k] for k in range(7)]


@pytest.mark.parametrize("answer", [lambda f, g: (f, g), lambda f, _g: f, lambda f, g: [f, g, f]])
def test_other_answers_than_one_value_per_objective_are_refused(answer):
    with pytest.raises(GomeaBnError, match="must return a list or array of 2 objectives or"):
        optimise(TwoObjectives(answer), random_state=1, max_evaluations=500)


def test_a_result_prints_itself_in_lines():
    result = Result(np.arange(20), np.array([-2.5]), 1200, 34.25, 1.5, 0.25, [], "patience", 7)
    assert str(result).splitlines() == [
        "Result",
        "  F: -2.5",
        "  X: [ 0  1  2  3 ... 16 17 18 19]",
        "  evaluations: 1,200 (34.2 full), generations: 7",
        "  seconds: 1.50, to the last improvement: 0.25",
        "  stopped by: patience",
    ]
    front = Result(np.zeros((2, 3)), np.array([[1.0, 4.0], [2.0, 3.0]]), 9, 9.0, 1.0, 1.0, [], "target", 1)
    assert "F: front of 2, least [1. 3.]" in repr(front)
    assert len(repr(front).splitlines()) == 6


class WrongPart(PartialEllipsoid):
    def evaluate_partial(self, x, changed, parent_terms):
        objective, violation, terms = super().evaluate_partial(x, changed, parent_terms)
        # the change of variable 2 is left out
        terms[2] = parent_terms[2]
        return objective if 2 not in changed else terms.sum(), violation, terms


@pytest.mark.parametrize("problem", [PartialPythonTrap(4), compiled_trap(4), PartialEllipsoid(), Knapsack()])
def test_problems_that_agree_with_themselves_pass_the_check(problem):
    assert check_problem(problem) == []


def test_the_check_names_the_change_after_which_evaluations_differ():
    sentences = check_problem(WrongPart(), random_state=3)
    assert sentences
    for sentence in sentences:
        assert "2" in sentence.split("from")[0]
        assert "evaluate_partial gives the objective" in sentence


def test_the_check_sees_an_evaluation_that_varies():
    class Noisy(Knapsack):
        n_calls = 0

        def evaluate(self, x):
            self.n_calls += 1
            return float(self.n_calls)

    assert "a second evaluate gives the objective" in check_problem(Noisy())[0]
