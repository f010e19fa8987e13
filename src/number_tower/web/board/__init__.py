"""The page of a game, drawn from a table, a reader and plain values, without any server."""
