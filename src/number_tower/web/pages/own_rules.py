"""The form for your own rules: fields and text, a picture of the start, and the verdict.

The page's script sends the form while it is filled in (`/rules/live`) and asks for the solver's
verdict on its own (`/rules/verdict`). Without a script the button "Check" does both.
"""

from __future__ import annotations

import re
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from number_tower.coach.analysis import describe_start, suggest_changes
from number_tower.engine import catalogue, record
from number_tower.engine.catalogue import RuleFileError
from number_tower.engine.table import Table
from number_tower.web.board.blocks import MAX_BLOCKS
from number_tower.web.http.rates import THINKING, price
from number_tower.web.pages import await_answer, read_form, render_page, rule_form
from number_tower.web.pages.analysis import build_analysis_url
from number_tower.web.pages.new_game import OWN_RULES, render_form
from number_tower.web.pages.rule_form import TEXT, RuleSheet
from number_tower.web.thinking.questions import ask_analysis, read_record
from number_tower.words.voice import get_plain_players, narrate

router = APIRouter(include_in_schema=False)

MAX_ADDRESS = 4_000
"""Characters of an address with a rule file; proxies may refuse longer ones."""

MAX_OPENINGS = 60
"""First moves that are shown one by one."""

_NOUN = "block"
_POOLS = {"shared": "One pool for both", "endless": "As often as you like"}
_MAX_NAME = 40
"""Characters of a saved file's name."""


@router.get("/rules", dependencies=[price(THINKING)])
async def show_form(request: Request, game: str = "") -> Response:
    """Show the form with the rule file in the address, the rules of a game, or an example."""
    text = request.query_params.get(TEXT, "").replace("\r\n", "\n")
    if not text and game.lower() in catalogue.list_names():
        book = catalogue.load_named(game)
        text = rule_form.make_text(f"My {book.name}", book.rules)
    return await _render_sheet(request, rule_form.check_text(text or rule_form.make_text()))


@router.post("/rules", dependencies=[price(THINKING)])
async def check_form(request: Request) -> Response:
    """Check the form and show the verdict, or save the file, or play by it."""
    sheet, button = await _read_sheet(request)
    if button == "save":  # right or not
        name = re.sub(r"[^a-z0-9]+", "-", sheet.fields["title"].lower()[:_MAX_NAME]).strip("-")
        headers = {"Content-Disposition": f'attachment; filename="{name or "my-game"}.toml"'}
        return Response(sheet.text, media_type="application/toml", headers=headers)
    if sheet.book is None:
        return await _render_sheet(request, sheet, status=422)
    if button != "play":
        return await _render_sheet(request, sheet)
    carried = {"game": OWN_RULES, TEXT: sheet.text}
    address = f"/new?{urlencode(carried)}"
    if len(address) > MAX_ADDRESS:
        return render_form(request, carried)
    return RedirectResponse(address, 303)


@router.post("/rules/live")
async def check_live(request: Request) -> Response:
    """Check the form while it is filled in; the solver is not asked."""
    sheet, _ = await _read_sheet(request)
    return await _render_sheet(request, sheet, solve=False)


@router.get("/rules/verdict", dependencies=[price(THINKING)])
async def show_verdict(request: Request, game: str = "") -> Response:
    """Show what the solver says about the start of a game, by its one-line record."""
    table = await read_record(request, game)
    context, status = await _ask_verdict(request, table)
    return render_page(request, "rules_verdict.html", status=status, **context)


async def _read_sheet(request: Request) -> tuple[RuleSheet, str]:
    """Return the rule file of a form with its changed fields, and the button pressed."""
    submitted = await read_form(request)
    form = {key: value for key, value in submitted.items() if isinstance(value, str)}
    text = form.get(TEXT, "").replace("\r\n", "\n")
    changes = rule_form.find_changes(form)
    try:
        text = rule_form.write_fields(text, changes) if changes else text
        sheet = rule_form.check_text(text, form)
    except RuleFileError as error:
        sheet = rule_form.refuse_text(text, form, error)
    return sheet, form.get("do", "")


async def _render_sheet(
    request: Request, sheet: RuleSheet, *, status: int = 200, solve: bool = True
) -> Response:
    """Show the form, with the start of the game and the solver's verdict if the rules are right."""
    context: dict[str, object] = {"sheet": sheet, "fields": rule_form.FIELDS}
    if sheet.book is not None:
        # In plain words, whatever the file calls things: the solver is asked once for all of them.
        table = Table.start(catalogue.choose(sheet.book.rules))
        names, supply = get_plain_players(), table.game.rules.supply
        context |= {
            "table": table,
            "names": names,
            "trays": names if supply == "own" else [_POOLS[supply]],
            "max_blocks": MAX_BLOCKS,
            "unreachable": [said.text for said in narrate(table) if said.moment == "unreachable"],
            "verdict_url": f"/rules/verdict?{urlencode({'game': record.to_line(table)})}",
        }
        if solve:
            verdict, status = await _ask_verdict(request, table)
            context |= verdict
    return render_page(request, "rules.html", status=status, **context)


async def _ask_verdict(request: Request, table: Table) -> tuple[dict[str, object], int]:
    """Ask the solver about a table; return what the page shows, and its status."""
    analysis, missing, status = await await_answer(ask_analysis(request, table))
    line = record.to_line(table)
    before = build_analysis_url(line)
    return {
        "analysis": analysis,
        "missing": missing,
        "sentences": tuple(describe_start(analysis, _NOUN)) if analysis else (),
        "advice": suggest_changes(analysis, _NOUN) if analysis else "",
        "line": line,
        "whole": before,
        "address": lambda block: f"{before}{block}&ply=1",
        "most": MAX_OPENINGS,
    }, status
