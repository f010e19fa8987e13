"""The inner loop of the deep search: alpha-beta in functions that Numba can compile.

All data are integers, below 2**62 where the rules allow it, in four sequences:

- `rules`: the rules as numbers, followed by tables (made by `deep`);
- `stack`: the line of play from the root, one frame for each position, as the player to move sees
  it ("mine" and "yours"), with the progress of its search, so that a search can stop and continue
  anywhere;
- `table`: scores of positions, in buckets of a few slots;
- `state`: counters of the search.

Scores are for the player to move: `WIN - plies` for a win, `plies` for a draw, `plies - WIN` for a
loss. The higher score is always preferred: quick wins, long draws, slow losses. A search for values
alone counts no plies: `PLY` is 0.

This is one long file because Numba's cache only notices changes of the file that a function is in
(see `jit`), and because the functions share the constants below.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

Numbers = Sequence[int]
Memory = MutableSequence[int]

# Places in `rules`: the rules, the sizes of scores and keys, and where each table starts. The table
# of fits is last.
(
    BLOCK_COUNT, TARGET, SHARED_TOWERS, SUPPLY, SKIPS, FIT, ANY_OPENING, LARGEST, ALL_BLOCKS,
    SMALLEST, BLOCK_STEP, HEIGHT_OFFSET, PLY, WIN, MAX_DRAW, MINE_BITS, YOURS_BITS, TOP_BITS,
    GAP_BITS, TOPS_LAST, KEY_BITS, ENTRY_BITS, SLOT_WORDS, SIZE_TABLE, ROOM_TABLE, SUM_TABLE,
    MIRROR_TABLE, FIT_TABLE,
) = range(28)  # fmt: skip
OWN, SHARED, ENDLESS = range(3)
ANY, DESCENDING, ASCENDING, OTHER = range(4)

# Places in a frame of the stack. TURN_PASSED is 1 if the other player made the move before.
(
    MINE, YOURS, MY_HEIGHT, YOUR_HEIGHT, MY_TOP, YOUR_TOP, LEGAL, NEXT_BLOCK, BEST, ALPHA, BETA,
    FIRST_ALPHA, KEY_1, KEY_2, TURN_PASSED, POSITIONS_BEFORE,
) = range(16)  # fmt: skip
FRAME_SIZE = 16

# Places in the state of a search.
DEPTH, MAX_FRAMES, POSITIONS, STORED, BUCKETS, FILL_LIMIT, MODULUS, RESULT, DONE = range(9)

BUCKET_SLOTS = 4
PACKED, NARROW, WIDE = 1, 2, 3
"""Words of a slot: key and entry in one; in one each; or the key in two."""

EXACT, AT_LEAST, AT_MOST = 1, 2, 3
UNKNOWN = 1 << 40

_WORD_MASK = (1 << 62) - 1
_PRIME = (1 << 61) - 1
_MIX_1, _MIX_2, _MIX_3 = 0x1E3779B97F4A7C15, 0x2545F4914F6CDD1D, 0x1B873593CC9E2D51
_MAX_EFFORT = 15


def search(budget: int, rules: Numbers, stack: Memory, table: Memory, state: Memory) -> None:
    """Continue a search until it is done, stack or table are full, or the budget is spent.

    The budget is a number of new positions, and eight times as many moves. Where a call stops does
    not change what is searched: the next call continues with the same state.
    """
    ply, max_draw = rules[PLY], rules[MAX_DRAW]
    last, tries = state[POSITIONS] + budget, 8 * budget
    depth = state[DEPTH]
    while (
        state[POSITIONS] < last
        and state[STORED] < state[FILL_LIMIT]
        and tries > 0
        and depth + 1 < state[MAX_FRAMES]
    ):
        tries -= 1
        frame = depth * FRAME_SIZE
        if stack[frame + LEGAL] == 0 or stack[frame + BEST] >= stack[frame + BETA]:
            score = finish_position(rules, stack, frame, table, state)
            if depth == 0:
                state[RESULT] = score
                state[DONE] = 1
                return
            depth -= 1
        else:
            score = place_block(choose_block(rules, stack, frame), rules, stack, frame)
            frame += FRAME_SIZE
            if score == UNKNOWN:
                score = look_ahead(rules, stack, frame)
            if score == UNKNOWN:
                score = set_key(rules, stack, frame)
            if score == UNKNOWN:
                set_window(ply, max_draw, stack, frame)
                score = probe_table(rules, stack, frame, table, state[BUCKETS])
            if score == UNKNOWN:
                state[POSITIONS] += 1
                stack[frame + POSITIONS_BEFORE] = state[POSITIONS]
                if state[MODULUS] > 0:
                    prefer_multiple(state[MODULUS], rules, stack, frame)
                depth += 1
                continue
        score = back_up_score(score, stack[frame + TURN_PASSED], ply, max_draw)
        frame -= FRAME_SIZE
        if score > stack[frame + BEST]:
            stack[frame + BEST] = score
            stack[frame + ALPHA] = max(stack[frame + ALPHA], score)
    state[DEPTH] = depth


# Moves --------------------------------------------------------------------------------------------


def choose_block(rules: Numbers, stack: Memory, frame: int) -> int:
    """Return the next block to try: the preferred one, then from the highest down."""
    block, legal = stack[frame + NEXT_BLOCK], stack[frame + LEGAL]
    if block >= rules[BLOCK_COUNT]:
        block -= rules[BLOCK_COUNT]
        stack[frame + NEXT_BLOCK] = rules[BLOCK_COUNT] - 1
    else:
        while not legal >> block & 1:
            block -= 1
        stack[frame + NEXT_BLOCK] = block
    stack[frame + LEGAL] = legal & ~(1 << block)
    return block


def prefer_multiple(modulus: int, rules: Numbers, stack: Memory, frame: int) -> None:
    """Try first the block that leaves a multiple of the modulus, as answering in pairs does."""
    rest = (rules[TARGET] - stack[frame + MY_HEIGHT]) % modulus
    block = stack[frame + LEGAL] & find_exact_block(rules[TARGET] - rest, rules)
    if block:
        rank = 0
        while not block >> rank & 1:
            rank += 1
        stack[frame + NEXT_BLOCK] = rules[BLOCK_COUNT] + rank


def place_block(block: int, rules: Numbers, stack: Memory, frame: int) -> int:
    """Write the frame of the position after a move.

    Return its score if the game is over, else `UNKNOWN`.
    """
    after = frame + FRAME_SIZE
    supply, win = rules[SUPPLY], rules[WIN]
    mine, yours = stack[frame + MINE], stack[frame + YOURS]
    if supply != ENDLESS:
        mine &= ~(1 << block)
    if supply == SHARED:
        yours = mine
    height, top = stack[frame + MY_HEIGHT] + rules[rules[SIZE_TABLE] + block], block + 1
    your_height, your_top = height, top
    if rules[SHARED_TOWERS] == 0:
        your_height, your_top = stack[frame + YOUR_HEIGHT], stack[frame + YOUR_TOP]
    stack[after + TURN_PASSED] = 1
    if height == rules[TARGET]:
        return -win
    legal = yours & rules[FIT_TABLE + your_top] & room(your_height, rules)
    if legal == 0:
        if rules[SKIPS] == 0:
            return -win
        legal = mine & rules[FIT_TABLE + top] & room(height, rules)
        if legal == 0:
            return 0 if your_height == height else win if your_height > height else -win
        stack[after + TURN_PASSED] = 0
        mine, yours = yours, mine
        height, your_height = your_height, height
        top, your_top = your_top, top
    stack[after + MINE], stack[after + YOURS] = yours, mine
    stack[after + MY_HEIGHT], stack[after + YOUR_HEIGHT] = your_height, height
    stack[after + MY_TOP], stack[after + YOUR_TOP] = your_top, top
    stack[after + LEGAL], stack[after + NEXT_BLOCK] = legal, rules[BLOCK_COUNT] - 1
    stack[after + BEST] = -UNKNOWN
    return UNKNOWN


def room(height: int, rules: Numbers) -> int:
    """Return the blocks that keep a tower of this height within the target."""
    gap = rules[TARGET] - height
    if rules[TARGET] < 0 or gap >= rules[LARGEST]:
        return rules[ALL_BLOCKS]
    if gap <= 0:
        return 0
    if rules[ROOM_TABLE] > 0:
        return rules[rules[ROOM_TABLE] + gap]
    low, high = 0, rules[BLOCK_COUNT]
    while low < high:
        middle = (low + high) // 2
        if rules[rules[SIZE_TABLE] + middle] <= gap:
            low = middle + 1
        else:
            high = middle
    return (1 << low) - 1


def back_up_score(score: int, turn_passed: int, ply: int, max_draw: int) -> int:
    """Return a score for the player who made the move before, one ply further from the end."""
    if score < 0:
        return -score - ply if turn_passed else score + ply
    if score > max_draw:
        return ply - score if turn_passed else score - ply
    return score + ply


def set_window(ply: int, max_draw: int, stack: Memory, frame: int) -> None:
    """Set the alpha-beta window of a position from that of the position before.

    Both players prefer a long draw, so after the turn has passed no bound may lie among the draws.
    """
    alpha, beta = stack[frame - FRAME_SIZE + ALPHA], stack[frame - FRAME_SIZE + BETA]
    if stack[frame + TURN_PASSED]:
        low = -beta - ply if beta > max_draw else ply - beta
        high = max(ply - alpha, max_draw + 1) if alpha <= max_draw else -alpha - ply
    else:
        low = alpha + ply if alpha > max_draw else alpha - ply
        high = beta + ply if beta > max_draw else beta - ply
    stack[frame + ALPHA] = stack[frame + FIRST_ALPHA] = low
    stack[frame + BETA] = high


# Look-ahead ---------------------------------------------------------------------------------------


def look_ahead(rules: Numbers, stack: Memory, frame: int) -> int:
    """Return the score if the target decides within three plies.

    Drop moves that lose at once from the legal ones.
    """
    if rules[TARGET] < 0:
        return UNKNOWN
    ply, win, legal = rules[PLY], rules[WIN], stack[frame + LEGAL]
    if legal & find_exact_block(stack[frame + MY_HEIGHT], rules):
        return win - ply
    losing = find_losing_moves(rules, stack, frame)
    if losing:
        legal &= ~losing
        stack[frame + LEGAL] = legal
        stack[frame + BEST] = 2 * ply - win
        if legal == 0:
            return 2 * ply - win
    if rules[BLOCK_STEP] > 0 and rules[SUPPLY] == OWN and rules[SKIPS] == 0:
        plies = count_plies_to_crush(rules, stack, frame)
        if plies > 0:
            return win - plies * ply
    return UNKNOWN


def find_exact_block(height: int, rules: Numbers) -> int:
    """Return the block that brings a tower of this height to the target; 0 if there is none."""
    gap = rules[TARGET] - height
    if gap < 1 or gap > rules[LARGEST]:
        return 0
    return room(height, rules) & ~room(height + 1, rules)


def find_losing_moves(rules: Numbers, stack: Numbers, frame: int) -> int:
    """Return the legal moves after which the other player can reach the target at once."""
    legal, yours, height = stack[frame + LEGAL], stack[frame + YOURS], stack[frame + MY_HEIGHT]
    if rules[SHARED_TOWERS] == 0:
        threat = (
            find_exact_block(stack[frame + YOUR_HEIGHT], rules)
            & yours
            & rules[FIT_TABLE + stack[frame + YOUR_TOP]]
        )
        if threat == 0:
            return 0
        return legal & ~threat if rules[SUPPLY] == SHARED else legal
    gap = rules[TARGET] - height
    if gap > 2 * rules[LARGEST]:
        return 0
    once = rules[SUPPLY] == SHARED
    losing = 0
    if rules[BLOCK_STEP] > 0:
        losing = legal & find_partners(mirror_mask(yours, rules), find_rank_sum(gap, rules), rules)
        return (
            losing & ~find_exact_block(height + gap // 2, rules)
            if once and gap % 2 == 0
            else losing
        )
    for block in range(rules[BLOCK_COUNT]):
        if legal >> block & 1:
            left = yours & ~(1 << block) if once else yours
            if (
                find_exact_block(height + rules[rules[SIZE_TABLE] + block], rules)
                & left
                & rules[FIT_TABLE + block + 1]
            ):
                losing |= 1 << block
    return losing


def count_plies_to_crush(rules: Numbers, stack: Numbers, frame: int) -> int:
    """Return the plies of a win that leaves only losing moves, or none; 0 if there is none.

    Only for own blocks in equal steps, on one tower, where any fits on any. Each reply must be
    answered by a block that reaches the target, so the target must be within reach of the
    opponent's smallest block and my largest.
    """
    legal, height = stack[frame + LEGAL], stack[frame + MY_HEIGHT]
    mine, yours = stack[frame + MINE], stack[frame + YOURS]
    if yours == 0:
        return 1
    least = 0
    while not yours >> least & 1:
        least += 1
    needed = rules[TARGET] - height - rules[LARGEST] - rules[rules[SIZE_TABLE] + least]
    if needed > rules[LARGEST]:
        return 0
    mirrored = mirror_mask(mine, rules)
    ranks = find_rank_sum(rules[TARGET] - height - rules[SMALLEST], rules)
    last = block = rules[BLOCK_COUNT] - 1
    plies = 0
    while block >= 0 and rules[rules[SIZE_TABLE] + block] >= needed:
        if legal >> block & 1:
            replies = yours & room(height + rules[rules[SIZE_TABLE] + block], rules)
            if replies == 0:
                return 1
            if (
                replies & ~find_partners(mirrored & ~(1 << (last - block)), ranks - block, rules)
                == 0
            ):
                plies = 3
        block -= 1
    return plies


def mirror_mask(mask: int, rules: Numbers) -> int:
    """Return a mask with its bits in reverse order, eight at a time."""
    mirrored = 0
    shift = rules[BLOCK_COUNT] - 8
    while mask > 0:
        piece = rules[rules[MIRROR_TABLE] + (mask & 255)]
        mirrored |= piece << shift if shift >= 0 else piece >> -shift
        mask >>= 8
        shift -= 8
    return mirrored


def find_rank_sum(gap: int, rules: Numbers) -> int:
    """Return the sum of the ranks of two blocks in equal steps that add up to a gap.

    It is -1 if no two blocks can.
    """
    steps = gap - 2 * rules[SMALLEST]
    if rules[BLOCK_STEP] == 1:
        return max(steps, -1)
    return steps // rules[BLOCK_STEP] if steps >= 0 and steps % rules[BLOCK_STEP] == 0 else -1


def find_partners(mirrored: int, ranks: int, rules: Numbers) -> int:
    """Return the blocks whose rank and that of a block of the mirrored mask add up to a number."""
    shift = ranks - rules[BLOCK_COUNT] + 1
    if ranks < 0 or shift >= rules[BLOCK_COUNT]:
        return 0
    return mirrored << shift if shift > 0 else mirrored >> -shift


# Keys ---------------------------------------------------------------------------------------------


def set_key(rules: Numbers, stack: Memory, frame: int) -> int:
    """Write the key of a position, equal for positions with the same future.

    Return its score if that is certain.
    """
    score = (
        set_one_tower_key(rules, stack, frame)
        if rules[SHARED_TOWERS]
        else set_two_tower_key(rules, stack, frame)
    )
    if rules[SLOT_WORDS] != WIDE:
        stack[frame + KEY_1] |= stack[frame + KEY_2] << rules[KEY_BITS]
        stack[frame + KEY_2] = 0
    return score


def set_one_tower_key(rules: Numbers, stack: Memory, frame: int) -> int:
    """Write the key of a position with one tower: its live blocks, its top, and the gap."""
    mine, yours = stack[frame + MINE], stack[frame + YOURS]
    height, top = stack[frame + MY_HEIGHT], stack[frame + MY_TOP]
    supply = rules[SUPPLY]
    alive = find_live_blocks((mine | yours) & room(height, rules), top, rules)
    mine &= alive
    yours &= alive
    gap = 0
    if rules[TARGET] >= 0:
        gap = rules[TARGET] - height
        if (
            supply != ENDLESS
            and sum_blocks(mine, rules) + (sum_blocks(yours, rules) if supply == OWN else 0) < gap
        ):
            gap = 0
    stack[frame + KEY_1] = 0 if supply == ENDLESS else mine
    stack[frame + KEY_2] = yours if supply == OWN else 0
    extend_key(find_canonical_top(alive, top, rules), gap, rules, stack, frame)
    return 0 if gap == 0 and rules[SKIPS] == 1 and rules[PLY] == 0 else UNKNOWN


def set_two_tower_key(rules: Numbers, stack: Memory, frame: int) -> int:
    """Write the key of a position with two towers: live blocks, tops, and gaps or difference."""
    supply, target = rules[SUPPLY], rules[TARGET]
    height, your_height = stack[frame + MY_HEIGHT], stack[frame + YOUR_HEIGHT]
    mine = find_live_blocks(stack[frame + MINE] & room(height, rules), stack[frame + MY_TOP], rules)
    yours = find_live_blocks(
        stack[frame + YOURS] & room(your_height, rules), stack[frame + YOUR_TOP], rules
    )
    most, your_most = sum_blocks(mine, rules), sum_blocks(yours, rules)
    common = sum_blocks(mine | yours, rules) if supply == SHARED and rules[FIT] != DESCENDING else 0
    gap = your_gap = 0
    if target >= 0 and (supply == ENDLESS or max(most, common) >= target - height):
        gap = target - height
    if target >= 0 and (supply == ENDLESS or max(your_most, common) >= target - your_height):
        your_gap = target - your_height
    score = UNKNOWN
    if rules[SKIPS] == 1:
        if rules[PLY] == 0 and your_gap == 0 and height > your_height + your_most:
            score = rules[WIN]
        elif rules[PLY] == 0 and gap == 0 and your_height > height + most:
            score = -rules[WIN]
        if gap + your_gap == 0:
            your_gap = height - your_height + rules[HEIGHT_OFFSET]
        else:
            gap, your_gap = target - height, target - your_height
    tops = find_canonical_top(mine, stack[frame + MY_TOP], rules)
    tops |= find_canonical_top(yours, stack[frame + YOUR_TOP], rules) << rules[TOP_BITS]
    stack[frame + KEY_1] = 0 if supply == ENDLESS else mine | yours if supply == SHARED else mine
    stack[frame + KEY_2] = yours if supply == OWN else 0
    extend_key(tops, gap | your_gap << rules[GAP_BITS], rules, stack, frame)
    return score


def extend_key(tops: int, gaps: int, rules: Numbers, stack: Memory, frame: int) -> None:
    """Add tops and gaps to the blocks of a key.

    Where the tops do not fit into its first word, they go last.
    """
    if rules[TOPS_LAST]:
        gaps = gaps << rules[TOPS_LAST] | tops
        tops = 0
    stack[frame + KEY_1] |= tops << rules[MINE_BITS]
    stack[frame + KEY_2] |= gaps << rules[YOURS_BITS]


def find_live_blocks(within: int, top: int, rules: Numbers) -> int:
    """Return the blocks of a mask that can still be placed on a tower, now or after others."""
    reached = within & rules[FIT_TABLE + top]
    if rules[FIT] != OTHER and (top > 0 or rules[ANY_OPENING] == 1):
        return reached
    new = reached
    while new > 0:
        onto = block = 0
        while new > 0:
            if new & 1:
                onto |= rules[FIT_TABLE + block + 1]
            new >>= 1
            block += 1
        new = within & onto & ~reached
        reached |= new
    return reached


def find_canonical_top(alive: int, top: int, rules: Numbers) -> int:
    """Return a representative of all tops on which the same blocks can still be placed."""
    if alive == 0:
        return 0
    if top == 0 and (rules[ANY_OPENING] == 0 or rules[FIT] == OTHER):
        return rules[BLOCK_COUNT] + 1
    if rules[FIT] == ANY:
        return 0
    if rules[FIT] == DESCENDING:
        top = rules[BLOCK_COUNT] if top == 0 else top
        while not alive >> (top - 1) & 1:
            top -= 1
    elif rules[FIT] == ASCENDING:
        top = 1
        while not alive >> (top - 1) & 1:
            top += 1
    return top


def sum_blocks(mask: int, rules: Numbers) -> int:
    """Add up the blocks of a mask, eight at a time."""
    added = 0
    chunk = rules[SUM_TABLE]
    while mask > 0:
        added += rules[chunk + (mask & 255)]
        mask >>= 8
        chunk += 256
    return added


# The transposition table --------------------------------------------------------------------------


def finish_position(
    rules: Numbers, stack: Numbers, frame: int, table: Memory, state: Memory
) -> int:
    """Store and return the score of a position whose moves were searched, all or enough.

    A bound among the draws is stored without its plies, which the window did not ask for.
    """
    score, max_draw = stack[frame + BEST], rules[MAX_DRAW]
    bound = EXACT
    if score >= stack[frame + BETA] and score < rules[WIN] - rules[PLY]:
        bound = AT_LEAST
        if 0 <= score <= max_draw:
            score = 0
    elif score <= stack[frame + FIRST_ALPHA]:
        bound = AT_MOST
        if 0 <= score <= max_draw < stack[frame + FIRST_ALPHA]:
            score = max_draw - 1
    work = state[POSITIONS] - stack[frame + POSITIONS_BEFORE]
    effort = 0
    while work > 0 and effort < _MAX_EFFORT:
        work >>= 1
        effort += 1
    entry = ((score + rules[WIN]) << 6) | (effort << 2) | bound
    state[STORED] += store_entry(
        stack[frame + KEY_1], stack[frame + KEY_2], entry, rules, table, state[BUCKETS]
    )
    return score


def probe_table(rules: Numbers, stack: Numbers, frame: int, table: Numbers, buckets: int) -> int:
    """Return the score of a position if the table has it, or a bound that decides for the window.

    Else `UNKNOWN`.
    """
    key_1, key_2, words = stack[frame + KEY_1], stack[frame + KEY_2], rules[SLOT_WORDS]
    at = hash_key(key_1, key_2, buckets) * BUCKET_SLOTS * words
    entry = 0
    for _ in range(BUCKET_SLOTS):
        if words == PACKED:
            if table[at] >> rules[ENTRY_BITS] == key_1:
                entry = table[at] & ((1 << rules[ENTRY_BITS]) - 1)
                break
        elif (
            table[at] == key_1
            and table[at + 1] != 0
            and (words == NARROW or table[at + 2] == key_2)
        ):
            entry = table[at + 1]
            break
        at += words
    bound = entry & 3
    score = (entry >> 6) - rules[WIN]
    if (
        bound == EXACT
        or (bound == AT_LEAST and score >= stack[frame + BETA])
        or (bound == AT_MOST and score <= stack[frame + FIRST_ALPHA])
    ):
        return score
    return UNKNOWN


def store_entry(
    key_1: int, key_2: int, entry: int, rules: Numbers, table: Memory, buckets: int
) -> int:
    """Store an entry in its bucket, over the one of least effort if that is full.

    Return how many were added.
    """
    words = rules[SLOT_WORDS]
    at = hash_key(key_1, key_2, buckets) * BUCKET_SLOTS * words
    chosen, least, added = at, 1 << 6, 0
    for _ in range(BUCKET_SLOTS):
        stored = table[at] if words == PACKED else table[at + 1]
        same = table[at] >> rules[ENTRY_BITS] == key_1 if words == PACKED else table[at] == key_1
        if words == WIDE:
            same = same and table[at + 2] == key_2
        if stored == 0 or same:
            chosen, added = at, 1 if stored == 0 else 0
            break
        if stored & 63 < least:
            chosen, least = at, stored & 63
        at += words
    if words == PACKED:
        table[chosen] = key_1 << rules[ENTRY_BITS] | entry
    else:
        table[chosen], table[chosen + 1] = key_1, entry
    if words == WIDE:
        table[chosen + 2] = key_2
    return added


def hash_key(key_1: int, key_2: int, buckets: int) -> int:
    """Return the bucket of a position."""
    mixed = ((key_1 % _PRIME * _MIX_1) ^ (key_2 % _PRIME * _MIX_2)) & _WORD_MASK
    mixed = ((mixed ^ (mixed >> 29)) * _MIX_3) & _WORD_MASK
    return (mixed >> 31) * buckets >> 31


def rehash(old: Numbers, rules: Numbers, table: Memory, buckets: int) -> int:
    """Store all entries of an old table in a larger one; return how many were added."""
    words, low = rules[SLOT_WORDS], (1 << rules[ENTRY_BITS]) - 1
    moved = 0
    for at in range(0, len(old), words):
        if words == PACKED and old[at] != 0:
            key_1, entry = old[at] >> rules[ENTRY_BITS], old[at] & low
            moved += store_entry(key_1, 0, entry, rules, table, buckets)
        elif words != PACKED and old[at + 1] != 0:
            key_2 = old[at + 2] if words == WIDE else 0
            moved += store_entry(old[at], key_2, old[at + 1], rules, table, buckets)
    return moved
