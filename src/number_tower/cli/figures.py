"""What `tower stats` prints: what came of the games, with small bars, or as JSON."""

from __future__ import annotations

from contextlib import closing
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from number_tower.cli.bars import DONE, WIDTH, Bar, drawn
from number_tower.cli.failure import FINISHED, NO_DATABASE, WRONG_CALL, Failure, another_interrupt, complain
from number_tower.cli.screen import SEAT_COLOURS, VALUE_COLOURS, Screen, cells
from number_tower.cli.storing import Shelf
from number_tower.match import Tally
from number_tower.showing import shown, shown_text
from number_tower.store.judging import judge
from number_tower.store.statistics import Figures, Span, Streak, figures, names
from number_tower.store.trouble import StoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from number_tower.coach.review import Accuracy
    from number_tower.store.games import Store
    from number_tower.store.statistics import By, Drill, Ground

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


def answer(asked: Namespace) -> int:
    """Judge what was not judged yet, count, and print."""
    screen = Screen()
    shelf = Shelf(asked.db)
    name = None if asked.name is None else asked.name.strip()
    found, stopped = (_NOTHING._replace(name=name), False) if shelf.absent else _found(shelf, name)
    if asked.json:
        _print_json(found)
    elif found.empty:
        screen.show("No games are kept yet. To play one: tower play GAME\n")
    else:
        _print_text(found, screen)
        if found.unjudged:
            screen.show(f"\n{_unjudged(found.unjudged, f'tower stats{shelf.options}', stopped=stopped)}\n")
    return FINISHED


_NOTHING = Figures(None, 0, 0, 0, 0, (), (), "games", (), Streak(), (), 0)


def _found(shelf: Shelf, name: str | None) -> tuple[Figures, bool]:
    """Return the figures, and whether somebody did not want to wait for all of them."""
    try:
        store = shelf.open()
        stopped = _judge(store, name)
        with store.looking() as connection:
            found = figures(connection, name)
            if found.empty and name is not None:
                _check(name, names(connection))
            return found, stopped
    except StoreError as trouble:
        raise Failure(NO_DATABASE, f"{trouble}.") from None
    finally:
        shelf.close()


def _check(name: str, known: Sequence[str]) -> None:
    """Refuse the name of nobody, unless there is nobody at all."""
    if not known:
        return
    near = ", ".join(shown_text(each, 40) for each in _nearest(name, known)[:_MOST_NAMES])
    more = f" and {len(known) - _MOST_NAMES:,} more" if len(known) > _MOST_NAMES else ""
    raise Failure(WRONG_CALL, f"nobody called {shown(name)} has played; there are {near}{more}")


def _nearest(name: str, known: Sequence[str]) -> list[str]:
    from difflib import SequenceMatcher  # noqa: PLC0415 - only for a wrong name

    return sorted(known, key=lambda each: -SequenceMatcher(None, name.casefold(), each.casefold()).ratio())


def _judge(store: Store, name: str | None) -> bool:
    """Judge games until all are, or nobody wants to wait any longer; say whether that was so."""
    bar = Bar("shows what is known so far")
    enough = monotonic() + PATIENCE
    try:
        with closing(judge(store, None if name is None else name.casefold())) as judged:
            for done, total in judged:
                bar.tick(done, total)
                if monotonic() > enough:
                    break
    except KeyboardInterrupt:
        another_interrupt()
        return True
    except StoreError as trouble:
        complain(f"{trouble}. What is found out about the games cannot be kept there")
    finally:
        bar.clear()
    return False


def _unjudged(number: int, call: str, *, stopped: bool) -> str:
    games = "1 finished game is" if number == 1 else f"{number:,} finished games are"
    return f"{'Stopped: ' if stopped else ''}{games} not judged yet, and in no accuracy.\nTo go on: {call}"


# Text ----------------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A line of a table: texts, the parts of its bar, and what the bar says as a number."""

    texts: tuple[str, ...]
    parts: tuple[int, ...]
    note: str = ""


class Look(NamedTuple):
    """How the bars of a table look: a mark and, where there are colours, a colour for each part; and their heading."""

    marks: str
    colours: tuple[str, ...]
    head: str = ""


