import pytest

from partita.errors import FileError
from studies.ledger import Ledger, source, versions

ROW = {"a": 0.123456789, "b": 2.0, "c": "1-7 / 8"}
NOW = versions("digest")


def begin(path, *, resume=True, made=NOW, asked="asked"):
    ledger = Ledger.open(path, asked, resume=resume)
    ledger.go_on(made)
    return ledger


def test_a_row_cut_short_is_dropped_and_the_rest_kept(tmp_path):
    path = tmp_path / "rows.csv"
    ledger = begin(path)
    ledger.add(("x", 1), ROW)
    ledger.add(("x", 0), ROW)
    path.write_bytes(path.read_bytes()[:-3])
    assert begin(path).rows == {("x", 1): {"a": 0.123457, "b": 2.0, "c": "1-7 / 8"}}
    wanted = f"# asked\n# made with {NOW}\npiece,replicate,a,b,c\nx,1,0.123457,2,1-7 / 8\n"
    assert path.read_text() == wanted


def test_after_a_full_disk_what_was_there_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    ledger = begin(path)
    ledger.add(("x", 0), ROW)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("studies.ledger.os.fsync", full)
        with pytest.raises(OSError, match="No space left"):
            ledger.add(("x", 1), ROW)
    path.write_bytes(path.read_bytes()[:-5])  # as much of the row as there was room for
    again = begin(path)
    assert set(again.rows) == {("x", 0)}
    again.add(("x", 1), ROW)
    assert set(begin(path).rows) == {("x", 0), ("x", 1)}


def test_order_of_arrival_leaves_no_trace(tmp_path):
    for name, order in (("one.csv", (0, 1, 2)), ("two.csv", (2, 0, 1))):
        ledger = begin(tmp_path / name)
        for i in order:
            ledger.add(("x", i), {"a": i / 3, "b": 1e-9 * i})
        ledger.settle()
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_refusals(tmp_path):
    path = tmp_path / "rows.csv"
    begin(path).add(("x", 0), ROW)
    with pytest.raises(FileError, match="--resume"):
        begin(path, resume=False)
    with pytest.raises(FileError, match="other settings"):
        begin(path, asked="asked otherwise")
    path.write_text(path.read_text() + "x,1,2\n")
    with pytest.raises(FileError, match="damaged at x 1"):
        begin(path)


@pytest.mark.parametrize(
    "there", ["partita 0.1.0.dev0, numpy 2.4.6", NOW.replace("digest", "old"), ""]
)
def test_another_version_or_study_does_not_go_on(tmp_path, there):
    path = tmp_path / "rows.csv"
    made = f"# made with {there}\n" * bool(there)
    text = f"# asked\n{made}piece,replicate,a\nx,0,1\n"
    path.write_text(text)
    with pytest.raises(
        FileError, match=f"made with {there or 'unknown versions'}, and this is partita"
    ):
        begin(path)
    assert path.read_text() == text
    assert Ledger.read(path).rows == {("x", 0): {"a": 1.0}}


def test_another_numpy_goes_on_and_is_recorded(tmp_path):
    path = tmp_path / "rows.csv"
    before = ", ".join((*source(NOW), "numpy 1.0"))
    path.write_text(f"# asked\n# made with {before}\npiece,replicate,a\nx,0,1\n")
    begin(path)
    assert Ledger.read(path).made == [before, NOW]
