"""Requests, without any game: connections, middleware, problems, log, limits."""
