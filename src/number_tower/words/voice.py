"""The words that people read: a game's events, told in its own voice to the one who reads them.

A voice is the table of texts in a game's rule file. Each key is a moment of play. A few keys have
optional variants for a case (an empty tower, nothing available, hidden blocks). These texts address
both players at one keyboard. The tables `you`, `opponent` and `spectator` have texts for one
reader: about that player, about the opponent, and for a spectator. `plain.toml` has all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal, NamedTuple, get_args

from number_tower.engine.catalogue import Rulebook, RuleFileError, parse_toml
from number_tower.engine.game import Game
from number_tower.engine.rules import EMPTY
from number_tower.engine.table import Table, check_player_names
from number_tower.support.text import (
    MAX_MISTAKES,
    Template,
    Value,
    find_similar,
    format_path,
    format_text,
    format_value,
    summarize_numbers,
)
from number_tower.words.brief import describe_fit, describe_height, describe_rules

_FALLBACKS = {
    "turn_empty": "turn",
    "turn_opening": "turn",
    "turn_stuck": "turn",
    "placed_last": "placed",
    "refused_signed": "refused_not_whole",
}
"""Optional moments, and the moment whose words are used instead."""

_WORDS = {"players", "noun"}

View = Literal["you", "opponent", "spectator"]
"""How one reader sees the player whom a text is about."""

_VIEWS: tuple[View, ...] = get_args(View)
_OTHER_VIEWS = frozenset({"opponent", "spectator"})
"""Views of another player; a text without a variant, such as `refused`, is for all of them."""

MatchMoment = Literal["start", "game", "score", "won", "drawn"]
"""Moments of a match between its games."""

Texts = Mapping[View | None, Mapping[str, Template]]
"""Texts by the view that they are for (None: all readers) and the moment."""

MAX_UNDONE = 20
"""Blocks of one takeback that are told: the last ones."""


class Reader(NamedTuple):
    """Who reads: the player of one seat, a spectator, or both players at one keyboard."""

    seat: int | None = None
    shared: bool = False

    def see(self, player: int) -> View | None:
        """Say how the reader sees a player.

        None means both players at one keyboard: they read the rulebook's words.
        """
        if self.shared:
            return None
        if self.seat is None:
            return "spectator"
        return "you" if self.seat == player else "opponent"

    @classmethod
    def at_keyboard(cls, table: Table) -> Reader:
        """Return who reads at a keyboard: both players, one against a computer, or a spectator."""
        if not any(table.automatic):
            return BOTH
        return SPECTATOR if all(table.automatic) else cls(table.automatic.index(False))

    @classmethod
    def of_seats(cls, held: Collection[int]) -> Reader:
        """Return who reads in a room, by the seats that they hold there."""
        return BOTH if len(held) == 2 else cls(next(iter(held), None))


BOTH = Reader(shared=True)
SPECTATOR = Reader()


class Message(NamedTuple):
    """A piece of the dialogue: the moment, the player and block that it is about, and the words.

    In a narrated game, `version` is that of the table after the change.
    """

    moment: str
    player: int
    text: str
    block: int | None = None
    version: int = 0
    view: View | None = None
    """How the reader sees that player, or a winner; None at one keyboard, and in a draw."""

    @property
    def kind(self) -> str:
        """The moment without its variant: start, turn, placed, skipped, end, refused, ..."""
        return self.moment.partition("_")[0]


class MatchStanding(NamedTuple):
    """How a match stands: the game's number, the most games that there are, and the points."""

    number: int
    best_of: int
    score: tuple[float, float]

    @property
    def leader(self) -> int:
        """Who has more points; player 0 if they are level."""
        return int(self.score[1] > self.score[0])


_NO_MATCH = MatchStanding(1, 1, (0, 0))


