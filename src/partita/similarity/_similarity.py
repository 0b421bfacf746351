"""The operator that users hold, and the verb that makes it from draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import devices, io, validate
from partita.draws import as_draws, component_order, in_order, probabilities
from partita.errors import InvalidTypeError, InvalidValueError
from partita.io import Shown
from partita.partitions import canonical
from partita.similarity import _dense, _device, _responsibilities
from partita.similarity._backing import Backing
from partita.similarity._dense import Dense
from partita.similarity._device import OnDevice
from partita.similarity._implicit import Implicit
from partita.similarity._partial import Partial
from partita.similarity._responsibilities import Responsibilities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.typing import FloatArray


class Similarity(Shown):
    """The posterior similarity matrix π̂: how probably two items are in one cluster (equation 4).

    ``Similarity(P)`` wraps a matrix. :func:`posterior_similarity` makes one from draws, in memory
    or implicit; :meth:`from_responsibilities` from the membership probabilities of a marginalised
    mixture. Whatever stands behind it, it multiplies, and gives blocks and sums.

    Parameters
    ----------
    matrix : array-like of shape (n, n)
        Symmetric, in [0, 1], with 1 on the diagonal. A DataFrame's columns name the items.
    item_names : sequence of str, optional
        One name per item.

    Examples
    --------
    >>> import numpy as np
    >>> similarity = Similarity([[1.0, 0.8], [0.8, 1.0]])
    >>> similarity @ np.ones(2)
    array([1.8, 1.8])
    """

    def __init__(self, matrix: Any, *, item_names: Sequence[str] | None = None) -> None:
        if item_names is None and hasattr(matrix, "columns"):
            item_names = [str(name) for name in matrix.columns]
        self._backing: Backing = Dense(_dense.checked(matrix))
        self._draws: Draws | None = None
        self.item_names = None
        if item_names is not None:
            self.item_names = validate.names("item_names", item_names, self.n_items)

    @classmethod
    def _of(
        cls, backing: Backing, item_names: tuple[str, ...] | None, draws: Draws | None = None
    ) -> Similarity:
        self = cls.__new__(cls)
        self._backing, self.item_names, self._draws = backing, item_names, draws
        return self

    @classmethod
    def _of_dense(
        cls, array: FloatArray, item_names: tuple[str, ...] | None, draws: Draws | None
    ) -> Similarity:
        """Take over a matrix that is known to be the similarity of these draws, without a copy."""
        array.setflags(write=False)
        return cls._of(Dense(array), item_names, draws)

    @classmethod
    def from_draws(cls, draws: Any, *, unobserved: float | None = None) -> Similarity:
        """Return the similarity of draws without forming it: memory stays that of the draws.

        ``unobserved`` is as for :func:`posterior_similarity`.
        """
        draws = as_draws(draws)
        if unobserved is not None:
            unobserved = validate.real("unobserved", unobserved, low=0, high=1)
        if draws.observed is not None:
            return cls._of(Partial(draws, unobserved), draws.item_names, draws)
        return cls._of(Implicit(draws), draws.item_names, draws)

    @classmethod
    def from_responsibilities(cls, responsibilities: Any, *, weights: Any = None) -> Similarity:
        """Return the similarity of a marginalised mixture: a Rao-Blackwellised π̂.

        Parameters
        ----------
        responsibilities : array-like of shape (n_draws, n_items, K)
            P(item i in component k | draw m); sums to 1 over k.
        weights : array-like of shape (n_draws,), optional
            Weights of the draws; all equal if None.

        Examples
        --------
        >>> Similarity.from_responsibilities([[[0.5, 0.5], [1, 0]]]).to_dense()
        array([[1. , 0.5],
               [0.5, 1. ]])
        """
        array = _responsibilities.checked(responsibilities)
        n_draws = array.shape[0]
        w = np.ones(n_draws) if weights is None else validate.weights("weights", weights, n_draws)
        return cls._of(Responsibilities(array, np.asarray(w / w.sum())), None)

    @classmethod
    def from_log_weights(
        cls, log_weights: Any, *, key: str | None = None, isolate: bool = False
    ) -> Similarity:
        """Return the similarity of a marginalised mixture from the weights that its sampler kept.

        Given the draws of the other parameters this is the exact similarity, so it varies less
        than one counted from sampled labels (Rao-Blackwell). For losses that need draws see
        :meth:`Draws.from_log_weights`.

        Parameters
        ----------
        log_weights : array-like, object or path
            For every draw, item and cluster the log of the cluster's weight times the density of
            the item under it, up to a constant: (draws, items, clusters) or (chains, draws, items,
            clusters), or what holds such an array: ArviZ data, a dict of samples, a file.
        key : str, optional
            The variable, where there are several.
        isolate : bool
            Read a file in a process of its own, as :func:`partita.read_draws` does.

        Examples
        --------
        >>> Similarity.from_log_weights(np.log([[[0.2, 0.2], [3.0, 1.0]]])).to_dense()
        array([[1. , 0.5],
               [0.5, 1. ]])
        """
        weights = io.read_weights(log_weights, key, isolate=isolate)
        n_draws = weights.array.shape[0]
        ordered = in_order(weights.array, component_order(weights.array))
        backing = Responsibilities(probabilities(ordered), np.full(n_draws, 1.0 / n_draws))
        return cls._of(backing, weights.item_names)

    @property
    def n_items(self) -> int:
        """The number of items, n."""
        return self._backing.n_items

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return (self.n_items, self.n_items)

    @property
    def is_dense(self) -> bool:
        """Whether the matrix is in memory."""
        return isinstance(self._backing, Dense)

    @property
    def draws(self) -> Draws | None:
        """The draws that it was made from, if it was."""
        return self._draws

    @property
    def device(self) -> str | None:
        """The device that the matrix is on, or None for the host."""
        return self._backing.device.name if isinstance(self._backing, OnDevice) else None

    @property
    def on_device(self) -> Any:
        """The matrix as an array of the device's library; None on the host."""
        return self._backing.array if isinstance(self._backing, OnDevice) else None

    def to_device(self, device: Any, *, dtype: Any = None) -> Similarity:
        """Return the same similarity as a matrix on a device, or on the host for ``"cpu"``.

        Parameters
        ----------
        device : str
            "cuda", "cuda:1", "torch:cuda", "cupy:cuda", "torch:cpu"; "cpu" is NumPy on the host.
        dtype : {float32, float64}, optional
            float32 on a device and float64 on the host unless given; a matrix that is on a device
            keeps its own.
        """
        where = devices.resolve(device)
        if where is None:
            matrix = self.to_dense(dtype=np.float64 if dtype is None else dtype)
            return Similarity._of_dense(matrix, self.item_names, self._draws)
        if isinstance(self._backing, OnDevice):
            own = self._backing.dtype
            wanted = own if dtype is None else validate.float_dtype("dtype", dtype)
            if self.device == where.name and wanted == own:
                return self
            there = self._backing.astype(wanted)
            if self.device != where.name:
                there = OnDevice(where.put(there.dense(wanted, 1)), where)
            return Similarity._of(there, self.item_names, self._draws)
        dtype = validate.float_dtype("dtype", np.float32 if dtype is None else dtype)
        if isinstance(self._backing, Implicit):
            backing = _device.counted(self._backing.draws, where, dtype)
        else:
            where.check_room(
                f"The dense similarity of {self.n_items:,} items", self.n_items**2 * dtype.itemsize
            )
            backing = OnDevice(where.put(self.to_dense(dtype=dtype)), where)
        return Similarity._of(backing, self.item_names, self._draws)

    def __repr__(self) -> str:
        kind = {
            Dense: "dense",
            OnDevice: f"dense, on {self.device}",
            Implicit: "implicit, from draws",
            Partial: "implicit, from draws with missing labels",
            Responsibilities: "implicit, from responsibilities",
        }[type(self._backing)]
        return f"Similarity({validate.count_text(self.n_items, 'item')}, {kind})"

    def __matmul__(self, x: Any) -> FloatArray:
        return self.matmul(x)

    def matmul(self, x: Any, *, n_jobs: int | None = -1) -> FloatArray:
        """Return π̂x for x of shape (n,) or (n, k), as ``@`` does, on ``n_jobs`` threads."""
        n_jobs = validate.n_jobs(n_jobs)
        try:
            x = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidTypeError("`x` in similarity @ x must be an array of numbers.") from None
        if x.ndim not in (1, 2) or x.shape[0] != self.n_items:
            raise InvalidValueError(
                f"`x` in similarity @ x must have {self.n_items} rows; got shape {x.shape}."
            )
        if x.ndim == 1:
            return self._backing.matmul(x[:, None], n_jobs)[:, 0]
        return self._backing.matmul(x, n_jobs)

    def block(self, rows: Any, cols: Any) -> FloatArray:
        """Return π̂[rows][:, cols]; each a slice, a mask or positions."""
        picked = [
            np.atleast_1d(validate.positions(name, index, self.n_items))
            for name, index in (("rows", rows), ("cols", cols))
        ]
        return self._backing.block(picked[0], picked[1])

    def to_dense(self, *, dtype: Any = np.float64, n_jobs: int | None = -1) -> FloatArray:
        """Return the whole matrix, or refuse when it would not fit in the memory that is free.

        With ``dtype=None``, a matrix that is in memory is returned as it is.
        """
        if isinstance(self._backing, Dense) and dtype in (None, self._backing.array.dtype):
            return self._backing.array
        dtype = validate.float_dtype("dtype", dtype)
        if not self.is_dense:
            validate.fits_in_memory(
                f"The dense similarity of {self.n_items:,} items",
                self.n_items**2 * dtype.itemsize,
                "keep it implicit: posterior_similarity(draws, kind='implicit').",
            )
        return self._backing.dense(dtype, validate.n_jobs(n_jobs))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return np.array(self.to_dense(), dtype=dtype, copy=copy)

    def observed_together(self, rows: Any, cols: Any) -> FloatArray:
        """Return in how many draws, or in what share of their weight, two items both have a label.

        Of a similarity made from draws; each of ``rows`` and ``cols`` a slice, a mask or positions.

        Examples
        --------
        >>> runs = posterior_similarity([[0, 0, None], [0, 1, 1]])
        >>> runs.observed_together([0], slice(None))
        array([[2., 2., 1.]])
        """
        if self._draws is None:
            raise InvalidValueError(
                "`observed_together` needs the draws that the similarity was made from; this one "
                "was given as a matrix."
            )
        picked = [
            np.atleast_1d(validate.positions(name, index, self.n_items))
            for name, index in (("rows", rows), ("cols", cols))
        ]
        if self._draws.observed is not None:
            return Partial(self._draws).together(picked[0], picked[1])
        total = 1.0 if self._draws.weights is not None else float(self._draws.n_draws)
        return np.full((picked[0].size, picked[1].size), total)

    def diagonal(self) -> NDArray[np.float64]:
        """Return the diagonal: ones, since an item is always with itself."""
        return np.ones(self.n_items)

    @property
    def row_sums(self) -> NDArray[np.float64]:
        """Σ_j π̂_ij for every item: the expected size of its cluster."""
        return self._backing.row_sums

    def own_sums(self, labels: Any, *, n_jobs: int | None = -1) -> NDArray[np.float64]:
        """Return Σ_j x_ij π̂_ij for every item i, with x_ij = 1 where ``labels`` agree.

        Examples
        --------
        >>> Similarity([[1.0, 0.8], [0.8, 1.0]]).own_sums([0, 0])
        array([1.8, 1.8])
        """
        labels = canonical(validate.labels("labels", labels, n_items=self.n_items))
        return self._backing.own_sums(labels, int(labels.max()) + 1, validate.n_jobs(n_jobs))

    def frobenius2(self) -> float:
        """Return Σ_ij π̂_ij²."""
        return self._backing.frobenius2()


