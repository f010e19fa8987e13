"""How a database of an earlier form becomes one of the newest."""
