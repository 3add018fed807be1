"""Parents that a search considers: screened pairs of columns, orders of the columns, and priced parent sets."""
