"""The games in OpenSpiel: one registered game, `number_tower`, with any rules as its parameters.

Importing this module registers it; then `pyspiel.load_game("number_tower(game=NAME,target=21)")`
gives a game of the catalogue with options, `number_tower(game=PATH)` that of a rule file, and
without `game` the parameters are the rules.

OpenSpiel reads a game from one line of text, in which commas separate the parameters and anything
like a number is parsed as one: it fails on `1-9`, and takes `9` for no set of blocks. So a set is
written in brackets, with semicolons: `number_tower(blocks=[1-6;8;9;11-30],fit=ascending,step=5)`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from itertools import compress
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python.observation import IIGObserverForPublicInfoGame

from number_tower.engine import catalogue
from number_tower.engine.catalogue import GameChoice, Rulebook
from number_tower.engine.position import NotABlockError, Position
from number_tower.engine.rules import EMPTY, Rules, RulesError
from number_tower.envs import GameSource, observation
from number_tower.envs.observation import ObservationEncoder
from number_tower.support.text import format_runs, format_value

__all__ = ["TowerGame", "TowerState", "game"]

_SMALLEST_INT = -(2**31)
_SETS = ("blocks", "opening")
_NUMBERS = ("step", "target")

_PARAMETERS: dict[str, str | int] = {
    "game": "",
    **dict.fromkeys((field.name for field in fields(Rules)), ""),
    **dict.fromkeys(_NUMBERS, _SMALLEST_INT),
}
"""The parameters, each with the value that means "not given": OpenSpiel fills it in, and takes its
type from it."""

_MAX_PRUNED = 1000
"""Blocks up to which those that can never be placed again are left out of a position's text."""

_TYPE = pyspiel.GameType(
    short_name="number_tower",
    long_name="Number Tower",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
    information=pyspiel.GameType.Information.PERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification=_PARAMETERS,
)
_TERMINAL = int(pyspiel.PlayerId.TERMINAL)
_BITS = bytes.maketrans(b"01", b"\0\1")


def game(source: GameSource, **options: object) -> TowerGame:
    """Return an OpenSpiel game: by its name, by a rule file's path, or by its rules.

    Options are added to it.

    Examples:
        >>> game(nt.Rules(target=15))
        number_tower(target=15)
    """
    book, rules = catalogue.choose(source, options)[:2]
    return _load_game("number_tower", _format_parameters(book, rules))


class StatePosition:
    """A position with what OpenSpiel asks about it again and again; immutable."""

    __slots__ = ("actions", "player", "position", "result")

    def __init__(self, position: Position) -> None:
        self.position = position
        legal = position.legal_mask
        bits = bin(legal)[:1:-1].encode().translate(_BITS)
        self.actions = list(compress(range(legal.bit_length()), bits))
        self.player = position.to_move if legal else _TERMINAL
        self.result = 0.0
        """What player 0 has won."""
        outcome = None if legal else position.outcome
        if outcome is not None and outcome.winner is not None:
            self.result = 1.0 - 2.0 * outcome.winner

    def __deepcopy__(self, memo: object) -> StatePosition:
        """Return the same object: OpenSpiel's copies of a state can share it."""
        return self

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        # Pickle text and integers, so that equal positions have equal bytes.
        here = self.position
        numbers = (*here.left, *here.heights, *here.tops, here.to_move)
        return _restore_position, (json.dumps(here.rules.to_dict()), *numbers)


