import numpy as np
import pytest
from scipy.stats import multivariate_normal

from partita.errors import InvalidValueError
from partita.studies.configurations import NAMES, Reading, configuration


@pytest.mark.parametrize("name", NAMES)
def test_moments_are_those_of_the_table(name):
    chosen = configuration(name)
    rng = np.random.default_rng(0)
    many = [chosen.sample(rng) for _ in range(60)]
    for k in range(4):
        mine = np.concatenate([data[chosen.truth == k] for data in many])
        assert np.allclose(mine.mean(axis=0), chosen.means[k], atol=0.12)
        assert np.allclose(np.cov(mine.T), chosen.covariances[k], atol=0.25)
    assert len(many[0]) == (400 if name[1] == "T" else 330)


def test_the_classifier_is_bayes():
    chosen = configuration("FFF")
    data = chosen.sample(np.random.default_rng(1))
    densities = [
        size * multivariate_normal(mean, cov).pdf(data)
        for size, mean, cov in zip(chosen.sizes, chosen.means, chosen.covariances, strict=True)
    ]
    assert np.array_equal(chosen.classify(data), np.argmax(densities, axis=0))


def test_readings_change_what_they_say():
    turned = configuration("FTF", Reading(correlation=-1.0, scale=0.5)).covariances
    assert np.allclose(turned[0], [[1.0, 0.4], [0.4, 0.5]])
    inverse = configuration("FTF", Reading(precision=True)).covariances
    assert np.allclose(np.linalg.inv(inverse[1]), [[1.0, 0.8], [0.8, 2.0]])
    swapped = configuration("FTF", Reading(order=(3, 1, 2, 0))).covariances
    assert np.allclose(swapped[0], 2 * np.eye(2))
    assert np.allclose(configuration("FTT", Reading(scale=0.5)).covariances, np.eye(2))
    assert np.allclose(configuration("TTF", Reading(overlap=9.0)).means[0], 3)


@pytest.mark.parametrize(
    "reading",
    [
        Reading(),
        Reading(scale=0.65),
        Reading(precision=True, order=(3, 0, 2, 1)),
        Reading(correlation=-1.0, overlap=2.0),
    ],
)
def test_a_reading_is_told_and_read_back(reading):
    assert Reading.parse(str(reading)) == reading


@pytest.mark.parametrize(
    "text", ["", "scale", "scale=0", "scale=nan", "order=0012", "precision=no", "colour=red",
             "correlation=2", "scale=0.5,precision"],
)  # fmt: skip
def test_what_is_no_reading_is_refused(text):
    with pytest.raises(InvalidValueError, match="`reading` must be 'printed' or some of"):
        Reading.parse(text)
