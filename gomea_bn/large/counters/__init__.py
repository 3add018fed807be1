"""Those that count families over all rows: threads, a cluster; `plan` has what they count."""
