"""Posterior draws of a partition: the value that every verb takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import InitVar, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, validate
from partita.draws import _checks, _missing
from partita.draws._arviz import to_arviz
from partita.draws._distinct import distinct_draws
from partita.draws._log_weights import sampled
from partita.draws._stored import StoredLabels
from partita.errors import InvalidTypeError, InvalidValueError
from partita.io import Shown
from partita.parallel import DaskLabels, LabelSource, is_dask_array
from partita.partitions import counted_rows, first_values, smallest_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import FloatArray, IntArray, Path, Seed


@dataclass(frozen=True, eq=False)
class Draws(Shown):
    """Posterior draws of a partition of n items, one label vector a draw.

    Parameters
    ----------
    labels : array-like of shape (n_draws, n_items) or (n_chains, n_draws, n_items)
        Integers of any kind (1-based, negative, with gaps, another K in each draw) or strings; of
        a DataFrame, the columns name the items.
        Kept canonical: each draw's clusters are numbered 0, 1, ... by first appearance, in the
        smallest unsigned dtype. Or labels that stay where they are and are read in blocks: an
        object with ``shape``, ``dtype`` and ``read(draws, items)``, both slices, such as
        :func:`read_draws` gives for files larger than memory, or a ``dask.array``, best chunked
        over items alone.
    weights : array-like of shape (n_draws,), optional
        Non-negative weights, such as importance weights or counts; all equal if None.
    chains : array-like of shape (n_draws,), optional
        The number of the chain that each draw came from; one chain if None.
    item_names : sequence of str, optional
        One name per item.
    traces : mapping of str to array-like of shape (n_draws,), optional
        Scalars recorded with each draw, such as the log joint density.
    codes : array-like of shape (n_clusters.sum(),), optional
        What the sampler called each cluster, draw after draw, integers or strings: those of draw m
        begin at ``n_clusters[:m].sum()``. With them :func:`cluster_parameters` finds a cluster's
        parameters. If None, the labels as they were given; empty if nobody knows. Draws are equal
        whatever they are.
    assumptions : tuple of str
        What was assumed when the draws were read from a file.
    about : mapping of str to str or float, optional
        How the draws were made, such as the prior that :func:`sample_mixture` had. Draws are
        equal whatever it says.
    observed : array-like of bool, shape (n_draws, n_items), optional
        Which labels are there, where runs left items out; None if all are. The label that is kept
        where it is False means nothing. NaN, None, pandas' NA and masked entries of ``labels`` are
        left out without being asked.
    orient : {"draws", "items"}, optional
        What a row of ``labels`` is. A draw if None, but of a DataFrame that looks like a row an
        item, such as columns of ``adata.obs``, it must be said.
    missing : label or list of them, optional
        What stands for no label, such as -1 for the noise of HDBSCAN.
    noise : {"absent", "singleton"}
        What ``missing`` means: the item was left out, or it is a cluster of its own.

    Examples
    --------
    >>> draws = Draws([[1, 1, 2], [5, 9, 9], [3, 3, 0]])
    >>> draws.labels
    array([[0, 0, 1],
           [0, 1, 1],
           [0, 0, 1]], dtype=uint8)
    >>> draws.n_clusters
    array([2, 2, 2])
    >>> draws.codes
    array([1, 2, 5, 9, 3, 0], dtype=uint8)
    >>> draws.unique().weights
    array([2., 1.])

    Of runs that left items out:

    >>> runs = Draws([[0, 0, 1, -1], [-1, 0, 1, 1]], missing=-1)
    >>> runs.observed.sum(axis=0)
    array([1, 2, 2, 1])
    """

    labels: IntArray
    weights: FloatArray | None = None
    chains: IntArray | None = None
    item_names: tuple[str, ...] | None = None
    traces: Mapping[str, FloatArray] = field(default_factory=dict)
    codes: NDArray[Any] = None  # type: ignore[assignment]  # made from the labels
    assumptions: tuple[str, ...] = ()
    about: Mapping[str, str | float] = field(default_factory=dict)
    observed: NDArray[np.bool_] | None = None
    orient: InitVar[str | None] = None
    missing: InitVar[Any] = None
    noise: InitVar[str] = "absent"

    def __post_init__(self, orient: str | None, missing: Any, noise: str) -> None:
        self._set("labels", _checks.by_draws(self.labels, orient))
        if self.item_names is None:
            self._set("item_names", _checks.column_names(self.labels))
        self._fix_labels(missing, noise)
        self._fix("codes", _checks.codes(self.codes, int(self.n_clusters.sum())))
        if self.weights is not None:
            self._fix("weights", validate.weights("weights", self.weights, self.n_draws).copy())
        if self.chains is not None:
            self._fix("chains", _checks.chain_numbers(self.chains, self.n_draws))
        if self.item_names is not None:
            names = validate.names("item_names", self.item_names, self.n_items)
            self._set("item_names", names)
        if not isinstance(self.traces, Mapping):
            raise InvalidTypeError(f"`traces` must map names to arrays; got {self.traces!r}.")
        traces = {str(k): _checks.trace(str(k), v, self.n_draws) for k, v in self.traces.items()}
        self._set("traces", traces)
        self._set("about", _checks.about(self.about))

    def _fix_labels(self, missing: Any, noise: str) -> None:
        """Make labels canonical; those in a store are so already, or become so when read."""
        given: Any = self.labels
        codes: Any = self.codes
        if is_dask_array(given):
            given = DaskLabels(given)
        if isinstance(given, LabelSource) and not isinstance(given, StoredLabels):
            given = StoredLabels.of(given)
            self._set("labels", given)
        if isinstance(given, StoredLabels):
            if self.observed is not None or missing is not None:
                raise InvalidValueError(
                    "`missing` and `observed` need labels in memory; got labels in a store. Read "
                    "them with stored=False."
                )
            if codes is None:
                self._set("codes", given.codes)
            return
        given, observed = _missing.separated(given, missing, noise)
        array = validate.whole_numbers("labels", given)
        if array.ndim == 3 and 0 not in array.shape:
            validate.labels_by_chain("labels", array)
            if self.chains is None:
                self._set("chains", np.repeat(np.arange(array.shape[0]), array.shape[1]))
            array = array.reshape(-1, array.shape[2])
            observed = None if observed is None else observed.reshape(array.shape)
        if array.ndim != 2:
            raise InvalidValueError(
                f"`labels` must have a row for each draw and a column for each item; got shape "
                f"{array.shape}." + _checks.shape_hint(array.ndim)
            )
        if 0 in array.shape:
            raise InvalidValueError(
                f"`labels` must hold at least one draw of at least one item; got shape "
                f"{array.shape}."
            )
        if self.observed is not None:
            told = _missing.mask("observed", self.observed, array.shape)
            observed = told if observed is None or told is None else told & observed
        self._set("observed", observed)
        if observed is None:
            labels, n_clusters = counted_rows(array)
        else:
            self._fix("observed", observed)
            labels, n_clusters, first = _missing.numbered(array, observed)
        if codes is None:
            words = _checks.words_or(array, given)
            found = first_values(labels, words) if observed is None else words.ravel()[first]
            self._set("codes", found)
        self._fix("labels", labels)
        self._set("n_clusters", n_clusters)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _fix(self, name: str, array: NDArray[Any]) -> None:
        array.setflags(write=False)
        self._set(name, array)

    @property
    def n_draws(self) -> int:
        """The number of draws, M."""
        return int(self.labels.shape[0])

    @property
    def n_items(self) -> int:
        """The number of items, n."""
        return int(self.labels.shape[1])

    @property
    def n_chains(self) -> int:
        """The number of chains."""
        return 1 if self.chains is None else int(np.unique(self.chains).size)

    @cached_property
    def n_clusters(self) -> NDArray[np.int64]:
        """The number of clusters of each draw, shape (n_draws,)."""
        labels: Any = self.labels
        if isinstance(labels, StoredLabels):
            return labels.n_clusters
        return np.asarray(self.labels.max(axis=1), dtype=np.int64) + 1

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The weights scaled to sum to 1, shape (n_draws,)."""
        if self.weights is None:
            return np.full(self.n_draws, 1.0 / self.n_draws)
        return np.asarray(self.weights / self.weights.sum(), dtype=np.float64)

    @property
    def has_codes(self) -> bool:
        """Whether it is known what the sampler called each cluster."""
        return self.codes.size > 0

    def __len__(self) -> int:
        return self.n_draws

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Draws):
            return NotImplemented
        return (
            np.array_equal(self._labels_there, other._labels_there)
            and _checks.same(self.observed, other.observed)
            and np.array_equal(self.probabilities, other.probabilities)
            and _checks.same(self.chains, other.chains)
            and self.item_names == other.item_names
            and self.traces.keys() == other.traces.keys()
            and all(_checks.same(v, other.traces[k]) for k, v in self.traces.items())
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def _labels_there(self) -> IntArray:
        """The labels, with 0 where there is none."""
        return self.labels if self.observed is None else np.where(self.observed, self.labels, 0)

    def __repr__(self) -> str:
        low, high = int(self.n_clusters.min()), int(self.n_clusters.max())
        text = [
            f"{validate.count_text(self.n_draws, 'draw')} of "
            f"{validate.count_text(self.n_items, 'item')}",
            ("" if low == high else f"{low:,} to ") + validate.count_text(high, "cluster"),
        ]
        if self.n_chains > 1:
            text.append(f"{self.n_chains} chains")
        if self.weights is not None:
            text.append("weighted")
        if self.observed is not None:
            text.append(f"{1 - self.observed.mean():.1%} of the labels missing")
        return f"Draws({', '.join(text)})"

    def take(self, index: Any) -> Draws:
        """Keep the draws that ``index`` (a slice, a mask or positions) selects."""
        kept = np.atleast_1d(validate.positions("index", index, self.n_draws))
        if kept.ndim != 1 or kept.size == 0:
            raise InvalidValueError(f"`index` must select at least one draw; got {index!r}.")
        return self._picked(
            kept,
            weights=None if self.weights is None else self.weights[kept],
            chains=None if self.chains is None else self.chains[kept],
            traces={k: v[kept] for k, v in self.traces.items()},
        )

    def _with(self, **changes: Any) -> Draws:
        """A copy with other values that are known to be as they must: nothing is checked."""
        new = object.__new__(Draws)
        new.__dict__.update({one.name: self.__dict__[one.name] for one in fields(self)}, **changes)
        if new.chains is not None:
            new._set("chains", _checks.chain_numbers(new.chains, new.n_draws))
        for name in ("labels", "weights", "chains", "codes", "observed"):
            value = getattr(new, name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        return new

    def _picked(self, kept: NDArray[np.intp], **changes: Any) -> Draws:
        """Some draws, with other values; without a copy where all are kept in their order."""
        labels: Any = self.labels
        n_clusters, codes, observed = self.n_clusters, self.codes, self.observed
        if not np.array_equal(kept, np.arange(self.n_draws)):
            codes = _checks.codes_of(codes, n_clusters, kept)
            n_clusters = n_clusters[kept]
            if isinstance(labels, StoredLabels):
                labels = labels.take(kept)
            else:  # `take` copies whole rows, which is several times quicker than an index
                labels = np.asarray(labels).take(kept, axis=0)
                if observed is None:
                    labels = labels.astype(smallest_dtype(int(n_clusters.max())), copy=False)
                else:
                    observed = observed.take(kept, axis=0)
                    observed = None if observed.all() else observed
        own = {"labels": labels, "codes": codes, "observed": observed}
        new = self._with(**(own | changes))
        new._set("n_clusters", n_clusters)
        return new

    def burn(self, n_draws: int) -> Draws:
        """Drop the first ``n_draws`` draws of every chain.

        Examples
        --------
        >>> Draws([[0, 0], [0, 1], [0, 0], [0, 1]], chains=[0, 0, 1, 1]).burn(1).n_draws
        2
        """
        validate.integer("n_draws", n_draws, least=0)
        shortest = int(np.bincount(self._chain_numbers).min())
        if n_draws >= shortest:
            raise InvalidValueError(
                f"`n_draws` must leave at least one draw in each chain; got {n_draws} to burn and "
                f"{shortest} in the shortest."
            )
        return self.take(self._position_in_chain >= n_draws)

    def thin(self, step: int) -> Draws:
        """Keep every ``step``-th draw of every chain, the first included.

        Examples
        --------
        >>> Draws([[0, 0], [0, 1], [0, 0], [0, 1]]).thin(2).labels
        array([[0, 0],
               [0, 0]], dtype=uint8)
        """
        validate.integer("step", step, least=1)
        return self.take(self._position_in_chain % step == 0)

    @property
    def _chain_numbers(self) -> IntArray:
        return np.zeros(self.n_draws, dtype=np.int64) if self.chains is None else self.chains

    @property
    def _position_in_chain(self) -> NDArray[np.int64]:
        chains = self._chain_numbers
        position = np.empty(self.n_draws, dtype=np.int64)
        for chain in np.unique(chains):
            of_chain = np.flatnonzero(chains == chain)
            position[of_chain] = np.arange(of_chain.size)
        return position

    @staticmethod
    def concat(parts: Iterable[Draws]) -> Draws:
        """Put draws of the same items together; every part's chains stay chains of their own.

        Examples
        --------
        >>> Draws.concat([Draws([[0, 0]]), Draws([[0, 1]])]).chains
        array([0, 1])
        """
        parts = [] if isinstance(parts, Draws) else list(parts)
        if not parts or not all(isinstance(part, Draws) for part in parts):
            raise InvalidTypeError("`parts` must be a list of Draws: Draws.concat([a, b]).")
        first = parts[0]
        for part in parts[1:]:
            if part.n_items != first.n_items or part.item_names != first.item_names:
                raise InvalidValueError(
                    "`parts` must be draws of the same items: their number or names differ "
                    f"({first.n_items} and {part.n_items} items)."
                )
        starts = np.cumsum([0] + [part.n_chains for part in parts])
        chains = [p._chain_numbers + s for p, s in zip(parts, starts, strict=False)]
        weighted = any(part.weights is not None for part in parts)
        coded = all(part.has_codes for part in parts)
        shared = [k for k in first.traces if all(k in part.traces for part in parts)]
        return Draws(
            labels=np.concatenate([part.labels for part in parts]),
            weights=np.concatenate([p._weights_or_ones for p in parts]) if weighted else None,
            chains=np.concatenate(chains),
            item_names=first.item_names,
            traces={k: np.concatenate([part.traces[k] for part in parts]) for k in shared},
            codes=np.concatenate([part.codes for part in parts if coded] or [np.empty(0)]),
            assumptions=tuple(dict.fromkeys(a for part in parts for a in part.assumptions)),
            about={k: v for k, v in first.about.items() if all(p.about.get(k) == v for p in parts)},
            observed=_missing.joined(parts),
        )

    @property
    def _weights_or_ones(self) -> FloatArray:
        return np.ones(self.n_draws) if self.weights is None else self.weights

    def unique(self) -> Draws:
        """Return the distinct partitions, in order of appearance, with their summed weights.

        Draws of weight zero are dropped. Chains, traces and codes are not kept: a partition may
        have come from several draws, each with its own.
        """
        weights = self._weights_or_ones
        kept = np.flatnonzero(weights > 0)
        some = self._picked(kept, weights=None, chains=None, traces={}, codes=np.empty(0, np.int64))
        first, owner = distinct_draws(some.labels)
        summed = np.bincount(owner, weights[kept], first.size).astype(np.float64)
        return some._picked(first, weights=summed)

    @classmethod
    def from_log_weights(
        cls, log_weights: Any, *, key: str | None = None, rng: Seed = None, isolate: bool = False
    ) -> Draws:
        """Sample labels from the weights of a marginalised mixture, one for each draw and item.

        Stan, PyMC and NumPyro sum the labels out; what they keep is, for every draw and item,
        log(weight of cluster k) + log density of the item under it, up to a constant. For losses
        that need only a similarity, :meth:`Similarity.from_log_weights` is exact given the draws.

        Parameters
        ----------
        log_weights : array-like, object or path
            (draws, items, clusters) or (chains, draws, items, clusters), or what holds such an
            array: ArviZ data, a dict of samples, a file, or a pattern of files, a chain each.
        key : str, optional
            The variable, where there are several.
        rng : int, SeedSequence or Generator, optional
            One seed, one answer.
        isolate : bool
            Read a file in a process of its own, as :func:`read_draws` does.

        Examples
        --------
        >>> import numpy as np
        >>> Draws.from_log_weights(np.log([[[0.5, 0.5], [1e-9, 1.0]]]), rng=0).n_items
        2
        """
        weights = io.read_weights(log_weights, key, isolate=isolate)
        seed = validate.seed(rng)
        draws = cls(
            sampled(weights.array, seed),
            chains=weights.chains,
            item_names=weights.item_names,
            assumptions=(f"Labels were sampled from the weights of a mixture, seed {seed}.",),
        )
        return draws if weights.codes is None else draws._with(codes=weights.codes[draws.codes])

    def to_arviz(self, estimate: Any = None) -> Any:
        """Return the draws as ArviZ has them: variable ``labels`` (chain, draw, item), and traces.

        An InferenceData where ArviZ before 1.0 is installed, else a DataTree, which is what later
        ones use. :func:`read_draws` and every verb take it back, from ``.nc`` and Zarr too. Labels
        are as the sampler numbered them. With an :class:`Estimate` a group ``partita`` holds it,
        its memberships, and what no numbering changes of each draw: ``n_clusters`` and
        ``entropy``, that of the sizes in bits.
        """
        if self.observed is not None:
            raise InvalidValueError(_missing.missing_text("`to_arviz`", self))
        return to_arviz(self, estimate)

    def save(self, path: Path) -> None:
        """Write everything to an ``.npz`` file that :func:`read_draws` reads back."""
        arrays: dict[str, NDArray[Any]] = {"labels": self.labels, "codes": self.codes}
        if self.weights is not None:
            arrays["weights"] = self.weights
        if self.chains is not None:
            arrays["chains"] = self.chains
        if self.item_names is not None:
            arrays["item_names"] = np.array(self.item_names, dtype=np.str_)
        if self.observed is not None:
            arrays["observed"] = self.observed
        arrays |= {f"trace:{name}": trace for name, trace in self.traces.items()}
        arrays |= {f"about:{name}": np.array(value) for name, value in self.about.items()}
        io.write_npz(path, arrays)
