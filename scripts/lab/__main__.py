"""`python scripts/lab NAME`: run an experiment of the laboratory."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # the folder that has the package `lab`, in place of that of this file; processes that are started later get it
    sys.path[0] = str(Path(__file__).resolve().parents[1])

    from gomea_bn.cli.app import run_as_process
    from lab.command import main

    run_as_process(lambda: main(sys.argv[1:]), sys.argv[1:])
