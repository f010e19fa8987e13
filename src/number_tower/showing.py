"""What came from outside, fit to be shown: cut short, and with nothing in it that a terminal would act on."""

from __future__ import annotations


def shown(value: object, most: int = 60) -> str:
    """Show a value as it would be written, so that text stands in quotes."""
    try:
        return _cut(ascii(value), most)
    except (ValueError, RecursionError):
        return "something too long to be shown"


def shown_text(text: str, most: int = 200) -> str:
    """Show text without quotes."""
    return _cut(text if text.isprintable() else ascii(text)[1:-1], most)


def shown_path(path: str, most: int = 200) -> str:
    """Show a file's name, whole where it can be and from its end where it cannot."""
    text = path if path.isprintable() else ascii(path)[1:-1]
    return text if len(text) <= most else "..." + text[3 - most :]


def shown_argument(argument: str) -> str:
    """Show an argument as a shell takes it; one with characters that a terminal would act on is written in escapes."""
    if argument.isprintable():
        from shlex import quote  # noqa: PLC0415 - the first prompt needs none

        return quote(argument)
    return f"$'{''.join(map(_escape, argument))}'"


def _escape(character: str) -> str:
    """Write a character as it stands between $' and ' in bash, zsh and ksh."""
    if character in {"'", "\\"}:
        return f"\\{character}"
    if character.isprintable():
        return character
    if "\udc80" <= character <= "\udcff":  # a byte of a file's name that is no text
        return f"\\x{ord(character) - 0xDC00:02x}"
    return f"\\x{ord(character):02x}" if character < "\x80" else f"\\U{ord(character):08x}"


def printable(text: str) -> str:
    """Return text with every character escaped that a terminal would act on, but for the ends of its lines."""
    return "\n".join(line if line.isprintable() else ascii(line)[1:-1] for line in text.split("\n"))


def sentence(text: str) -> str:
    """Make a sentence of what an error says, so that it can stand alone."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def plural(noun: str, count: float) -> str:
    """Return a noun in the form that goes with a number: 1 move, 2 moves."""
    return noun if count == 1 else f"{noun}s"


def format_count(count: int, noun: str) -> str:
    """Write how many there are of something: 1 move, 2,000 moves."""
    return f"{count:,} {plural(noun, count)}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
