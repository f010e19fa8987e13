"""Pages of the rule lab: what is measured, a map of the settings of each game, and each setting."""

from __future__ import annotations

import asyncio
from functools import lru_cache, partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from markupsafe import Markup

from number_tower import catalogue, record
from number_tower.catalogue import GameChoice, Preset, Rulebook
from number_tower.table import Table
from number_tower.text import format_text
from number_tower.voice import get_voice
from number_tower.web.lab import LabMap, MeasuredSetting, describe_place, load_map
from number_tower.web.lab_view import (
    MEASURES,
    MISSING,
    Measure,
    draw_map,
    list_figures,
    list_measures,
    list_notes,
    summarize_map,
)
from number_tower.web.pages import render_page, templates
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
    return render_page(request, "lab.html", measures=MEASURES.values(), summaries=summaries)


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
    setting = lab_map.find_setting(request.query_params, book.rules.written())
    if setting is None:
        wrong = "These rules are not on this map. Choose one of its cells."
        return await _render_map(request, book, lab_map, wrong=wrong, status=404)
    table = Table.start(GameChoice(book, setting.rules))
    context: dict[str, Any] = {
        "book": book,
        "noun": get_voice(book).noun,
        "setting": setting,
        "place": describe_place(lab_map.keys, setting.place),
        "missing": MISSING.get(setting.status, ""),
        "figures": list_figures(setting),
        "note": list_notes(book).get(setting.rules),
        "map_url": f"/lab/{name}"
        + (f"?measure={measure}" if _has_measure(lab_map, measure) else ""),
        "play_url": build_play_url(book, lab_map, setting),
        "analysis_url": build_analysis_url(record.to_line(table)),
    }
    return render_page(request, "lab_setting.html", **context)


def build_play_url(book: Rulebook, lab_map: LabMap, setting: MeasuredSetting) -> str:
    """Return the address of the form for a new game with exactly these rules."""
    place = describe_place(lab_map.keys, setting.place)
    return build_new_game_url(
        book, setting.rules, f"{book.short_title}: {place[:1].lower()}{place[1:]}"
    )


@lru_cache(MOST_DRAWN)
def render_drawing(lab_map: LabMap, measure: Measure) -> Markup:
    """Render a map and its tables: large, always the same, and too slow for the event loop the first time."""
    drawing = draw_map(lab_map, measure, list_notes(catalogue.load_named(lab_map.game)))
    template = templates.get_template("lab_map.html")
    return Markup(template.render(drawing=drawing, game=lab_map.game))  # noqa: S704 - a template escapes


def _find_setting_url(book: Rulebook, lab_map: LabMap, preset: Preset) -> str | None:
    """Return the address of a recommended setting; None if it is not on the map."""
    setting = lab_map.by_rules.get(book.apply_options(preset.options))
    return None if setting is None else f"/lab/{book.name}/setting?{lab_map.build_query(setting)}"


def _has_measure(lab_map: LabMap, name: str) -> bool:
    return any(measure.name == name for measure in list_measures(lab_map))


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
    context: dict[str, Any] = {"book": book, "wrong": wrong}
    if lab_map is not None:
        measures = {each.name: each for each in list_measures(lab_map)}
        chosen = measures.get(measure) or next(iter(measures.values()), None)
        context |= {
            "measures": measures.values(),
            "chosen": chosen,
            "summary": summarize_map(lab_map),
        }
        context["drawing"] = chosen and await asyncio.to_thread(render_drawing, lab_map, chosen)
        context["edges"] = {
            note.edge for rules, note in list_notes(book).items() if rules in lab_map.by_rules
        }
        context["find_setting_url"] = partial(_find_setting_url, book, lab_map)
        context["has_gaps"] = any(
            setting.status in MISSING for setting in lab_map.settings.values()
        )
    return render_page(request, "lab_game.html", status=status, **context)
