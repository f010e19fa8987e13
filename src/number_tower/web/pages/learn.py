"""Everything to learn from: analysis, puzzles, the first lesson, and a page for each game."""

from __future__ import annotations

from fastapi import APIRouter

from number_tower.web.pages import analysis, games, lesson, puzzles

router = APIRouter(include_in_schema=False)
for part in (analysis, puzzles, lesson, games):
    router.include_router(part.router)
