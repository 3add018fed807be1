"""Lint and format the review page's scripts and styles with Biome, which npx fetches: `make lint`, `make format`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gomea_bn.review.page import page_script, worker_script

ROOT = Path(__file__).resolve().parent.parent
BIOME = "@biomejs/biome@2.6.8"
RULES_ACROSS_FILES = {
    "linter": {
        "rules": {
            "preset": "none",
            "correctness": {"noUndeclaredVariables": "error", "noUnusedVariables": "error"},
        }
    }
}
"""The files of the page share one scope, so unused and unknown names only show in the assembled script."""


def main(arguments: list[str] | None = None) -> int:
    """Check the page, or with --write mend what Biome can; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="format the files and apply safe fixes")
    write = parser.parse_args(arguments).write
    npx = shutil.which("npx")
    if npx is None:
        print("The page's scripts were not linted: npx is not installed (Debian: apt-get install npm).")
        return 1 if os.environ.get("CI") else 0
    command = [npx, "--yes", BIOME]
    check = ["check", "--write"] if write else ["ci", "--error-on-warnings"]
    code = subprocess.run([*command, *check, "."], cwd=ROOT, check=False).returncode
    return code or _lint_whole_scripts(command)


def _lint_whole_scripts(command: list[str]) -> int:
    """Return Biome's exit code for the scripts as the page contains them, all files of each in one."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "biome.json").write_text(json.dumps(RULES_ACROSS_FILES), encoding="utf-8")
        Path(folder, "whole_page.js").write_text(page_script(), encoding="utf-8")
        Path(folder, "whole_worker.js").write_text(worker_script(), encoding="utf-8")
        return subprocess.run([*command, "lint", "."], cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
