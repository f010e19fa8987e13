"""The words that players read: a game's events, told in its own voice.

A voice is keyed text in the game's data file. Each key is a moment of play; a few have variants for a named case (an
empty tower, nothing available, hidden blocks), which a game that does not need them leaves out.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from number_tower.brief import brief, fitting
from number_tower.catalogue import RuleFileError, read_toml
from number_tower.rules import EMPTY, shown
from number_tower.table import TableError, player_names
from number_tower.template import Template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from number_tower.catalogue import Rulebook
    from number_tower.game import Event
    from number_tower.table import Table
    from number_tower.template import Value

_FALLBACKS = {"turn_empty": "turn", "turn_opening": "turn", "turn_stuck": "turn", "placed_last": "placed"}
_WORDS = {"players", "noun"}
_HIDDEN = "hidden"


class Said(NamedTuple):
    """A piece of the dialogue: at which moment, to whom, and the words."""

    moment: str
    player: int
    text: str


@dataclass(frozen=True)
class Scene:
    """What a sentence is about: the table as it is, one player, and what that player just typed or placed."""

    table: Table
    voice: Voice
    player: int
    block: int = 0
    answer: str = ""
    group: Sequence[int] = ()

    @property
    def height(self) -> int:
        """The height of the player's tower."""
        return self.table.game.heights[self.player]

    @property
    def top(self) -> int:
        """The block on top of the player's tower."""
        return self.table.game.position.tops[self.player]

    def left(self) -> Value:
        """Return the blocks that the player may still use, if this table shows them."""
        if not self.table.shows_blocks:
            return _HIDDEN
        return self.table.game.rules.numbers(self.table.game.position.left[self.player])

    def legal(self) -> Value:
        """Return the blocks that may be placed now, if this table shows them."""
        return self.table.game.legal if self.table.shows_blocks else _HIDDEN

    def span(self) -> tuple[int, int]:
        """Return the lowest and highest number that the fit allows.

        The range is cut at the highest block while something is available, and left uncut when nothing is.
        """
        game = self.table.game
        if game.rules.fit != "ascending" or self.top == EMPTY:
            fits = game.rules.numbers(game.rules.fits(self.top)) or game.rules.blocks
            return fits[0], fits[-1]
        highest = game.rules.blocks[-1]
        reach = highest if game.rules.step is None else self.top + game.rules.step
        return self.top + 1, min(reach, highest) if game.position.legal_mask else max(reach, self.top + 1)

    @property
    def winner(self) -> int:
        """Who won; of a game without a winner, anybody."""
        outcome = self.table.outcome
        return outcome.winner if outcome and outcome.winner is not None else self.player


_FIELDS: dict[str, Callable[[Scene], Value]] = {
    "game": lambda scene: scene.voice.title,
    "noun": lambda scene: scene.voice.noun,
    "rules": lambda scene: "\n".join(f"- {line}" for line in brief(scene.table.game.rules, scene.voice.noun)),
    "player": lambda scene: scene.voice.name(scene.table, scene.player),
    "opponent": lambda scene: scene.voice.name(scene.table, 1 - scene.player),
    "blocks": lambda scene: scene.table.game.rules.blocks,
    "opening": lambda scene: scene.table.game.rules.opening or scene.table.game.rules.blocks,
    "left": Scene.left,
    "legal": Scene.legal,
    "tower": lambda scene: scene.table.game.towers[scene.player],
    "top": lambda scene: scene.top or "the ground",
    "height": lambda scene: scene.height,
    "low": lambda scene: scene.span()[0],
    "high": lambda scene: scene.span()[1],
    "fitting": lambda scene: fitting(scene.table.game.rules, scene.top),
}
_TARGET_FIELDS: dict[str, Callable[[Scene], Value]] = {
    "target": lambda scene: scene.table.game.rules.target or 0,
    "need": lambda scene: (scene.table.game.rules.target or 0) - scene.height,
}
_MOMENT_FIELDS: dict[str, dict[str, Callable[[Scene], Value]]] = {
    "placed": {"block": lambda scene: scene.block},
    "undone": {"block": lambda scene: scene.block},
    "refused": {"answer": lambda scene: scene.answer, "raised": lambda scene: scene.height + scene.block},
    "moves": {"group": lambda scene: scene.group},
    "end": {
        "winner": lambda scene: scene.voice.name(scene.table, scene.winner),
        "loser": lambda scene: scene.voice.name(scene.table, 1 - scene.winner),
        "winner_height": lambda scene: scene.table.game.heights[scene.winner],
        "loser_height": lambda scene: scene.table.game.heights[1 - scene.winner],
    },
}


