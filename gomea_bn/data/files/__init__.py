"""Reading and writing of tables in files."""
