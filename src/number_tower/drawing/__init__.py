"""Towers, sheets and reviews as text, pictures and pages: one layout of towers, and what writes it."""
