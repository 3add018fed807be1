"""Reading and writing networks: JSON, BIF, DOT."""
