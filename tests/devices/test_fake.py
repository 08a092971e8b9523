"""The fake device: right answers, scripted times, scripted faults."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpubench.devices.fake import FakeDevice
from gpubench.devices.fake_kernels import template_arguments
from gpubench.devices.fake_script import parse_script, read_script
from gpubench.dtypes import dtype
from gpubench.errors import (
    CompileError,
    DeviceError,
    FatalDeviceError,
    OutOfMemoryError,
    UnsupportedError,
    UsageError,
)
from gpubench.model import Accuracy, Case, Launch, Plan, Value
from gpubench.operators import operator
from tests.operators.cases import planned

CASES: list[tuple[str, dict[str, Any], str]] = [
    ("cumsum", {"shape": [3, 5], "dim": 1}, "float32"),
    ("cumsum", {"shape": [4, 3, 5], "dim": 0, "layout": {"permute": [2, 0, 1], "offset": 3}}, "bfloat16"),
    ("cumsum", {"shape": [7], "dim": 0}, "int8"),
    ("sum", {"shape": [3, 5, 4], "dim": [0, 2]}, "float16"),
    ("sum", {"shape": [3, 0, 4], "dim": [1]}, "float64"),
    ("elementwise", {"function": "add", "inputs": [{"shape": [4, 6]}, {"shape": [6]}]}, "float32"),
    ("elementwise", {"function": "where", "inputs": [{"shape": [4, 6]}] * 3}, "bfloat16"),
    ("elementwise", {"function": "addcmul", "inputs": [{"shape": [4, 6]}] * 3}, "complex64"),
    ("elementwise", {"function": "clamp", "shape": [4, 6]}, "int32"),
    ("index_add", {"shape": [10, 6], "dim": 0, "indices": 30, "pattern": "uniform", "alpha": 0.5}, "float32"),
    ("index_add", {"shape": [3, 8], "dim": 1, "indices": 30, "pattern": "same", "alpha": 2}, "int16"),
]


class Bound:
    """The naive contender of a case, bound to buffers of a fake device."""

    def __init__(self, device: FakeDevice, name: str, params: dict[str, Any], dtype_name: str) -> None:
        self.device = device
        self.operator = operator(name)
        self.problem = self.operator.problem(Case("case", name, dtype_name, params))
        self.inputs = self.operator.inputs(self.problem)
        self.plan = planned(self.operator.variants[0], self.problem, device.info)
        self.buffers = {}
        addresses = {}
        for operand in self.problem.operands:
            size = dtype(operand.dtype).itemsize
            buffer = self.buffers[operand.name] = device.allocate(operand.view.storage * size)
            addresses[operand.name] = buffer.address + operand.view.offset * size
            if operand.name in self.inputs:
                device.upload(self.inputs[operand.name], buffer)
        self.executable = device.bind(self.plan, addresses, device.allocate(self.plan.workspace_bytes))

    def output(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Return the logical array of the output."""
        (one,) = (operand for operand in self.problem.operands if operand.role != "in")
        host = np.empty(one.view.storage, dtype(one.dtype).numpy)
        self.device.download(self.buffers[one.name], host)
        return one.view.of(host)


def scripted(**fields: Any) -> FakeDevice:
    """Return a device with a script of these fields."""
    return FakeDevice(parse_script(fields))


@pytest.mark.parametrize(("name", "params", "dtype_name"), CASES)
def test_naive_kernels_give_the_operators_answers(name: str, params: dict[str, Any], dtype_name: str) -> None:
    """Every operator, end to end, agrees with numpy's own way to do it."""
    bound = Bound(FakeDevice(), name, params, dtype_name)
    wanted = bound.operator.numpy(bound.problem, bound.inputs)()
    bound.executable.run()
    found = bound.output()
    assert found.shape == wanted.shape
    wide = np.complex128
    np.testing.assert_allclose(found.astype(wide), wanted.astype(wide), rtol=0.02 if "float16" in dtype_name else 1e-2)


def test_other_kernels_are_refused_when_bound() -> None:
    """The fake does not pretend to run what it cannot interpret."""
    plan = Plan(
        "fast", (Launch("a.cu", "gpubench::cumsum::fast<float>", (1, 1, 1), (1, 1, 1), ()),), Accuracy(0, "float32")
    )
    device = FakeDevice()
    with pytest.raises(UnsupportedError, match="cumsum::fast"):
        device.bind(plan, {}, device.allocate(0))


def test_memory_is_bounded_and_comes_back() -> None:
    """Beyond the scripted size it is OutOfMemoryError; a buffer that goes gives its bytes back."""
    device = scripted(info={"memory_bytes": 1000})
    buffer = device.allocate(900)
    with pytest.raises(OutOfMemoryError):
        device.allocate(200)
    assert device.free_bytes() == 100
    del buffer
    assert device.free_bytes() == 1000


def test_an_access_outside_every_buffer_is_an_illegal_address() -> None:
    """A plan with a wrong length fails as on a GPU, and corrupts nothing."""
    device = FakeDevice()
    bound = Bound(device, "cumsum", {"shape": [4, 8], "dim": 1}, "float32")
    (launch,) = bound.plan.launches
    too_long = Value((4000).to_bytes(8, "little"))
    broken = Launch(
        launch.source,
        launch.kernel,
        launch.grid,
        launch.block,
        (*launch.arguments[:5], too_long, *launch.arguments[6:]),
    )
    addresses = {name: buffer.address for name, buffer in bound.buffers.items()}
    executable = device.bind(Plan("naive", (broken,), bound.plan.accuracy), addresses, device.allocate(0))
    with pytest.raises(FatalDeviceError) as caught:
        executable.run()
    assert caught.value.code == 700


