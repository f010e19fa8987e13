"""The games in TextArena: two players who write.

Each is told how the game stands, and the answer is read as a block.

What a player writes beside the block is not passed on to the other: it could be long, or pretend to
be the game.
"""

from __future__ import annotations

from bisect import bisect_left
from math import isnan
from typing import Any

import textarena as ta
from textarena.envs import BOARDGAME_WRAPPERS, DEFAULT_WRAPPERS
from textarena.envs.registration import ENV_REGISTRY, register_with_versions

from number_tower.engine.catalogue import choose
from number_tower.engine.table import Table
from number_tower.envs import GameSource, list_ids
from number_tower.envs.observation import make_value_info
from number_tower.support.text import format_value, make_sentence
from number_tower.words.prompt import HOW_TO_ANSWER, check_answer, write_rules, write_situation
from number_tower.words.voice import get_voice

__all__ = ["NumberTowerTextEnv", "register"]

_NAMES = ("Player 0", "Player 1")
"""TextArena's names of the players; a rulebook's own names would be off by one."""

_MAX_SHOWN = 200
"""Characters of an answer that its author is shown again."""

_EVERYBODY = -1


class NumberTowerTextEnv(ta.Env):  # type: ignore[misc]  # TextArena has no types
    """A game for two who answer in text, by any rules.

    `game` and `options` are what `number_tower.rules` takes; `hidden` hides the blocks, where the
    rulebook has that option. `legal=False` leaves the legal blocks out of everything that is said.
    An answer that cannot be used is refused with the reason, `error_allowance` times in a turn; the
    next one loses. With `values=True` the info of each move holds the exact `value` of the position
    before it, the `action_values` there, and the `regret`, which is what the move gave away.

    Examples:
        >>> env = NumberTowerTextEnv(nt.Rules(target=15))
        >>> env.reset(num_players=2, seed=1)
        >>> print(env.get_board_str())
        No move has been made yet.
        The tower, from the ground up: empty (height 0)
        Blocks left: 1, 2, 3, 4, 5, 6, 7, 8, 9
        You are Player 0, and it is your turn.
        You may place: 1, 2, 3, 4, 5, 6, 7, 8, 9
        >>> env.step("I take [9]."), env.step("Then [6] makes 15.")
        ((False, {}), (True, {}))
        >>> env.table.outcome
        Outcome(winner=1, reason='exact')
    """

    def __init__(
        self,
        game: GameSource,
        *,
        legal: bool = True,
        hidden: bool = False,
        first: int = 0,
        error_allowance: int = 1,
        values: bool = False,
        **options: object,
    ) -> None:
        super().__init__()
        if type(error_allowance) is not int or error_allowance < 0:
            shown = format_value(error_allowance)
            raise ValueError(f"error_allowance: expected a whole number from 0; got {shown}")
        choice = choose(game, options, hidden=hidden)._replace(first=first)
        self._start = Table.start(choice, _NAMES)
        self._legal = legal
        self._error_allowance = error_allowance
        self._values = values
        self.state: Any = None

    @property
    def table(self) -> Table:
        """The table as it stands."""
        if self.state is None:
            raise RuntimeError("there is no game yet: call reset(num_players=2) first")
        table: Table = self.state.game_state["table"]
        return table

    def reset(self, num_players: int = 2, seed: int | None = None) -> None:
        """Start a game. Nothing in it is random; the seed is for TextArena."""
        if num_players != 2:
            raise ValueError(f"num_players: this is a game for 2; got {format_value(num_players)}")
        self.state = ta.TwoPlayerState(
            num_players=2, seed=seed, error_allowance=self._error_allowance
        )
        self.state.reset(
            game_state={"table": self._start},
            player_prompt_function=self._make_prompt,
            role_mapping=dict(enumerate(_NAMES)),
        )
        self.state.manually_set_current_player_id(self._start.game.to_move)
        self._announce()

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Read an answer of the player to move, and place the block.

        Once the game is over, do nothing.
        """
        before, state = self.table, self.state
        if state.done:
            return True, {}
        mover = before.game.to_move
        answer = check_answer(before, action, legal=self._legal)
        if answer.block is None:
            quoted = format_value(action, _MAX_SHOWN)
            state.add_observation(
                quoted, ta.ObservationType.PLAYER_ACTION, from_id=mover, to_id=mover
            )
            state.set_invalid_move(reason=make_sentence(answer.problem or ""))
            state.step_info["illegal"] = answer.reason
            if state.done:
                state.game_state["table"] = before.declare("forfeit", mover)
            return self._finish_step()
        if self._values:
            values = make_value_info(before.game.position)
            index = bisect_left(before.game.rules.blocks, answer.block)
            value, after_move = values["value"], float(values["action_values"][index])
            # What the move gave away; None where a value is not known.
            regret = None if value is None or isnan(after_move) else value - after_move
            state.step_info.update(values, regret=regret)
        state.add_observation(f"[{answer.block}]", ta.ObservationType.PLAYER_ACTION, from_id=mover)
        after = before.play(answer.block)
        state.game_state["table"] = after
        self._describe(after, answer.block)
        self._announce()
        return self._finish_step(rotate=after.game.to_move != mover)

    def get_board_str(self) -> str:
        """Return how the game stands, as the player to move is told."""
        return write_situation(self.table, legal=self._legal)

    def _finish_step(self, *, rotate: bool = True) -> tuple[bool, dict[str, Any]]:
        done, info = self.state.step(rotate_player=rotate)
        return bool(done), dict(info)

    def _make_prompt(self, player_id: int, game_state: dict[str, Any]) -> str:
        table = game_state["table"]
        return f"You are {_NAMES[player_id]}.\n{write_rules(table)}\n\n{HOW_TO_ANSWER}"

    def _describe(self, table: Table, block: int) -> None:
        """Tell both players who placed what, and who had to skip."""
        sentences = [f"{_NAMES[table.game.movers[-1]]} places {block}."]
        sentences += [
            f"{_NAMES[event.player]} cannot place a {get_voice(table.book).noun.lower()} and skips."
            for event in table.game.events
            if event.kind == "skipped"
        ]
        self.state.add_observation(" ".join(sentences), ta.ObservationType.GAME_ACTION_DESCRIPTION)

    def _announce(self) -> None:
        """Tell the player to move how the game stands.

        Once it is over, tell both, and set the result.
        """
        table = self.table
        outcome = table.outcome
        to_id = table.game.to_move if outcome is None else _EVERYBODY
        self.state.add_observation(self.get_board_str(), ta.ObservationType.GAME_BOARD, to_id=to_id)
        if outcome is None:
            return
        messages = get_voice(table.book).tell(table)
        reason = " ".join(said.text.strip() for said in messages if said.kind == "end")
        if outcome.winner is None:
            self.state.set_draw(reason)
        else:
            self.state.set_winner(outcome.winner, reason)


def register() -> None:
    """Register the games with `textarena.make`; to call it again does no harm.

    Examples:
        >>> import textarena
        >>> register()
        >>> textarena.make("NumberTower-v0", game=nt.Rules(target=15)).reset(num_players=2)
    """
    wrappers = {"default": DEFAULT_WRAPPERS, "-train": BOARDGAME_WRAPPERS}
    for name, settings in list_ids("NumberTower-").items():
        if name not in ENV_REGISTRY:
            register_with_versions(name, f"{__name__}:NumberTowerTextEnv", wrappers, **settings)


register()
