"""How to get a report again: Python whose names are honest about what the page does not hold."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, search
from partita._version import __version__
from partita.comparison import Comparison
from partita.similarity import Similarity

if TYPE_CHECKING:
    from types import ModuleType

    from partita.draws import Draws
    from partita.estimation import Estimate

GIVEN = "the caller"  # what found labels that came without an estimate
TITLE = "Clustering report"
_PREFIX = 12  # letters of the hash that are shown beside the draws


def fingerprint(draws: Draws | Similarity) -> str:
    """Return a hash of the canonical labels, the same on every machine, or of the matrix."""
    if isinstance(draws, Similarity):
        runs = draws.draws
        if runs is None or runs.observed is None:
            matrix = np.ascontiguousarray(draws.to_dense(), dtype="<f8")
            return hashlib.sha256(matrix.tobytes()).hexdigest()
        there = np.where(runs.observed, runs.labels, 2**32 - 1)
        return hashlib.sha256(there.astype("<u4").tobytes()).hexdigest()
    shape = f"{draws.n_draws}x{draws.n_items}:".encode()
    found = hashlib.sha256(shape)
    for row in draws.labels:
        found.update(row.astype("<u4").tobytes())
    return found.hexdigest()


_GIVEN_APART = {
    "data": "the data, a row for each item",
    "truth": "the known classes",
    "params": "what the sampler kept of each component",
}


def call(best: Estimate, draws: Draws | Similarity, given: Any, path: Any, **settings: Any) -> str:
    """Return the Python that makes this report; what it cannot hold is a name with a comment.

    Parameters
    ----------
    best, draws
    given : Draws, path or array-like
        The draws as the caller had them.
    path : path
    **settings
        ``data``, ``truth``, ``params``, ``comparison``, ``density``, ``title``, ``wording``,
        ``brief`` and ``first_item`` as the caller had them.
    """
    mark = f"{draws!r} whose SHA-256 begins {fingerprint(draws)[:_PREFIX]}"
    lines = ["import partita as pt", ""]
    if isinstance(given, str | os.PathLike):
        lines.append(f"draws = pt.read_draws({os.fspath(given)!r})  # {mark}")
    else:
        lines.append(f"draws = ...  # {mark}")
    for name, what in _GIVEN_APART.items():
        if settings[name] is not None:
            lines.append(f"{name} = ...  # {what}: as given, not kept here")
    lines += _estimate(best)
    words = [f"{os.path.basename(os.fspath(path))!r}"]
    words += [f"{name}={name}" for name in _GIVEN_APART if settings[name] is not None]
    lines += _choices(settings, words)
    return "\n".join([*lines, f"pt.report(best, draws, {', '.join(words)})", ""])


def _estimate(best: Estimate) -> list[str]:
    """Lines that define ``best``."""
    if best.search == GIVEN:
        return ["best = ...  # labels: as given, not kept here"]
    loss, about_loss = _written("loss", best.loss, best.loss_name, losses)
    how, about_search = _written("search", best.search, best.search_name, search)
    words = f"loss={loss}, search={how}, rng={best.seed}"
    return [*about_loss, *about_search, f"best = pt.estimate(draws, {words})"]


def _written(name: str, value: Any, known: str, module: ModuleType) -> tuple[str, list[str]]:
    """How a loss or a search is written in the call, and a line for one that cannot be."""
    if known in module.NAMES:
        return repr(known), []
    if isinstance(value, str):
        return name, [f"{name} = ...  # one that a file knew by name alone: {_line(value)}"]
    if type(value).__module__.startswith(module.__name__):
        return f"pt.{module.__name__.removeprefix('partita.')}.{value!r}", []
    return name, [f"{name} = ...  # one of your own: {_line(value)}"]


def _line(value: Any) -> str:
    text = " ".join((value if isinstance(value, str) else repr(value)).split())
    return text if len(text) <= 120 else text[:119] + "…"


def _choices(settings: Mapping[str, Any], words: list[str]) -> list[str]:
    """Add what else was chosen to ``words``; lines for what cannot be written out."""
    lines = []
    comparison, density = settings["comparison"], settings["density"]
    if isinstance(comparison, Comparison):
        lines.append("comparison = ...  # what pt.compare returned: as given, not kept here")
        words.append("comparison=comparison")
    elif comparison is not None:
        words.append(f"comparison={bool(comparison)}")
    if isinstance(density, Mapping):
        words.append(f"density={_line(dict(density))}")
    elif isinstance(density, bool):
        words.append(f"density={density}")
    elif density is not None:
        lines.append("density = ...  # points and densities there: as given, not kept here")
        words.append("density=density")
    if settings["wording"] is not None:
        words.append(f"wording={settings['wording']!r}")
    if settings["brief"] is not None:
        words.append(f"brief={bool(settings['brief'])}")
    if settings["first_item"]:
        words.append(f"first_item={settings['first_item']}")
    if settings["title"] != TITLE:
        words.append(f"title={settings['title']!r}")
    return lines


def versions() -> str:
    """Return what made the report."""
    found = [f"partita {__version__}", f"Python {platform.python_version()}"]
    for package in ("numpy", "scipy", "pandas"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join([*found, platform.platform(terse=True)])
