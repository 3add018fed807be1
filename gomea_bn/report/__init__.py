"""The review page: one self-contained HTML file to look through networks and choose one."""
