"""Answers that describe themselves in openapi.json."""

from __future__ import annotations

from pydantic import ConfigDict


class Described:
    """Lets the docstrings of an object's fields describe them in openapi.json."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)
