"""The deep search's inner loop: alpha-beta with a table of canonical positions, written so that it can be compiled.

Everything is a whole number, and as long as the rules allow it one below 2**62. Three sequences hold all there is:

- the book: the rules as numbers, and the tables that follow from them;
- the stack: the line of play from the root, one frame a position, seen by the player to move ("mine"; "yours"
  is the other player's), with how far its search has come, so that the search can stop and go on anywhere;
- the table: what is known of positions, in buckets of a few slots.

Scores are the mover's: `WON - plies` for a win, `plies` for a draw, `plies - WON` for a loss. A higher score is
always preferred: quick wins, long draws, slow losses. Values alone count no plies: then `STEP` is 0.

All of it is one file, however long, as `compiling` needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

# The book: rules, measures of keys and scores, and where each table begins; the table of fits begins at the end.
(
    BLOCKS, TARGET, SHARED_TOWERS, SUPPLY, SKIPS, ORDER, OPEN, LARGEST, EVERY, FIRST, GRADE, SPREAD,
    STEP, WON, DRAWN, MINE_BITS, YOURS_BITS, TOP_BITS, GAP_BITS, KEY_BITS, ENTRY_BITS, WORDS,
    SIZES, ROOMS, SUMS, MIRRORS, FITS,
) = range(27)  # fmt: skip
OWN, SHARED, ENDLESS = range(3)
ANY, FALLING, RISING, OTHER = range(4)

# A frame of the stack.
(
    MINE, YOURS, MY_HEIGHT, YOUR_HEIGHT, MY_TOP, YOUR_TOP, LEGAL, NEXT, BEST, ALPHA, BETA, FLOOR,
    KEY_1, KEY_2, TURNED, BORN,
) = range(16)  # fmt: skip
FRAME = 16

# The state of a run.
DEPTH, FRAMES, POSITIONS, STORED, BUCKETS, FULL, MODULUS, RESULT, DONE = range(9)

BUCKET = 4
PACKED, NARROW, WIDE = 1, 2, 3
"""The words that a slot takes: key and entry in one, in one each, or the key in two."""

EXACT, AT_LEAST, AT_MOST = 1, 2, 3
UNKNOWN = 1 << 40

_LOW = (1 << 62) - 1
_PRIME = (1 << 61) - 1
_MIX_1, _MIX_2, _MIX_3 = 0x1E3779B97F4A7C15, 0x2545F4914F6CDD1D, 0x1B873593CC9E2D51
_MOST_EFFORT = 15


def search(
    budget: int,
    book: Sequence[int],
    stack: MutableSequence[int],
    table: MutableSequence[int],
    run: MutableSequence[int],
) -> None:
    """Continue a search until it is done, or the stack or the table has to grow, or the budget is spent.

    The budget is a number of new positions, and eight times as many moves. Where a call stops has no influence on
    the search: the next call goes on with the same state.
    """
    step, drawn = book[STEP], book[DRAWN]
    last, tries = run[POSITIONS] + budget, 8 * budget
    depth = run[DEPTH]
    while run[POSITIONS] < last and run[STORED] < run[FULL] and tries > 0 and depth + 1 < run[FRAMES]:
        tries -= 1
        frame = depth * FRAME
        if stack[frame + LEGAL] == 0 or stack[frame + BEST] >= stack[frame + BETA]:
            score = finish_position(book, stack, frame, table, run)
            if depth == 0:
                run[RESULT] = score
                run[DONE] = 1
                return
            depth -= 1
        else:
            score = place_block(choose_block(book, stack, frame), book, stack, frame)
            frame += FRAME
            if score == UNKNOWN:
                score = look_ahead(book, stack, frame)
            if score == UNKNOWN:
                score = set_key(book, stack, frame)
            if score == UNKNOWN:
                set_window(step, drawn, stack, frame)
                score = probe_table(book, stack, frame, table, run[BUCKETS])
            if score == UNKNOWN:
                run[POSITIONS] += 1
                stack[frame + BORN] = run[POSITIONS]
                if run[MODULUS] > 0:
                    prefer_multiple(run[MODULUS], book, stack, frame)
                depth += 1
                continue
        score = back_up_score(score, stack[frame + TURNED], step, drawn)
        frame -= FRAME
        if score > stack[frame + BEST]:
            stack[frame + BEST] = score
            stack[frame + ALPHA] = max(stack[frame + ALPHA], score)
    run[DEPTH] = depth


# A move ----------------------------------------------------------------------------------------------------------


def choose_block(book: Sequence[int], stack: MutableSequence[int], frame: int) -> int:
    """Return the next block to try: the preferred one if there is one, then the highest first."""
    block, legal = stack[frame + NEXT], stack[frame + LEGAL]
    if block >= book[BLOCKS]:
        block -= book[BLOCKS]
        stack[frame + NEXT] = book[BLOCKS] - 1
    else:
        while not legal >> block & 1:
            block -= 1
        stack[frame + NEXT] = block
    stack[frame + LEGAL] = legal & ~(1 << block)
    return block


def prefer_multiple(modulus: int, book: Sequence[int], stack: MutableSequence[int], frame: int) -> None:
    """Let the first block to try be one that leaves a multiple of some number, as whoever answers in pairs would."""
    rest = (book[TARGET] - stack[frame + MY_HEIGHT]) % modulus
    block = stack[frame + LEGAL] & find_exact_block(book[TARGET] - rest, book)
    if block:
        rank = 0
        while not block >> rank & 1:
            rank += 1
        stack[frame + NEXT] = book[BLOCKS] + rank


def place_block(block: int, book: Sequence[int], stack: MutableSequence[int], frame: int) -> int:
    """Make the frame of the position after a move; return its score if the game is over there."""
    after = frame + FRAME
    supply, won = book[SUPPLY], book[WON]
    mine, yours = stack[frame + MINE], stack[frame + YOURS]
    if supply != ENDLESS:
        mine &= ~(1 << block)
    if supply == SHARED:
        yours = mine
    height, top = stack[frame + MY_HEIGHT] + book[book[SIZES] + block], block + 1
    your_height, your_top = height, top
    if book[SHARED_TOWERS] == 0:
        your_height, your_top = stack[frame + YOUR_HEIGHT], stack[frame + YOUR_TOP]
    stack[after + TURNED] = 1
    if height == book[TARGET]:
        return -won
    legal = yours & book[FITS + your_top] & room(your_height, book)
    if legal == 0:
        if book[SKIPS] == 0:
            return -won
        legal = mine & book[FITS + top] & room(height, book)
        if legal == 0:
            return 0 if your_height == height else won if your_height > height else -won
        stack[after + TURNED] = 0
        mine, yours = yours, mine
        height, your_height = your_height, height
        top, your_top = your_top, top
    stack[after + MINE], stack[after + YOURS] = yours, mine
    stack[after + MY_HEIGHT], stack[after + YOUR_HEIGHT] = your_height, height
    stack[after + MY_TOP], stack[after + YOUR_TOP] = your_top, top
    stack[after + LEGAL], stack[after + NEXT] = legal, book[BLOCKS] - 1
    stack[after + BEST] = -UNKNOWN
    return UNKNOWN


def room(height: int, book: Sequence[int]) -> int:
    """Return the blocks that keep a tower of this height within the target."""
    gap = book[TARGET] - height
    if book[TARGET] < 0 or gap >= book[LARGEST]:
        return book[EVERY]
    if gap <= 0:
        return 0
    if book[ROOMS] > 0:
        return book[book[ROOMS] + gap]
    low, high = 0, book[BLOCKS]
    while low < high:
        middle = (low + high) // 2
        if book[book[SIZES] + middle] <= gap:
            low = middle + 1
        else:
            high = middle
    return (1 << low) - 1


def back_up_score(score: int, turned: int, step: int, drawn: int) -> int:
    """Return a score as the player before sees it, a ply further from the end."""
    if score < 0:
        return -score - step if turned else score + step
    if score > drawn:
        return step - score if turned else score - step
    return score + step


def set_window(step: int, drawn: int, stack: MutableSequence[int], frame: int) -> None:
    """Set the window of a position: outside it, its score makes no difference to the position before.

    Both players like a long draw, so that the bounds never lie among draws when the turn has passed.
    """
    alpha, beta = stack[frame - FRAME + ALPHA], stack[frame - FRAME + BETA]
    if stack[frame + TURNED]:
        low = -beta - step if beta > drawn else step - beta
        high = max(step - alpha, drawn + 1) if alpha <= drawn else -alpha - step
    else:
        low = alpha + step if alpha > drawn else alpha - step
        high = beta + step if beta > drawn else beta - step
    stack[frame + ALPHA] = stack[frame + FLOOR] = low
    stack[frame + BETA] = high


# A few plies ahead -----------------------------------------------------------------------------------------------


def look_ahead(book: Sequence[int], stack: MutableSequence[int], frame: int) -> int:
    """Return the score if the target decides within three plies; leave moves that lose at once out of the search."""
    if book[TARGET] < 0:
        return UNKNOWN
    step, won, legal = book[STEP], book[WON], stack[frame + LEGAL]
    if legal & find_exact_block(stack[frame + MY_HEIGHT], book):
        return won - step
    losing = find_losing_moves(book, stack, frame)
    if losing:
        legal &= ~losing
        stack[frame + LEGAL] = legal
        stack[frame + BEST] = 2 * step - won
        if legal == 0:
            return 2 * step - won
    if book[GRADE] > 0 and book[SUPPLY] == OWN and book[SKIPS] == 0:
        plies = count_plies_to_crush(book, stack, frame)
        if plies > 0:
            return won - plies * step
    return UNKNOWN


def find_exact_block(height: int, book: Sequence[int]) -> int:
    """Return the block that would bring a tower of this height to the target, if there is one."""
    gap = book[TARGET] - height
    if gap < 1 or gap > book[LARGEST]:
        return 0
    return room(height, book) & ~room(height + 1, book)


def find_losing_moves(book: Sequence[int], stack: Sequence[int], frame: int) -> int:
    """Return the legal moves after which the other player can reach the target at once."""
    legal, yours, height = stack[frame + LEGAL], stack[frame + YOURS], stack[frame + MY_HEIGHT]
    if book[SHARED_TOWERS] == 0:
        threat = find_exact_block(stack[frame + YOUR_HEIGHT], book) & yours & book[FITS + stack[frame + YOUR_TOP]]
        if threat == 0:
            return 0
        return legal & ~threat if book[SUPPLY] == SHARED else legal
    gap = book[TARGET] - height
    if gap > 2 * book[LARGEST]:
        return 0
    once = book[SUPPLY] == SHARED
    found = 0
    if book[GRADE] > 0:
        found = legal & find_partners(mirror_mask(yours, book), find_rank_sum(gap, book), book)
        return found & ~find_exact_block(height + gap // 2, book) if once and gap % 2 == 0 else found
    for block in range(book[BLOCKS]):
        if legal >> block & 1:
            left = yours & ~(1 << block) if once else yours
            if find_exact_block(height + book[book[SIZES] + block], book) & left & book[FITS + block + 1]:
                found |= 1 << block
    return found


def count_plies_to_crush(book: Sequence[int], stack: Sequence[int], frame: int) -> int:
    """Return the plies of a win that leaves the other player stuck, or with nothing but moves that lose at once.

    This is for own blocks in equal steps, of which any may lie on one tower; 0 means that there is no such win.
    To be crushed in the end, all of the other's blocks must be answered by one that reaches the target: so even
    with their smallest block and my largest, the target must not be out of reach.
    """
    legal, mine, yours, height = (
        stack[frame + LEGAL], stack[frame + MINE], stack[frame + YOURS], stack[frame + MY_HEIGHT],
    )  # fmt: skip
    if yours == 0:
        return 1
    least = 0
    while not yours >> least & 1:
        least += 1
    needed = book[TARGET] - height - book[LARGEST] - book[book[SIZES] + least]
    if needed > book[LARGEST]:
        return 0
    mirrored = mirror_mask(mine, book)
    ranks = find_rank_sum(book[TARGET] - height - book[FIRST], book)
    last = block = book[BLOCKS] - 1
    plies = 0
    while block >= 0 and book[book[SIZES] + block] >= needed:
        if legal >> block & 1:
            replies = yours & room(height + book[book[SIZES] + block], book)
            if replies == 0:
                return 1
            if replies & ~find_partners(mirrored & ~(1 << (last - block)), ranks - block, book) == 0:
                plies = 3
        block -= 1
    return plies


def mirror_mask(mask: int, book: Sequence[int]) -> int:
    """Return a mask with its blocks in reverse order, eight at a time."""
    mirrored = 0
    shift = book[BLOCKS] - 8
    while mask > 0:
        piece = book[book[MIRRORS] + (mask & 255)]
        mirrored |= piece << shift if shift >= 0 else piece >> -shift
        mask >>= 8
        shift -= 8
    return mirrored


def find_rank_sum(gap: int, book: Sequence[int]) -> int:
    """Return what the ranks of two blocks in equal steps add up to if the blocks add up to a gap; -1 if none do."""
    steps = gap - 2 * book[FIRST]
    if book[GRADE] == 1:
        return max(steps, -1)
    return steps // book[GRADE] if steps >= 0 and steps % book[GRADE] == 0 else -1


def find_partners(mirrored: int, ranks: int, book: Sequence[int]) -> int:
    """Return the blocks whose rank adds up to a number with the rank of some block of a mirrored mask."""
    shift = ranks - book[BLOCKS] + 1
    if ranks < 0 or shift >= book[BLOCKS]:
        return 0
    return mirrored << shift if shift > 0 else mirrored >> -shift


# The canonical name of a position --------------------------------------------------------------------------------


def set_key(book: Sequence[int], stack: MutableSequence[int], frame: int) -> int:
    """Give a position its key, the same for all positions from which the same can happen; or return a certain score."""
    score = set_one_tower_key(book, stack, frame) if book[SHARED_TOWERS] else set_two_tower_key(book, stack, frame)
    if book[WORDS] != WIDE:
        stack[frame + KEY_1] |= stack[frame + KEY_2] << book[KEY_BITS]
        stack[frame + KEY_2] = 0
    return score


def set_one_tower_key(book: Sequence[int], stack: MutableSequence[int], frame: int) -> int:
    """Name a position with one tower: the blocks that can still come to lie on it, its top, and the gap."""
    mine, yours = stack[frame + MINE], stack[frame + YOURS]
    height, top = stack[frame + MY_HEIGHT], stack[frame + MY_TOP]
    supply = book[SUPPLY]
    alive = find_live_blocks((mine | yours) & room(height, book), top, book)
    mine &= alive
    yours &= alive
    gap = 0
    if book[TARGET] >= 0:
        gap = book[TARGET] - height
        if supply != ENDLESS and sum_blocks(mine, book) + (sum_blocks(yours, book) if supply == OWN else 0) < gap:
            gap = 0
    key_1 = find_canonical_top(alive, top, book) << book[MINE_BITS]
    key_2 = gap << book[YOURS_BITS]
    stack[frame + KEY_1] = key_1 if supply == ENDLESS else key_1 | mine
    stack[frame + KEY_2] = key_2 | yours if supply == OWN else key_2
    return 0 if gap == 0 and book[SKIPS] == 1 and book[STEP] == 0 else UNKNOWN


def set_two_tower_key(book: Sequence[int], stack: MutableSequence[int], frame: int) -> int:
    """Name a position with two towers: what can still come to lie on each, their tops, and their gaps or difference."""
    supply, target = book[SUPPLY], book[TARGET]
    height, your_height = stack[frame + MY_HEIGHT], stack[frame + YOUR_HEIGHT]
    mine = find_live_blocks(stack[frame + MINE] & room(height, book), stack[frame + MY_TOP], book)
    yours = find_live_blocks(stack[frame + YOURS] & room(your_height, book), stack[frame + YOUR_TOP], book)
    most, your_most = sum_blocks(mine, book), sum_blocks(yours, book)
    common = sum_blocks(mine | yours, book) if supply == SHARED and book[ORDER] != FALLING else 0
    gap = your_gap = 0
    if target >= 0 and (supply == ENDLESS or max(most, common) >= target - height):
        gap = target - height
    if target >= 0 and (supply == ENDLESS or max(your_most, common) >= target - your_height):
        your_gap = target - your_height
    score = UNKNOWN
    if book[SKIPS] == 1:
        if book[STEP] == 0 and your_gap == 0 and height > your_height + your_most:
            score = book[WON]
        elif book[STEP] == 0 and gap == 0 and your_height > height + most:
            score = -book[WON]
        if gap + your_gap == 0:
            your_gap = height - your_height + book[SPREAD]
        else:
            gap, your_gap = target - height, target - your_height
    tops = (
        find_canonical_top(mine, stack[frame + MY_TOP], book)
        | find_canonical_top(yours, stack[frame + YOUR_TOP], book) << book[TOP_BITS]
    )
    key_1 = tops << book[MINE_BITS]
    key_2 = (gap | your_gap << book[GAP_BITS]) << book[YOURS_BITS]
    if supply == SHARED:
        key_1 |= mine | yours
    elif supply == OWN:
        key_1 |= mine
        key_2 |= yours
    stack[frame + KEY_1], stack[frame + KEY_2] = key_1, key_2
    return score


def find_live_blocks(within: int, top: int, book: Sequence[int]) -> int:
    """Return the blocks of a mask that could still come to lie on a tower, one upon the other."""
    reached = within & book[FITS + top]
    if book[ORDER] != OTHER and (top > 0 or book[OPEN] == 1):
        return reached
    new = reached
    while new > 0:
        onto = block = 0
        while new > 0:
            if new & 1:
                onto |= book[FITS + block + 1]
            new >>= 1
            block += 1
        new = within & onto & ~reached
        reached |= new
    return reached


def find_canonical_top(alive: int, top: int, book: Sequence[int]) -> int:
    """Return the canonical top: of two tops on which the same can still happen, always the same one."""
    if alive == 0:
        return 0
    if top == 0 and (book[OPEN] == 0 or book[ORDER] == OTHER):
        return book[BLOCKS] + 1
    if book[ORDER] == ANY:
        return 0
    if book[ORDER] == FALLING:
        top = book[BLOCKS] if top == 0 else top
        while not alive >> (top - 1) & 1:
            top -= 1
    elif book[ORDER] == RISING:
        top = 1
        while not alive >> (top - 1) & 1:
            top += 1
    return top


def sum_blocks(mask: int, book: Sequence[int]) -> int:
    """Add up the blocks of a mask, eight at a time."""
    added = 0
    chunk = book[SUMS]
    while mask > 0:
        added += book[chunk + (mask & 255)]
        mask >>= 8
        chunk += 256
    return added


# The table -------------------------------------------------------------------------------------------------------


def finish_position(
    book: Sequence[int], stack: Sequence[int], frame: int, table: MutableSequence[int], run: MutableSequence[int]
) -> int:
    """Keep and return the score of a position whose moves have all been looked at, or enough of them.

    A bound that lies among draws says no more than that: how long they are was not asked for.
    """
    score, drawn = stack[frame + BEST], book[DRAWN]
    bound = EXACT
    if score >= stack[frame + BETA] and score < book[WON] - book[STEP]:
        bound = AT_LEAST
        if 0 <= score <= drawn:
            score = 0
    elif score <= stack[frame + FLOOR]:
        bound = AT_MOST
        if 0 <= score <= drawn < stack[frame + FLOOR]:
            score = drawn - 1
    work = run[POSITIONS] - stack[frame + BORN]
    effort = 0
    while work > 0 and effort < _MOST_EFFORT:
        work >>= 1
        effort += 1
    entry = ((score + book[WON]) << 6) | (effort << 2) | bound
    run[STORED] += store_entry(stack[frame + KEY_1], stack[frame + KEY_2], entry, book, table, run[BUCKETS])
    return score


def probe_table(book: Sequence[int], stack: Sequence[int], frame: int, table: Sequence[int], buckets: int) -> int:
    """Return the score of a position if the table knows it, or knows enough for the window."""
    entry = find_entry(stack[frame + KEY_1], stack[frame + KEY_2], book, table, buckets)
    bound = entry & 3
    score = (entry >> 6) - book[WON]
    if (
        bound == EXACT
        or (bound == AT_LEAST and score >= stack[frame + BETA])
        or (bound == AT_MOST and score <= stack[frame + FLOOR])
    ):
        return score
    return UNKNOWN


def find_entry(key_1: int, key_2: int, book: Sequence[int], table: Sequence[int], buckets: int) -> int:
    """Return the entry of a position; 0 if there is none."""
    words = book[WORDS]
    at = hash_key(key_1, key_2, buckets) * BUCKET * words
    for _ in range(BUCKET):
        if words == PACKED:
            if table[at] >> book[ENTRY_BITS] == key_1:
                return table[at] & ((1 << book[ENTRY_BITS]) - 1)
        elif table[at] == key_1 and table[at + 1] != 0 and (words == NARROW or table[at + 2] == key_2):
            return table[at + 1]
        at += words
    return 0


def store_entry(
    key_1: int, key_2: int, entry: int, book: Sequence[int], table: MutableSequence[int], buckets: int
) -> int:  # fmt: skip
    """Put an entry into its bucket, in the place of the least work if it is full; return how many were added."""
    words = book[WORDS]
    at = hash_key(key_1, key_2, buckets) * BUCKET * words
    chosen, least, added = at, 1 << 6, 0
    for _ in range(BUCKET):
        kept = table[at] if words == PACKED else table[at + 1]
        same = table[at] >> book[ENTRY_BITS] == key_1 if words == PACKED else table[at] == key_1
        if words == WIDE:
            same = same and table[at + 2] == key_2
        if kept == 0 or same:
            chosen, added = at, 1 if kept == 0 else 0
            break
        if kept & 63 < least:
            chosen, least = at, kept & 63
        at += words
    if words == PACKED:
        table[chosen] = key_1 << book[ENTRY_BITS] | entry
    else:
        table[chosen], table[chosen + 1] = key_1, entry
    if words == WIDE:
        table[chosen + 2] = key_2
    return added


def hash_key(key_1: int, key_2: int, buckets: int) -> int:
    """Return the bucket of a position."""
    mixed = ((key_1 % _PRIME * _MIX_1) ^ (key_2 % _PRIME * _MIX_2)) & _LOW
    mixed = ((mixed ^ (mixed >> 29)) * _MIX_3) & _LOW
    return (mixed >> 31) * buckets >> 31


def rehash(old: Sequence[int], book: Sequence[int], table: MutableSequence[int], buckets: int) -> int:
    """Move all entries into a larger table; return how many there are."""
    words, low = book[WORDS], (1 << book[ENTRY_BITS]) - 1
    moved = 0
    for at in range(0, len(old), words):
        if words == PACKED and old[at] != 0:
            moved += store_entry(old[at] >> book[ENTRY_BITS], 0, old[at] & low, book, table, buckets)
        elif words != PACKED and old[at + 1] != 0:
            moved += store_entry(old[at], old[at + 2] if words == WIDE else 0, old[at + 1], book, table, buckets)
    return moved
