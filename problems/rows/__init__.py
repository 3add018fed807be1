"""All rows of a table, in memory or not, as cells of its columns, and the counts of their families."""
