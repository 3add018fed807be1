"""pymoo's algorithms on our problems, and ours in pymoo's `minimize`."""

import copy
from contextlib import nullcontext

import numpy as np
import pytest
from checkpoint_examples import Killed
from compiled_example import PythonTrap, compiled_trap
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.callback import Callback
from pymoo.core.mixed import MixedVariableGA
from pymoo.core.problem import ElementwiseProblem
from pymoo.core.variable import Binary, Choice, Integer, Real, Variable
from pymoo.operators.crossover.ux import UniformCrossover
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.operators.sampling.rnd import IntegerRandomSampling
from pymoo.optimize import minimize

from gomea_bn import Checkpoint, GomeaBnError, GomeaBnWarning
from gomea_bn.problems import sphere
from gomea_bn.pymoo import GOMEA, RVGOMEA, as_problem
from gomea_bn.runtime import checkpoints


class Sum(ElementwiseProblem):
    """Smallest sum of squares of integers that add up to 2 at least (and exactly, with `equal`)."""

    def __init__(self, equal=False):
        self.equal = equal
        bounds = {"xl": -3, "xu": 4, "vtype": int}
        super().__init__(n_var=5, n_obj=1, n_ieq_constr=0 if equal else 2, n_eq_constr=int(equal), **bounds)

    def _evaluate(self, x, out, *args, **kwargs):
        out["F"] = float((x**2).sum())
        if self.equal:
            out["H"] = [x.sum() - 2]
        else:
            out["G"] = [2 - x.sum(), x.max() - 3]


@pytest.mark.sample(1)
@pytest.mark.parametrize("problem", [compiled_trap(3), PythonTrap(3)])
def test_our_problems_evaluate_alike_in_pymoo(problem):
    x = np.random.default_rng(1).integers(0, 2, (5, 15))
    answer = as_problem(problem).evaluate(x, return_as_dictionary=True)
    np.testing.assert_array_equal(answer["F"][:, 0], [PythonTrap(3).evaluate(row) for row in x])
    assert not answer["G"].any()


def test_a_pymoo_algorithm_runs_on_our_problem():
    ga = GA(
        pop_size=20, sampling=IntegerRandomSampling(), crossover=UniformCrossover(), repair=RoundingRepair()
    )
    result = minimize(as_problem(compiled_trap(3)), ga, ("n_gen", 15), seed=1)
    assert result.F[0] == PythonTrap(3).evaluate(np.rint(result.X).astype(int))


@pytest.mark.parametrize("equal", [False, True])
def test_our_algorithm_solves_a_constrained_pymoo_problem(equal):
    result = minimize(Sum(equal), GOMEA(), ("n_eval", 4_000), seed=1)
    assert result.F[0] == 2.0
    assert sorted(result.X.tolist()) == [0, 0, 0, 1, 1]
    assert result.CV[0] == 0.0


def test_integer_variables_reach_both_of_their_bounds():
    class Bounds(ElementwiseProblem):
        def __init__(self):
            super().__init__(n_var=2, n_obj=1, xl=np.array([2, -3]), xu=np.array([5, 4]), vtype=int)

        def _evaluate(self, x, out, *args, **kwargs):
            out["F"] = float(x[1] - x[0])

    assert minimize(Bounds(), GOMEA(), ("n_eval", 400), seed=1).X.tolist() == [5, -3]


def test_pymoo_evaluates_what_is_asked_and_counts_it():
    class Counted(Sum):
        calls = 0

        def _evaluate(self, x, out, *args, **kwargs):
            self.calls += 1
            super()._evaluate(x, out)

    problem = Counted()
    result = minimize(problem, GOMEA(), ("n_eval", 200), seed=1, copy_algorithm=False)
    assert problem.calls == result.algorithm.evaluator.n_eval == 200
    algorithm = GOMEA()
    algorithm.setup(Sum(), termination=("n_eval", 100), seed=1)
    asked = 0
    while algorithm.has_next():
        individuals = algorithm.ask()
        asked += len(individuals)
        algorithm.evaluator.eval(algorithm.problem, individuals)
        algorithm.tell(infills=individuals)
    assert asked == 100
    assert algorithm.result().F is None or algorithm.result().CV[0] == 0.0


