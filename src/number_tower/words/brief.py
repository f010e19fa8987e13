"""Plain words for the rules of any game, for a tower, and for a refused block."""

from __future__ import annotations

from number_tower.engine.catalogue import Rulebook
from number_tower.engine.game import Game
from number_tower.engine.position import Position
from number_tower.engine.refusals import REFUSALS, Refusal, Unplaceable
from number_tower.engine.rules import EMPTY, Fit, Rules
from number_tower.support.text import summarize_numbers

_FITS: dict[Fit, tuple[str, str]] = {
    "any": ("any", "Any {noun} may go on any other"),
    "descending": ("at most {top}", "A {noun} may go on one that is larger or equal"),
    "ascending": ("above {top}", "A {noun} must be larger than the one beneath it"),
    "related": (
        "a divisor or a multiple of {top}",
        "A {noun} must divide the one beneath it or be a multiple of it",
    ),
    "unrelated": (
        "neither a divisor nor a multiple of {top}",
        "A {noun} must neither divide the one beneath it nor be a multiple of it",
    ),
}
"""For each fit: what the next block must be, and the rule."""


def describe_rules(rules: Rules, noun: str = "block", *, literal: bool = False) -> tuple[str, ...]:
    """Describe the blocks, what may be placed, how to win, and what happens to a stuck player.

    With `literal`, each rule is described alone, without what follows from the others: prompts keep
    these words, so that evaluations stay comparable.
    """
    is_own = rules.towers == "own"
    opening = ""
    if rules.opening is not None:
        where = "Each tower" if is_own else "The tower"
        first = summarize_numbers(rules.opening)
        opening = f"{where} must begin with one of these {noun}s: {first}."
    elif rules.step is not None and not literal:
        opening = f"The first {noun} may be any {noun}."
    what, once = f"one {noun}, {rules.blocks[0]}", "used once"
    if len(rules.blocks) > 1:
        what, once = f"the {noun}s {summarize_numbers(rules.blocks)}", "each used once"
    tower = "a tower of your own" if is_own else "one shared tower"
    sentences: list[str] = []
    match rules.supply:
        case "own":
            sentences.append(f"You build {tower}, each player with {what}, {once}.")
        case "shared":
            sentences.append(f"You build {tower}, taking from one pool: {what}, {once}.")
        case "endless":
            sentences.append(f"You build {tower} from {what}, each as often as you like.")
    sentences += (
        describe_fit_rule(rules, noun, literal=literal),
        opening,
        _describe_goal(rules),
        _describe_stuck(rules, noun),
    )
    return tuple(filter(None, sentences))


_SUPPLIES = {
    "own": "your own {noun}s",
    "shared": "one pool of {noun}s",
    "endless": "as many {noun}s as you like",
}

_SHORT_FITS: dict[Fit, str] = {
    "any": "",
    "descending": ", never larger on smaller",
    "ascending": ", always upwards",
    "related": ", each a divisor or a multiple of the one beneath",
    "unrelated": ", never a divisor or a multiple of the one beneath",
}


def summarize_rules(rules: Rules, noun: str = "block") -> str:
    """Describe the rules in one sentence: what is built of what, what fits, and what wins."""
    is_own = rules.towers == "own"
    tower = "Your own tower" if is_own else "One shared tower"
    supply = _SUPPLIES[rules.supply].format(noun=noun)
    fit = _SHORT_FITS[rules.fit]
    if rules.step is not None:
        fit = f", climbing 1 to {rules.step} at a time"
    if rules.target is not None:
        goal = "be the first to reach exactly" if is_own else "bring it to exactly"
        goal = f"{goal} {rules.target}"
    elif rules.stuck == "loses":
        goal = "be the last to place"
    else:
        goal = "build the higher one" if is_own else "a draw when neither can place"
    return f"{tower}, {supply}{fit}: {goal}."


