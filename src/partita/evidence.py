"""What an estimate may rest on: draws, a similarity, or both, each made once when asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.draws import Draws, as_draws, is_few, missing_text, streams
from partita.errors import InvalidValueError
from partita.similarity import Similarity

if TYPE_CHECKING:
    from partita.typing import FloatArray, Needs

# The numbers of items and labels alone decide whether a matrix is made, never the free memory. A
# matrix that does not fit is an error that names the alternative.
LARGE = 5_000  # items up to which every search has π̂ as a matrix (200 MB)
_DENSE_ITEMS = 20_000  # items up to which a loss or search that needs the matrix gets it (3.2 GB)
_COPIED = 1_000_000_000  # labels up to which all items' are copied for a search (1 GB, a byte each)


class Evidence:
    """The draws, the similarity or both, shared by the loss and the search of one estimate.

    Parameters
    ----------
    draws : Draws, optional
    similarity : Similarity, optional
        At least one of the two. A similarity made from draws brings them along.
    n_jobs : int
        Threads that make the similarity.
    held : bool
        Keep the draws in memory, however many there are: they are a sample.

    Attributes
    ----------
    is_similarity : bool
        Whether a similarity is what was given, which decides the default loss.
    source : str or None
        The store that the draws came from, wherever they are now; None for memory.
    lacking : Draws or None
        Draws that were given and have missing labels: the similarity alone stands for them.
    """

    def __init__(
        self,
        draws: Draws | None = None,
        similarity: Similarity | None = None,
        *,
        n_jobs: int = 1,
        held: bool = False,
    ) -> None:
        self.lacking: Draws | None = None
        if draws is not None and draws.observed is not None:
            draws, similarity = None, similarity or Similarity.from_draws(draws)
        self.is_similarity = draws is None
        if draws is None and similarity is not None:
            draws = similarity.draws
        if draws is not None and draws.observed is not None:
            self.lacking, draws = draws, None
        self.source = None if draws is None else _source(draws)
        self._draws = draws if draws is None or held else in_memory(draws)
        self._similarity = similarity
        self.n_jobs = n_jobs
        self._held = held

    @property
    def n_items(self) -> int:
        """The number of items."""
        if self._draws is not None:
            return self._draws.n_items
        return self.similarity.n_items

    @property
    def item_names(self) -> tuple[str, ...] | None:
        """The names of the items, if they have any."""
        if self._draws is not None:
            return self._draws.item_names
        return self.similarity.item_names

    @property
    def has_draws(self) -> bool:
        """Whether there are draws."""
        return self._draws is not None

    @property
    def has_dense(self) -> bool:
        """Whether a matrix is in memory already."""
        return self._similarity is not None and self._similarity.is_dense

    @property
    def is_on_device(self) -> bool:
        """Whether a matrix is on a device already."""
        return self._similarity is not None and self._similarity.device is not None

    @property
    def draws(self) -> Draws:
        """The draws, or an error that names what works without them."""
        if self.lacking is not None:
            raise InvalidValueError(missing_text("This loss or search", self.lacking))
        if self._draws is None:
            raise InvalidValueError(
                "This loss or search needs the posterior draws and only a similarity was given; "
                "pass the draws, or use the losses 'binder', 'vi-lower-bound' or 'pear' with a "
                "search other than 'draws'."
            )
        return self._draws

    @property
    def streams(self) -> bool:
        """Whether the draws are read in blocks of items, because there are too many labels.

        It makes no difference whether they are in memory, in a file or on a cluster.
        """
        if self._draws is None or self._held or (self.is_similarity and self.has_dense):
            return False
        return streams(self._draws)

    @property
    def is_large(self) -> bool:
        """Whether searches use the draws or landmarks in place of the full matrix.

        The number of items decides, not the number of draws.
        """
        if self._draws is None or self.has_dense or self._held:
            return False
        return not self.has_few_items

    @property
    def has_few_items(self) -> bool:
        """Whether there are at most 5,000 items, so that every search may use the full matrix."""
        return self.n_items <= LARGE

    @property
    def _lacks_matrix(self) -> bool:
        """Whether there is no matrix and none will be made."""
        return self.is_large and not self.is_on_device and not self.similarity.is_dense

    @property
    def can_be_held(self) -> bool:
        """Whether the labels of all items and draws may be copied for a search."""
        return self.draws.labels.size <= _COPIED

    @cached_property
    def distinct(self) -> Draws:
        """The distinct partitions among the draws, with their summed weights."""
        return self.draws.unique()

    @property
    def similarity(self) -> Similarity:
        """The similarity; from draws, a matrix up to 5,000 items, 20,000 if draws are held."""
        if self._similarity is None:
            self._similarity = Similarity.from_draws(self.draws)
            most = LARGE if self.streams else _DENSE_ITEMS
        else:
            most = 0 if self.lacking is None else LARGE
        found = self._similarity
        if found.n_items <= most and not found.is_dense:
            matrix = found.to_dense(n_jobs=self.n_jobs)
            draws = self._draws or self.lacking
            self._similarity = found = Similarity._of_dense(matrix, found.item_names, draws)
        return found

    @property
    def dense(self) -> FloatArray:
        """The matrix itself, made once; refused where it does not fit in the free memory."""
        if self._similarity is None:
            self._similarity = Similarity.from_draws(self.draws)
        matrix = self._similarity.to_dense(dtype=None, n_jobs=self.n_jobs)
        if not self._similarity.is_dense:
            self._similarity = Similarity._of_dense(matrix, self.item_names, self._draws)
        return matrix

    def searched(self, needs: Needs) -> Evidence | None:
        """Return what a search may hold in memory; None if it must read the draws in blocks.

        For few items and many draws, a loss that needs no draws is searched on the matrix. For
        many items there is no matrix, so a loss that needs one is searched in blocks.
        """
        if not self.streams:
            return None if needs == "similarity" and self._lacks_matrix else self
        if needs == "draws" or self.is_large:
            return None
        matrix = Similarity._of_dense(self.dense, self.item_names, None)
        return Evidence(similarity=matrix, n_jobs=self.n_jobs)


def as_evidence(data: Any, *, n_jobs: int = 1) -> Evidence:
    """Return ``data`` as evidence: a Similarity as it is, anything else as draws."""
    if isinstance(data, Evidence):
        return data
    if isinstance(data, Similarity):
        return Evidence(similarity=data, n_jobs=n_jobs)
    return Evidence(draws=as_draws(data), n_jobs=n_jobs)


def can_serve(needs: Needs, evidence: Evidence) -> bool:
    """Whether a loss of these needs can be evaluated on the evidence."""
    return evidence.has_draws or needs != "draws"


def in_memory(draws: Draws) -> Draws:
    """Read draws from a store into memory if they are few; return others as they are."""
    labels: Any = draws.labels
    if isinstance(labels, np.ndarray) or not is_few(draws):
        return draws
    return draws._with(labels=np.asarray(labels))


def _source(draws: Draws) -> str | None:
    labels: Any = draws.labels
    if isinstance(labels, np.ndarray):
        return None
    source = labels.source
    return str(getattr(source, "said", getattr(source, "path", type(source).__name__)))
