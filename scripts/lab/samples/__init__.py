"""Tables and laws of rows that experiments share."""
