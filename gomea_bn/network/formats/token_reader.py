"""The tokens of a text, taken one after another."""

from __future__ import annotations

import re
from typing import NoReturn

from gomea_bn.errors import GomeaBnError

__all__ = ["TokenReader"]


class TokenReader:
    """The tokens of a text, and the position of the next one.

    Parameters
    ----------
    text : str
    token : Pattern
        Matches one token anywhere in the text. Matches of its group "skip" are no tokens.
    """

    def __init__(self, text: str, token: re.Pattern[str]) -> None:
        self.text = text
        self.tokens = [
            (match.group(), match.start()) for match in token.finditer(text) if match.lastgroup != "skip"
        ]
        self.position = 0

    def fail(self, message: str) -> NoReturn:
        """Raise `GomeaBnError` with the line of the last token taken."""
        start = self.tokens[min(self.position, len(self.tokens)) - 1][1] if self.tokens else 0
        raise GomeaBnError(f"line {self.text.count(chr(10), 0, start) + 1}: {message}.")

    def peek(self) -> str:
        """Return the next token, or an empty text at the end."""
        return self.tokens[self.position][0] if self.position < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        """Return the next token and step over it; raise if another one is expected."""
        token = self.peek()
        self.position += 1
        if not token or (expected and token != expected):
            self.fail(f"wanted {expected or 'more'!r}, got {token or 'the end of the text'!r:.60}")
        return token
