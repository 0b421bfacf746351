"""The paper's experiments, each one file, each run again by one command.

``NAMES`` maps the public strings to studies; each is a frozen dataclass of settings with
``quick()`` and ``run(folder, n_jobs=, resume=)``, which returns :class:`Findings`. A study may use
everything but the shell; studies do not import each other. ``partita reproduce NAME`` runs them.
"""

from __future__ import annotations

from collections.abc import Mapping

from partita.studies._common import Findings, paper_table
from partita.studies.crabs import Crabs
from partita.studies.galaxy import Galaxy
from partita.studies.mixing import Mixing
from partita.studies.readings import Readings
from partita.studies.scaling import Scaling
from partita.studies.simulation import Simulation
from partita.studies.soft import Soft
from partita.studies.solvers import Solvers

__all__ = [
    "NAMES",
    "Crabs",
    "Findings",
    "Galaxy",
    "Mixing",
    "Readings",
    "Scaling",
    "Simulation",
    "Soft",
    "Solvers",
    "paper_table",
]

NAMES: Mapping[
    str,
    type[Simulation]
    | type[Soft]
    | type[Galaxy]
    | type[Crabs]
    | type[Scaling]
    | type[Readings]
    | type[Mixing]
    | type[Solvers],
] = {
    "simulation": Simulation,
    "soft": Soft,
    "galaxy": Galaxy,
    "crabs": Crabs,
    "scaling": Scaling,
    "readings": Readings,
    "mixing": Mixing,
    "solvers": Solvers,
}
