"""The command `gomea-bn`."""

from __future__ import annotations

from gomea_bn.cli.app import main

__all__ = ["main"]