@dataclass(frozen=True)
class _Scene:
    """What a sentence is about: the table, one player, and what they have just typed or placed."""

    table: Table
    voice: Voice
    player: int
    block: int = 0
    answer: str = ""
    group: Sequence[int] = ()
    standing: MatchStanding = _NO_MATCH
    mixed: bool = False
    """Whether the match is of different games."""

    @property
    def game(self) -> Game:
        """The game at the table."""
        return self.table.game

    @property
    def height(self) -> int:
        """The height of the player's tower."""
        return self.game.heights[self.player]

    @property
    def top(self) -> int:
        """The block on top of the player's tower."""
        return self.game.position.tops[self.player]

    def span(self) -> tuple[int, int]:
        """Return the lowest and highest number that the fit allows."""
        rules, top = self.game.rules, self.top
        if rules.fit != "ascending" or top == EMPTY:
            fits = rules.numbers(rules.fits(top)) or rules.blocks
            return fits[0], fits[-1]
        highest = rules.blocks[-1]
        reach = highest if rules.step is None else top + rules.step
        # While a block can be placed, the highest block is the limit.
        if self.game.position.legal_mask:
            return top + 1, min(reach, highest)
        return top + 1, max(reach, top + 1)

    @property
    def winner(self) -> int:
        """Who won; the scene's player if nobody did."""
        outcome = self.table.outcome
        return outcome.winner if outcome and outcome.winner is not None else self.player

    def name_tower(self, player: int) -> str:
        """Return what the reader calls a player's tower."""
        if self.game.rules.towers == "shared":
            return "the tower"
        if self.voice.reader.see(player) == "you":
            return "your tower"
        return f"{self.get_name(player)}'s tower"

    def get_name(self, player: int) -> str:
        """Return the name of a player."""
        return self.voice.get_name(self.table, player)


def format_points(score: float) -> int | str:
    """Return points as people write them: 2, 1½, ½."""
    whole, half = divmod(score, 1)
    return int(whole) if not half else f"{int(whole) or ''}½"


def _describe_standing(scene: _Scene) -> str:
    """Describe the towers, and the blocks that only the player who waits has, in sentences."""
    game, player, other = scene.game, scene.player, 1 - scene.player
    towers = [describe_height(game, player, scene.name_tower(player))]
    if game.rules.towers == "own":
        towers.append(describe_height(game, other, scene.name_tower(other)))
    text = " ".join(f"{tower[0].upper()}{tower[1:]}." for tower in towers)
    left = scene.table.left(other)
    if game.rules.supply != "own" or left is None:
        return text
    owner = "You have" if scene.voice.reader.see(other) == "you" else f"{scene.get_name(other)} has"
    return f"{text} {owner} {summarize_numbers(left, ', ') or 'nothing'} left."


def _name_winning_tower(scene: _Scene) -> str:
    """Return what the reader calls the winner's tower, after the winner's name."""
    name = scene.name_tower(scene.winner)
    by_computer = scene.table.automatic[scene.winner] and name not in {"the tower", "your tower"}
    return "its tower" if by_computer else name


def _describe_draws(scene: _Scene) -> str:
    # Where a stuck player loses, no game is drawn; a match of different games may have others.
    can_be_drawn = scene.mixed or scene.game.rules.stuck == "skips"
    return ", a draw half a point each" if can_be_drawn else ""


def _show_or_hide(blocks: Sequence[int] | None) -> Value:
    return "hidden" if blocks is None else blocks


