"""Run a published experiment, or all: the same as `gomea-bn bench`.

    python scripts/reproduce.py table1 --nets 10
    python scripts/reproduce.py all --resume --summary docs/results.md

`python scripts/reproduce.py list` names the experiments, and `--help` lists the options.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gomea_bn.cli.app import main as gomea_bn


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `gomea-bn bench` with the given arguments and exit with its code."""
    options = sys.argv[1:] if arguments is None else list(arguments)
    gomea_bn(["bench", *options], prog_name="gomea-bn")


if __name__ == "__main__":
    main()