_WON, _DRAWN, _LOST = VALUE_COLOURS["win"], VALUE_COLOURS["draw"], VALUE_COLOURS["loss"]
_ACCURACY = Look(DONE, (_WON, _LOST), "accuracy")
_RIGHT = _ACCURACY._replace(head="right")
_SOLVED = _ACCURACY._replace(head="solved")
_RESULTS = Look("#=.", (_WON, _DRAWN, _LOST), "won")
_SEATS = Look("#=.", (SEAT_COLOURS[0], _DRAWN, SEAT_COLOURS[1]))


def _print_text(found: Figures, screen: Screen) -> None:
    screen.headed(f"{_headline(found)}\n")
    if found.name is None:
        _print_players(found, screen)
        _print_grounds(found, screen)
    else:
        _print_results(found, screen)
    _print_accuracy(found, screen)
    _print_streak(found, screen)
    _print_puzzles(found, screen)


def _headline(found: Figures) -> str:
    who = "Everybody"
    if found.name is not None:
        kinds = " and ".join(standing.kind for standing in found.players)
        who = shown_text(found.name) + (f" ({kinds})" if kinds else "")
    left = f", and {found.unfinished:,} unfinished" if found.unfinished else ""
    return f"{who}: {_counted(found.finished, 'finished game')}{left}."


def _print_players(found: Figures, screen: Screen) -> None:
    rows = [
        Row((_short(each.name), each.kind, *_numbers(each.tally)), *_right(each.accuracy))
        for each in found.players[:MOST_PLAYERS]
    ]
    _print_table(("Players", "", "games", "won", "drawn", "lost"), rows, _ACCURACY, screen)
    if len(found.players) > MOST_PLAYERS:
        screen.show(f"  and {len(found.players) - MOST_PLAYERS:,} more\n")
    if found.among_computers:
        screen.show(f"  {_counted(found.among_computers, 'game')} without a person: counted only here\n")


def _print_grounds(found: Figures, screen: Screen) -> None:
    rows = [
        Row((_short(each.game), _percent(each.began.won, each.began.games), *_numbers(each.seats[0])), each.seats[0])
        for each in found.results
    ]
    _print_table(("By game", "began won", "games", "seat 1", "drawn", "seat 2"), rows, _SEATS, screen)
    if rows:
        screen.show(f"  # seat 1 won   = drawn   . seat 2 won\n{_abandoned(found)}")


def _print_results(found: Figures, screen: Screen) -> None:
    rows = [row for each in found.results for row in _by_seat(each)]
    began, second = (Tally.together(getattr(each, turn) for each in found.results) for turn in ("began", "second"))
    if began.games and second.games:
        rows += [_result("all, began", began), _result("all, second", second)]
    _print_table(("Results", "games", "won", "drawn", "lost"), rows, _RESULTS, screen)
    if rows:
        screen.show(f"  # won   = drawn   . lost\n{_abandoned(found)}")


def _by_seat(ground: Ground) -> Iterator[Row]:
    """Write the results in one game, and beneath them those in each seat; all in one seat make one line."""
    game, played = _short(ground.game), [seat for seat, tally in enumerate(ground.seats, 1) if tally.games]
    if len(played) == 1:
        yield _result(f"{game}, seat {played[0]}", ground.seats[played[0] - 1])
        return
    yield _result(game, Tally.together(ground.seats))
    for seat, tally in enumerate(ground.seats, 1):
        yield _result(f"  seat {seat}", tally)


def _result(label: str, tally: Tally) -> Row:
    return Row((label, *_numbers(tally)), tally, _percent(tally.won, tally.games))


def _abandoned(found: Figures) -> str:
    return f"  {_counted(found.abandoned, 'game')} abandoned: counted as drawn\n" if found.abandoned else ""


def _print_accuracy(found: Figures, screen: Screen) -> None:
    rows = [_span(_label(found.by, span), span) for span in found.spans]
    if len(rows) > 1:
        rows.append(_span("in all", Span("", sum(span.games for span in found.spans), found.accuracy)))
    _print_table(("Accuracy" if found.name else "People's accuracy", "games", "decisions"), rows, _RIGHT, screen)


def _span(label: str, span: Span) -> Row:
    return Row((label, f"{span.games:,}", f"{span.accuracy.mattered:,}"), *_right(span.accuracy))


def _label(by: By, span: Span) -> str:
    return span.label if by != "games" else f"game{'' if span.games == 1 else 's'} {span.label}"