_FIELDS: dict[str, Callable[[_Scene], Value]] = {
    "game": lambda scene: scene.voice.title,
    "noun": lambda scene: scene.voice.noun,
    "rules": lambda scene: "\n".join(
        f"- {line}" for line in describe_rules(scene.game.rules, scene.voice.noun)
    ),
    "player": lambda scene: scene.get_name(scene.player),
    "opponent": lambda scene: scene.get_name(1 - scene.player),
    "blocks": lambda scene: scene.game.rules.blocks,
    "opening": lambda scene: scene.game.rules.opening or scene.game.rules.blocks,
    "left": lambda scene: _show_or_hide(scene.table.left(scene.player)),
    "legal": lambda scene: _show_or_hide(scene.table.legal),
    "tower": lambda scene: scene.game.towers[scene.player],
    "top": lambda scene: scene.top or "the ground",
    "height": lambda scene: scene.height,
    "low": lambda scene: scene.span()[0],
    "high": lambda scene: scene.span()[1],
    "fitting": lambda scene: describe_fit(scene.game.rules, scene.top),
    "standing": _describe_standing,
}
_TARGET_FIELDS: dict[str, Callable[[_Scene], Value]] = {
    "target": lambda scene: scene.game.rules.target or 0,
    "need": lambda scene: (scene.game.rules.target or 0) - scene.height,
}
_MOMENT_FIELDS: dict[str, dict[str, Callable[[_Scene], Value]]] = {
    "placed": {"block": lambda scene: scene.block},
    "undone": {"block": lambda scene: scene.block},
    "refused": {
        "example": lambda scene: scene.game.rules.blocks[len(scene.game.rules.blocks) // 2],
        "answer": lambda scene: scene.answer,
        "raised": lambda scene: scene.height + scene.block,
    },
    "moves": {"group": lambda scene: scene.group},
    "end": {
        "winner": lambda scene: scene.get_name(scene.winner),
        "loser": lambda scene: scene.get_name(1 - scene.winner),
        "winner_height": lambda scene: scene.game.heights[scene.winner],
        "loser_height": lambda scene: scene.game.heights[1 - scene.winner],
        "winner_tower": _name_winning_tower,
    },
    "match": {
        "draws": _describe_draws,
        "number": lambda scene: scene.standing.number,
        "best_of": lambda scene: scene.standing.best_of,
        "player_1": lambda scene: scene.get_name(0),
        "player_2": lambda scene: scene.get_name(1),
        "score_1": lambda scene: format_points(scene.standing.score[0]),
        "score_2": lambda scene: format_points(scene.standing.score[1]),
        "winner": lambda scene: scene.get_name(scene.standing.leader),
        "loser": lambda scene: scene.get_name(1 - scene.standing.leader),
        "winner_score": lambda scene: format_points(max(scene.standing.score)),
        "loser_score": lambda scene: format_points(min(scene.standing.score)),
    },
}


class Voice:
    """The words of one game for one reader: from its rule file, or else from `plain.toml`."""

    reader: Reader
    title: str
    noun: str
    players: tuple[str, str]

    def __init__(self, book: Rulebook) -> None:
        file, plain = format_path(book.source), _load_plain()
        self.reader = BOTH
        self.title = book.title
        self._own = _parse_voice(book.voice, file, has_target=book.rules.target is not None)
        self._plain = _parse_plain()
        self.players = check_player_names(book.voice.get("players", plain["players"]))
        self.noun = str(book.voice.get("noun", plain["noun"]))

    def for_reader(self, reader: Reader) -> Voice:
        """Return the voice for another reader, with the same texts."""
        voice = copy(self)
        voice.reader = reader
        return voice

    def get_name(self, table: Table, player: int) -> str:
        """Return a player's name: the one given, or the rulebook's."""
        return (table.names or self.players)[player]

    def address(self, table: Table, player: int) -> str:
        """Return what the reader calls a player: "You", or the name."""
        return "You" if self.reader.see(player) == "you" else self.get_name(table, player)

    def remind_of_hidden(self, table: Table) -> str:
        """Return a reminder for a player of a game with hidden blocks; otherwise nothing."""
        if not table.hidden or table.outcome is not None or self.reader == SPECTATOR:
            return ""
        # The rule file may have words of its own.
        if self.reader.shared and "turn_hidden" in self._own[None]:
            return ""
        return f"Remember which {self.noun}s are used: they are not shown."

    def tell(self, table: Table, *, turns: bool = True) -> Iterator[Message]:
        """Tell what the last change caused: the start, a move or a result, and whose turn it is."""
        game = table.game
        if table.declared is not None:
            yield from self._tell_ending(_Scene(table, self, game.to_move))
            return
        for event in game.events:
            block = game.moves[-1] if event.kind == "placed" else 0
            scene = _Scene(table, self, event.player, block)
            match event.kind:
                case "start":
                    yield self._say("start", scene)
                    if game.rules.target_in_reach is False:
                        yield self._say("unreachable", scene)
                case "placed":
                    yield self._say("placed_last" if game.outcome else "placed", scene)
                case "skipped":
                    yield self._say("skipped", scene)
                case "turn":
                    if turns:
                        yield self.tell_turn(table)
                case "end":
                    yield from self._tell_ending(scene)

    def tell_turn(self, table: Table) -> Message:
        """Tell whose turn it is, and what that player needs to know."""
        game = table.game
        scene = _Scene(table, self, game.to_move)
        if table.hidden:
            return self._say("turn_hidden", scene)
        if game.outcome is not None:
            return self._say("turn_stuck", scene)
        if scene.top == EMPTY:
            return self._say("turn_empty" if game.rules.opening is None else "turn_opening", scene)
        return self._say("turn", scene)

    def format_prompt(self, table: Table) -> str:
        """Return the question that asks for a move."""
        return self._say("prompt", _Scene(table, self, table.game.to_move)).text

    def refuse(self, table: Table, reason: str, answer: str, block: int = 0) -> Message:
        """Tell why an answer is refused."""
        scene = _Scene(table, self, table.game.to_move, block, answer)
        return self._say(f"refused_{reason}", scene)

    def tell_toss(self, table: Table) -> Message:
        """Tell who starts by the coin toss."""
        return self._say("tossed", _Scene(table, self, table.game.first))

    def tell_undo(self, table: Table, block: int) -> Message:
        """Tell that a block was taken back; the table is the one before it was placed."""
        return self._say("undone", _Scene(table, self, table.game.to_move, block=block))

    def tell_match(
        self, moment: MatchMoment, table: Table, standing: MatchStanding, *, plain: bool = False
    ) -> Message:
        """Tell how a match goes on: its start, the next game, the score, or who won it.

        A match of different games is told in the plain voice: the words of one game may not suit
        another.
        """
        scene = _Scene(table, self, table.game.first, standing=standing, mixed=plain)
        return self._say(f"match_{moment}", scene, plain=plain)

    def tell_help(self, table: Table) -> Message:
        """Tell how the game is played."""
        return self._say("help", _Scene(table, self, table.game.to_move))

    def tell_moves(self, table: Table) -> Iterator[Message]:
        """Tell what can be placed now, and why the rest cannot."""
        scene = _Scene(table, self, table.game.to_move)
        if table.legal is None:
            yield self._say("moves_hidden", scene)
            return
        yield self._say("moves_legal", replace(scene, group=table.legal))
        for reason, mask in table.game.position.refusals():
            if mask:
                group = table.game.rules.numbers(mask)
                yield self._say(f"moves_{reason}", replace(scene, group=group))

    def _say(self, moment: str, scene: _Scene, *, plain: bool = False) -> Message:
        # The words are about one player, or about both alike.
        subject: int | None
        match moment.partition("_"):
            case "end", _, _:
                subject = scene.table.outcome and scene.table.outcome.winner
            case "match", _, "drawn":
                subject = None
            case "match", _, "score" | "won":
                subject = scene.standing.leader
            case _:
                subject = scene.player
        view = self.reader.see(scene.player if subject is None else subject)
        about = "you" if subject is None and view == "opponent" else view
        fields = _get_fields(moment)
        template = self._find_template(moment, about, plain=plain)
        text = template.fill(lambda name: fields[name](scene))
        seen = None if subject is None else view
        return Message(moment, scene.player, text, scene.block or None, view=seen)

    def _find_template(self, moment: str, view: View | None, *, plain: bool) -> Template:
        """Return the words of a moment: for this view, or else for all readers."""
        voices = [self._plain] if plain else [self._own, self._plain]
        keys = [moment, _FALLBACKS.get(moment, moment)]
        keys_of_view = [*keys, moment.partition("_")[0]] if view in _OTHER_VIEWS else keys
        for reading, names in ((view, keys_of_view), (None, keys)):
            for texts in voices:
                for name in names:
                    if name in texts[reading]:
                        return texts[reading][name]
        raise KeyError(moment)

    def _tell_ending(self, scene: _Scene) -> Iterator[Message]:
        outcome = scene.table.outcome
        if outcome is None:
            return
        if outcome.reason == "stuck" and self.reader.shared:
            yield self.tell_turn(scene.table)
        yield self._say(f"end_{outcome.reason}", scene)


_make_voice = lru_cache(maxsize=256)(Voice)
"""Make the voice of a rulebook; the texts of those used last are parsed once."""


def get_voice(book: Rulebook, reader: Reader = BOTH) -> Voice:
    """Return the voice of a rulebook for a reader."""
    voice = _make_voice(book)
    return voice if reader == BOTH else voice.for_reader(reader)


def join_messages(*messages: Message) -> str:
    """Return the text of messages without the empty lines that a terminal needs around them."""
    lines = "\n".join(message.text for message in messages).splitlines()
    return "\n".join(filter(str.strip, lines))


def narrate(
    table: Table,
    since: int = 0,
    until: int | None = None,
    *,
    reader: Reader = BOTH,
    turns: bool = True,
    answers: bool = False,
) -> Iterator[Message]:
    """Tell a reader a game from its start, or the changes from one version to another.

    With `answers`, the prompt and the block precede each move, as if it had been typed. Takebacks
    are told; to leave them out, narrate `replace(table, log=())`.
    """
    voice = get_voice(table.book, reader)
    game = table.replay_to(max(0, since - 1))
    if since <= 0:
        yield from voice.tell(_rewind(table, game), turns=turns)
    start = max(1, since)
    for version, change in enumerate(table.log[start - 1 : until], start):
        pieces: list[Message] = []
        match change.kind:
            case "place":
                if answers:
                    text = f"{voice.format_prompt(_rewind(table, game))}{change.number}\n"
                    pieces.append(Message("answered", game.to_move, text, change.number))
                game = game.play(change.number)
                pieces += voice.tell(_rewind(table, game), turns=turns)
            case "undo":
                kept = len(game.moves) - change.number
                for ply in reversed(range(kept, min(kept + MAX_UNDONE, len(game.moves)))):
                    pieces.append(voice.tell_undo(_rewind(table, game.at(ply)), game.moves[ply]))
                game = game.undo(change.number)
                if turns:
                    pieces.append(voice.tell_turn(_rewind(table, game)))
            case _:
                # A declared result is the last change, so it is told of the table itself.
                pieces += voice.tell(table, turns=turns)
        yield from (said._replace(version=version) for said in pieces)


def _rewind(table: Table, game: Game) -> Table:
    """Return a table with an earlier state of its game."""
    return replace(table, game=game, declared=None)


@cache
def _load_plain() -> Mapping[str, object]:
    with open(os.path.join(os.path.dirname(__file__), "plain.toml"), "rb") as stream:
        return parse_toml(stream.read(), "plain.toml")


@cache
def _parse_plain() -> Texts:
    return _parse_voice(_load_plain(), "plain.toml", has_target=True)


def get_plain_players() -> tuple[str, str]:
    """Return the players' names in a match of games that name them differently."""
    return check_player_names(_load_plain()["players"])


@cache
def _get_fields(moment: str) -> dict[str, Callable[[_Scene], Value]]:
    return {**_FIELDS, **_TARGET_FIELDS, **_MOMENT_FIELDS.get(moment.partition("_")[0], {})}


def _parse_voice(voice: Mapping[str, object], file: str, *, has_target: bool) -> Texts:
    """Parse the texts for all readers, and those for each view; report all mistakes at once."""
    texts: dict[View | None, Mapping[str, Template]] = {}
    mistakes: list[tuple[str, str]] = []
    for view in (None, *_VIEWS):
        entries = voice if view is None else voice.get(view, {})
        where = "voice" if view is None else f"voice.{view}"
        texts[view] = parsed = dict[str, Template]()
        if not isinstance(entries, Mapping):
            mistakes.append((where, f"expected a table of texts; got {format_value(entries)}"))
            continue
        # About another player, one text may stand for all refusals.
        extra = {"refused"} if view in _OTHER_VIEWS else set[str]()
        moments = {*_load_plain(), *_FALLBACKS, *extra} - _WORDS
        # A view has no views of its own.
        if view is not None:
            moments -= {*_VIEWS}
        for key, text in entries.items():
            # The tables of the views are parsed on their own.
            if view is None and key in _VIEWS:
                continue
            try:
                if view is None and key in _WORDS:
                    _check_word(key, text)
                else:
                    parsed[key] = _parse_text(text, key, moments, has_target=has_target)
            except ValueError as error:
                mistakes.append((f"{where}.{format_text(key, 40)}", str(error)))
            if len(mistakes) >= MAX_MISTAKES:
                break
    if mistakes:
        (key, mistake), *others = mistakes
        raise RuleFileError(file, key, mistake, *others)
    return texts


def add_voice_mistakes(error: RuleFileError) -> RuleFileError:
    """Return the error of a rule file with wrong rules, with the mistakes in its voice as well."""
    try:
        _parse_voice(error.voice, error.file, has_target=error.has_target)
    except RuleFileError as more:
        return RuleFileError.merge([error, more])
    return error


def _parse_text(text: object, key: str, moments: Collection[str], *, has_target: bool) -> Template:
    if key not in moments:
        if similar := find_similar(key, moments):
            raise ValueError(f"unknown; did you mean {' or '.join(similar)}?")
        raise ValueError("unknown; expected a moment such as start, turn, placed or end_exact")
    if not isinstance(text, str):
        problem = f"expected text; got {format_value(text)}"
        raise ValueError(problem)  # noqa: TRY004 - a mistake in a file
    # Every text but the prompt ends its line.
    end = "\n" if text and key != "prompt" else ""
    template = Template(text.rstrip("\n") + end, list(_get_fields(key)))
    lacking = template.fields & {*_TARGET_FIELDS}
    if lacking and not has_target:
        raise ValueError(f"{{{min(lacking)}}} needs a target in [rules]")
    return template


def _check_word(key: str, word: object) -> None:
    """Check the players' names or the word for a block; they are not texts with fields."""
    if key == "players":
        check_player_names(word)
    elif not isinstance(word, str) or not word.isprintable() or not 1 <= len(word) <= 20:
        raise ValueError('expected a short word for a block, such as "block"')
