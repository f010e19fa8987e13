"""Pages of the rule lab: what is measured, a map of the settings of each game, and each setting."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from markupsafe import Markup

from number_tower import catalogue, record
from number_tower.catalogue import GameChoice, Rulebook
from number_tower.lab.maps import SHADES, LabMap, render_map
from number_tower.lab.measures import MAPPED, MEASURES, Measure
from number_tower.lab.rows import LabRow
from number_tower.lab.stories import MISSING, tell_value
from number_tower.table import Table
from number_tower.text import format_text
from number_tower.voice import get_voice
from number_tower.web.lab import (
    LABELS,
    build_setting_url,
    describe_row,
    find_by_rules,
    find_row,
    list_notes,
    load_map,
    summarize_map,
)
from number_tower.web.pages import render_page
from number_tower.web.pages.analysis import build_analysis_url
from number_tower.web.pages.games import render_unknown_game
from number_tower.web.pages.new_game import build_new_game_url

router = APIRouter(include_in_schema=False)

MOST_DRAWN = 40
"""Drawings that are cached: one for each map and measure."""


@router.get("/lab")
async def show_lab(request: Request) -> Response:
    """Show what is measured, and all games with what was found out about their settings."""
    maps = {name: await asyncio.to_thread(load_map, name) for name in catalogue.list_names()}
    summaries = {name: summarize_map(found) for name, found in maps.items() if found}
    measures = [MEASURES[name] for name in MAPPED]
    return render_page(request, "lab.html", measures=measures, summaries=summaries)


@router.get("/lab/{name}")
async def show_map(request: Request, name: str, measure: str = "") -> Response:
    """Show the map of a game's settings, coloured by a measure."""
    if name not in catalogue.list_names():
        return render_unknown_game(request, name)
    book, lab_map = catalogue.load_named(name), await asyncio.to_thread(load_map, name)
    if measure and lab_map is not None and not _has_measure(lab_map, measure):
        wrong = (
            f"There is nothing called “{format_text(measure, 40)}” on this map. Choose what to see."
        )
        return await _render_map(request, book, lab_map, wrong=wrong, status=400)
    return await _render_map(request, book, lab_map, measure)


@router.get("/lab/{name}/setting")
async def show_setting(request: Request, name: str, measure: str = "") -> Response:
    """Show one setting of a game: its rules, its figures, and ways to play and to analyse it."""
    if name not in catalogue.list_names():
        return render_unknown_game(request, name)
    book, lab_map = catalogue.load_named(name), await asyncio.to_thread(load_map, name)
    if lab_map is None:
        return await _render_map(request, book, None, status=404)
    row = find_row(lab_map, request.query_params, book.rules.written())
    if row is None:
        wrong = "These rules are not on this map. Choose one of its cells."
        return await _render_map(request, book, lab_map, wrong=wrong, status=404)
    rules = row.make_rules()
    measures = lab_map.list_measures()
    query = f"?measure={measure}" if _has_measure(lab_map, measure) else ""
    context: dict[str, Any] = {
        "book": book,
        "noun": get_voice(book).noun,
        "row": row,
        "rules": rules,
        "name": describe_row(row),
        "missing": MISSING.get(row.status, ""),
        "winner": tell_value(row),
        "measures": [each for each in measures if getattr(row, each.name) is not None],
        "note": list_notes(book, lab_map).get(row.index),
        "map_url": f"/lab/{name}{query}",
        "play_url": build_play_url(book, row),
        "analysis_url": build_analysis_url(record.to_line(Table.start(GameChoice(book, rules)))),
    }
    return render_page(request, "lab_setting.html", **context)


def build_play_url(book: Rulebook, row: LabRow) -> str:
    """Return the address of the form for a new game with exactly these rules."""
    name = describe_row(row)
    title = f"{book.short_title}: {name[:1].lower()}{name[1:]}"
    return build_new_game_url(book, row.make_rules(), title)


@lru_cache(MOST_DRAWN)
def render_drawing(lab_map: LabMap, game: str, measure: Measure) -> Markup:
    """Render a map: large, always the same, and too slow for the event loop the first time."""
    notes = list_notes(catalogue.load_named(game), lab_map)
    edges = {index: note.edge for index, note in notes.items()}

    def build_link(row: LabRow) -> str:
        return f"{build_setting_url(row)}&measure={measure.name}"

    return render_map(lab_map, measure, LABELS, edges, build_link)


def _has_measure(lab_map: LabMap, name: str) -> bool:
    return any(measure.name == name for measure in lab_map.list_measures())


async def _render_map(
    request: Request,
    book: Rulebook,
    lab_map: LabMap | None,
    measure: str = "",
    *,
    wrong: str = "",
    status: int = 200,
) -> Response:
    """Show a map with a measure, by default the first that it has; or say that there is no map of this game."""
    context: dict[str, Any] = {"book": book, "wrong": wrong, "settings": {}}
    if lab_map is not None:
        measures = {each.name: each for each in lab_map.list_measures()}
        chosen = measures.get(measure) or next(iter(measures.values()), None)
        presets = {
            preset.name: find_by_rules(lab_map, book.apply_options(preset.options))
            for preset in book.presets.values()
        }
        context |= {
            "measures": measures.values(),
            "chosen": chosen,
            "shades": SHADES,
            "summary": summarize_map(lab_map),
            "settings": {name: build_setting_url(row) for name, row in presets.items() if row},
            "edges": {note.edge for note in list_notes(book, lab_map).values()},
            "has_gaps": any(row.status in MISSING for row in lab_map.rows.values()),
        }
        context["drawing"] = chosen and await asyncio.to_thread(
            render_drawing, lab_map, book.name, chosen
        )
    return render_page(request, "lab_game.html", status=status, **context)
