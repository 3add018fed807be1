"""Words about a network that its metadata carry to its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["STABILITY_WORDS", "recorded_stability"]

STABILITY_WORDS = "stability_in_words"
"""Entry of a network's metadata, which `Stability.recorded_network` writes."""


def recorded_stability(network: NetworkLike) -> list[str]:
    """Return the paragraphs on what stays and what moves in repeated searches; none if none or others were recorded."""
    words = network.metadata.get(STABILITY_WORDS)
    return [text for text in words if isinstance(text, str)] if isinstance(words, list) else []
