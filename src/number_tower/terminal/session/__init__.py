"""Play at one machine, however it is shown: requests, opponents, matches, the database."""
