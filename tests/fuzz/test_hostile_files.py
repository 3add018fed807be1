"""A damaged file is refused by a message, or read to something that is valid; what it was read from stays."""

import json
import shutil
import warnings

import numpy as np
import pytest
from command_line import invoke
from consistency import check_message, check_network, digests, seeds
from front_examples import example_front, small_frame
from hostile_files import damage_front, mutated_bytes, mutated_json, mutated_text, network_files
from network_examples import small_network

from gomea_bn import (
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertNetwork,
    GomeaBnError,
    read_decision,
    read_front,
    read_table,
    write_front,
)
from gomea_bn.front.decision import Decision
from gomea_bn.learning.run_folder import run_record, write_run_folder

_FORMATS = ("json", "bif", "xdsl", "net", "xmlbif")
# every exit code that the commands document but that of an interrupt
_CODES = (0, 1, 2, 3)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Return a folder with a table, a front, a run and a decision."""
    folder = tmp_path_factory.mktemp("originals")
    frame = small_frame()
    frame.to_csv(folder / "rows.csv", index=False)
    front = example_front(5)
    write_front(folder / "front", front, networks=1)
    (folder / "decision.json").write_text(
        Decision(front.run_hash, 1, "2026-11-05T14:30:00Z", (0, 2)).to_json()
    )
    learner = BayesNetLearner(max_evaluations=30, max_seconds=None, random_state=1).fit(read_table(frame))
    record = run_record(learner, folder / "rows.csv", "ab" * 32, compile_seconds=0.0)
    write_run_folder(folder / "run", learner.network_, record)
    return folder


def mutated(rng, content):
    """Return a changed content, as JSON, as words or as bytes."""
    if content[:1] == b"{" and rng.random() < 0.7:
        return json.dumps(mutated_json(rng, json.loads(content))).encode()
    if rng.random() < 0.6:
        return mutated_text(rng, content.decode()).encode("utf-8", errors="replace")
    return mutated_bytes(rng, content)


def check_network_file(seed, folder):
    """Change a file of a network and read it."""
    rng = np.random.default_rng(seed)
    ending = _FORMATS[seed % len(_FORMATS)]
    network = small_network(seed % 40)
    path = folder / f"network.{ending}"
    path.write_bytes(content := mutated(rng, network_files(network)[ending]))
    for read in (DiscretizedBayesNet.from_file, ExpertNetwork.from_file):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                result = read(path)
        except GomeaBnError as error:
            check_message(error)
            continue
        if isinstance(result, DiscretizedBayesNet):
            check_network(result)
            result.summary()
            assert DiscretizedBayesNet.from_json(result.to_json()) == result
    assert path.read_bytes() == content


def check_front(seed, originals, folder):
    """Change a front, read it, and write from it by the commands."""
    rng = np.random.default_rng(seed)
    shutil.rmtree(folder / "front", ignore_errors=True)
    shutil.copytree(originals / "front", folder / "front")
    damage_front(rng, folder / "front")
    before = digests(folder / "front")
    try:
        front = read_front(folder / "front")
        for candidate in front:
            check_network(candidate.network)
    except GomeaBnError as error:
        check_message(error)
    table, page, chosen = folder / "out.csv", folder / "out.html", folder / "out.json"
    calls = [
        ("export", folder / "front", "--to", "csv", "-o", table),
        ("export", folder / "front", "--network", "knee", "-o", chosen),
        ("review", folder / "front", "-o", page),
        ("accept", folder / "front", originals / "decision.json", "-o", chosen),
        ("show", f"{folder / 'front'}#expert"),
    ]
    for call in calls if seed % 3 == 0 else [calls[seed % len(calls)]]:
        check_call(*call)
    assert digests(folder / "front") == before


def check_run(seed, originals, folder):
    """Change a file of a run, and use it by the commands."""
    rng = np.random.default_rng(seed)
    shutil.rmtree(folder / "run", ignore_errors=True)
    shutil.copytree(originals / "run", folder / "run")
    path = folder / "run" / ("run.json", "network.json")[seed % 2]
    path.write_bytes(mutated(rng, path.read_bytes()))
    before = digests(folder / "run")
    calls = [
        ("review", folder / "run", "-o", folder / "out.html"),
        ("export", folder / "run", "-o", folder / "out.json"),
        ("show", folder / "run"),
        ("refine", folder / "run", originals / "rows.csv", "-o", folder / "out.json", "--seed", "1"),
        ("predict", folder / "run", originals / "rows.csv", "--target", "a", "-o", folder / "out.csv"),
        ("confidence", folder / "run", "--certify", "--data", originals / "rows.csv", "--max-seconds", "1"),
    ]
    check_call(*calls[seed // 2 % len(calls)])
    assert digests(folder / "run") == before


def check_decision(seed, originals, folder):
    """Change a decision and read it."""
    rng = np.random.default_rng(seed)
    path = folder / "decision.json"
    path.write_bytes(mutated(rng, (originals / "decision.json").read_bytes()))
    try:
        read_decision(path).to_json()
    except GomeaBnError as error:
        check_message(error)
    check_call("accept", originals / "front", path, "-o", folder / "out.json")


def check_call(*arguments):
    """Call a command, which must end with a code that it documents and print errors in one line."""
    result = invoke(*arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in _CODES, result.stderr
    if result.exit_code:
        errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        assert len(errors) == 1, result.stderr


def check_case(seed, originals, folder):
    """Change one of all files."""
    kind = seed % 10
    if kind < 4:
        check_network_file(seed // 10 * 4 + kind, folder)
    elif kind < 7:
        check_front(seed, originals, folder)
    elif kind < 9:
        check_run(seed, originals, folder)
    else:
        check_decision(seed, originals, folder)


@pytest.mark.long
def test_any_damaged_file_is_read_or_refused(originals, tmp_path):
    for seed in seeds("files"):
        check_case(seed, originals, tmp_path)
