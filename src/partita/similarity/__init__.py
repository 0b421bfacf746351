"""The posterior similarity matrix π̂ (equation 4) as an operator, whatever stands behind it.

Five backings, one file each, none importing another: a dense matrix, a matrix on a device, the
draws themselves, draws with missing labels, and the responsibilities of a marginalised mixture.
"""

from __future__ import annotations

from partita.similarity._builder import SimilarityBuilder
from partita.similarity._landmarks import Landmarks, landmark_items, landmarks
from partita.similarity._similarity import Similarity, posterior_similarity

__all__ = [
    "Landmarks",
    "Similarity",
    "SimilarityBuilder",
    "landmark_items",
    "landmarks",
    "posterior_similarity",
]
