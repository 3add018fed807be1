"""Take one network out of a front, or the table of all of them: the same as `gomea-bn export`.

    python scripts/export_front.py out/front --network knee --to bif -o knee.bif
    python scripts/export_front.py out/front --to csv -o front.csv

`python scripts/export_front.py --help` lists the options.
"""

import sys
from collections.abc import Sequence

from gomea_bn.cli.app import main as gomea_bn


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `gomea-bn export` with the given arguments and exit with its code."""
    options = sys.argv[1:] if arguments is None else list(arguments)
    gomea_bn(["export", *options], prog_name="gomea-bn")


if __name__ == "__main__":
    main()
