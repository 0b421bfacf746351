"""What to change next, by chance, whatever the loss: clusters to empty, or one to take over.

A proposal is so many ``items`` with a target for each (-1: where it is best), and the ``order`` in
which those that may move then are looked at. ``cursor`` remembers where the proposals stand.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner
from partita.kernels.mixture_random import below, shuffle, uniform

ENDED, BETTER, ASKED, PAUSED = 0, 1, 2, 3  # what came of proposals
FAILED, AT, N_COLUMNS, N_ITEMS, N_ORDER = 0, 1, 2, 3, 4  # of a cursor
REBUILD, SPLIT, GRAFT, ALONE = 1, 2, 4, 8
FEW = 32  # items up to which runs can afford to be more thorough
LEAST, MOST = 6, 24  # clusters that patience counts at least and at most
TOGETHER = 3  # clusters rebuilt at once, at most
_AT_RANDOM, _AT_RANDOM_OF_FEW = 0.2, 0.5  # chance that a cluster is rebuilt together with another
_BESIDE = 0.5  # and with one beside it
_SINGLES = 0.3  # and, where the loss bends, with all clusters of one
_FURTHER = 0.4  # chance that a cluster that is split has one more part
_GRAFTED = 0.6  # chance that a cluster is taken over from a draw, where there are other moves
_FROM_OTHERS = 0.7  # chance that a cluster taken over comes from where another run ended


@inner
def turn(seed, cursor, columns, sizes, patience):
    """The cluster whose turn it is, -1 when too many proposals failed or there is none.

    Clusters take turns in random order. Where there are many items one of a single item is left
    out: that is where it is best.
    """
    trivial = 0 if columns.shape[0] <= FEW else 1
    while True:
        if cursor[AT] >= cursor[N_COLUMNS]:
            found = 0
            for k in range(sizes.shape[0]):
                if sizes[k] > trivial:
                    columns[found] = k
                    found += 1
            if found == 0:
                return -1
            shuffle(seed, columns, found)
            cursor[AT], cursor[N_COLUMNS] = 0, found
        if cursor[FAILED] >= patience * min(max(cursor[N_COLUMNS], LEAST), MOST):
            return -1
        column = columns[cursor[AT]]
        cursor[AT] += 1
        if sizes[column] > trivial:
            return column


@inner
def kind_of(seed, cursor, kinds, patience):
    """What to try next: at first each cluster is rebuilt alone, then come all the ``kinds``."""
    n_tried = min(max(cursor[N_COLUMNS], LEAST), MOST)
    if kinds & REBUILD and cursor[FAILED] < min(cursor[N_COLUMNS], patience * n_tried / 2):
        return ALONE
    if kinds & GRAFT and (kinds == GRAFT or uniform(seed) < _GRAFTED):
        return GRAFT
    if kinds & REBUILD and kinds & SPLIT:
        return REBUILD if uniform(seed) < 0.5 else SPLIT
    return SPLIT if kinds & SPLIT else REBUILD


@inner
def another(seed, others, item, inside):
    """Mark what shares a cluster with the item where another run ended; say whether to."""
    if others.shape[0] == 0 or uniform(seed) >= _FROM_OTHERS:
        return False
    other = others[below(seed, others.shape[0])]
    for i in range(inside.shape[0]):
        inside[i] = other[i] == other[item]
    return True


@inner
def some_more(seed, chosen, sizes, n_items):
    """Choose another cluster by chance, perhaps."""
    if uniform(seed) < (_AT_RANDOM_OF_FEW if n_items <= FEW else _AT_RANDOM):
        wanted = below(seed, np.count_nonzero(sizes))
        for k in range(sizes.shape[0]):
            if sizes[k] > 0:
                if wanted == 0:
                    chosen[k] = True
                wanted -= 1


@inner
def goes_on(seed, n_chosen):
    """Whether to choose one beside the last, too."""
    return n_chosen < TOGETHER and uniform(seed) < _BESIDE


@inner
def singles_too(seed, chosen, sizes):
    """Choose all clusters of one, perhaps."""
    if uniform(seed) < _SINGLES:
        for k in range(sizes.shape[0]):
            if sizes[k] == 1:
                chosen[k] = True


@inner
def member(seed, labels, column):
    """One item of a cluster, by chance."""
    found, seen = -1, 0
    for i in range(labels.shape[0]):
        if labels[i] == column:
            seen += 1
            if below(seed, seen) == 0:
                found = i
    return found


@inner
def empty(seed, chosen, labels, items, targets, order, cursor):
    """Propose to empty the clusters that are chosen and to put their items in anew."""
    found = 0
    for i in range(labels.shape[0]):
        if chosen[labels[i]]:
            items[found] = i
            found += 1
    shuffle(seed, items, found)
    for a in range(found):
        order[a], targets[a] = items[a], -1
    cursor[N_ITEMS], cursor[N_ORDER] = found, found


@inner
def split(seed, column, sizes, limit, targets, cursor):
    """Make it that two items of a cluster, or a few, begin one each, if there is room for more."""
    n_clusters, n_parts = np.count_nonzero(sizes), 1
    targets[0] = column
    for k in range(sizes.shape[0]):
        if n_clusters >= limit or n_parts >= cursor[N_ITEMS]:
            break
        if sizes[k] == 0:
            targets[n_parts] = k
            n_parts += 1
            n_clusters += 1
            if uniform(seed) >= _FURTHER:
                break


@inner
def take_over(seed, inside, chosen, labels, sizes, limit, items, targets, order, cursor):
    """Propose to make a cluster of what is ``inside``, and to let those it breaks up settle.

    So a part of the partition can go over to another mode of the posterior at once, where no item
    and no cluster alone would. Where there may be no more clusters it goes to the one that has most
    of it. Nothing is proposed where it is a cluster already, or part of one that has to stay.
    """
    cursor[N_ITEMS], cursor[N_ORDER] = 0, 0
    found, touched, n_touched, n_clusters, free, most = 0, 0, 0, 0, -1, -1
    held = np.zeros(sizes.shape[0], np.int64)
    for i in range(labels.shape[0]):
        if inside[i]:
            n_touched += not chosen[labels[i]]
            chosen[labels[i]] = True
            held[labels[i]] += 1
            items[found] = i
            found += 1
    for i in range(labels.shape[0]):
        if chosen[labels[i]]:
            order[touched] = i
            touched += 1
    for k in range(sizes.shape[0]):
        if sizes[k] > 0:
            n_clusters += 1
        elif free < 0:
            free = k
        if most < 0 or held[k] > held[most]:
            most = k
    is_full = free < 0 or n_clusters >= limit
    if n_touched == 1 and (is_full or touched == found):
        return
    shuffle(seed, order, touched)
    targets[:found] = most if is_full else free
    cursor[N_ITEMS], cursor[N_ORDER] = found, touched


def proposing(neighbour, company):
    """A compiled function that makes a proposal and says whether it is another turn.

    ``neighbour(i, labels, sizes, at)`` is the cluster beside its own that an item is nearest to,
    or -1, and ``company(seed, i, inside, at)`` marks what belongs with it; ``at`` is theirs alone.
    """

    @inner
    def propose(
        at, seed, cursor, columns, items, targets, order, others, kinds, patience, is_rough,
        labels, sizes, limit, chosen, inside,
    ):  # fmt: skip
        column = turn(seed, cursor, columns, sizes, patience)
        if column < 0:
            return False
        kind = kind_of(seed, cursor, kinds, patience)
        cursor[FAILED] += 1
        chosen[:] = False
        if kind == GRAFT:
            i = below(seed, labels.shape[0])
            if not another(seed, others, i, inside):
                company(seed, i, inside, at)
            take_over(seed, inside, chosen, labels, sizes, limit, items, targets, order, cursor)
            return True
        chosen[column] = True
        if kind == REBUILD:
            some_more(seed, chosen, sizes, labels.shape[0])
            while goes_on(seed, np.count_nonzero(chosen)):
                column = neighbour(member(seed, labels, column), labels, sizes, at)
                if column < 0 or chosen[column]:
                    break
                chosen[column] = True
            if is_rough:
                singles_too(seed, chosen, sizes)
        empty(seed, chosen, labels, items, targets, order, cursor)
        if kind == SPLIT:
            split(seed, column, sizes, limit, targets, cursor)
        return True

    return propose
