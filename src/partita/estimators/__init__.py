"""scikit-learn estimators: items in rows, as scikit-learn has it.

``PartitionEstimator`` and ``NMFClusterer`` are fitted on posterior draws (items in rows, draws in
columns) or on a precomputed similarity; ``DPMixture`` and ``ConsensusClusterer`` on data. They say
``random_state`` where the rest of partita says ``rng``. scikit-learn is an extra:
``pip install 'partita[sklearn]'``.
"""

from __future__ import annotations

from partita.errors import MissingDependencyError

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise MissingDependencyError(
        "`partita.estimators` needs scikit-learn; pip install 'partita[sklearn]'."
    ) from error

from partita.estimators._consensus import ConsensusClusterer
from partita.estimators._mixture import DPMixture
from partita.estimators._nmf import NMFClusterer
from partita.estimators._partition import PartitionEstimator

__all__ = ["ConsensusClusterer", "DPMixture", "NMFClusterer", "PartitionEstimator"]
