"""Games kept in a database, from their first move, whatever happens; one store for the terminal and the browser."""