def _print_streak(found: Figures, screen: Screen) -> None:
    if not found.finished:
        return
    best, by, current = found.streak
    if not best:
        screen.show("\nBest streak: no game won yet.\n")
        return
    more = f", by {shown_text(by or '')}." if found.name is None else f". Current streak: {current:,}."
    screen.show(f"\nBest streak: {_counted(best, 'win')}{' in a row' if best > 1 else ''}{more}\n")


def _print_puzzles(found: Figures, screen: Screen) -> None:
    rows = [
        Row(
            (f"grade {each.grade}", *(f"{number:,}" for number in (each.tried, each.right, each.wrong, each.skipped))),
            (each.right, each.tried - each.right),
            _percent(each.right, each.tried),
        )
        for each in found.puzzles
    ]
    _print_table(("Puzzles", "tried", "right", "wrong", "skipped"), rows, _SOLVED, screen)


def _print_table(heads: tuple[str, ...], rows: Sequence[Row], look: Look, screen: Screen) -> None:
    """Print a table, if there is something in it; the bars have the room that the rest leaves."""
    if not rows:
        return
    texts = [heads, *((f"  {row.texts[0]}", *row.texts[1:]) for row in rows)]
    widths = [max(map(cells, column)) for column in zip(*texts, strict=True)]
    notes = max(len(row.note) for row in rows)
    room = min(_COLUMNS, screen.columns) - sum(widths) - 2 * len(widths) - (notes + 2 if notes else 0) - 2
    size = min(WIDTH, room) if room >= _LEAST_BAR else 0
    named = sum(not head or not place for place, head in enumerate(heads))
    lines = ["  ".join(map(_padded, line, widths, [-1] * named + [1] * len(widths))) for line in texts]
    screen.headed(f"\n{lines[0]}  {look.head}".rstrip() + "\n")
    for line, row in zip(lines[1:], rows, strict=True):
        bar = ""
        if size:
            colours = look.colours if screen.fancy else ()
            bar = f"  {drawn(row.parts, look.marks, size, colours) if any(row.parts) else ' ' * (size + 2)}"
        screen.draw(f"{line}{bar}  {row.note:>{notes}}".rstrip() + "\n")


def _padded(text: str, width: int, side: int) -> str:
    space = " " * (width - cells(text))
    return text + space if side < 0 else space + text


def _short(name: str) -> str:
    """Return a name that fits into its column."""
    name = shown_text(name)
    if cells(name) <= _LONGEST:
        return name
    while cells(name) > _LONGEST - 3:
        name = name[:-1]
    return f"{name}..."


def _numbers(tally: Tally) -> tuple[str, ...]:
    return tuple(f"{number:,}" for number in (tally.games, *tally))


def _right(accuracy: Accuracy) -> tuple[tuple[int, int], str]:
    """Return the parts of a bar for an accuracy, and what it says."""
    return (accuracy.kept, accuracy.mattered - accuracy.kept), _percent(accuracy.kept, accuracy.mattered)


def _percent(part: int, whole: int) -> str:
    """Write a share; all is only what is all, and nothing only what is nothing."""
    if not whole:
        return "-"
    return f"{min(max(round(100 * part / whole), int(part > 0)), 100 - (part < whole))}%"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# JSON ----------------------------------------------------------------------------------------------------------------


def _print_json(found: Figures) -> None:
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
                **_written(each.tally),
                "accuracy": {"judged": each.judged, **_decided(each.accuracy)},
            }
            for each in found.players
        ],
        "results": [
            {
                "game": each.game,
                "seats": [{"seat": seat, **_written(tally)} for seat, tally in enumerate(each.seats, 1)],
                "began": _written(each.began),
                "second": _written(each.second),
            }
            for each in found.results
        ],
        "accuracy": {
            **_decided(found.accuracy),
            "by": found.by,
            "over_time": [{"when": span.label, "games": span.games, **_decided(span.accuracy)} for span in found.spans],
        },
        "streak": found.streak._asdict(),
        "puzzles": [{"grade": each.grade, "tried": each.tried, **_answers(each)} for each in found.puzzles],
    }
    print(json.dumps(document, ensure_ascii=False))


def _written(tally: Tally) -> dict[str, int]:
    return {"games": tally.games, **tally._asdict()}


def _decided(accuracy: Accuracy) -> dict[str, object]:
    return {"mattered": accuracy.mattered, "kept": accuracy.kept, "fraction": accuracy.fraction}


def _answers(drill: Drill) -> dict[str, int]:
    return {"right": drill.right, "wrong": drill.wrong, "skipped": drill.skipped}
