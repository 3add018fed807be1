"""Worker processes of problems in Python."""

import multiprocessing
from typing import Any

import pytest

from gomea_bn.runtime.evaluations import new_processes


@pytest.mark.skipif(
    "forkserver" not in multiprocessing.get_all_start_methods(), reason="the system has no fork server"
)
def test_workers_import_what_a_user_lists(monkeypatch):
    server: Any = multiprocessing.forkserver._forkserver
    monkeypatch.setattr(server, "_preload_modules", ["json"])
    with new_processes(None, 1, "math"):
        pass
    with new_processes(None, 1, "math"):
        assert server._preload_modules == ["json", "math"]
