"""Those that count families over all rows: threads, a cluster, a GPU; `plan` has what they count."""