@pytest.mark.long
def test_seed_evaluations_history_and_display(capsys):
    runs = [
        minimize(
            as_problem(compiled_trap(3)), GOMEA(), ("n_eval", 800), seed=5, verbose=True, save_history=True
        )
        for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].X, runs[1].X)
    assert 800 <= runs[0].algorithm.evaluator.n_eval < 4_000
    best = [entry.opt[0].F[0] for entry in runs[0].history]
    assert best == sorted(best, reverse=True)
    assert "n_eval" in capsys.readouterr().out


@pytest.mark.long
def test_time_termination_stops():
    assert minimize(as_problem(compiled_trap(20)), GOMEA(), ("time", "00:00:01"), seed=1).exec_time < 10


def test_a_copy_of_a_running_search_says_that_it_cannot_go_on():
    algorithm = GOMEA()
    algorithm.setup(as_problem(compiled_trap(3)), termination=("n_gen", 5), seed=1)
    algorithm.next()
    with pytest.raises(GomeaBnError, match="cannot continue"):
        copy.deepcopy(algorithm).next()


class Parabola(ElementwiseProblem):
    """Smallest distance to (0.3, 0.3, 0.3) of points whose sum is at most 0.6."""

    def __init__(self):
        super().__init__(n_var=3, n_obj=1, n_ieq_constr=1, xl=0.0, xu=1.0)

    def _evaluate(self, x, out, *args, **kwargs):
        out["F"] = float(((x - 0.3) ** 2).sum())
        out["G"] = x.sum() - 0.6


@pytest.mark.long
def test_the_real_valued_algorithm_solves_a_constrained_pymoo_problem():
    result = minimize(Parabola(), RVGOMEA(), ("n_eval", 20_000), seed=1)
    np.testing.assert_allclose(result.X, 0.2, atol=1e-3)
    assert result.CV[0] == 0.0
    again = minimize(Parabola(), RVGOMEA(), ("n_eval", 20_000), seed=1)
    np.testing.assert_array_equal(result.X, again.X)


def test_our_real_problems_go_both_ways():
    problem = as_problem(sphere(4))
    x = np.random.default_rng(1).uniform(problem.xl, problem.xu, (5, 4))
    np.testing.assert_allclose(problem.evaluate(x, return_as_dictionary=True)["F"][:, 0], (x**2).sum(axis=1))
    assert minimize(problem, RVGOMEA(), ("n_eval", 5_000), seed=1).F[0] < 1e-6


def test_unbounded_or_unfit_pymoo_problems_are_refused():
    class Real(ElementwiseProblem):
        def __init__(self):
            super().__init__(n_var=2, n_obj=1, xl=0.0, xu=1.0, vtype=float)

    with pytest.raises(GomeaBnError, match="RVGOMEA needs real variables"):
        minimize(Sum(), RVGOMEA(), ("n_gen", 2))
    with pytest.raises(GomeaBnError, match="vtype"):
        minimize(Real(), GOMEA(), ("n_gen", 2))
    with pytest.raises(GomeaBnError, match="finite bounds"):
        minimize(ElementwiseProblem(n_var=2, n_obj=1, vtype=int), GOMEA(), ("n_gen", 2))


class Kinds(ElementwiseProblem):
    """One variable of every kind; the optimum of the real one depends on the choice, and a constraint forbids n = 3."""

    def __init__(self, **more):
        kinds = {
            "flag": Binary(),
            "y": Real(bounds=(-2.0, 2.0)),
            "n": Integer(bounds=(3, 6)),
            "colour": Choice(options=["red", "green", "blue"]),
        }
        super().__init__(vars={**kinds, **more}, n_obj=1, n_ieq_constr=1)

    def _evaluate(self, x, out, *args, **kwargs):
        best = {"red": 0.0, "green": 1.5, "blue": -1.0}[x["colour"]]
        out["F"] = (x["y"] - best) ** 2 + x["n"] + (x["colour"] != "green") + (not x["flag"])
        out["G"] = 3.5 - x["n"]