class TowerState(pyspiel.State):  # type: ignore[misc]  # pyspiel has no types
    """A game in progress. `position` is the engine's; its exact values can be asked for.

    Examples:
        >>> state = game(nt.Rules(target=15)).new_initial_state()
        >>> state.apply_action(state.string_to_action("9"))
        >>> state.value(), state.position.heights
        (1.0, (9, 9))
        >>> state.current_player(), state.legal_actions()
        (1, [0, 1, 2, 3, 4, 5])
        >>> state.action_values().tolist()
        [-1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -inf, -inf, -inf]
        >>> len(state.observation_tensor())
        21
        >>> state.apply_action(5)  # the block 6
        >>> state.is_terminal(), state.returns()
        (True, [-1.0, 1.0])
    """

    def __init__(self, played: TowerGame) -> None:
        super().__init__(played)
        self._now = played.start

    @property
    def position(self) -> Position:
        """The engine's position."""
        return self._now.position

    def value(self, player: int | None = None) -> float | None:
        """Return the exact value for a player: 1 wins, 0 draws, -1 loses; None if it is not known.

        The default is the player to move; once the game is over, player 0, who also comes first in
        `returns`.
        """
        now = self._now
        whose = max(now.player, 0) if player is None else player
        if whose not in (0, 1):
            raise ValueError(f"player: expected 0 or 1; got {format_value(player)}")
        value = observation.worth(now.position)
        return value if value is None or whose == now.position.to_move else 0.0 - value

    def action_values(self) -> NDArray[np.float32]:
        """Return the exact value of each action for the player to move.

        They are -inf if not legal, NaN if not known.
        """
        return observation.action_values(self._now.position)

    # What OpenSpiel asks --------------------------------------------------------------------------

    def current_player(self) -> int:
        """Return whose turn it is; a player who has to skip is never asked."""
        return self._now.player

    def is_terminal(self) -> bool:
        """Say whether the game is over."""
        return self._now.player == _TERMINAL

    def legal_actions(self, player: int | None = None) -> list[int]:
        """Return the legal actions of a player, by default the one to move.

        This is faster in Python than through C++.
        """
        now = self._now
        if player is None or player == now.player:
            return now.actions.copy()
        actions: list[int] = super().legal_actions(player)
        return actions

    def observation_tensor(self, player: int | None = None) -> list[float]:
        """Return what a player sees, by default the one to move.

        This is faster in Python than through C++.
        """
        now = self._now
        player = now.player if player is None else player
        if player in (0, 1):
            tensor: list[float] = self.get_game().encoder.encode(now.position, player).tolist()
        else:
            tensor = super().observation_tensor(player)
        return tensor

    def _legal_actions(self, player: int) -> list[int]:
        return self._now.actions if player == self._now.player else []

    def _apply_action(self, action: int) -> None:
        position = self._now.position
        self._now = StatePosition(position.place(_find_block(position.rules, action)))

    def _action_to_string(self, player: int, action: int) -> str:  # noqa: ARG002
        return str(_find_block(self._now.position.rules, action))

    def returns(self) -> list[float]:
        """Return what each player has won: 1, 0 or -1, and 0 before the end."""
        return [self._now.result, 0.0 - self._now.result]

    def __str__(self) -> str:
        """Return what play depends on, and no more: equal texts are equal positions to solvers.

        Blocks that can never be placed again are left out, and so are tops and heights that make no
        difference.
        """
        position = self._now.position
        rules, outcome = position.rules, position.outcome
        heights = rules.target is not None or (rules.stuck, rules.towers) == ("skips", "own")
        lines = []
        if rules.supply != "endless":
            mine, yours = position.left
            if len(rules.blocks) > _MAX_PRUNED:
                first, second = map(rules.room, position.heights)
            else:
                first, second = map(position.find_reachable, (0, 1))
            if rules.supply == "shared":
                lines.append(f"left: {_format_blocks(rules, mine & (first | second))}")
            else:
                lines.append(f"left to player 1: {_format_blocks(rules, mine & first)}")
                lines.append(f"left to player 2: {_format_blocks(rules, yours & second)}")
        towers = {"": 0} if rules.towers == "shared" else {" 1": 0, " 2": 1}
        for whose, player in towers.items():
            facts, top = [], position.tops[player]
            if rules.fit != "any":
                facts.append("empty" if top == EMPTY else f"{top} on top")
            elif rules.opening is not None:
                facts.append("empty" if top == EMPTY else "begun")
            if heights:
                facts.append(f"height {position.heights[player]}")
            if facts:
                lines.append(f"tower{whose}: {', '.join(facts)}")
        if outcome is None:
            turn = f"player {position.to_move + 1} to move"
        else:
            turn = "drawn" if outcome.winner is None else f"player {outcome.winner + 1} has won"
        return "\n".join([*lines, turn])

    # The same as JSON -----------------------------------------------------------------------------

    def _to_struct(self) -> dict[str, object]:
        position = self._now.position
        rules = position.rules
        return {
            "moves": [rules.blocks[action] for action in self.history()],
            "left": [format_runs(rules.numbers(left)) for left in position.left],
            "tops": list(position.tops),
            "to_move": None if self.is_terminal() else position.to_move + 1,
        }

    def _to_observation_struct(self, player: int) -> dict[str, object]:  # noqa: ARG002
        return self._to_struct()

    def _action_to_struct(self, player: int, action: int) -> dict[str, int]:  # noqa: ARG002
        return {"block": _find_block(self._now.position.rules, action)}

    def _struct_to_actions(self, struct: Mapping[str, int]) -> list[int]:
        return [_find_action(self._now.position.rules, struct["block"])]


