"""`python -m gomea_bn` is the command `gomea-bn`."""

from gomea_bn.cli.app import main

if __name__ == "__main__":
    main()
