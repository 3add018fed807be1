"""Compile the kernels that most tests need into the cache that all test processes and commands share."""

from __future__ import annotations

import sys
from pathlib import Path

from shared_bytecode import share_bytecode

TESTS = Path(__file__).resolve().parent.parent / "tests"


def main() -> None:
    """Compile the kernels of all commands, and evaluations of networks as tests call them."""
    from gomea_bn.learning.all_kernels import compile_all_kernels

    compile_all_kernels(print)
    # this process has the parts of these kernels, which take others ten seconds each
    sys.path += [str(TESTS / "twins"), str(TESTS / "examples")]
    import numpy as np
    from mo_oracles import network_problem
    from oracles import journal_of, make_problem, random_variables, unevaluated

    from gomea_bn.problems.base import evaluate, evaluate_partial

    generator = np.random.default_rng(0)
    for problem in (make_problem(random_variables(generator, 40, "ccd")), network_problem(0, 2, 3)):
        data, genotype = problem.kernel_data(1)[0], problem.sample(generator, 1)[0]
        for evaluation in (evaluate, evaluate_partial):
            evaluation(data, unevaluated(problem, genotype), journal_of(problem), generator)


if __name__ == "__main__":
    share_bytecode()
    main()
