"""Towers, sheets and reviews as text, pictures and pages: one layout, and what writes it."""
