import numpy as np
import pytest
from scipy.stats import multivariate_normal

from partita.errors import InvalidValueError
from studies.mixtures import NAMES, mixture


@pytest.mark.parametrize("name", NAMES)
def test_moments_are_those_of_the_table(name):
    chosen = mixture(name)
    rng = np.random.default_rng(0)
    many = [chosen.sample(rng) for _ in range(60)]
    for k in range(4):
        mine = np.concatenate([data[chosen.truth == k] for data in many])
        assert np.allclose(mine.mean(axis=0), chosen.means[k], atol=0.12)
        assert np.allclose(np.cov(mine.T), chosen.covariances[k], atol=0.25)
    assert len(many[0]) == (400 if name[1] == "T" else 330)


def test_the_classifier_is_bayes():
    chosen = mixture("FFF")
    data = chosen.sample(np.random.default_rng(1))
    densities = [
        size * multivariate_normal(mean, cov).pdf(data)
        for size, mean, cov in zip(chosen.sizes, chosen.means, chosen.covariances, strict=True)
    ]
    assert np.array_equal(chosen.classify(data), np.argmax(densities, axis=0))


def test_readings_change_what_they_say():
    turned = mixture("FTF", "correlation=-1+scale=0.5").covariances
    assert np.allclose(turned[0], [[1.0, 0.4], [0.4, 0.5]])
    assert np.allclose(
        np.linalg.inv(mixture("FTF", "precision").covariances[1]), [[1, 0.8], [0.8, 2]]
    )
    assert np.allclose(mixture("FTF", "order=3120").covariances[0], 2 * np.eye(2))
    assert np.allclose(mixture("FTT", "scale=0.5").covariances, np.eye(2))
    assert np.allclose(mixture("TTF", "overlap=9").means[0], 3)
    assert np.allclose(mixture("FTF", "overlap=2").means[0], 2)


@pytest.mark.parametrize(
    "text", ["scale", "scale=0", "scale=nan", "order=0012", "precision=no", "colour=red",
             "correlation=2", "scale=0.5,precision"],
)  # fmt: skip
def test_what_is_no_reading_is_refused(text):
    with pytest.raises(InvalidValueError, match="`reading` must be 'printed' or some of"):
        mixture("FTF", text)