def posterior_similarity(
    draws: Any,
    *,
    kind: str = "dense",
    dtype: Any = None,
    n_jobs: int | None = -1,
    device: Any = None,
    unobserved: float | None = None,
) -> Similarity:
    """Estimate the posterior similarity matrix π̂ of equation 4.

    Entry (i, j) is the share of draws, or of their weight, in which items i and j are together:
    an exact count over the number of draws. Of draws that leave items out, only those count that
    have both (:meth:`Similarity.observed_together` says how many).

    Parameters
    ----------
    draws : Draws or anything that can become one
        Weighted or not.
    kind : {"dense", "implicit"}
        In memory, or as an operator on the draws that never allocates n².
    dtype : {float64, float32}, optional
        Of the dense matrix: float64, on a device float32, unless given.
    n_jobs : int
        Threads; -1, the default, is every core.
    device : str, optional
        Count on a GPU and leave the matrix there: "cuda", "cuda:1", or with the library named,
        "torch:cuda", "cupy:cuda", "torch:cpu". What NMF does with it happens there too.
    unobserved : float, optional
        What a pair of items counts as that no draw has both of, from 0 to 1. An error if None.

    Returns
    -------
    Similarity

    Examples
    --------
    >>> posterior_similarity([[0, 0, 1], [0, 1, 1]]).to_dense()
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """
    validate.choice("kind", kind, ("dense", "implicit"))
    implicit = Similarity.from_draws(draws, unobserved=unobserved)
    if devices.resolve(device) is not None:
        if kind == "implicit":
            raise InvalidValueError(
                "`kind` must be 'dense' with a `device`; an implicit similarity is the draws, on "
                "the host."
            )
        return implicit.to_device(device, dtype=dtype)
    if kind == "implicit":
        return implicit
    array = implicit.to_dense(dtype=dtype, n_jobs=n_jobs)
    return Similarity._of_dense(array, implicit.item_names, implicit.draws)
