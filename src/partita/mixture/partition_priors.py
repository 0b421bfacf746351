"""Priors of the partition: Dirichlet process, Pitman-Yor, mixture of finite mixtures.

All are of Gibbs type, p(c) = V_n(t) prod_k W(n_k) for t clusters of sizes n_k, so that a sampler
needs two numbers: log W(size), and log V(t + 1)/V(t).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core, validate
from partita.errors import InvalidTypeError, InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Tables of the finite mixture stop here: a start of more is refused, no scan opens more.
MOST_CLUSTERS = 2000
# A series over the number of components is given up beyond so many terms; of these, terms whose
# logarithm is so much below the largest are nothing even together.
_MOST_TERMS, _NOTHING = 1 << 22, 60.0


class _WithConcentration:
    """What the priors share that have a concentration: V(t + 1)/V(t) is a formula."""

    @property
    def offset(self) -> float:
        """W(m + 1)/W(m) - m."""
        return 0.0

    def log_more(self, n: int) -> Floats:
        """No table."""
        return np.empty(0)

    def log_new(self, n: int, n_clusters: Any, concentration: Any) -> Floats:
        """Log weight of a new cluster for one more item, where a cluster of m has m + offset."""
        return np.asarray(np.log(concentration - self.offset * n_clusters))


@dataclass(frozen=True)
class DirichletProcess(_WithConcentration):
    """W(m) = Gamma(m), V(t + 1)/V(t) = concentration."""

    def log_size(self, n: int) -> Floats:
        """Log W(0..n)."""
        return _log_gamma(np.maximum(np.arange(n + 1), 1))


@dataclass(frozen=True)
class PitmanYor(_WithConcentration):
    """W(m) = Gamma(m - d)/Gamma(1 - d), V(t + 1)/V(t) = concentration + d t.

    Parameters
    ----------
    discount : float
        d in [0, 1); 0 is the Dirichlet process.
    """

    discount: float = 0.25

    @property
    def offset(self) -> float:
        """W(m + 1)/W(m) - m."""
        return -float(self.discount)

    def log_size(self, n: int) -> Floats:
        """Log W(0..n)."""
        d = validate.real("discount", self.discount, low=0, high=1, open_high=True)
        return np.asarray(_log_gamma(np.maximum(np.arange(n + 1), 1) - d) - _log_gamma(1.0 - d))


@dataclass(frozen=True)
class FiniteMixture:
    """A mixture of finite mixtures (Miller & Harrison 2018).

    The number of components C is random, weights are Dirichlet(gamma, ..., gamma);
    W(m) = Gamma(m + gamma)/Gamma(gamma), V(t) = sum_k k_(t) / (gamma k)^(n) p(C = k).

    Parameters
    ----------
    gamma : float
        Of the Dirichlet weights.
    components : {"geometric", "poisson"}
        C - 1 is geometric, P(C = k) = rate (1 - rate)^(k - 1), or Poisson(rate).
    rate : float
        As above.
    """

    gamma: float = 1.0
    components: str = "geometric"
    rate: float = 0.1

    @property
    def offset(self) -> float:
        """W(m + 1)/W(m) - m."""
        return float(self.gamma)

    def log_more(self, n: int) -> Floats:
        """Log V_n(t + 1) / V_n(t) from t = 0 on; beyond the table no cluster begins."""
        log_v = self.log_v(n, min(n, MOST_CLUSTERS) + 1)
        log_v[0] = 0.0
        return np.append(np.diff(log_v), -np.inf)

    def log_new(self, n: int, n_clusters: Any, concentration: Any) -> Floats:
        """Log weight of a new cluster for one more item, where a cluster of m has m + gamma."""
        return np.asarray(self.log_more(n + 1)[n_clusters] + np.log(self.gamma))

    def log_size(self, n: int) -> Floats:
        """Log W(0..n)."""
        g = validate.real("gamma", self.gamma, low=0, open_low=True)
        return np.asarray(_log_gamma(np.arange(n + 1) + g) - _log_gamma(g))

    def log_components(self, k: Any) -> Floats:
        """Log P(C = k)."""
        k = np.asarray(k, dtype=np.float64)
        validate.choice("components", self.components, ("geometric", "poisson"))
        if self.components == "poisson":
            rate = validate.real("rate", self.rate, low=0, open_low=True)
            return np.asarray((k - 1) * np.log(rate) - rate - _log_gamma(k))
        rate = validate.real("rate", self.rate, low=0, high=1, open_low=True, open_high=True)
        return np.asarray(np.log(rate) + (k - 1) * np.log1p(-rate))

    def log_v(self, n: int, most: int) -> Floats:
        """Log V_n(t) for t = 0..most, the series cut where its tail is below 1e-12 of it."""
        k = np.arange(1.0, self._n_terms(n, most) + 1)
        falling = _log_gamma(k)
        common = self._log_terms(k, n, 0)
        out = np.full(most + 1, -np.inf)
        # A smaller t gives large k less weight, so what is cut off at t may be left out below.
        end = k.size
        for t in range(most, 0, -1):
            terms = common[t - 1 : end] - falling[: end - t + 1]
            top = terms.max()
            out[t] = top + np.log(np.exp(terms - top).sum())
            end -= int(np.argmax(terms[::-1] > top - _NOTHING))
        return out

    def _log_terms(self, k: Floats, n: int, t: int) -> Floats:
        """Log of k_(t) / (gamma k)^(n) p(k), for t = 0 of k! instead of k_(t)."""
        g = self.gamma
        value = _log_gamma(k + 1) + self.log_components(k)
        value += _log_gamma(g * k) - _log_gamma(g * k + n)
        return value if t == 0 else np.asarray(value - _log_gamma(k - t + 1))

    def _n_terms(self, n: int, t: int) -> int:
        """So many terms of V_n(t) that the others sum to 1e-12 of them at most.

        Write a term as h(k) p(k). k (log h)'(k) falls with k, so beyond K terms fall at least like
        (k / K)^B with B its value at K, and like p(k), whose ratio of neighbours falls as well.
        """
        from scipy.special import digamma, logsumexp

        g, size = self.gamma, t + 64
        while size <= _MOST_TERMS:
            last = float(size)
            slope = last * (digamma(last + 1) - digamma(last - t + 1))
            slope -= g * last * (digamma(g * last + n) - digamma(g * last))
            step = float(np.diff(self.log_components([last, last + 1]))[0])
            bounds = [np.inf]
            if max(slope, 0.0) / last + step < 0:
                bounds.append(-np.log(np.expm1(-max(slope, 0.0) / last - step)))
            if slope < -1 and step <= 0:
                bounds.append(np.log(last / (-slope - 1)))
            if min(bounds) < np.inf:
                terms = self._log_terms(np.arange(float(t), last + 1), n, t)
                if terms[-1] + min(bounds) < logsumexp(terms) + np.log(1e-12):
                    return size
            size *= 2
        raise InvalidValueError(
            f"`rate` must leave the number of components within about {_MOST_TERMS:,}; got "
            f"{self.rate} with components={self.components!r}. Choose one that expects fewer."
        )


Partition = DirichletProcess | PitmanYor | FiniteMixture
NAMES: dict[str, Any] = {
    "dirichlet": DirichletProcess,
    "pitman-yor": PitmanYor,
    "mfm": FiniteMixture,
}


def named(partition: str | Partition) -> Partition:
    """The partition prior that a name stands for."""
    if isinstance(partition, str):
        found: Partition = validate.lookup("partition", partition, NAMES)()
        return found
    if not isinstance(partition, Partition):
        raise InvalidTypeError(
            f"`partition` must be a name ({', '.join(NAMES)}) or a DirichletProcess, PitmanYor or "
            f"FiniteMixture object; got {partition!r}."
        )
    return partition


def concentration(value: Any) -> tuple[float, float, float]:
    """Shape and rate of the concentration's gamma prior, and where it starts; shape 0 if fixed."""
    if value is None:
        value = (2.0, 1.0)
    if isinstance(value, tuple | list):
        if len(value) != 2:
            raise InvalidValueError(
                "`concentration` must be a number (fixed) or (shape, rate) of a gamma prior; "
                f"got {value!r}."
            )
        shape = validate.real("concentration[0]", value[0], low=0, open_low=True)
        rate = validate.real("concentration[1]", value[1], low=0, open_low=True)
        start = validate.real("concentration[0] / concentration[1]", shape / rate, low=1e-300)
        return shape, rate, start
    return 0.0, 0.0, validate.real("concentration", value, low=0, open_low=True)


def _log_gamma(x: Any) -> Floats:
    values = np.asarray(x, np.float64)
    return _core.lgamma(np.ascontiguousarray(values.ravel())).reshape(values.shape)
