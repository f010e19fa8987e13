"""The rules and one game of them: legality, whose turn it is, the end, and records.

Needs the standard library only.
"""