def test_times_follow_the_script() -> None:
    """First matching row; drift, outliers and clocks as written; the same script gives the same times."""
    fields = {
        "times": [
            {"kernel": "gpubench::cumsum::*", "us": 100.0, "drift": 0.01, "outlier_every": 3, "sm_mhz": [1980, None]},
            {"us": 5.0},
        ]
    }
    device = scripted(**fields)
    bound = Bound(device, "cumsum", {"shape": [4, 8], "dim": 1}, "float32")
    samples = device.sample("cold", lambda: None, bound.executable.run, 4)
    assert [sample.us for sample in samples] == pytest.approx([100.0, 101.0, 1020.0, 103.0])
    assert [sample.sm_mhz for sample in samples] == [1980, None, 1980, None]
    assert device.sample("cold", lambda: None, lambda: None)[0].us == 5.0


def test_noise_is_deterministic() -> None:
    """Two devices with one seed agree, another seed does not."""

    def draw(seed: int) -> list[float]:
        device = scripted(seed=seed, times=[{"us": 10.0, "spread": 0.1}])
        return [sample.us for sample in device.sample("cold", lambda: None, lambda: None, 5)]

    assert draw(1) == draw(1) != draw(2)
    assert len(set(draw(1))) == 5


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        ("FatalDeviceError", FatalDeviceError, 700),
        ("DeviceError", DeviceError, None),
        ("OutOfMemoryError", OutOfMemoryError, 2),
        ("CompileError", CompileError, None),
    ],
)
def test_scripted_errors_come_where_and_when_they_should(error: str, kind: type[Exception], code: int | None) -> None:
    """After the calls that pass, as often as wanted, for that operator only."""
    fault = {"at": "run", "kernel": "gpubench::sum::*", "after": 1, "times": 1, "error": error, "message": "planned"}
    device = scripted(faults=[{**fault, "code": code}])
    other = Bound(device, "cumsum", {"shape": [4], "dim": 0}, "float32")
    hit = Bound(device, "sum", {"shape": [4]}, "float32")
    for _ in range(3):
        other.executable.run()
    hit.executable.run()
    with pytest.raises(kind, match="planned") as caught:
        hit.executable.run()
    assert getattr(caught.value, "code", None) == code
    hit.executable.run()


def test_a_large_allocation_can_be_refused() -> None:
    """`larger_than` leaves small buffers alone."""
    device = scripted(faults=[{"at": "allocate", "larger_than": 100, "error": "OutOfMemoryError", "code": 2}])
    device.allocate(100)
    with pytest.raises(OutOfMemoryError):
        device.allocate(101)


@pytest.mark.parametrize("what", ["garbage", "wrong", "never_writes"])
def test_spoiled_outputs_differ(what: str) -> None:
    """`wrong` spoils one element, `garbage` nearly all, `never_writes` leaves what was there."""
    params = {"shape": [4, 8], "dim": 1}
    right = Bound(FakeDevice(), "cumsum", params, "float32")
    right.executable.run()
    spoiled = Bound(scripted(faults=[{"at": "run", "do": what}]), "cumsum", params, "float32")
    spoiled.executable.run()
    with np.errstate(invalid="ignore"):
        differing = int((right.output() != spoiled.output()).sum())
    assert (differing == 1) if what == "wrong" else (differing > 25)
    if what == "never_writes":
        assert set(spoiled.output().tobytes()) == {0xCD}


def test_once_over_all_processes(tmp_path: Path) -> None:
    """A fault with a file happens in the first process only: what a retry in a fresh worker relies on."""
    script = parse_script({"faults": [{"at": "synchronize", "once_file": "done"}]})
    with pytest.raises(FatalDeviceError):
        FakeDevice(script, tmp_path).synchronize()
    FakeDevice(script, tmp_path).synchronize()
    assert (tmp_path / "done").exists()


@pytest.mark.parametrize(
    ("fault", "code"),
    [({"do": "exit", "exit_code": 9}, 9), ({"do": "signal", "signal": int(signal.SIGKILL)}, -signal.SIGKILL)],
)
def test_the_process_ends_as_the_script_says(tmp_path: Path, fault: dict[str, Any], code: int) -> None:
    """No cleanup, no message: as after a crash in the driver."""
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"faults": [{"at": "synchronize", **fault}]}))
    program = "import sys; from gpubench.devices import open_device; open_device('fake:' + sys.argv[1]).synchronize()"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", program, path], timeout=60, cwd=root).returncode == code


def test_a_hang_hangs(tmp_path: Path) -> None:
    """Only a signal ends it."""
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"faults": [{"at": "open", "do": "hang"}]}))
    program = "import sys; from gpubench.devices import open_device; print('up', flush=True); open_device(sys.argv[1])"
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", program, f"fake:{path}"], stdout=subprocess.PIPE, cwd=root) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        time.sleep(1.0)
        assert process.poll() is None
        process.kill()


@pytest.mark.parametrize("text", ["{", "[]", '{"fault": []}', '{"faults": [{"at": "lunch"}]}'])
def test_a_script_that_is_not_right_is_a_usage_error(tmp_path: Path, text: str) -> None:
    """A misspelt field must not make a test pass."""
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"s\.json"):
        read_script(path)


def test_template_arguments_split_at_the_top_level() -> None:
    """Nested templates stay whole."""
    assert template_arguments("a::b<c<d, e>, f>") == ("a::b", ("c<d, e>", "f"))
    assert template_arguments("a::b") == ("a::b", ())
