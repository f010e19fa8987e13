"""What `tower stats` prints: what came of the games, with small bars, or as JSON."""

from __future__ import annotations

from contextlib import closing
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from number_tower.cli.autosave import LazyStore
from number_tower.cli.console import BAR_MARKS, BAR_WIDTH, ProgressBar, draw_bar
from number_tower.cli.errors import FINISHED, NO_DATABASE, WRONG_CALL, CommandError, print_error, rearm_interrupt
from number_tower.cli.terminal import SEAT_COLOURS, VALUE_COLOURS, Terminal, count_cells
from number_tower.match import Tally
from number_tower.store import StoreError
from number_tower.store.accuracy import judge_games
from number_tower.store.statistics import Period, Statistics, Streak, compute_statistics, list_names
from number_tower.text import format_text, format_value

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from number_tower.coach.review import Accuracy
    from number_tower.store.database import Store
    from number_tower.store.statistics import PeriodKind, PuzzleStatistics, ResultsByGame

PATIENCE = 60.0
"""Seconds that games are judged for before the figures are shown; another call goes on with the rest."""

MOST_PLAYERS = 20
"""Players in the table; a program gets them all."""

_MOST_NAMES = 10
_COLUMNS = 80
_LEAST_BAR = 5
"""Characters of a bar that still says something; where there is less room, the numbers have to do."""

_LONGEST = 20
"""Columns of a terminal that a name may take."""


def run(asked: Namespace) -> int:
    """Judge what was not judged yet, count, and print."""
    screen = Terminal()
    shelf = LazyStore(asked.db)
    name = None if asked.name is None else asked.name.strip()
    found, stopped = (_NOTHING._replace(name=name), False) if shelf.missing else _load_figures(shelf, name)
    if asked.json:
        _print_json(found)
    elif found.empty:
        screen.show("No games are kept yet. To play one: tower play GAME\n")
    else:
        _print_text(found, screen)
        if found.unjudged:
            screen.show(f"\n{_describe_unjudged(found.unjudged, f'tower stats{shelf.db_option}', stopped=stopped)}\n")
    return FINISHED


_NOTHING = Statistics(None, 0, 0, 0, 0, (), (), "games", (), Streak(), (), 0)


def _load_figures(shelf: LazyStore, name: str | None) -> tuple[Statistics, bool]:
    """Return the figures, and whether somebody did not want to wait for all of them."""
    try:
        store = shelf.open()
        stopped = _judge_games(store, name)
        with store.read() as connection:
            found = compute_statistics(connection, name)
            if found.empty and name is not None:
                _check_name(name, list_names(connection))
            return found, stopped
    except StoreError as trouble:
        raise CommandError(NO_DATABASE, f"{trouble}.") from None
    finally:
        shelf.close()


def _check_name(name: str, known: Sequence[str]) -> None:
    """Refuse the name of nobody, unless there is nobody at all."""
    if not known:
        return
    near = ", ".join(format_text(each, 40) for each in _sort_by_similarity(name, known)[:_MOST_NAMES])
    more = f" and {len(known) - _MOST_NAMES:,} more" if len(known) > _MOST_NAMES else ""
    raise CommandError(WRONG_CALL, f"nobody called {format_value(name)} has played; there are {near}{more}")


def _sort_by_similarity(name: str, known: Sequence[str]) -> list[str]:
    from difflib import SequenceMatcher  # noqa: PLC0415 - only for a wrong name

    return sorted(known, key=lambda each: -SequenceMatcher(None, name.casefold(), each.casefold()).ratio())


def _judge_games(store: Store, name: str | None) -> bool:
    """Judge games until all are, or nobody wants to wait any longer; say whether that was so."""
    bar = ProgressBar("shows what is known so far")
    enough = monotonic() + PATIENCE
    try:
        with closing(judge_games(store, None if name is None else name.casefold())) as judged:
            for done, total in judged:
                bar.update(done, total)
                if monotonic() > enough:
                    break
    except KeyboardInterrupt:
        rearm_interrupt()
        return True
    except StoreError as trouble:
        print_error(f"{trouble}. What is found out about the games cannot be kept there")
    finally:
        bar.clear()
    return False


def _describe_unjudged(number: int, call: str, *, stopped: bool) -> str:
    games = "1 finished game is" if number == 1 else f"{number:,} finished games are"
    return f"{'Stopped: ' if stopped else ''}{games} not judged yet, and in no accuracy.\nTo go on: {call}"


# Text ----------------------------------------------------------------------------------------------------------------


class BarRow(NamedTuple):
    """A line of a table: texts, the parts of its bar, and what the bar says as a number."""

    texts: tuple[str, ...]
    parts: tuple[int, ...]
    note: str = ""


class BarStyle(NamedTuple):
    """How the bars of a table look: a mark and, where there are colours, a colour for each part; and their heading."""

    marks: str
    colours: tuple[str, ...]
    head: str = ""


