"""The learner that a command line describes, and the smoothing that goes with it.

An option is `name=value`, the value a Python literal or else a text; `algorithm.name=value` is an option of GOMEA.
"""

from __future__ import annotations

import argparse
import ast
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from gomea_bn import GOMEA, BayesNetLearner, DiscretizedBayesNet
from gomea_bn.simulation.random_networks import random_network

__all__ = [
    "add_learner_options",
    "has_parameter",
    "make_learner",
    "named_options",
    "smoothing",
    "variant",
    "warm_up",
]

_ALGORITHM = "algorithm."


def add_learner_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe the learner to a command."""
    parser.add_argument("--discretizer", default="optimal", help="of BayesNetLearner")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a further option of BayesNetLearner; algorithm.NAME=VALUE: of its GOMEA",
    )


def named_options(texts: Iterable[str]) -> dict[str, Any]:
    """Return the options that texts of the form `name=value` give."""
    found: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise SystemExit(f"An option must have the form name=value, got {text!r}.")
        try:
            found[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            found[name.strip()] = value.strip()
    return found


def variant(text: str) -> tuple[str, dict[str, Any]]:
    """Return name and options of a variant, given as `name` or `name:option=value,option=value`."""
    name, _, listed = text.partition(":")
    return name, named_options(part for part in listed.split(",") if part)


def has_parameter(name: str) -> bool:
    """Return whether the learner has a parameter of that name."""
    return name in BayesNetLearner().get_params()


def make_learner(options: Mapping[str, Any], **fixed: Any) -> BayesNetLearner:
    """Return a learner with the options of the command line, which win over the fixed ones."""
    own = {name: value for name, value in options.items() if not name.startswith(_ALGORITHM)}
    search = {
        name.removeprefix(_ALGORITHM): value for name, value in options.items() if name.startswith(_ALGORITHM)
    }
    if search:
        own["algorithm"] = GOMEA(**search)
    return BayesNetLearner().set_params(**{**fixed, **own})


def smoothing(learner: BayesNetLearner) -> dict[str, Any]:
    """Return the learner's options that also count the tables of a given graph with given cuts."""
    shared = set(inspect.signature(DiscretizedBayesNet.from_table).parameters) - {"cut_points"}
    return {name: value for name, value in learner.get_params(deep=False).items() if name in shared}


def warm_up(options: Mapping[str, Any]) -> None:
    """Learn once from a small table, so that no measured second goes to compiling; processes made later inherit it."""
    told = repr(sorted(options.items(), key=str))
    if told in _WARM:
        return
    frame = random_network(3, random_state=0).sample(60, random_state=0)
    small = {"max_seconds": 60.0, "max_evaluations": 500}
    make_learner({**options, **small}).fit(frame)
    _WARM.add(told)


_WARM: set[str] = set()
