"""ASGI middleware of the web server, one class per module."""
