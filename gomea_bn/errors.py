"""The one exception that users catch: every refusal says what was wanted, what was got, and what to do."""

from __future__ import annotations

__all__ = ["GomeaBnError"]


class GomeaBnError(ValueError):
    """Raised for input that cannot be used; the message names the column, row or option concerned."""
