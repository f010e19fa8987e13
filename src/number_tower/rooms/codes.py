"""Short codes that people read from a screen and type: five characters that are hard to confuse."""

from __future__ import annotations

import re
from random import Random

from number_tower.support.errors import NumberTowerError

ALPHABET = "CDFGHJKMNPRTWX3479"
"""Letters and digits that do not look alike, without vowels, so that codes are not words."""

LENGTH = 5

PERSONAL_LENGTH = 8
"""Characters of a code that lets a pupil continue on another device: too many to guess in time."""

_LOOK_ALIKES = str.maketrans({"0": "D", "O": "D", "Q": "D", "6": "G", "A": "4", "E": "3"})
"""Characters that no code has, each with the one that it was most likely meant to be."""

_SEPARATORS = re.compile(r"[\s._\u2010-\u2015-]+")

RUDE_PARTS = (
    "C4C4", "C4K", "CCK", "CNT", "CR4P", "CXK", "D34D", "D34TH", "D4MN", "DCK", "DMN", "DTH", "F4G",
    "F4RT", "F4T", "FCK", "FGG", "FGT", "FKC", "FKK", "FKN", "FKR", "FRK", "FRT", "FTT", "FXK",
    "GTF", "H3RP", "H4RM", "H4T3", "HRN", "J3RK", "J3W", "J4P", "JRK", "K4C", "K4K", "KCK", "KKK",
    "KNT", "KR4P", "M3RD", "M3TH", "MRD", "MTF", "N3G", "NGG", "NGR", "NKR", "P33", "P4K", "PHK",
    "PRCK", "PRN", "PTN", "R3T4RD", "R4P", "RPT", "T4RD", "TRD", "TW4T", "TWT", "W33", "W4NK",
    "WNK", "WTF", "XTC", "XXX",
)  # fmt: skip
"""Parts that can be read as rude words, with 3 as E and 4 as A; no code contains one."""

_is_rude = re.compile("|".join(RUDE_PARTS)).search


class CodeError(NumberTowerError, ValueError):
    """Text that cannot be a short code, and what one looks like."""

    reason = "bad_code"


def make_code(random: Random, length: int = LENGTH) -> str:
    """Make a code that cannot be read as a rude word."""
    while True:
        code = "".join(random.choices(ALPHABET, k=length))
        if not _is_rude(code):
            return code


def normalize_code(text: str, length: int = LENGTH) -> str:
    """Return a code as it was made from how a person typed it.

    Case, spaces and dashes do not matter. A character that no code has counts as the one that it
    looks like.
    """
    code = _SEPARATORS.sub("", text.strip()).upper().translate(_LOOK_ALIKES)
    if len(code) != length:
        raise CodeError(
            f"a code has {length} letters or digits, such as {ALPHABET[-length - 2 : -2]}"
        )
    if unknown := sorted(set(code) - set(ALPHABET)):
        raise CodeError(f"no code contains {unknown[0]}; please look at the code again")
    return code