_WON, _DRAWN, _LOST = VALUE_COLOURS["win"], VALUE_COLOURS["draw"], VALUE_COLOURS["loss"]
_ACCURACY = BarStyle(BAR_MARKS, (_WON, _LOST), "accuracy")
_RIGHT = _ACCURACY._replace(head="right")
_SOLVED = _ACCURACY._replace(head="solved")
_RESULTS = BarStyle("#=.", (_WON, _DRAWN, _LOST), "won")
_SEATS = BarStyle("#=.", (SEAT_COLOURS[0], _DRAWN, SEAT_COLOURS[1]))


def _print_text(found: Statistics, screen: Terminal) -> None:
    screen.show_heading(f"{_format_headline(found)}\n")
    if found.name is None:
        _print_players(found, screen)
        _print_grounds(found, screen)
    else:
        _print_results(found, screen)
    _print_accuracy(found, screen)
    _print_streak(found, screen)
    _print_puzzles(found, screen)


def _format_headline(found: Statistics) -> str:
    who = "Everybody"
    if found.name is not None:
        kinds = " and ".join(standing.kind for standing in found.players)
        who = format_text(found.name) + (f" ({kinds})" if kinds else "")
    left = f", and {found.unfinished:,} unfinished" if found.unfinished else ""
    return f"{who}: {_format_count(found.finished, 'finished game')}{left}."


def _print_players(found: Statistics, screen: Terminal) -> None:
    rows = [
        BarRow((_shorten_name(each.name), each.kind, *_format_tally(each.tally)), *_format_accuracy(each.accuracy))
        for each in found.players[:MOST_PLAYERS]
    ]
    _print_table(("Players", "", "games", "won", "drawn", "lost"), rows, _ACCURACY, screen)
    if len(found.players) > MOST_PLAYERS:
        screen.show(f"  and {len(found.players) - MOST_PLAYERS:,} more\n")
    if found.among_computers:
        screen.show(f"  {_format_count(found.among_computers, 'game')} without a person: counted only here\n")


def _print_grounds(found: Statistics, screen: Terminal) -> None:
    rows = [
        BarRow(
            (
                _shorten_name(each.game),
                _format_percent(each.began.won, each.began.games),
                *_format_tally(each.seats[0]),
            ),
            each.seats[0],
        )
        for each in found.results
    ]
    _print_table(("By game", "began won", "games", "seat 1", "drawn", "seat 2"), rows, _SEATS, screen)
    if rows:
        screen.show(f"  # seat 1 won   = drawn   . seat 2 won\n{_describe_abandoned(found)}")


def _print_results(found: Statistics, screen: Terminal) -> None:
    rows = [row for each in found.results for row in _list_seat_rows(each)]
    began, second = (Tally.add_up(getattr(each, turn) for each in found.results) for turn in ("began", "second"))
    if began.games and second.games:
        rows += [_format_result("all, began", began), _format_result("all, second", second)]
    _print_table(("Results", "games", "won", "drawn", "lost"), rows, _RESULTS, screen)
    if rows:
        screen.show(f"  # won   = drawn   . lost\n{_describe_abandoned(found)}")


def _list_seat_rows(ground: ResultsByGame) -> Iterator[BarRow]:
    """Write the results in one game, and beneath them those in each seat; all in one seat make one line."""
    game, played = _shorten_name(ground.game), [seat for seat, tally in enumerate(ground.seats, 1) if tally.games]
    if len(played) == 1:
        yield _format_result(f"{game}, seat {played[0]}", ground.seats[played[0] - 1])
        return
    yield _format_result(game, Tally.add_up(ground.seats))
    for seat, tally in enumerate(ground.seats, 1):
        yield _format_result(f"  seat {seat}", tally)


def _format_result(label: str, tally: Tally) -> BarRow:
    return BarRow((label, *_format_tally(tally)), tally, _format_percent(tally.won, tally.games))


def _describe_abandoned(found: Statistics) -> str:
    return f"  {_format_count(found.abandoned, 'game')} abandoned: counted as drawn\n" if found.abandoned else ""


def _print_accuracy(found: Statistics, screen: Terminal) -> None:
    rows = [_format_span(_format_label(found.by, span), span) for span in found.periods]
    if len(rows) > 1:
        rows.append(_format_span("in all", Period("", sum(span.games for span in found.periods), found.accuracy)))
    _print_table(("Accuracy" if found.name else "People's accuracy", "games", "decisions"), rows, _RIGHT, screen)


def _format_span(label: str, span: Period) -> BarRow:
    return BarRow((label, f"{span.games:,}", f"{span.accuracy.mattered:,}"), *_format_accuracy(span.accuracy))


def _format_label(by: PeriodKind, span: Period) -> str:
    return span.label if by != "games" else f"game{'' if span.games == 1 else 's'} {span.label}"


def _print_streak(found: Statistics, screen: Terminal) -> None:
    if not found.finished:
        return
    best, by, current = found.streak
    if not best:
        screen.show("\nBest streak: no game won yet.\n")
        return
    more = f", by {format_text(by or '')}." if found.name is None else f". Current streak: {current:,}."
    screen.show(f"\nBest streak: {_format_count(best, 'win')}{' in a row' if best > 1 else ''}{more}\n")


