"""What is known of the edges of a network: probabilities, reasons and equivalence."""
