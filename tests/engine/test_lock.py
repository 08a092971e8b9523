"""The device's lock must hold between users, and nobody may turn it against the one who takes it."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gpubench.cli.watching import View
from gpubench.engine import lock
from gpubench.engine.events import Event, Note
from gpubench.engine.lock import device_lock, lock_path
from gpubench.engine.run import Request, execute
from gpubench.engine.supervisor import RunOptions, Supervisor
from gpubench.engine.workers import WorkerOptions
from gpubench.errors import UsageError
from gpubench.model import Ceiling, Json
from tests.engine.bed import case, script


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder for locks as /run/lock is one."""
    path = tmp_path / "lock"
    path.mkdir()
    path.chmod(0o1777)
    monkeypatch.setattr(lock, "FOLDERS", (tmp_path / "absent", path))
    return path


def test_the_place_is_one_whatever_a_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """TMPDIR and HOME move nothing; the folder is one that everybody may write to."""
    before = lock_path("GPU-1")
    for name in ("TMPDIR", "TMP", "TEMP", "HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, "/nonexistent")
    assert lock_path("GPU-1") == before
    assert before.parent.stat().st_mode & stat.S_IWOTH


def test_a_folder_of_one_user_is_passed_over(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that not everybody may write to cannot hold between users."""
    own = tmp_path / "own"
    own.mkdir(mode=0o755)
    monkeypatch.setattr(lock, "FOLDERS", (own, place))
    assert lock_path("GPU-1").parent == place


@pytest.mark.parametrize("umask", [0o077, 0o000])
def test_the_umask_does_not_shut_others_out(umask: int, place: Path) -> None:
    """The file is made so that all can read it, which a lock needs, and only its owner change it."""
    before = os.umask(umask)
    try:
        with device_lock("GPU-1") as missing:
            assert missing is None
    finally:
        os.umask(before)
    assert (place / "gpubench-gpu-1.lock").stat().st_mode & 0o777 == 0o644


def as_nobody(work: Callable[[], int]) -> int:
    """Do some work as another user, in a process of its own, and return its exit code."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_another_user_meets_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second user is kept out while the first measures, and takes the first one's file afterwards."""

    def other() -> int:
        try:
            with device_lock("GPU-1") as missing:
                return 0 if missing is None else 1
        except UsageError:
            return 2

    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o1777)
        monkeypatch.setattr(lock, "FOLDERS", (Path(name),))
        with device_lock("GPU-1"):
            assert as_nobody(other) == 2
        assert as_nobody(other) == 0
        lock_path("GPU-1").unlink()
        assert as_nobody(other) == 0
        with device_lock("GPU-1") as missing:
            assert missing is None


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "dangling"])
def test_what_is_no_file_is_neither_waited_for_nor_followed(kind: str, place: Path, tmp_path: Path) -> None:
    """The run goes on without a lock and knows why; nothing behind the name is touched."""
    path = place / "gpubench-gpu-1.lock"
    victim = tmp_path / "victim"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        if kind == "link":
            victim.write_text("mine")
            victim.chmod(0o600)
        path.symlink_to(victim)
    with device_lock("GPU-1") as missing:
        assert str(path) in str(missing)
    if kind == "link":
        assert victim.stat().st_mode & 0o777 == 0o600
    assert victim.exists() is (kind == "link")


def test_a_file_that_somebody_prepared_keeps_its_mode(place: Path, tmp_path: Path) -> None:
    """Only a file that this run made gets a new mode: a hard link to something private does not become public."""
    private = tmp_path / "private"
    private.write_text("mine")
    private.chmod(0o600)
    (place / "gpubench-gpu-1.lock").hardlink_to(private)
    with device_lock("GPU-1"):
        pass
    assert private.stat().st_mode & 0o777 == 0o600


class Gpu(Supervisor):
    """A run on a scripted device that says it is a GPU."""

    def open(
        self, ceiling: Ceiling | None = None, claim: Callable[[dict[str, Json]], None] = print
    ) -> tuple[dict[str, Json], Ceiling]:
        """Claim a GPU."""
        return super().open(
            ceiling, lambda found: claim({**found, "device": {**found["device"], "kind": "cuda", "uuid": "GPU-1"}})
        )


def test_a_run_without_a_lock_says_so(place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """When no lock can be had the run warns, also one that was asked to be quiet, and measures all the same."""
    os.mkfifo(place / "gpubench-gpu-1.lock")
    events: list[Event] = []
    device = script(tmp_path)
    with Gpu(RunOptions(WorkerOptions(device))) as supervisor:
        request = Request((case("sum"),), {"name": "s", "sha256": "0"}, (), output=tmp_path / "r.json")
        execute(request, supervisor, events.append)
    (warning,) = [event for event in events if isinstance(event, Note) and event.is_warning]
    assert "holds no lock on the device" in warning.message
    assert "is no regular file" in warning.message
    View(quiet=True, device=device).handle(warning)
    assert "holds no lock" in capfd.readouterr().err


def test_a_second_run_is_refused_while_the_first_holds_it(place: Path) -> None:
    """The lock excludes; without the first it is free again."""
    assert place.exists()
    with device_lock("GPU-1"), pytest.raises(UsageError, match="--share-device"), device_lock("GPU-1"):
        pytest.fail("both have it")
    with device_lock("GPU-1") as missing:
        assert missing is None
