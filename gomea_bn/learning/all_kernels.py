"""Compilation of all kernels ahead of their first use, for images and clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import perf_counter

import numpy as np
import pandas as pd

from gomea_bn.discretization.proposals import DISCRETIZERS, discretizer
from gomea_bn.errors import GomeaBnWarning
from gomea_bn.learning.cuts.refinement import refine_boundaries
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.warm_up import compile_front_kernels, compile_kernels
from gomea_bn.runtime.kernel_progress import announced_kernels


def compile_all_kernels(announce: Callable[[str], object]) -> float:
    """Compile or load the kernels of all commands, and return the seconds this took; see `compile_kernels`."""
    began = perf_counter()
    compile_front_kernels(announce)
    compile_kernels(announce)
    with announced_kernels(announce), warnings.catch_warnings():
        # the small examples are nobody's data
        warnings.simplefilter("ignore", GomeaBnWarning)
        for name in sorted(DISCRETIZERS):
            discretizer(name).compile()
        # those around a learned network: averaged densities, refined cuts, and answers
        generator = np.random.default_rng(0)
        x = generator.normal(size=60)
        frame = pd.DataFrame({"x": x, "y": x + generator.normal(size=60), "k": np.where(x > 0, "a", "b")})
        learner = BayesNetLearner(density="averaged", max_evaluations=500, random_state=1, n_jobs=1)
        network = learner.fit(frame).network_
        for method in ("dp", "rv-gomea"):
            refine_boundaries(network, frame, method, max_seconds=0.1, random_state=1)
        incomplete = frame.mask(generator.random(frame.shape) < 0.2)
        learner.edge_probabilities(method="sampled", n_sweeps=1, n_chains=1)
        network.most_probable({"k": "a"})
        for method in ("exact", "sampling"):
            network.query(["x"], {"k": "a"}, method=method, n_draws=100, random_state=1)
            for how in ("draw", "mode"):
                network.impute(incomplete, how, method=method, n_draws=100, random_state=1)
    return perf_counter() - began
