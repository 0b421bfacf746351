"""What is wrong is one line on stderr that names the argument, and exit code 2."""

from __future__ import annotations

import numpy as np
import pytest

from partita.cli import COMMANDS


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,y\n" + "\n".join(f"{i}.5,{i * i % 7}.25" for i in range(9)))
    return path


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "completion"])
def test_a_file_that_is_not_there(command, shell, tmp_path):
    needed = ("similarity", "-o", tmp_path / "figure.png") if command == "plot" else ()
    said = shell.refused(command, *needed, tmp_path / "none.csv")
    assert "none.csv' cannot be read: No such file or directory" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("estimat CSV", "unknown command 'estimat'. Did you mean 'estimate'? Choose from"),
        ("estimate CSV --los vi", "unrecognized arguments: --los vi; see partita estimate --help"),
        ("estimate CSV --loss bindr", "got 'bindr'. Did you mean 'binder'?"),
        ("estimate CSV --search gredy", "got 'gredy'. Did you mean 'greedy'?"),
        ("estimate CSV --method minvii", "`method` must be one of"),
        ("estimate CSV --method minvi --loss vi", "`method` names a loss and a search together"),
        ("estimate CSV --method minvi --ranks 2 --a 1", "which know no `a` and no `ranks`;"),
        ("estimate CSV --search nmf-kl --device tpu", "`device` must "),
        ("estimate CSV --device torch:cpu", "`device` must go with a search"),
        ("estimate CSV --search nmf-kl --device cuda --scheduler tcp://a:1", "one of the two"),
        ("estimate CSV --n-clusters 0", "`n_clusters` must be at least 1"),
        ("estimate CSV --n-clusters 5 --max-clusters 2", "must be at most `max_clusters`, 2"),
        ("estimate CSV --max-clusters 0", "`max_clusters` must be at least 1; got 0"),
        ("estimate CSV --max-clusters 3 --search draws", "`max_clusters` must go with searches"),
        ("estimate CSV --ranks 2-12", "`ranks` must go with a search that factorises"),
        ("estimate CSV --search average --polish", "`polish` must go with a search that"),
        ("estimate CSV --search nmf-kl --n-init 0", "`n_init` must be at least 1; got 0"),
        ("estimate CSV --a auto", "`a` auto is what gives `n_clusters`; give that, too."),
        ("estimate CSV --effort 3 --search average", "`effort` must go with a greedy search"),
        ("estimate CSV --n-clusters 61", "`n_clusters` must be at most 60; got 61"),
        ("estimate CSV --n-clusters 55 --search draws", "'draws' had none with 55. Use 'greedy'"),
        ("estimate CSV --a 1.2 --loss nid", "`a` must go with a loss that has a weight, vi or"),
        ("estimate CSV --a 3 --loss binder", "`a` must lie in [0, 2]; got 3"),
        ("estimate CSV --time-limit -1", "`time_limit` must lie"),
        ("estimate CSV --search average --time-limit 9", "`time_limit` must go with a search that"),
        ("estimate CSV --loss zero-one --search greedy", "such as 'draws' or 'average'"),
        ("estimate CSV --burn -1", "`burn` must be at least 0"),
        ("estimate CSV --burn 400", "must leave at least one draw"),
        ("estimate CSV --thin 0", "`thin` must be at least 1"),
        ("estimate CSV --n-jobs 0", "`n_jobs` must be at least 1, or -1"),
        ("estimate CSV --n-jobs two", "argument --n-jobs: invalid int value: 'two'; see"),
        ("estimate CSV --seed -1", "argument --seed: must be a whole number from 0 on; got '-1'"),
        ("estimate CSV -o e.tsv", "`output` must end in .csv, .json or .txt"),
        ("estimate CSV -o no/such/folder/out.csv", "there is no directory"),
        ("estimate CSV --similarity", "If these are draws"),
        ("estimate DATA", "If these are data to cluster, `sample_mixture` draws"),
        ("diagnose CSV --n-chains 3", "`n_chains` must divide the number of draws, 400; got 3"),
        ("compare CSV --methods minvi --device cuda", "such as 'nmf-kl'"),
        ("certify CSV --loss vi", "`loss` must be Binder's"),
        ("certify CSV --labels CSV", "holds 400 rows and 60 columns of labels."),
        ("uncertainty CSV --table bal", "got 'bal'. Did you mean 'ball'? It must be one of"),
        ("uncertainty CSV --ball-loss pear", "`ball_loss` must compare the answer"),
        ("uncertainty CSV --prob 1.5 --search average", "`prob` must lie"),
        ("uncertainty CSV --table modes --n-modes 0", "`n_modes` must be"),
        ("uncertainty CSV --table modes --n-modes some", "`n_modes` must be"),
        ("uncertainty CSV --estimate x.npz --loss vi", "`estimate` names a file"),
        ("uncertainty CSV --estimate x.npz --a 0", "`a` would say how to find one"),
        ("uncertainty CSV --estimate x.npz", "x.npz' cannot be read"),
        ("sample DATA --n-draws 0 -o o.npz", "`n_draws` must be at least 1"),
        ("run DATA --n-burn -1", "`n_burn` must be at least 0"),
        ("run DATA --n-chains 0", "`n_chains` must be at least 1"),
        ("run DATA --method minvii", "`method` must be one of"),
        ("completion tcsh", "It must be one of 'bash', 'zsh', 'fish'"),
    ],
)
def test_a_slip(shell, csv, data, monkeypatch, words, said):
    monkeypatch.chdir(data.parent)
    places = {"CSV": csv, "DATA": data}
    assert said in shell.refused(*(places.get(word, word) for word in words.split()))


def test_run_refuses_before_it_samples(shell, data):
    long = ("--n-draws", 100_000_000, "--loss", "vii")
    assert "`loss` must be one of" in shell.refused("run", data, *long)


@pytest.mark.parametrize("ranks", ["", "0-3", "5-2", "two", "3,,4", "1-999999999", "2:12"])
def test_ranks_that_are_none(shell, csv, ranks):
    said = shell.refused("estimate", csv, "--search", "nmf-ls", f"--ranks={ranks}")
    assert "such as 2-12 or 3,5,8-10; got" in said


@pytest.mark.parametrize("name", ["none.zarr", "none.npy", "none.csv"])
def test_a_missing_file_is_said_before_a_missing_cluster(shell, tmp_path, name):
    said = shell.refused("estimate", tmp_path / name, "--scheduler", "tcp://127.0.0.1:9")
    assert f"{name}' cannot be read: No such file or directory." in said


def test_a_matrix_given_as_draws(shell, psm, tmp_path):
    np.save(tmp_path / "psm.npy", psm)
    for command in ("estimate", "certify", "diagnose"):
        assert "must be whole numbers" in shell.refused(command, tmp_path / "psm.npy")
    words = ("estimate", tmp_path / "psm.npy", "--similarity", "--a", 1.2)
    assert "weight, binder; got 'vi-lower-bound'" in shell.refused(*words)


def test_no_command_at_all(shell):
    code, out, _ = shell.run()
    assert code == 2
    assert out.startswith("usage: partita COMMAND")
