"""What is said of a slip names what was given and what to do about it."""

from __future__ import annotations

import numpy as np
import pytest

import partita as pt
from partita.cli import main
from partita.search import NMF, Exact, Greedy, limited


@pytest.fixture
def files(tmp_path, draws):
    """Draws and their similarity, in files."""
    np.save(tmp_path / "draws.npy", draws.labels)
    np.save(tmp_path / "psm.npy", pt.posterior_similarity(draws).to_dense())
    return tmp_path


def said(capsys, *words):
    """The one line of an error."""
    assert main([*map(str, words)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (["--time-limit", "3"], "which know no --time-limit;"),
        (["--ranks", "2-3", "--polish"], "which know no --ranks and no --polish;"),
        (["--device", "cuda"], "which know no --device;"),
        (["--a", "1.5", "--runs", "3"], "which know no --a and no --runs;"),
        (["--max-clusters", "3"], "which know no --max-clusters;"),
    ],
)
def test_a_method_has_a_search_of_its_own(capsys, files, words, about):
    err = said(capsys, "estimate", files / "draws.npy", "--method", "minvi", *words)
    assert f"--method minvi has a loss and a search of its own, {about}" in err
    err = said(capsys, "estimate", files / "draws.npy", "--method", "minv", *words)
    assert "--method must be one of" in err


def test_a_comparison_takes_the_names_of_its_rows(capsys, files, draws):
    err = said(capsys, "compare", files / "draws.npy", "--method", "minvi", "--device", "cuda")
    assert "such as 'nmf-kl'" in err
    table = pt.compare(draws, methods=["auto-vi", "minvi", "nmf-ls"], rng=0)
    assert list(table.frame.index) == ["auto-vi", "minvi", "nmf-ls"]
    assert table.estimates["auto-vi"].search_name == "auto"
    assert table.estimates["nmf-ls"].loss_name == "vi-lower-bound"
    with pytest.raises(pt.errors.InvalidValueError, match="Did you mean 'nmf-kl'"):
        pt.compare(draws, methods=["nmfkl"])


@pytest.mark.parametrize("scheduler", [(), ("--scheduler", "tcp://127.0.0.1:9")])
@pytest.mark.parametrize("name", ["none.zarr", "none.npy", "none.csv"])
def test_a_file_that_is_not_there_is_what_is_wrong(capsys, tmp_path, name, scheduler):
    err = said(capsys, "estimate", tmp_path / name, *scheduler)
    assert f"{name}' cannot be read: No such file or directory." in err


def test_a_matrix_given_as_draws(capsys, files):
    psm = files / "psm.npy"
    assert said(capsys, "certify", psm).endswith("a similarity matrix: pass --similarity.\n")
    assert "`partita estimate`, `compare` and `certify` take one" in said(capsys, "diagnose", psm)
    assert said(capsys, "estimate", psm).startswith(f"partita: '{psm}' must be whole numbers;")


def test_certify_takes_a_loss_in_the_shell_too(capsys, files, draws):
    words = ["certify", str(files / "draws.npy"), "--seed", "0", "--format", "json"]
    for more in ([], ["--loss", "binder"]):
        assert main([*words, *more, "--a", "1.2"]) == 0
    one, other = capsys.readouterr().out.split("}\n", 1)
    assert one + "}\n" == other
    assert "--loss must be Binder's" in said(capsys, *words, "--loss", "vi")


@pytest.mark.parametrize("wrong", ["1", True, b"1"])
def test_a_limit_must_be_a_number(wrong, draws):
    together = np.zeros(draws.n_items)
    calls = (
        lambda: Greedy(time_limit=wrong),
        lambda: Exact(time_limit=wrong),
        lambda: NMF(time_limit=wrong),
        lambda: limited("auto", wrong),
        lambda: pt.certify(together, draws, time_limit=wrong),
    )
    for call in calls:
        with pytest.raises(pt.errors.InvalidTypeError, match="`time_limit` must be a number"):
            call()


