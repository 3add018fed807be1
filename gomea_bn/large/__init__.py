"""Learning from more rows than memory holds: folders of Parquet or Arrow files, and Dask dataframes."""
