"""Pages of the rule lab: what is measured, a map of the settings of each game, and each setting."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from markupsafe import Markup

from number_tower.engine import catalogue, record
from number_tower.engine.catalogue import GameChoice
from number_tower.engine.table import Table
from number_tower.studies.lab.maps import SHADES, LabMap, render_map
from number_tower.studies.lab.measures import MAPPED, MEASURES, Measure
from number_tower.studies.lab.rows import LabRow
from number_tower.studies.lab.stories import MISSING, tell_value
from number_tower.support.text import format_text
from number_tower.web.pages import render_page
from number_tower.web.pages.analysis import build_analysis_url
from number_tower.web.pages.lab_maps import (
    LABELS,
    build_setting_url,
    describe_row,
    find_by_rules,
    find_row,
    list_notes,
    load_map,
    summarize_map,
)
from number_tower.web.pages.new_game import build_new_game_url
from number_tower.words.voice import get_voice

router = APIRouter(include_in_schema=False)

MAX_DRAWINGS = 40
"""Drawings that are cached: one for each map and measure."""


@router.get("/lab")
async def show_lab(request: Request) -> Response:
    """Show what is measured, and all games with what was found out about their settings."""
    maps = {name: await asyncio.to_thread(load_map, name) for name in catalogue.list_names()}
    summaries = {name: summarize_map(lab_map) for name, lab_map in maps.items() if lab_map}
    measures = [MEASURES[name] for name in MAPPED]
    return render_page(request, "lab.html", measures=measures, summaries=summaries)


@router.get("/lab/{name}")
async def show_map(request: Request, name: str, measure: str = MAPPED[0]) -> Response:
    """Show the map of a game's settings, coloured by a measure."""
    lab_map, book = await _find_map(name), catalogue.load_named(name)
    chosen = _find_measure(lab_map, measure)
    settings = {}
    for preset in book.presets.values():
        if row := find_by_rules(lab_map, book.apply_options(preset.options)):
            settings[preset.name] = build_setting_url(row)
    context: dict[str, Any] = {
        "book": book,
        "measures": lab_map.list_measures(),
        "chosen": chosen,
        "shades": SHADES,
        "summary": summarize_map(lab_map),
        "settings": settings,
        "edges": {note.edge for note in list_notes(book, lab_map).values()},
        "has_gaps": any(row.status in MISSING for row in lab_map.rows.values()),
        "drawing": await asyncio.to_thread(render_drawing, lab_map, name, chosen),
    }
    return render_page(request, "lab_game.html", **context)


@router.get("/lab/{name}/setting")
async def show_setting(request: Request, name: str, measure: str = MAPPED[0]) -> Response:
    """Show one setting of a game: its rules, its figures, and ways to play and to analyse it."""
    lab_map, book = await _find_map(name), catalogue.load_named(name)
    row = find_row(lab_map, request.query_params, book.rules.to_dict())
    if row is None:
        raise HTTPException(404, f"These rules are not on the map. Choose a cell at /lab/{name}.")
    rules = row.make_rules()
    label = describe_row(row)
    title = f"{book.short_title}: {label[:1].lower()}{label[1:]}"
    measures = [one for one in lab_map.list_measures() if getattr(row, one.name) is not None]
    context: dict[str, Any] = {
        "book": book,
        "noun": get_voice(book).noun,
        "row": row,
        "rules": rules,
        "name": label,
        "missing": MISSING.get(row.status, ""),
        "winner": tell_value(row),
        "measures": measures,
        "note": list_notes(book, lab_map).get(row.index),
        "map_url": f"/lab/{name}?measure={_find_measure(lab_map, measure).name}",
        "play_url": build_new_game_url(book, rules, title),
        "analysis_url": build_analysis_url(record.to_line(Table.start(GameChoice(book, rules)))),
    }
    return render_page(request, "lab_setting.html", **context)


async def _find_map(name: str) -> LabMap:
    """Return the map of a game, if it was measured."""
    lab_map = await asyncio.to_thread(load_map, catalogue.load_named(name).name)
    if lab_map is None:
        raise HTTPException(404, "There is no map of this game yet.")
    return lab_map


def _find_measure(lab_map: LabMap, name: str) -> Measure:
    for measure in lab_map.list_measures():
        if measure.name == name:
            return measure
    names = ", ".join(measure.name for measure in lab_map.list_measures())
    wrong = f"There is nothing called “{format_text(name, 40)}” on this map."
    raise HTTPException(404, f"{wrong} Choose {names}.")


@lru_cache(MAX_DRAWINGS)
def render_drawing(lab_map: LabMap, game: str, measure: Measure) -> Markup:
    """Render a map: large, always the same, and too slow for the event loop the first time."""
    notes = list_notes(catalogue.load_named(game), lab_map)
    edges = {index: note.edge for index, note in notes.items()}

    def build_link(row: LabRow) -> str:
        return f"{build_setting_url(row)}&measure={measure.name}"

    return render_map(lab_map, measure, LABELS, edges, build_link)
