"""Any options of any command end with a documented exit code and one line, and leave all inputs as they were."""

from pathlib import Path

import numpy as np
import pytest
from consistency import check_network, digests, seeds
from numpy.random import Generator
from test_hostile_files import check_call, originals

from gomea_bn import DiscretizedBayesNet

__all__ = ["originals"]


def check_case(seed, originals, folder):
    """Call one command."""
    before = digests(originals)
    check_call(*command_line(np.random.default_rng(seed), originals, folder))
    assert digests(originals) == before
    network = folder / "learn-out" / "network.json"
    if network.exists():
        check_network(DiscretizedBayesNet.from_json(network))
    assert not list(folder.rglob("*.part*"))


@pytest.mark.long
def test_any_options_are_used_or_refused(originals, tmp_path):
    for seed in seeds("calls"):
        check_case(seed, originals, tmp_path)


_NUMBERS = (
    "0", "1", "2", "5", "-1", "1e-300", "1e300", "inf", "nan", "", "x", "99999999999999999999", "0.5", "1,5"
)  # fmt: skip
_TEXTS = (
    "a", "b", "c", "d", "zzz", "", " ", "a,b", "a=1", "=", "#1", "../x", "\x00", "é", "a->b", "b->a", "x" * 400
)  # fmt: skip
# what every search gets last, so that it ends soon
_SHORT = ("--max-evaluations", "20", "--max-seconds", "3", "-q")
_SEARCH_OPTIONS: dict[str, tuple[str, ...]] = {
    "--max-bins": ("auto", *_NUMBERS),
    "--min-width": _NUMBERS,
    "--min-bin-count": _NUMBERS,
    "--shape": ("auto", "uniform", "marginal", "x"),
    "--max-indegree": ("auto", *_NUMBERS),
    "--max-candidates": ("all", "auto", *_NUMBERS),
    "--max-table-cells": _NUMBERS,
    "--seed": _NUMBERS,
    "--kind": ("a=discrete", "d=continuous", *_TEXTS),
    "--cut-points": ("a=0", "a=0,0", "a=nan", "d=0", "a=", *_TEXTS),
    "--require": ("a->b", "b->a", "a->a", *_TEXTS),
    "--forbid": ("a->b", "a->c", *_TEXTS),
    "--tier": ("a,b", "c", "d", *_TEXTS),
    "--missing": ("error", "drop", "x"),
    "--max-levels": _NUMBERS,
    "--pseudo-count": ("auto", *_NUMBERS),
    "--jobs": ("0", "1", "2", "1000000000", "-1", "x"),
    "--sep": (",", ";", "tab", "", "xx"),
    "--decimal": (".", ",", "x"),
    "--na-values": ("1", "?", "", "a,b"),
    "--columns": _TEXTS,
    "--drop": _TEXTS,
    "--header": ("none", "first-line", "x"),
    "--encoding": ("utf-8", "x", "utf-16"),
}
_COMMANDS: dict[str, dict[str, tuple[str, ...]]] = {
    "learn": {
        "--discretizer": ("optimal", "equal-frequency", "equal-width", "x", ""),
        "--scoring-method": ("density-bic", "density-bd", "bic", "bdeu", "x"),
        "--penalty": ("bic", "aic", *_NUMBERS),
        "--edge-cost": _NUMBERS,
        "--cut-cost": _NUMBERS,
        "--ess": _NUMBERS,
        "--prior": ("bdeu", "dirichlet", "x"),
        "--patience": _NUMBERS,
        **_SEARCH_OPTIONS,
    },
    "front": {
        "--objective": ("misfit", "complexity", "expert_distance", "x"),
        "--max-complexity": _NUMBERS,
        "--single-share": _NUMBERS,
        "--single-evaluations": _NUMBERS,
        "--networks": _NUMBERS,
        "--misfit": ("left-out", "in-sample", "x"),
        **_SEARCH_OPTIONS,
    },
    "refine": {
        "--method": ("dp", "mdl", "x"),
        "--bin-counts": ("fixed", "free", "x"),
        "--max-bins": ("auto", *_NUMBERS),
        "--min-width": _NUMBERS,
        "--min-bin-count": _NUMBERS,
        "--seed": _NUMBERS,
        "--penalty": _NUMBERS,
    },
    "show": {},
    "export": {"--to": ("json", "bif", "dot", "xdsl", "csv", "x", ""), "--network": ("0", "knee", *_TEXTS)},
    "query": {"--target": _TEXTS, "--evidence": _TEXTS},
    "predict": {"--target": _TEXTS},
    "impute": {},
    "compare": {},
    "confidence": {"--max-seconds": ("1", "x")},
    "fit": {"--pseudo-count": _NUMBERS, "--shape": ("auto", "uniform", "x")},
}


def command_line(rng: Generator, originals: Path, out: Path) -> list[str]:
    """Return a command with arguments and zero to three options; it writes to `out` alone."""
    rows, run, front = str(originals / "rows.csv"), str(originals / "run"), str(originals / "front")
    parts = (f"{front}#{part}" for part in ("1", "99", "knee"))
    odd = (str(originals), str(out / "missing.csv"), rows, run, front, *parts, "")
    name = list(_COMMANDS)[int(rng.choice(len(_COMMANDS), p=[0.2, 0.2, *[0.6 / 9] * 9]))]
    inputs = {"learn": [rows], "front": [rows], "export": [front], "compare": [run, f"{front}#1"]}
    arguments = inputs.get(name, [run] if name in ("show", "query") else [run, rows])
    if name == "confidence":
        arguments = [run, "--certify", "--data", rows]
    if rng.random() < 0.15:
        arguments[int(rng.integers(len(arguments)))] = odd[int(rng.integers(len(odd)))]
    options = _COMMANDS[name]
    for option in rng.permutation(list(options))[: rng.integers(0, 4)].tolist():
        arguments += [option, str(options[option][int(rng.integers(len(options[option])))])]
    if name in ("learn", "front"):
        arguments += _SHORT
    writes = rng.random() < 0.5 and name not in ("show", "query", "compare", "confidence")
    if writes or name in ("refine", "fit", "impute"):
        ending = {"learn": "", "front": "", "predict": ".csv", "impute": ".csv"}.get(name, ".json")
        arguments += ["--out", str(out / f"{name}-out{ending}")]
    return [name, *arguments]