class TowerGame(pyspiel.Game):  # type: ignore[misc]  # likewise
    """Number Tower by some rules: `rules`. Two games are equal if their text is.

    Examples:
        >>> tower = game(nt.Rules(target=15))
        >>> tower.rules.target, tower.num_distinct_actions()
        (15, 9)
        >>> state = tower.new_initial_state({"moves": [9, 5]})
        >>> observer = tower.make_py_observer()
        >>> print(observer.string_from(state, player=0))
        turn: yours
        left: 1-4,6-8
        top: 5
        height: 14
    """

    def __init__(self, params: Mapping[str, object] | None = None) -> None:
        book, self.rules = _parse_parameters(params or {})[:2]
        self.encoder = ObservationEncoder(self.rules)
        self.start = StatePosition(Position.start(self.rules))
        information = pyspiel.GameInfo(
            num_distinct_actions=len(self.rules.blocks),
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=self.rules.max_plies,
        )
        super().__init__(_TYPE, information, _format_parameters(book, self.rules))

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        # Pickle the line that loads the game: OpenSpiel's own way loses the attributes of a game in
        # Python.
        return _load_game, (str(self),)

    def new_initial_state(self, state: Any = None) -> TowerState:
        """Return the start of a game.

        From a state's struct or dictionary, it is the game after its moves.
        """
        table = state.to_dict() if isinstance(state, pyspiel.StateStruct) else state
        match table:
            case None:
                moves: list[object] = []
            case {"moves": [*moves]}:
                pass
            case _:
                expected = 'expected the moves so far, as in {"moves": [9, 8]}'
                raise ValueError(f"state: {expected}; got {format_value(table)}")
        started = TowerState(self)
        for block in moves:
            started.apply_action(_find_action(self.rules, block))
        return started

    def make_py_observer(
        self,
        iig_obs_type: pyspiel.IIGObservationType | None = None,
        params: Mapping[str, object] | None = None,
    ) -> TowerObserver | IIGObserverForPublicInfoGame:
        """Return an observer of the position now or, for perfect recall, of the moves so far."""
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return TowerObserver(self.encoder, params)
        return IIGObserverForPublicInfoGame(iig_obs_type, params)