def describe_fit_rule(rules: Rules, noun: str = "block", *, literal: bool = False) -> str:
    """Describe which blocks may lie on which; `literal` as in `describe_rules`."""
    if rules.fit == "descending" and not literal and not _can_repeat(rules):
        return f"A {noun} may only go on a larger one."
    by = "" if rules.step is None else f", by at most {rules.step}"
    return f"{_FITS[rules.fit][1].format(noun=noun)}{by}."


def describe_goal(rules: Rules, noun: str = "block") -> str:
    """Describe what wins: reaching the target, or else what happens to a player who is stuck."""
    return _describe_goal(rules) or _describe_stuck(rules, noun)


def format_label(book: Rulebook, rules: Rules, *, hidden: bool = False) -> str:
    """Return a game's name with the options chosen, as in `draft (target 21, hidden)`."""
    options = [f"{key} {value}" for key, value in (book.find_options(rules) or {}).items()]
    if hidden:
        options.append("hidden")
    return f"{book.name} ({', '.join(options)})" if options else book.name


def describe_fit(rules: Rules, top: int, *, literal: bool = False) -> str:
    """Describe the blocks that fit on `top`, to follow "it must be".

    `literal` is as in `describe_rules`.
    """
    if top == EMPTY:
        return f"one of {summarize_numbers(rules.opening or rules.blocks)}"
    if rules.step is not None:
        return f"from {top + 1} to {top + rules.step}"
    if rules.fit == "descending" and not literal and not _can_repeat(rules):
        return f"below {top}"
    return _FITS[rules.fit][0].format(top=top)


def _can_repeat(rules: Rules) -> bool:
    """Say whether one tower can hold the same block twice."""
    return rules.supply == "endless" or (rules.supply, rules.towers) == ("own", "shared")


def _describe_goal(rules: Rules) -> str:
    if rules.target is None:
        return ""
    tower = "your tower" if rules.towers == "own" else "the tower"
    return f"Bring {tower} to a height of exactly {rules.target} to win at once; never pass it."


def _describe_stuck(rules: Rules, noun: str) -> str:
    if rules.stuck == "loses":
        end = "" if rules.target is not None else " The last to place wins."
        return f"If you cannot place a {noun} on your turn, you lose.{end}"
    end = "the game is a draw"
    if rules.towers == "own":
        end = "the higher tower wins, and level towers draw"
    return f"If you cannot place a {noun}, you skip; when neither can, {end}."


# A tower and a refused block ----------------------------------------------------------------------


def has_height(rules: Rules) -> bool:
    """Say whether a tower's height decides anything."""
    return rules.target is not None or (rules.stuck == "skips" and rules.towers == "own")


def describe_tower(position: Position, player: int) -> str:
    """Return a caption for a player's tower: its height if that matters here, or its top."""
    height, top = position.heights[player], position.tops[player]
    if position.rules.target is not None:
        return f"height {height} of {position.rules.target}"
    if position.rules.stuck == "skips":
        return f"height {height}"
    return f"top {top}" if top else "empty"


def describe_height(game: Game, player: int, tower: str) -> str:
    """Describe how high a tower is, or what is on its top: "your tower is 12 high, 3 to go"."""
    height, top = game.heights[player], game.position.tops[player]
    if game.rules.target is not None:
        return f"{tower} is {height} high, {game.rules.target - height} to go"
    if game.rules.stuck == "skips":
        return f"{tower} is {height} high"
    return f"the top of {tower} is {top}" if top else f"{tower} is empty"


def explain_refusal(game: Game, block: int, refusal: Refusal | Unplaceable) -> str:
    """Explain why a block cannot be placed, to follow "it" or "which"."""
    rules, top = game.rules, game.position.tops[game.to_move]
    match refusal:
        case "not_a_block":
            return f"{REFUSALS[refusal].clause}; the blocks are {summarize_numbers(rules.blocks)}"
        case "fit":
            fit = describe_fit(rules, top, literal=True)
            return f"{REFUSALS[refusal].clause} on {top}, where a block must be {fit}"
        case "target":
            height = game.heights[game.to_move] + block
            return f"would take the tower to {height}, past {rules.target}"
        case _:
            return REFUSALS[refusal].clause
