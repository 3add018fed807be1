"""What the public calls return for fixed seeds and evaluation counts stays the same from version to version."""

import pytest
from recorded_results import CASES, digest

RECORDED = {
    "learner, optimal": "762eec33165fde5e",
    "learner, equal frequency": "abcf8050ea85acf4",
    "learner, equal width": "ac8383080d47dc1f",
    "learner, mdl": "4a2781624f08cd84",
    "learner, bayesian": "4f740cc673172a63",
    "learner, knowledge": "02d283647ce4c414",
    "front": "34e27e5c7e7bd651",
    "front, expert": "3a286661b14cae99",
    "front, optimal": "51cbb7ca9f457b6b",
    "ensemble": "e7f2653ad86b4657",
    "ensemble, bootstrap": "78c1b3f68f273260",
    "trap": "f80ddab5338f0747",
    "maxcut": "6a251edea9bf64d5",
    "rosenbrock": "d12b1ea79d169c7a",
    "lotz": "d5a7dd888a388fc4",
    "discretizer, bayesian": "34e225fba51e1adc",
    "discretizer, equal-frequency": "8e8fe3017b28ec63",
    "discretizer, equal-width": "e1540937db41e25b",
    "discretizer, k-means": "1a321c74cb943834",
    "discretizer, latent": "489b719977425f9a",
    "discretizer, mdl": "1364b12d26eb3a74",
    "discretizer, mdlp": "168756add4ee4e24",
    "discretizer, mgcd": "d8877a259fbdf0e9",
    "LDBN": "9cf3e6b4494ab816",
    "MDLNetwork": "c227f838a6e7c86c",
    "K2": "2aa11125e836c19b",
    "Tabu": "d3fd6a939ac67adc",
    "refine, dp fixed": "848e6ea0abba98da",
    "refine, dp free": "f2750a1ccff0f9ea",
    "refine, bayesian": "9799461efe701b71",
    "refine, rv-gomea": "1b049b0b229291c1",
    "network files": "ef9e7896ee154420",
    "front files": "54e0ce777eee8591",
}


def test_every_case_has_a_digest():
    assert set(RECORDED) == set(CASES)


@pytest.mark.sample(1)
@pytest.mark.parametrize("case", CASES)
def test_result_is_the_recorded_one(case):
    assert digest(CASES[case]()) == RECORDED[case]