class TowerObserver:
    """A position from a player's seat, as a vector (and by name, part by part) and as text."""

    def __init__(self, encoder: ObservationEncoder, params: Mapping[str, object] | None) -> None:
        if params:
            expected = "an observation of number_tower takes no parameters"
            raise ValueError(f"{expected}; got {format_value(dict(params))}")
        self._encoder = encoder
        self.tensor = np.zeros(encoder.size, np.float32)
        ends = np.cumsum([places for _, places in encoder.layout])
        parts = np.split(self.tensor, ends[:-1])
        self.dict = {name: part for (name, _), part in zip(encoder.layout, parts, strict=True)}

    def set_from(self, state: TowerState, player: int) -> None:
        """Observe a state from a player's seat."""
        self.tensor[:] = self._encoder.encode(state.position, player)

    def string_from(self, state: TowerState, player: int) -> str:
        """Return what a player sees as text: the parts of the vector, by name and in order."""
        position = state.position
        turn = "yours" if position.to_move == player else "the other player's"
        parts = {"turn": turn if position.legal_mask else "over"}
        for whose, side in (("", player), (" of the other", 1 - player)):
            parts[f"left{whose}"] = _format_blocks(position.rules, position.left[side])
            parts[f"top{whose}"] = str(position.tops[side] or "none")
            parts[f"height{whose}"] = str(position.heights[side])
        return "\n".join(f"{part}: {parts[part]}" for part, _ in self._encoder.layout)


def _find_block(rules: Rules, action: int) -> int:
    if not 0 <= action < len(rules.blocks):
        expected = f"expected 0 to {len(rules.blocks) - 1}, a block's place"
        raise ValueError(f"action: {expected}; got {format_value(action)}")
    return rules.blocks[action]


def _find_action(rules: Rules, block: Any) -> int:
    bit = rules.bit(block)
    if not bit:
        raise NotABlockError(block, "not_a_block")
    return bit.bit_length() - 1


def _load_game(*arguments: object) -> TowerGame:
    loaded: TowerGame = pyspiel.load_game(*arguments)
    return loaded


def _restore_position(text: str, *numbers: int) -> StatePosition:
    mine, yours, height, other_height, top, other_top, to_move = numbers
    rules = _parse_rules(text)
    return StatePosition(
        Position(rules, (mine, yours), (height, other_height), (top, other_top), to_move)
    )


@lru_cache(maxsize=64)
def _parse_rules(text: str) -> Rules:
    return Rules.from_dict(json.loads(text))


# Rules as parameters ------------------------------------------------------------------------------


def _parse_parameters(parameters: Mapping[str, object]) -> GameChoice:
    """Return the game that parameters name, with its options, or the rules that they write out."""
    chosen = {key: value for key, value in parameters.items() if value != _PARAMETERS.get(key)}
    source = chosen.pop("game", None)
    options = dict(chosen)
    for key in _SETS:
        if key in chosen:
            text = str(chosen[key]).strip()
            bare = text[1:-1] if text[:1] + text[-1:] == "[]" else text
            options[key] = bare.replace(";", ",")
    try:
        if source is None:
            return catalogue.choose(options)
        return catalogue.choose(str(source), options)
    except RulesError as error:
        if error.key not in _SETS:
            raise
        advice = "in a line for OpenSpiel written as [1-9] or [1;3;5]"
        raise RulesError(error.key, f"{error.problem}; {advice}") from None


def _format_parameters(book: Rulebook, rules: Rules) -> dict[str, str | int]:
    """Return rules as parameters, as few as possible.

    Parsed, they are the same rules without any rule file.
    """
    if book.source in catalogue.list_names() and (options := book.find_options(rules)) is not None:
        return {"game": book.name, **_format_options(options)}
    # Without a game of the catalogue, the rules that are not the usual ones say all.
    usual = Rules().to_dict()
    own = {key: value for key, value in rules.to_dict().items() if value != usual.get(key)}
    return _format_options(own)


def _format_options(options: Mapping[str, object]) -> dict[str, str | int]:
    parameters: dict[str, str | int] = {}
    for key, value in options.items():
        text = f"[{value}]".replace(",", ";") if key in _SETS else str(value)
        parameters[key] = value if isinstance(value, int) else text
    return parameters


def _format_blocks(rules: Rules, mask: int) -> str:
    return format_runs(rules.numbers(mask)) or "none"


pyspiel.register_game(_TYPE, TowerGame)
