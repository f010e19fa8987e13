"""A sheet for playing on paper: the rules, a score table, places for towers, and blocks to cut out.

It is an HTML page that a browser prints; all lengths are millimetres on the paper. Players are told
apart by shape, a square and a circle, so that black and white is enough.
"""

from __future__ import annotations

from typing import NamedTuple

from number_tower.drawing.renderer import render
from number_tower.engine.catalogue import GameChoice, Rulebook
from number_tower.engine.rules import Rules
from number_tower.engine.table import Table
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_count
from number_tower.words.brief import describe_rules, has_height, summarize_rules
from number_tower.words.voice import Voice, get_voice

__all__ = ["SheetError", "draw_sheet"]

PAPERS = {"a4": (210.0, 297.0), "letter": (215.9, 279.4)}
"""Width and height of the sizes of paper."""

GAMES = 6
"""Games in the score table: an even number, so that both players start equally often."""

MAX_BLOCKS = 400
"""Blocks to cut out, on several pages."""

_ABOVE_BLOCKS = 162.0
"""Room on the page for all but blocks and towers; what does not fit goes to the next page."""

_MAX_SIDE, _MIN_SIDE = 38, 18
"""Sides of a block: the largest, and the smallest that is easy to hold."""

_MAX_TRACKS = {"own": 41, "shared": 83}
"""The height up to which a tower has a track of numbers; larger heights are written into boxes."""

_UPSIDE_DOWN = str.maketrans("01689", "01986")


class SheetError(NumberTowerError, ValueError):
    """A game has more blocks than a sheet has room for.

    Examples:
        >>> from number_tower.engine import catalogue
        >>> choice = catalogue.choose(nt.Rules(blocks=range(1, 501)))
        >>> draw_sheet(choice.book, choice.rules)
        Traceback (most recent call last):
        number_tower.drawing.sheet.SheetError: a sheet has room for 400 blocks; this game has 500
    """

    reason = "too_many_blocks"


class _BlockSet(NamedTuple):
    """Blocks to cut out: those of one player, or of both where `owner` is None."""

    owner: int | None
    title: str
    numbers: list[int]


def draw_sheet(book: Rulebook, rules: Rules | None = None, *, paper: str = "a4") -> str:
    """Write the sheet of a game, with its own rules or with these, as HTML.

    `paper` is "a4" or "letter". The page needs no other file, and is the same every time.

    Examples:
        >>> from number_tower.engine import catalogue
        >>> choice = catalogue.choose(nt.Rules(blocks=range(1, 7), supply="own", target=15))
        >>> draw_sheet(choice.book, choice.rules).count('data-block')
        12
    """
    rules = book.rules if rules is None else rules
    voice, (width, height) = get_voice(book), PAPERS[paper]
    sets = 2 if rules.supply == "own" else 1
    if sets * len(rules.blocks) > MAX_BLOCKS:
        raise SheetError(
            f"a sheet has room for {format_count(MAX_BLOCKS // sets, 'block')}"
            f"{' for each player' if sets == 2 else ''}; this game has {len(rules.blocks):,}"
        )
    rooms = {
        # A place for a tower is as high as a block.
        side: int((width - 20) // side) * int((height - _ABOVE_BLOCKS - side) / sets // side)
        for side in range(_MAX_SIDE, _MIN_SIDE - 1, -1)
    }
    numbers = _copy_blocks(rules, rooms[_MIN_SIDE])
    fitting = (side for side, room in rooms.items() if room >= len(numbers))
    own = rules.towers == "own"
    return render(
        "sheet.html",
        title=book.title.rstrip(":"),
        summary=summarize_rules(rules, voice.noun),
        rules=_list_rules(book, rules, voice),
        on_paper=_list_paper_rules(rules, voice.noun),
        players=voice.players,
        games=GAMES,
        draws=rules.stuck == "skips",
        towers=[f"{name}'s tower" for name in voice.players] if own else ["The tower"],
        heights=range(rules.max_height + 1) if _has_track(rules) else (),
        notes=18 if has_height(rules) and not _has_track(rules) else 0,
        target=rules.target,
        sets=_list_sets(rules, voice, numbers),
        turned={block for block in rules.blocks if _reads_as_another(str(block), rules)},
        side=next(fitting, _MIN_SIDE),
        paper=(width, height),
    )


def _list_rules(book: Rulebook, rules: Rules, voice: Voice) -> list[str]:
    supply, *others = describe_rules(rules, voice.noun)
    told = []
    if rules.target_in_reach is False:
        start = voice.tell(Table.start(GameChoice(book, rules)))
        told = [message.text.strip() for message in start if message.moment == "unreachable"]
    return [supply, f"Take turns. On your turn, place one {voice.noun}.", *others, *told]


def _list_paper_rules(rules: Rules, noun: str) -> list[str]:
    place = "Stack yours on your place" if rules.towers == "own" else "Stack them on their place"
    told = [f"Cut out the {noun}s along the dashed lines. {place}, the newest on top."]
    if has_height(rules):
        where = "Write it after each turn"
        if _has_track(rules):
            where = "Show it with a bean or a button on the numbers"
        told.append(f"The height is all {noun}s of the tower added up. {where} beside the tower.")
    return told


def _has_track(rules: Rules) -> bool:
    return has_height(rules) and rules.max_height <= _MAX_TRACKS[rules.towers]


def _list_sets(rules: Rules, voice: Voice, numbers: list[int]) -> list[_BlockSet]:
    count = format_count(len(rules.blocks), voice.noun)
    match rules.supply:
        case "own":
            return [
                _BlockSet(seat, f"{name}: {count}", numbers)
                for seat, name in enumerate(voice.players)
            ]
        case "shared":
            return [_BlockSet(None, f"The pool: {count}", numbers)]
        case "endless":
            title = "Take what you like."
            if len(numbers) < sum(_count_useful(rules, block) for block in rules.blocks):
                title += " If one runs out, print this page once more."
            return [_BlockSet(None, title, numbers)]


def _copy_blocks(rules: Rules, room: int) -> list[int]:
    """Return the blocks of a set: of an endless supply, as many of each as useful and as fit."""
    useful = {block: _count_useful(rules, block) for block in rules.blocks}
    copies = max(1, min(room, max(useful.values())))
    while copies > 1 and sum(min(copies, count) for count in useful.values()) > room:
        copies -= 1
    return [block for block, count in useful.items() for _ in range(min(copies, count))]


def _count_useful(rules: Rules, block: int) -> int:
    """Return how many copies of a block a set needs at most."""
    if rules.supply != "endless":
        return 1
    towers = 2 if rules.towers == "own" else 1
    if rules.fit == "ascending" or rules.target is None:
        return towers
    return towers * max(1, rules.target // block)


def _reads_as_another(text: str, rules: Rules) -> bool:
    """Say whether a number reads as another block of the game upside down."""
    turned = text.translate(_UPSIDE_DOWN)[::-1]
    return (
        set(text) <= set("01689") and turned != text and turned[0] != "0" and rules.has(int(turned))
    )
