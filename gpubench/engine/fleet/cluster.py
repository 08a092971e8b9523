"""A fleet on many machines: each GPU has a worker of a dask cluster, which measures it as a run there would.

The scheduler hands out work and passes messages on; it decides nothing about records. Each worker has one thread and
one GPU, and gets one task at a time, pinned to it. Nothing waits for a task's value, and every wait has a deadline.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from typing import Any

import gpubench
from gpubench.engine.fleet.members import new_member
from gpubench.engine.fleet.order import Order, Report
from gpubench.engine.identity import kernels_sha256, measuring_sha256
from gpubench.errors import MissingExtraError, UsageError
from gpubench.fleet import Member

CONNECT_S = 20.0
"""How long to wait for the scheduler, and for the workers to say what they are."""
FRESH_S = 1.0
"""How old the list of workers may be."""


class Cluster:
    """A connection to a scheduler. Use as a context manager."""

    def __init__(self, address: str, run: str) -> None:
        """Connect. MissingExtraError without dask.distributed; UsageError when nobody answers at the address."""
        try:
            import distributed
        except ImportError as error:
            raise MissingExtraError("distributed", "cluster") from error
        connect: Any = distributed.Client
        security: Any = distributed.Security
        if address.startswith("tls://") and security().get_connection_args("client").get("ssl_context") is None:
            raise UsageError(
                f"--cluster: dask has no certificates for {address}. Set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
                "..._TLS__CLIENT__CERT and ..._TLS__CLIENT__KEY, as docs/fleet.md has them."
            )
        self._topic = f"gpubench-{run}"
        self._boxes: dict[str, queue.SimpleQueue[Report]] = {}
        self._lock = threading.Lock()
        self._addresses: dict[str, str] = {}
        self._looked = -FRESH_S
        try:
            self.client: Any = connect(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(
                f"--cluster: no dask scheduler answers at {address} ({type(error).__name__}: {error}). Start one with "
                "`dask scheduler`, or see docs/fleet.md."
            ) from error
        self.client.subscribe_topic(self._topic, self._deliver)

    @property
    def topic(self) -> str:
        """Where this run's reports go."""
        return self._topic

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):  # whatever a lost scheduler makes of it
            self.client.close(timeout=5)

    def _deliver(self, event: tuple[float, Any]) -> None:
        """Put a report into the box of its attempt; called by the client's own thread."""
        _, message = event
        if isinstance(message, dict) and (box := self._boxes.get(str(message.get("attempt")))) is not None:
            box.put(_plain(message))

    def box(self, attempt: str) -> queue.SimpleQueue[Report]:
        """Return the box of a new attempt."""
        return self._boxes.setdefault(attempt, queue.SimpleQueue())

    def close_box(self, attempt: str) -> None:
        """Forget an attempt: what it still says is thrown away."""
        self._boxes.pop(attempt, None)

    def is_connected(self) -> bool:
        """Tell whether the scheduler is there."""
        return bool(self.client.status == "running")

    def address(self, name: str) -> str | None:
        """Return the address of the worker with this name, as it was a moment ago; None while it is away."""
        with self._lock:
            if time.monotonic() - self._looked > FRESH_S:  # the list of all workers is long, and many ask for it
                found = self.client.scheduler_info(n_workers=-1)["workers"]
                self._addresses = {str(worker["name"]): address for address, worker in found.items()}
                self._looked = time.monotonic()
            return self._addresses.get(name)

    def members(self) -> tuple[Member, ...]:
        """Return a member for each worker. UsageError when there is none, or one that cannot measure."""
        from gpubench.engine.fleet.remote import describe

        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        if not workers:
            raise UsageError("--cluster: the scheduler has no workers. Start one for each GPU; docs/fleet.md has how.")
        many = next((worker["name"] for worker in workers.values() if worker["nthreads"] != 1), None)
        if many is not None:
            raise UsageError(f"--cluster: worker {many} has several threads. Start it with --nthreads 1: one GPU each.")
        try:
            told = self.client.run(describe, on_error="return")
        except (OSError, TimeoutError) as error:
            raise UsageError(f"--cluster: the workers do not answer: {type(error).__name__}: {error}") from error
        found: list[Member] = []
        for address, worker in sorted(workers.items(), key=lambda pair: _order(pair[1], told.get(pair[0]))):
            about = _checked(str(worker["name"]), told.get(address))
            place = [member for member in found if member.host == about["host"]]
            position = int(about["visible"]) if about["visible"].isdigit() else len(place)
            if about["visible"] and any(member.position == position for member in place):
                raise UsageError(
                    f"--cluster: two workers on {about['host']} have GPU {position}. Give each its own by "
                    "CUDA_VISIBLE_DEVICES."
                )
            keys = [member.key for member in found]
            found.append(new_member(str(about["host"]), str(about["device"]), position, keys, str(worker["name"])))
        return tuple(found)

    def submit(self, order: Order, address: str) -> Any:
        """Give an order to the worker at an address, and to no other."""
        from gpubench.engine.fleet.remote import measure

        return self.client.submit(
            measure, order.dumps(), key=order.key, workers=[address], allow_other_workers=False, retries=0, pure=False
        )


def _plain(value: Any) -> Any:
    """Return a message as it was sent: dask's messages arrive with tuples in place of lists."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _order(worker: dict[str, Any], told: Any) -> tuple[str, int, str]:
    visible = str(told.get("visible", "")) if isinstance(told, dict) else ""
    return str(worker.get("host")), int(visible) if visible.isdigit() else 0, str(worker["name"])


def _checked(name: str, told: Any) -> dict[str, Any]:
    """Return what a worker told of itself. UsageError when its gpubench is not this one."""
    if not isinstance(told, dict):
        raise UsageError(f"--cluster: worker {name} cannot say what it is: {told!r}. Is gpubench installed there?")
    here = {"gpubench": gpubench.__version__, "kernels_sha256": kernels_sha256(), "code_sha256": measuring_sha256()}
    names = {"gpubench": "version", "kernels_sha256": "kernels", "code_sha256": "measuring code"}
    other = [names[key] for key, value in here.items() if told.get(key) != value]
    if other:
        raise UsageError(
            f"--cluster: worker {name} has another gpubench ({', '.join(other)}). Install the same one there."
        )
    return told
