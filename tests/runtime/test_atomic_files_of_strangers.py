"""Writing to devices, pipes and names that cannot exist, and what killed processes left."""

import os
import subprocess
import sys
import threading

import pytest

from gomea_bn import GomeaBnError, GomeaBnWarning
from gomea_bn.runtime import check_name, write_bytes, write_text
from gomea_bn.runtime.files import is_left_over, process_mark


def mark_of_dead_process():
    """Return the mark of a process that has ended."""
    command = [sys.executable, "-S", "-c", "import os; print(os.getpid())"]
    number = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return process_mark().replace(str(os.getpid()), number, 1)


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(GomeaBnError, match="Cannot write"):
        write_bytes(pipe, b"nobody reads")
    read = []
    # opened for both, so that the reader does not wait for a writer
    descriptor = os.open(pipe, os.O_RDWR)
    reader = threading.Thread(target=lambda: read.append(os.read(descriptor, 100)))
    reader.start()
    write_bytes(pipe, b"content")
    reader.join()
    os.close(descriptor)
    assert read == [b"content"]
    assert not pipe.is_file()
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_link_to_a_device_is_not_replaced(tmp_path):
    link = tmp_path / "null"
    link.symlink_to(os.devnull)
    write_text(link, "lost")
    assert link.is_char_device()
    assert os.path.realpath(link) == os.devnull


def test_names_that_cannot_exist_are_refused_before_anything_is_written(tmp_path):
    for name, words in (("x" * 300, "name too long"), ("a\0b", "null")):
        with pytest.raises(GomeaBnError, match=f"(?i){words}"):
            check_name(tmp_path / name)
    # 240 bytes in UTF-8: the name of the temporary file must be shorter
    write_text(tmp_path / ("\N{GRINNING FACE}" * 60), "content")
    assert len(os.listdir(tmp_path)) == 1


def test_half_of_a_surrogate_pair_is_refused(tmp_path):
    with pytest.raises(GomeaBnError, match="surrogate"):
        write_text(tmp_path / "a.bif", "variable \ud800")
    assert os.listdir(tmp_path) == []


def test_the_leftovers_of_dead_processes_are_removed_and_others_stay(tmp_path):
    dead = tmp_path / f".a.json.{mark_of_dead_process()}.part"
    alive = tmp_path / f".a.json.{process_mark()}.part"
    foreign = tmp_path / ".a.json.notes.part"
    of_other_file = tmp_path / f".b.json.{mark_of_dead_process()}.part"
    for path in (dead, alive, foreign, of_other_file):
        path.write_text("unfinished")
    with pytest.warns(GomeaBnWarning, match="unfinished file of a process that was killed"):
        write_text(tmp_path / "a.json", "{}")
    assert {path.name for path in tmp_path.iterdir()} == {
        "a.json", alive.name, foreign.name, of_other_file.name,
    }  # fmt: skip


@pytest.mark.parametrize("mark", ["", "1", "x-y", "-1-a", "٣", f"{10**30}"])
def test_marks_of_strangers_are_never_left_over(mark):
    assert not is_left_over(mark)
    _, _, rest = process_mark().partition("-")
    assert not is_left_over(f"{mark}-{rest}" if mark != "1" else f"{mark}-other-machine")