def test_starts_are_a_tuple_and_an_estimate_may_be_one(draws):
    best = pt.estimate(draws, search="average", rng=0)
    for alone in (best, best.labels, best.labels.tolist()):
        with pytest.raises(pt.errors.InvalidTypeError, match=r"into a tuple: starts=\(labels,\)"):
            Greedy(starts=alone)
    for wrong in (5, draws):
        with pytest.raises(pt.errors.InvalidTypeError, match="`starts` must be a tuple; got"):
            Greedy(starts=wrong)
    found, same = (
        pt.estimate(draws, search=Greedy(n_runs=1, moves=("sweep",), starts=(start,)), rng=0)
        for start in (best, best.labels)
    )
    np.testing.assert_array_equal(found.labels, same.labels)
    assert found.info["start"] == "labels"
    assert found.expected_loss <= best.expected_loss
    with pytest.raises(pt.errors.InvalidValueError, match="`starts` must be one label per item"):
        Greedy(starts=(draws,))


def test_a_certificate_far_off_is_in_plain_figures():
    apart = pt.certificates.Certificate(0.5, 0.0, "triangles")
    assert repr(apart) == "Certificate(within 100%, Binder 0.5 ≥ 0)"
    proof = pt.certify(np.zeros(4, dtype=int), np.eye(4), loss=pt.losses.Binder(a=2))
    assert proof.lower_bound >= 0.0
    assert str(proof.lower_bound)[0] != "-"


def test_draws_in_place_of_a_similarity_are_to_be_called_so(capsys, files, draws):
    with pytest.raises(pt.errors.InvalidValueError, match=r"If these are draws, say so: Draws\("):
        pt.certify(draws.labels[0], draws.labels)
    err = said(capsys, "estimate", files / "draws.npy", "--similarity")
    assert "If these are draws, say so by leaving --similarity out." in err


def test_the_expected_loss_of_an_estimate_is_that_of_its_labels(draws):
    best = pt.estimate(draws, search="draws", rng=0)
    assert pt.expected_loss(best, draws) == pt.expected_loss(best.labels, draws)


def test_a_search_that_is_no_kind_of_start_is_passed_as_an_object():
    with pytest.raises(pt.errors.InvalidValueError, match=r"such as search.Spectral\(\)"):
        Greedy(starts=("spectral",))


def test_losses_that_greedy_cannot_score_are_answered_without_python(capsys, files):
    err = said(capsys, "estimate", files / "draws.npy", "--loss", "zero-one", "--search", "greedy")
    assert err.endswith("such as 'draws' or 'average'.\n")


def test_many_partitions_where_one_is_judged_are_counted(capsys, files, draws):
    err = said(capsys, "certify", files / "draws.npy", "--labels", files / "draws.npy")
    rows, columns = draws.labels.shape
    assert f"holds {rows} rows and {columns} columns of labels." in err


@pytest.mark.parametrize(
    ("search", "known"), [("community", ""), ("greedy", "`time_limit`"), ("nmf-kl", "`ranks`")]
)
def test_an_interrupt_advises_only_what_the_search_takes(draws, monkeypatch, search, known):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(pt.search.NAMES[search]), "candidates", interrupted)
    with pytest.raises(KeyboardInterrupt, match="no partition had been found yet") as ended:
        pt.estimate(draws, search=search)
    assert known in str(ended.value)
    assert ("time_limit" in str(ended.value)) == (search != "community")
    assert ("ranks" in str(ended.value)) == (search == "nmf-kl")


def test_a_wanted_number_of_clusters_on_a_similarity_is_binders(files):
    psm = pt.Similarity(np.load(files / "psm.npy"))
    with pytest.raises(pt.errors.InvalidTypeError, match="such as 'binder'; got 'vi-lower"):
        pt.estimate(psm, n_clusters=3)
