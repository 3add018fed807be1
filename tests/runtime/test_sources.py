"""The digest of the sources is that of their text alone, and changes with any of it."""

import json
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

import gomea_bn
from gomea_bn.runtime import source_digest, sources
from gomea_bn.runtime.sources import digest_of, package_sources

PACKAGE = Path(gomea_bn.__file__).parent


@pytest.fixture
def installed(tmp_path):
    """A copy of the package as an installation has it: folders in place of links, in another place."""
    folder = tmp_path / "site-packages" / "gomea_bn"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_a_checkout_and_an_installation_have_the_same_digest(installed):
    assert not (installed / "problems").is_symlink()
    assert digest_of(package_sources(installed)) == source_digest()
    assert len(source_digest()) == 16
    int(source_digest(), 16)


def test_line_ends_and_compiled_files_do_not_count(installed):
    for path in installed.rglob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    (installed / "__pycache__").mkdir()
    (installed / "__pycache__" / "errors.py").write_text("x = 1")
    assert digest_of(package_sources(installed)) == source_digest()


@pytest.mark.parametrize("module", ["__init__", "cli/app", "problems/kernels/score"])
def test_the_text_of_every_module_counts(installed, module):
    path = installed / f"{module}.py"
    path.write_bytes(path.read_bytes() + b"# one more line\n")
    assert digest_of(package_sources(installed)) != source_digest()


def test_names_and_ends_of_modules_count():
    texts = {"p.a": b"", "p.b": b""}
    others = ({"p.a": b"p.b\n"}, {"p.a": b""}, {"p.a": b"", "p.c": b""})
    assert len({digest_of(each) for each in (texts, *others)}) == 4
    assert digest_of(dict(reversed(texts.items()))) == digest_of(texts)


def test_sources_are_read_once_and_never_by_an_import(monkeypatch):
    reads = count(1)
    monkeypatch.setattr(sources, "package_sources", lambda: {"p.a": b"%d" % next(reads)})
    source_digest.cache_clear()
    assert source_digest() == source_digest() == digest_of({"p.a": b"1"})
    source_digest.cache_clear()
    check = (
        "import gomea_bn.network.formats.json_format, gomea_bn.learning.run_folder\n"
        "from gomea_bn.runtime.sources import source_digest\n"
        "print(source_digest.cache_info().misses)"
    )
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "0"


def test_network_files_name_the_code_that_wrote_them_and_networks_do_not(monkeypatch):
    network = gomea_bn.DiscretizedBayesNet(
        ["a"],
        [],
        cut_points={},
        support={},
        levels={"a": ["no", "yes"]},
        tables={"a": [0.25, 0.75]},
        metadata={"seed": 1},
    )
    text = network.to_json()
    assert json.loads(text)["written_by"] == {
        "version": gomea_bn.__version__,
        "sources": source_digest(),
    }
    assert network.to_json() == text
    monkeypatch.setattr("gomea_bn.network.formats.json_format.source_digest", lambda: "0" * 16)
    other = network.to_json()
    assert other != text
    read = gomea_bn.DiscretizedBayesNet.from_json(text)
    assert read == gomea_bn.DiscretizedBayesNet.from_json(other) == network
    assert read.metadata == {"seed": 1}
    # the code that writes is named, and not the one that wrote before
    assert read.to_json() == other
