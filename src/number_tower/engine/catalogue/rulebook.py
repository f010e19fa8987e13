"""A game as data: its rules, options, presets and words.

The errors say what can be wrong with a choice of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from number_tower.engine.rules import Rules
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_mistakes, format_text, format_value, suggest_nearest

RULE_OPTIONS = ("target", "blocks", "opening")
OPTIONS = (*RULE_OPTIONS, "hidden")
"""What players may choose for one game. Hidden blocks are a property of the table, not of the
rules."""


class CatalogueError(NumberTowerError, ValueError):
    """A game cannot be loaded, and why.

    Examples:
        >>> try:
        ...     nt.rules("chess")
        ... except nt.CatalogueError as error:
        ...     print(error.field)
        game
    """

    reason = "bad_rules"

    field = "game"
    """What was chosen wrongly: `game`, `rulefile`, or an option."""


class UnknownGameError(CatalogueError):
    """Neither a game of the catalogue nor a rule file.

    Examples:
        >>> nt.rules("chess")
        Traceback (most recent call last):
            ...
        number_tower.engine.catalogue.rulebook.UnknownGameError: there is no game called 'chess'...
    """

    reason = "unknown_game"


class RuleFileError(CatalogueError):
    """A rule file is not valid: the file, and for each mistake the key and what was expected.

    Examples:
        >>> nt.rules("missing.toml")
        Traceback (most recent call last):
            ...
        number_tower.engine.catalogue.rulebook.RuleFileError: missing.toml: there is no such file
        >>> errors = [RuleFileError("my.toml", key, "missing") for key in ("fit", "target")]
        >>> RuleFileError.merge(errors).mistakes
        (('fit', 'missing'), ('target', 'missing'))
    """

    field = "rulefile"

    def __init__(self, file: str, key: str, problem: str, *others: tuple[str, str]) -> None:
        super().__init__(file, key, problem, *others)
        self.file = file
        self.key = key
        self.problem = problem
        self.mistakes = ((key, problem), *others)
        self.voice: Mapping[str, object] = {}
        """The voice of the file, which has not been checked."""
        self.has_target = True

    @classmethod
    def merge(cls, errors: Sequence[RuleFileError]) -> RuleFileError:
        """Return one error with the mistakes of several about one file."""
        (key, problem), *others = (mistake for error in errors for mistake in error.mistakes)
        return cls(errors[0].file, key, problem, *others)

    def __str__(self) -> str:
        mistakes = [": ".join(filter(None, mistake)) for mistake in self.mistakes]
        return format_mistakes(self.file, mistakes)


class OptionError(CatalogueError):
    """A game does not take an option; `taken` are those that it takes.

    Examples:
        >>> nt.rules("factor", target=20)
        Traceback (most recent call last):
            ...
        number_tower.engine.catalogue.rulebook.OptionError: factor has no option target; it has...
    """

    def __init__(self, game: str, option: str, taken: tuple[str, ...]) -> None:
        super().__init__(game, option, taken)
        self.game = game
        self.option = self.field = option
        self.taken = taken

    def __str__(self) -> str:
        return f"{self.game} has no option {self.option}; it has {', '.join(self.taken) or 'none'}"


class UnknownPresetError(CatalogueError):
    """A game has no preset of this name; `known` are the names of those that it has.

    Examples:
        >>> nt.rules("draft", preset="dep")
        Traceback (most recent call last):
            ...
        number_tower.engine.catalogue.rulebook.UnknownPresetError: draft has no preset 'dep'...
    """

    field = "preset"

    def __init__(self, game: str, preset: str, known: tuple[str, ...]) -> None:
        super().__init__(game, preset, known)
        self.game = game
        self.preset = preset
        self.known = known

    def __str__(self) -> str:
        if not self.known:
            return f"there are no presets for {self.game}"
        problem = (
            f"{self.game} has no preset {format_value(self.preset)}; it has {', '.join(self.known)}"
        )
        return f"{problem}{suggest_nearest(self.preset, self.known)}"


@dataclass(frozen=True)
class Preset:
    """Recommended settings of a game: a name, the options, and a text for the player.

    Examples:
        >>> preset = load("draft").presets["deep"]
        >>> preset.format_options()
        'target 26, blocks 1-12'
        >>> preset.describe()
        'target 26, blocks 1-12. Twelve blocks and a high target...
    """

    name: str
    options: Mapping[str, str | int]
    """The options as a rule file writes them; the others stay as in the rulebook."""
    about: str = ""

    def format_options(self) -> str:
        """Return the options for people, as in `target 21, blocks 1-12`."""
        return ", ".join(f"{key} {value}" for key, value in self.options.items())

    def describe(self) -> str:
        """Return the options and the text in one line."""
        return f"{self.format_options()}. {self.about}".rstrip()


@dataclass(frozen=True)
class Rulebook:
    """A game as data: its rules, the options it takes, and its words.

    Examples:
        >>> book = load("draft")
        >>> book.short_title, book.options, book.rules.fit
        ('The draft', ('target', 'blocks', 'opening'), 'descending')
        >>> book.apply_options({"target": 21}).target
        21
    """

    name: str
    source: str
    rules: Rules
    title: str
    summary: str
    about: str
    options: tuple[str, ...]
    voice: Mapping[str, object] = field(hash=False)
    presets: Mapping[str, Preset] = field(default_factory=dict, hash=False)
    """Recommended settings, by their names, in the order of the file."""
    content: bytes = field(default=b"", repr=False, compare=False)
    """The content of its file, if it has one."""

    @property
    def short_title(self) -> str:
        """The title without what stands before its colon, for lists of games: "The climb"."""
        name = self.title.rstrip(":").rpartition(": ")[2]
        return f"{name[:1].upper()}{name[1:]}"

    def __getstate__(self) -> dict[str, object]:
        # Pickle without the file's content.
        return {**self.__dict__, "content": b""}

    def check_options(self, chosen: Collection[str]) -> None:
        """Raise OptionError for an option that this game does not take.

        Examples:
            >>> load("draft").check_options(["target", "blocks"])
        """
        for option in chosen:
            if option not in self.options:
                raise OptionError(self.name, format_text(option, 40), self.options)

    def apply_options(self, chosen: Mapping[str, object]) -> Rules:
        """Return the rules with the chosen options."""
        self.check_options(chosen)
        return self.rules.replace(chosen)

    def find_options(self, rules: Rules) -> dict[str, object] | None:
        """Return the options that turn this rulebook's rules into these; None if none do.

        Examples:
            >>> load("draft").find_options(nt.rules("draft", target=21))
            {'target': 21}
        """
        if rules == self.rules:
            return {}
        theirs, ours = rules.to_dict(), self.rules.to_dict()
        differ = [key for key in {**ours, **theirs} if theirs.get(key) != ours.get(key)]
        if any(key not in self.options or key not in theirs for key in differ):
            return None
        return {key: theirs[key] for key in OPTIONS if key in differ}
