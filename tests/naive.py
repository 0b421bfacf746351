"""The losses written out again, slowly and from their definitions, to test against."""

from __future__ import annotations

from itertools import combinations
from math import comb, log2

import numpy as np


def entropy(labels):
    _, counts = np.unique(labels, return_counts=True)
    p = counts / counts.sum()
    return float(-(p * np.log2(p)).sum())


def joint_entropy(a, b):
    return entropy([f"{x},{y}" for x, y in zip(a, b, strict=True)])


def binder(truth, labels, a=1.0):
    """Ordered pairs: `a` for a pair wrongly split, 2 - a for one wrongly joined."""
    n = len(truth)
    total = 0.0
    for i in range(n):
        for j in range(n):
            together, joined = truth[i] == truth[j], labels[i] == labels[j]
            total += a * (together and not joined) + (2 - a) * (joined and not together)
    return total / n**2


def vi(truth, labels, a=1.0):
    """a·H(labels | truth) + (2 - a)·H(truth | labels)."""
    both = joint_entropy(truth, labels)
    return a * (both - entropy(truth)) + (2 - a) * (both - entropy(labels))


def nvi(truth, labels):
    both = joint_entropy(truth, labels)
    return 0.0 if both == 0 else vi(truth, labels) / both


def information_distance(truth, labels):
    mutual = entropy(truth) + entropy(labels) - joint_entropy(truth, labels)
    return max(entropy(truth), entropy(labels)) - mutual


def nid(truth, labels):
    largest = max(entropy(truth), entropy(labels))
    return 0.0 if largest == 0 else information_distance(truth, labels) / largest


def omari(truth, labels):
    n = len(truth)
    pairs = list(combinations(range(n), 2))
    t = sum(truth[i] == truth[j] for i, j in pairs)
    e = sum(labels[i] == labels[j] for i, j in pairs)
    both = sum(truth[i] == truth[j] and labels[i] == labels[j] for i, j in pairs)
    chance = t * e / comb(n, 2) if n > 1 else 0.0
    bottom = (t + e) / 2 - chance
    return 0.0 if bottom == 0 else 1 - (both - chance) / bottom


def zero_one(truth, labels):
    return float(binder(truth, labels) > 0)


def similarity(draws, weights=None):
    draws = np.asarray(draws)
    w = np.full(len(draws), 1 / len(draws)) if weights is None else weights / np.sum(weights)
    same = draws[:, :, None] == draws[:, None, :]
    return np.einsum("m,mij->ij", w, same)


def vi_lower_bound(psm, labels):
    n = len(labels)
    total = 0.0
    for i in range(n):
        own = [j for j in range(n) if labels[i] == labels[j]]
        total += log2(len(own)) - 2 * log2(sum(psm[i, j] for j in own)) + log2(psm[i].sum())
    return total / n


def pear(psm, labels):
    n = len(labels)
    pairs = list(combinations(range(n), 2))
    e = sum(labels[i] == labels[j] for i, j in pairs)
    t = sum(psm[i, j] for i, j in pairs)
    both = sum(psm[i, j] for i, j in pairs if labels[i] == labels[j])
    chance = e * t / comb(n, 2) if n > 1 else 0.0
    bottom = (e + t) / 2 - chance
    return 0.0 if abs(bottom) < 1e-12 else 1 - (both - chance) / bottom


ON_DRAWS = {
    "binder": binder,
    "vi": vi,
    "nvi": nvi,
    "id": information_distance,
    "nid": nid,
    "omari": omari,
    "zero-one": zero_one,
}
ON_SIMILARITY = {"vi-lower-bound": vi_lower_bound, "pear": pear}


def expected(name, labels, draws, weights=None):
    draws = np.asarray(draws)
    if name in ON_SIMILARITY:
        return ON_SIMILARITY[name](similarity(draws, weights), labels)
    w = np.full(len(draws), 1 / len(draws)) if weights is None else weights / np.sum(weights)
    return float(sum(v * ON_DRAWS[name](draw, labels) for v, draw in zip(w, draws, strict=True)))
