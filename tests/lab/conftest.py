from collections.abc import Callable

import pytest

from lab import command


@pytest.fixture
def run_lab(tmp_path, capsys) -> Callable[..., str]:
    """A function that runs an experiment in this process, and returns what it prints."""

    def run(name: str, *options: str) -> str:
        capsys.readouterr()
        command.main([name, *options, "--in-turn", "--out", str(tmp_path / "lab")])
        return capsys.readouterr().out

    return run
