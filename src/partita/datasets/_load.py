"""The two data sets of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.io import Shown

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


@dataclass(repr=False, frozen=True, eq=False)
class Dataset(Shown):
    """Data to cluster.

    Parameters
    ----------
    data : ndarray, shape (n, p)
    feature_names : tuple of str
    truth : ndarray of int64, shape (n,), optional
        The known classes.
    item_names : tuple of str, optional
    """

    data: NDArray[np.float64]
    feature_names: tuple[str, ...]
    truth: NDArray[np.int64] | None = None
    item_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        n, p = self.data.shape
        known = "" if self.truth is None else ", with known classes"
        return (
            f"Dataset({validate.count_text(n, 'item')}, {validate.count_text(p, 'column')}{known})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the data as a DataFrame, a row an item."""
        import pandas as pd

        return pd.DataFrame(self.data, columns=list(self.feature_names), index=self.item_names)


def _rows(name: str) -> NDArray[Any]:
    text = files("partita.datasets").joinpath("data", name).read_text(encoding="utf-8")
    return np.loadtxt(StringIO(text), delimiter=",", dtype=str, quotechar='"', ndmin=2)


def load_galaxies() -> Dataset:
    """Return the velocities of 82 galaxies in the Corona Borealis region, in 1,000 km/s.

    As published by Roeder (1990), Density estimation with confidence sets exemplified by
    superclusters and voids in the galaxies, JASA 85, and distributed as ``galaxies`` with R's
    MASS, which notes that the 78th value, 26.690, is a misprint for 26.960. It is kept as
    published. The velocities are in increasing order.

    Examples
    --------
    >>> galaxies = load_galaxies()
    >>> galaxies.data.shape, float(galaxies.data[77, 0])
    ((82, 1), 26.69)
    """
    rows = _rows("galaxies.csv")
    return Dataset(rows[1:].astype(np.float64) / 1000, ("velocity",))


def load_crabs() -> Dataset:
    """Return five measurements (mm) of 200 Leptograpsus crabs of two species and two sexes.

    Frontal lobe size, rear width, carapace length, carapace width and body depth; the truth is
    species by sex, 50 crabs each. From Campbell & Mahon (1974), A multivariate study of variation
    in two species of rock crab of genus Leptograpsus, Australian Journal of Zoology 22.

    Examples
    --------
    >>> crabs = load_crabs()
    >>> crabs.feature_names
    ('FL', 'RW', 'CL', 'CW', 'BD')
    >>> crabs.data.shape, int(crabs.truth.max()) + 1
    ((200, 5), 4)
    """
    rows = _rows("crabs.csv")
    header, body = rows[0].tolist(), rows[1:]
    features = ("FL", "RW", "CL", "CW", "BD")
    columns = [header.index(name) for name in features]
    names = tuple(f"{sp}{sex}{index}" for sp, sex, index in body[:, :3].tolist())
    truth = np.unique(body[:, 0], return_inverse=True)[1] * 2 + (body[:, 1] == "F")
    return Dataset(body[:, columns].astype(np.float64), features, truth.astype(np.int64), names)