class Voice:
    """How one game speaks: its own words where its file has them, the plain ones elsewhere."""

    title: str
    noun: str
    players: tuple[str, str]

    def __init__(self, book: Rulebook) -> None:
        plain = _plain()
        self.title = book.title
        self.players = _players(book.source, book.voice.get("players", plain["players"]))
        self.noun = _noun(book.source, book.voice.get("noun", plain["noun"]))
        self._own = dict(_templates(book.voice, book.source, has_target=book.rules.target is not None))
        self._plain = dict(_templates(plain, "plain.toml", has_target=True))

    def name(self, table: Table, player: int) -> str:
        """Return what a player is called: the name given, or as the rulebook's own dialogue says."""
        return (table.names or self.players)[player]

    def say(self, moment: str, scene: Scene) -> Said:
        """Put one moment into words."""
        usual = _FALLBACKS.get(moment, moment)
        words = self._own.get(moment) or self._own.get(usual) or self._plain.get(moment) or self._plain[usual]
        fields = _fields(moment)
        return Said(moment, scene.player, words.fill(lambda name: fields[name](scene)))

    def tell(self, table: Table) -> Iterator[Said]:
        """Tell what the last change at a table caused: the start, a move, or a declared result."""
        if table.declared is not None:
            yield from self._ending(Scene(table, self, table.game.to_move))
            return
        for event in table.game.events:
            yield from self._told(event, table)

    def turn(self, table: Table) -> Said:
        """Tell whose turn it is, and what they need to know."""
        game = table.game
        scene = Scene(table, self, game.to_move)
        if table.hidden:
            return self.say("turn_hidden", scene)
        if game.outcome is not None:
            return self.say("turn_stuck", scene)
        if scene.top == EMPTY:
            return self.say("turn_empty" if game.rules.opening is None else "turn_opening", scene)
        return self.say("turn", scene)

    def prompt(self, table: Table) -> str:
        """Return the question that asks for a move."""
        return self.say("prompt", Scene(table, self, table.game.to_move)).text

    def refuse(self, table: Table, reason: str, answer: str, block: int = 0) -> Said:
        """Say why an answer is refused."""
        return self.say(f"refused_{reason}", Scene(table, self, table.game.to_move, block=block, answer=answer))

    def moves(self, table: Table) -> Iterator[Said]:
        """Tell what can be placed now, and why the rest cannot."""
        scene = Scene(table, self, table.game.to_move)
        if not table.shows_blocks:
            yield self.say("moves_hidden", scene)
            return
        yield self.say("moves_legal", replace(scene, group=table.game.legal))
        for reason, mask in table.game.position.refusals():
            if mask:
                yield self.say(f"moves_{reason}", replace(scene, group=table.game.rules.numbers(mask)))

    def _told(self, event: Event, table: Table) -> Iterator[Said]:
        scene = Scene(table, self, event.player)
        match event.kind:
            case "start":
                yield self.say("start", scene)
                if table.game.rules.target_in_reach is False:
                    yield self.say("unreachable", scene)
            case "placed":
                block = table.game.moves[-1]
                yield self.say("placed_last" if table.game.outcome else "placed", replace(scene, block=block))
            case "skipped":
                yield self.say("skipped", scene)
            case "turn":
                yield self.turn(table)
            case "end":
                yield from self._ending(scene)

    def _ending(self, scene: Scene) -> Iterator[Said]:
        outcome = scene.table.outcome
        if outcome is None:
            return
        if outcome.reason == "stuck":
            yield self.turn(scene.table)
        yield self.say(f"end_{outcome.reason}", scene)


@cache
def _plain() -> Mapping[str, object]:
    return read_toml(os.path.join(os.path.dirname(__file__), "plain.toml"), "plain.toml")


def _fields(moment: str) -> dict[str, Callable[[Scene], Value]]:
    return {**_FIELDS, **_TARGET_FIELDS, **_MOMENT_FIELDS.get(moment.partition("_")[0], {})}


def _templates(voice: Mapping[str, object], file: str, *, has_target: bool) -> Iterator[tuple[str, Template]]:
    moments = {*_plain(), *_FALLBACKS} - _WORDS
    for key, text in voice.items():
        if key in _WORDS:
            continue
        if key not in moments:
            raise RuleFileError(file, f"voice.{shown(key)}", f"unknown; expected one of {', '.join(sorted(moments))}")
        if not isinstance(text, str):
            raise RuleFileError(file, f"voice.{key}", f"expected text; got {shown(text)}")
        known = [name for name in _fields(key) if has_target or name not in _TARGET_FIELDS]
        try:
            yield key, Template(text.rstrip("\n") + ("" if key == "prompt" else "\n"), known)
        except ValueError as wrong:
            raise RuleFileError(file, f"voice.{key}", str(wrong)) from None


def _players(file: str, given: object) -> tuple[str, str]:
    try:
        return player_names(given)
    except TableError as wrong:
        raise RuleFileError(file, "voice.players", str(wrong)) from None


def _noun(file: str, given: object) -> str:
    if not isinstance(given, str) or not given.isprintable() or not 1 <= len(given) <= 20:
        raise RuleFileError(file, "voice.noun", 'expected a short word for a block, such as "block"')
    return given
