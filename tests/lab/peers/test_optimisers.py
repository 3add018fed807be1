"""The table of optimisers: which programs take part in which problems, and what counts."""

import numpy as np
import pytest

from lab.peers import optimisers


def test_programs_take_part_where_they_can(monkeypatch, run_lab):
    monkeypatch.setattr(optimisers, "find_spec", lambda _name: True)
    monkeypatch.setattr(optimisers, "outcome", lambda _case, program, seed: len(program) + seed)
    printed = run_lab("optimisers", "--seeds", "1", "--cases", "Rosenbrock l=20,Rosenbrock l=5 in 300")
    header, *rows = [line.split("  ") for line in printed.splitlines()[-3:]]
    assert [cell.strip() for cell in header if cell][-5:] == list(optimisers.PROGRAMS)
    # gomea's searches over bits alone, and optuna's with few evaluations
    assert [cell.strip() for cell in rows[0] if cell][-5:] == ["9", "-", "6", "4", "-"]
    assert [cell.strip() for cell in rows[1] if cell][-5:] == ["9.000", "-", "6.000", "4.000", "7.000"]


def test_few_evaluations_count_by_the_best_objective():
    case = optimisers.CASES["trap-5 l=20 in 300"]
    assert optimisers.outcome(case, "gomea-bn", 1) <= -16.0


def test_calls_end_at_the_limit_and_at_the_target():
    counted = optimisers.Counted(lambda x: float(x), target=2.0, limit=5)
    assert [counted(5), counted(3)] == [5.0, 3.0]
    counted(2)
    assert (counted.met_at, counted.best) == (3, 2.0)
    with pytest.raises(StopIteration):
        counted(1)
    assert counted.n_calls == 3
    front = optimisers.hypervolume(np.array([[0.5, 0.5]]), np.array([1.0, 1.0]), np.zeros(2))
    assert front == 0.25
