"""The form for your own rules: a rule file in fields and as text, a picture of the start, and what the solver says.

The page's script sends the form while it is filled in (`/rules/live`) and asks for the solver's verdict on its own
(`/rules/verdict`). Without a script the button "Check" does both.
"""

from __future__ import annotations

import re
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from number_tower import catalogue, record
from number_tower.catalogue import RuleFileError
from number_tower.coach.analysis import describe_start, suggest_changes
from number_tower.table import Table
from number_tower.voice import get_plain_players, narrate
from number_tower.web import rule_form
from number_tower.web.drawing import draw_supply
from number_tower.web.pages import await_answer, read_form, render_page
from number_tower.web.pages.analysis import build_analysis_url
from number_tower.web.pages.new_game import OWN_RULES, render_form
from number_tower.web.questions import ask_analysis, read_record
from number_tower.web.rates import THINKING, price
from number_tower.web.rule_form import TEXT, RuleSheet

router = APIRouter(include_in_schema=False)

LONGEST_ADDRESS = 4_000
"""Characters of an address that carries a rule file to the form for a new game; proxies may refuse longer ones."""

MOST_OPENINGS = 60
"""First moves that are shown one by one."""

_NOUN = "block"
_LONGEST_NAME = 40
"""Characters of a saved file's name."""


@router.get("/rules", dependencies=[price(THINKING)])
async def show_form(request: Request, game: str = "") -> Response:
    """Show the form with the rule file in the address, the rules of a game of the catalogue, or an example."""
    text = request.query_params.get(TEXT, "").replace("\r\n", "\n")
    if not text and game.lower() in catalogue.list_names():
        book = catalogue.load_named(game)
        text = rule_form.make_text(f"My {book.name}", book.rules)
    return await _render_sheet(request, rule_form.check_text(text or rule_form.make_text()))


@router.post("/rules", dependencies=[price(THINKING)])
async def check_form(request: Request) -> Response:
    """Check the form, and show what is wrong or what the solver says; or save the file, or play by it."""
    sheet, button = await _read_sheet(request)
    if button == "save":
        return _send_file(sheet)
    if sheet.book is None:
        return await _render_sheet(request, sheet, status=422)
    if button != "play":
        return await _render_sheet(request, sheet)
    carried = {"game": OWN_RULES, TEXT: sheet.text}
    address = f"/new?{urlencode(carried)}"
    return (
        RedirectResponse(address, 303)
        if len(address) <= LONGEST_ADDRESS
        else render_form(request, carried)
    )


@router.post("/rules/live")
async def check_live(request: Request) -> Response:
    """Check the form while it is filled in; the solver is not asked."""
    sheet, _ = await _read_sheet(request)
    return await _render_sheet(request, sheet, solve=False)


@router.get("/rules/verdict", dependencies=[price(THINKING)])
async def show_verdict(request: Request, game: str = "") -> Response:
    """Show what the solver says about the start of a game, given by its one-line record."""
    table = await read_record(request, game)
    context, status = await _ask_verdict(request, table)
    return render_page(request, "rules_verdict.html", status=status, **context)


def _send_file(sheet: RuleSheet) -> Response:
    """Return the rule file for the visitor to save, right or not, under the game's title."""
    title = (
        re.sub(r"[^a-z0-9]+", "-", sheet.fields["title"].lower()[:_LONGEST_NAME]).strip("-")
        or "my-game"
    )
    headers = {"Content-Disposition": f'attachment; filename="{title}.toml"'}
    return Response(sheet.text, media_type="application/toml", headers=headers)


async def _read_sheet(request: Request) -> tuple[RuleSheet, str]:
    """Return the rule file of a submitted form with the changed fields in it, and which button was pressed."""
    submitted = await read_form(request)
    given = {key: value for key, value in submitted.items() if isinstance(value, str)}
    text = given.get(TEXT, "").replace("\r\n", "\n")
    changes = rule_form.find_changes(given)
    try:
        text = rule_form.write_fields(text, changes) if changes else text
    except RuleFileError as error:
        sheet = rule_form.refuse_text(text, given, error)
    else:
        sheet = rule_form.check_text(text, given)
    return sheet, given.get("do", "")


async def _render_sheet(
    request: Request, sheet: RuleSheet, *, status: int = 200, solve: bool = True
) -> Response:
    """Show the form, with the start of the game and the solver's verdict if the rules are right."""
    context: dict[str, object] = {"sheet": sheet, "fields": rule_form.FIELDS}
    if sheet.book is not None:
        # The plain words for the rules, whatever the file calls things: one question for all of its versions.
        table = Table.start(catalogue.choose(sheet.book.rules))
        names = get_plain_players()
        context |= {
            "table": table,
            "names": names,
            "trays": draw_supply(table, names),
            "unreachable": next(
                (said.text for said in narrate(table) if said.moment == "unreachable"), ""
            ),
            "verdict_url": f"/rules/verdict?{urlencode({'game': record.to_line(table)})}",
        }
        if solve:
            verdict, status = await _ask_verdict(request, table)
            context |= verdict
    return render_page(request, "rules.html", status=status, **context)


async def _ask_verdict(request: Request, table: Table) -> tuple[dict[str, object], int]:
    """Ask the solver about a table; return what the page shows of its answer, and the page's status."""
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
        "most": MOST_OPENINGS,
    }, status