def _print_puzzles(found: Statistics, screen: Terminal) -> None:
    rows = [
        BarRow(
            (f"grade {each.grade}", *(f"{number:,}" for number in (each.tried, each.right, each.wrong, each.skipped))),
            (each.right, each.tried - each.right),
            _format_percent(each.right, each.tried),
        )
        for each in found.puzzles
    ]
    _print_table(("Puzzles", "tried", "right", "wrong", "skipped"), rows, _SOLVED, screen)


def _print_table(heads: tuple[str, ...], rows: Sequence[BarRow], look: BarStyle, screen: Terminal) -> None:
    """Print a table, if there is something in it; the bars have the room that the rest leaves."""
    if not rows:
        return
    texts = [heads, *((f"  {row.texts[0]}", *row.texts[1:]) for row in rows)]
    widths = [max(map(count_cells, column)) for column in zip(*texts, strict=True)]
    notes = max(len(row.note) for row in rows)
    room = min(_COLUMNS, screen.columns) - sum(widths) - 2 * len(widths) - (notes + 2 if notes else 0) - 2
    size = min(BAR_WIDTH, room) if room >= _LEAST_BAR else 0
    named = sum(not head or not place for place, head in enumerate(heads))
    lines = ["  ".join(map(_pad, line, widths, [-1] * named + [1] * len(widths))) for line in texts]
    screen.show_heading(f"\n{lines[0]}  {look.head}".rstrip() + "\n")
    for line, row in zip(lines[1:], rows, strict=True):
        bar = ""
        if size:
            colours = look.colours if screen.colour else ()
            bar = f"  {draw_bar(row.parts, look.marks, size, colours) if any(row.parts) else ' ' * (size + 2)}"
        screen.write(f"{line}{bar}  {row.note:>{notes}}".rstrip() + "\n")


def _pad(text: str, width: int, side: int) -> str:
    space = " " * (width - count_cells(text))
    return text + space if side < 0 else space + text


def _shorten_name(name: str) -> str:
    """Return a name that fits into its column."""
    name = format_text(name)
    if count_cells(name) <= _LONGEST:
        return name
    while count_cells(name) > _LONGEST - 3:
        name = name[:-1]
    return f"{name}..."


def _format_tally(tally: Tally) -> tuple[str, ...]:
    return tuple(f"{number:,}" for number in (tally.games, *tally))


def _format_accuracy(accuracy: Accuracy) -> tuple[tuple[int, int], str]:
    """Return the parts of a bar for an accuracy, and what it says."""
    return (accuracy.kept, accuracy.mattered - accuracy.kept), _format_percent(accuracy.kept, accuracy.mattered)


def _format_percent(part: int, whole: int) -> str:
    """Write a share; all is only what is all, and nothing only what is nothing."""
    if not whole:
        return "-"
    return f"{min(max(round(100 * part / whole), int(part > 0)), 100 - (part < whole))}%"


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# JSON ----------------------------------------------------------------------------------------------------------------


def _print_json(found: Statistics) -> None:
    import json  # noqa: PLC0415 - only where it is asked for

    document = {
        "player": found.name,
        "games": {
            "finished": found.finished,
            "unfinished": found.unfinished,
            "abandoned": found.abandoned,
            "among_computers": found.among_computers,
            "unjudged": found.unjudged,
        },
        "players": [
            {
                "name": each.name,
                "kind": each.kind,
                "unfinished": each.unfinished,
                **_tally_to_json(each.tally),
                "accuracy": {"judged": each.judged, **_accuracy_to_json(each.accuracy)},
            }
            for each in found.players
        ],
        "results": [
            {
                "game": each.game,
                "seats": [{"seat": seat, **_tally_to_json(tally)} for seat, tally in enumerate(each.seats, 1)],
                "began": _tally_to_json(each.began),
                "second": _tally_to_json(each.second),
            }
            for each in found.results
        ],
        "accuracy": {
            **_accuracy_to_json(found.accuracy),
            "by": found.by,
            "over_time": [
                {"when": span.label, "games": span.games, **_accuracy_to_json(span.accuracy)} for span in found.periods
            ],
        },
        "streak": found.streak._asdict(),
        "puzzles": [{"grade": each.grade, "tried": each.tried, **_drill_to_json(each)} for each in found.puzzles],
    }
    print(json.dumps(document, ensure_ascii=False))


def _tally_to_json(tally: Tally) -> dict[str, int]:
    return {"games": tally.games, **tally._asdict()}


def _accuracy_to_json(accuracy: Accuracy) -> dict[str, object]:
    return {"mattered": accuracy.mattered, "kept": accuracy.kept, "fraction": accuracy.fraction}


def _drill_to_json(drill: PuzzleStatistics) -> dict[str, int]:
    return {"right": drill.right, "wrong": drill.wrong, "skipped": drill.skipped}
