"""The laboratory: published experiments, comparisons with other libraries, and measurements of scaling."""
