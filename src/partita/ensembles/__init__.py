"""Many runs of any clusterer: making them, and how many clusters they agree on.

Imports ``draws``, ``similarity``, ``estimation``, ``comparison``, ``parallel`` and below;
scikit-learn only if an estimator of its kind is given.
"""

from partita.ensembles._choice import choose_n_clusters
from partita.ensembles._runs import consensus

__all__ = ["choose_n_clusters", "consensus"]
