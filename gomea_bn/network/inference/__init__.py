"""Questions to a network: distributions, predictions and draws given evidence, for many rows at once."""
