"""A match in the dialogue: one game after another, until the match is decided or left."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from number_tower.terminal.cli import Terminal
from number_tower.terminal.cli.dialogue import Dialogue
from number_tower.terminal.cli.errors import NOTHING_TO_SAVE, report_stop
from number_tower.terminal.session.match import MatchCourse, is_game_saved
from number_tower.words.voice import MatchMoment, Reader


@dataclass
class _MatchDialogue(Dialogue):
    """A game of a match: leaving it leaves the match, and it is saved after the games before it."""

    course: MatchCourse = field(kw_only=True)

    def format_resume_hint(self, otherwise: str) -> str:
        """Say how to resume the match, or at least its game; `otherwise` is for no move yet."""
        course = self.course
        if is_game_saved(self.table, self.session.autosave):
            course.update_id(self.session.autosave)
            if course.is_saved and course.database is not None:
                ref = f"m{course.id}{course.database.db_option}"
                opponents = self.session.opponents
                # Programs play on only if they are named again.
                if opponents is not None and opponents.has_program:
                    ref += opponents._replace(seed=course.seed).options
                return f"Match saved. Resume it with: {self.format_command('resume', ref)}"
        if self.table.version and self.table.outcome is None:
            alone = f"{self.format_command('resume')}{self._format_seat_options()}"
            return f"The match is not saved, so you can resume only this game of it: {alone}"
        if course.fresh:
            return otherwise
        return "The match is not saved, so it cannot be resumed."

    def announce(self, moment: MatchMoment) -> None:
        """Tell how the match stands."""
        standing, plain = self.course.describe(moment)
        message = self.voice.tell_match(moment, self.table, standing, plain=plain)
        self.terminal.show_heading(message.text)


def play_match(
    course: MatchCourse,
    terminal: Terminal,
    *,
    coin_tossed: bool = False,
    automatic: tuple[bool, bool] = (False, False),
) -> None:
    """Play one game after another, until the match is decided or left.

    `automatic` says who played a match that is over.
    """
    game = _MatchDialogue(course.open_session(), terminal, coin_tossed, course=course)
    # Tell the end of a match to the people who played it.
    if course.series.match.over:
        game.set_reader(Reader.at_keyboard(replace(game.table, automatic=automatic)))
    game.announce("start" if course.fresh else "score")
    while not course.series.match.over:
        with report_stop(NOTHING_TO_SAVE, game.format_resume_hint):
            game.announce("game")
            terminal.show("\n")
            game.play()
            if game.table.outcome is None:
                return
            course.finish_game(game.table, game.session.autosave, game.table.outcome.winner)
            game.announce("score")
            if not course.series.match.over:
                session = course.open_session()
                game = _MatchDialogue(session, terminal, introduced=True, course=course)
    game.announce("drawn" if course.series.match.leader is None else "won")