def test_our_algorithm_solves_a_mixed_pymoo_problem():
    result = minimize(Kinds(), RVGOMEA(), ("n_eval", 4_000), seed=1)
    assert (result.X["flag"], result.X["n"], result.X["colour"]) == (True, 4, "green")
    assert result.X["y"] == pytest.approx(1.5, abs=1e-3)
    assert result.F[0] == pytest.approx(4.0, abs=1e-6)
    with pytest.raises(GomeaBnError, match="odd is a Variable"):
        minimize(Kinds(odd=Variable()), RVGOMEA(), ("n_eval", 10), seed=1)


class Mixed:
    n_variables, alphabet, bounds = 4, (3, 0, 2, 0), (-1.0, np.inf)
    initial_range = (0.0, 2.0)

    def evaluate(self, x):
        return float(abs(x[0] - 2) + abs(x[2] - 1) + (x[1] - x[0] / 2) ** 2 + (x[3] - 1) ** 2)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("algorithm", "tolerance"), [(lambda: MixedVariableGA(pop_size=20), 0.5), (RVGOMEA, 1e-6)]
)
def test_algorithms_of_both_sides_run_on_our_mixed_problem(algorithm, tolerance):
    result = minimize(as_problem(Mixed()), algorithm(), ("n_eval", 2_000), seed=1)
    assert (result.X["x0"], result.X["x2"]) == (2, 1)
    assert result.F[0] == Mixed().evaluate(np.array([result.X[f"x{i}"] for i in range(4)]))
    assert result.F[0] <= tolerance


class _Iterations(Callback):
    """Notes number and evaluations of every iteration, and ends the process after one of them."""

    def __init__(self, last=None):
        super().__init__()
        self.last, self.seen = last, []

    def notify(self, algorithm):
        self.seen.append((algorithm.n_iter, algorithm.evaluator.n_eval))
        if algorithm.n_iter == self.last:
            raise Killed


@pytest.mark.long
@pytest.mark.parametrize(
    ("problem", "algorithm"), [(lambda: compiled_trap(4), GOMEA), (lambda: sphere(4), RVGOMEA)]
)
def test_a_killed_run_goes_on_from_its_checkpoint(problem, algorithm, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "_MOST_SHARE", 1.0)
    whole = _Iterations()
    expected = minimize(as_problem(problem()), algorithm(), ("n_gen", 14), seed=1, callback=whole)
    resumed = Checkpoint(tmp_path / "c", every=0, resume=True)
    seen = []
    for last in (1, 4, 9, None):
        iterations = _Iterations(last)
        with (
            pytest.raises(Killed) if last else nullcontext(),
            pytest.warns(GomeaBnWarning) if last == 1 else nullcontext(),
        ):
            result = minimize(
                as_problem(problem()), algorithm(checkpoint=resumed), ("n_gen", 14), seed=1,
                callback=iterations,
            )  # fmt: skip
        seen += iterations.seen
    assert seen == whole.seen
    # a run that had ended gives its result again
    again = minimize(as_problem(problem()), algorithm(checkpoint=resumed), ("n_gen", 14), seed=1)
    for other in (result, again):
        np.testing.assert_array_equal(other.X, expected.X)
        np.testing.assert_array_equal(other.F, expected.F)
        np.testing.assert_array_equal(other.pop.get("X"), expected.pop.get("X"))
        assert other.algorithm.n_gen == expected.algorithm.n_gen
    with pytest.raises(GomeaBnError, match="option random_state was"):
        minimize(as_problem(problem()), algorithm(checkpoint=resumed), ("n_gen", 14), seed=2)
