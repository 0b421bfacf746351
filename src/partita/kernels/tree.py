"""What is summed over the nodes of a dendrogram, each node once."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import jit


@jit
def joint(draws, order, first, size, children, tops, table):
    """Sum ``table[count]`` over each draw's clusters within every node of a tree.

    A path of heavy (larger) children runs down from every node in ``tops``; climbing it, only the
    items of the light children are added, so a draw costs O(n log n) for all 2n - 1 nodes.

    Returns
    -------
    (m, 2n - 1) float64
    """
    m, n = draws.shape
    out = np.empty((m, 2 * n - 1), dtype=np.float64)
    counts = np.zeros(n, dtype=np.int64)
    path = np.empty(n, dtype=np.int64)
    for r in range(m):
        for i in range(n):
            out[r, i] = table[1]
        for top in tops:
            length = 0
            node = top
            while node >= n:
                path[length] = node
                length += 1
                left, right = children[node - n, 0], children[node - n, 1]
                node = left if size[left] >= size[right] else right
            total = table[1]
            counts[draws[r, node]] = 1
            heavy = node
            for step in range(length - 1, -1, -1):
                node = path[step]
                left, right = children[node - n, 0], children[node - n, 1]
                light = right if heavy == left else left
                for a in range(first[light], first[light] + size[light]):
                    c = draws[r, order[a]]
                    total += table[counts[c] + 1] - table[counts[c]]
                    counts[c] += 1
                out[r, node] = total
                heavy = node
            for a in range(first[top], first[top] + size[top]):
                counts[draws[r, order[a]]] = 0
    return out


@jit
def climb(matrix, order, first, size, children, start, stop, begin, end, sums, out):
    """Sum the matrix over each item's own node, for nodes ``start .. stop - 1``, none a leaf.

    ``sums`` holds each item's sum over the node below and is brought up to date; what it comes to
    is written to ``out``, a node after another, the items of each as they are in ``order``. Of
    each node only the items ``begin .. end - 1`` are done.
    """
    n = order.size
    at = 0
    for node in range(start, stop):
        a = first[node]
        b, c = a + size[children[node - n, 0]], a + size[node]
        for x in range(a + begin, min(a + end, c)):
            i = order[x]
            total = 0.0
            for y in range(b if x < b else a, c if x < b else b):
                total += matrix[i, order[y]]
            sums[i] += total
            out[at + x - a] = sums[i]
        at += size[node]
