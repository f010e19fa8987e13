"""A review in sentences, as they stand around a list of its moves or beneath its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach.words import clause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.coach.reasons import Reason
    from number_tower.coach.review import Judged, Review

_MOST_OTHERS = 3


class Telling(NamedTuple):
    """Tells of a review: what the players are called, and what their blocks are."""

    names: tuple[str, str]
    noun: str = "block"

    def headline(self, review: Review) -> str:
        """Say who won, and how; or that it is not over."""
        outcome, game = review.outcome, review.game
        moves = _counted(len(game.moves), "move")
        if outcome is None:
            so_far = f"Unfinished after {moves}" if game.moves else "No move has been made yet"
            return f"{so_far}: it is {self.names[game.to_move]}'s turn."
        if outcome.winner is None:
            shared = game.rules.towers == "shared"
            level = "nobody is higher" if shared else f"both towers are {game.heights[0]} high"
            return f"Abandoned after {moves}: nobody won." if outcome.reason == "abandoned" else f"A draw: {level}."
        winner, loser = self.names[outcome.winner], self.names[1 - outcome.winner]
        reached = ": the tower stands at" if game.rules.towers == "shared" else " with a tower of"
        high, low = game.heights[outcome.winner], game.heights[1 - outcome.winner]
        return {
            "exact": f"{winner} won{reached} exactly {game.rules.target}.",
            "stuck": f"{winner} won: {loser} could not place a {self.noun}.",
            "higher": f"{winner} won with the higher tower, {high} to {low}.",
            "resigned": f"{winner} won: {loser} resigned.",
            "forfeit": f"{winner} won: {loser} forfeited.",
        }[outcome.reason]

    def standing(self, review: Review) -> str | None:
        """Of a game that the position did not end: say what it is worth as it stands."""
        if review.game.outcome is not None:
            return None
        value, over = review.values[-1], review.outcome is not None
        if value is None:
            return f"What the position {'was' if over else 'is'} worth was not found out."
        if over:
            return f"When it was left, {self._ahead(value, 'was winning', 'it was a draw')}."
        return f"As it stands, {self._ahead(value, 'wins', 'it is a draw')} if both play their best."

    def mistake(self, move: Judged) -> Iterator[str]:
        """Say of a mistake what would have been better, and what became of it; of other moves nothing."""
        if move.before is None or move.after is None or not move.mistake:
            return
        if move.best:
            reason = self.reason(move, move.reason)
            because = "" if reason is None else f": it {reason}"
            yield f"{move.best[0]} would have kept the {move.before.value}{_others(move.best[1:])}{because}."
        if move.after.value == "draw":
            yield f"{move.block} leaves only a draw."
        elif move.refutation is not None:
            yield f"{move.block} {self.reason(move, move.refutation)}."

    def reason(self, move: Judged, reason: Reason | None) -> str | None:
        """Say what a block does, to be read after its number."""
        if reason is None:
            return None
        return clause(reason, player=self.names[move.player], opponent=self.names[1 - move.player], noun=self.noun)

    def turning_point(self, review: Review) -> str | None:
        """Say what decided it, as far as that is known: a move, or giving up what was not lost; before any, nothing."""
        turning, value = review.turning_point, review.values[-1]
        if given_up := self._given_up(review):
            return f"Turning point: {given_up}."
        if not review.moves:
            return None
        if turning is not None and value is not None:
            so_far = "" if review.outcome else " so far"
            which = f"move {turning.ply}, {self.names[turning.player]}'s {turning.block}"
            return f"Turning point{so_far}: {which}. From then on {self._ahead(value, 'was winning', 'it was a draw')}."
        if review.unsolved or value is None:
            return "Whether there was a turning point is not known."
        start = self._ahead(value, "was winning", "it was a draw")
        return f"No turning point: nobody gave anything away. From the start {start}."

    def _given_up(self, review: Review) -> str | None:
        """Say who gave up a position that was not lost, if anybody did."""
        outcome, value = review.outcome, review.values[-1]
        if outcome is None or outcome.winner is None or value is None or review.game.outcome is not None:
            return None
        loser = 1 - outcome.winner
        worth = value if loser == 0 else -value
        how = {"resigned": "resigned", "forfeit": "forfeited"}[outcome.reason]
        return None if worth < 0 else f"{self.names[loser]} {how} a position that was {('drawn', 'won')[worth]}"

    def accuracy(self, review: Review, seat: int) -> str:
        """Say how many of a player's decisions that mattered kept the value."""
        accuracy = review.accuracy[seat]
        if accuracy.fraction is None:
            unknown = any(move.mattered is None for move in review.moves if move.player == seat)
            return f"{self.names[seat]}: no decision that {'is known to have ' if unknown else ''}mattered."
        decisions = _counted(accuracy.mattered, "decision")
        return f"{self.names[seat]}: right in {accuracy.kept} of {decisions} that mattered ({accuracy.fraction:.0%})."

    def unsolved(self, review: Review) -> str | None:
        """Say how much is not known."""
        if not review.unsolved:
            return None
        were = "was not solved in its time" if review.unsolved == 1 else "were not solved in their time"
        return (
            f"{review.unsolved} of {_counted(len(review.worths), 'position')} {were}: nothing is said or counted there."
        )

    def _ahead(self, value: int, wins: str, draws: str) -> str:
        """Say who is ahead, by a value as the first seat sees it."""
        return draws if value == 0 else f"{self.names[0 if value > 0 else 1]} {wins}"


def _others(blocks: tuple[int, ...]) -> str:
    if not blocks:
        return ""
    if len(blocks) > _MOST_OTHERS:
        return f" (as would {len(blocks):,} others)"
    *most, last = map(str, blocks)
    return f" (as would {', '.join(most)} and {last})" if most else f" (as would {last})"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
