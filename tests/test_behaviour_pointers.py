"""Pointers from Python: which objects have an address, what is translated, what is refused."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import pytest

from tests.launchers import FACES, Face, Host, of_signature, other_host

POINTER_ATTRIBUTE = "cuPointerGetAttribute"
ONE = of_signature("x: *fp32, n: i32")
TWO = of_signature("x: *fp32, y: *fp32")
DEVICE_MEMORY = 0x7F00_0000_0000
PINNED = 0x5000_0000_0000
MANAGED, MANAGED_ON_DEVICE = 0x6000_0000_0000, 0x7E00_0000_0000
SIZE = 0x10000


class Tensor:
    """What PyTorch's tensors are to a launcher."""

    def __init__(self, address: object) -> None:
        self.address = address

    def data_ptr(self) -> object:
        if isinstance(self.address, BaseException):
            raise self.address
        return self.address


class CudaArray:
    """What CuPy's and Numba's arrays are to a launcher."""

    def __init__(self, interface: object) -> None:
        self.interface = interface

    @property
    def __cuda_array_interface__(self) -> object:
        if isinstance(self.interface, BaseException):
            raise self.interface
        return self.interface


def cuda_array(address: object) -> CudaArray:
    return CudaArray({"shape": (4,), "typestr": "<f4", "data": (address, False), "version": 3})


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13


class Exporter:
    """An array that only speaks DLPack."""

    def __init__(
        self, address: int, device: object = (CUDA, 0), offset: int = 0, name: bytes = b"dltensor"
    ) -> None:
        self.tensor = _DLTensor(data=address, byte_offset=offset)
        self.device = device
        self.name = name
        self.asked: list[dict[str, object]] = []

    def __dlpack_device__(self) -> object:
        if isinstance(self.device, BaseException):
            raise self.device
        return self.device

    def __dlpack__(self, **options: object) -> object:
        self.asked.append(options)
        return _new_capsule(ctypes.addressof(self.tensor), self.name, None)


@pytest.fixture
def host(host: Host) -> Host:
    """Return a program that has device, pinned and managed memory, and a current context."""
    host.driver.current_context = host.driver.primary_context()
    host.driver.add_memory(DEVICE_MEMORY, SIZE)
    host.driver.add_memory(PINNED, SIZE, host=True)
    host.driver.add_memory(MANAGED, SIZE, host=True, managed_as=MANAGED_ON_DEVICE)
    return host


def address_of(host: Host, given: object) -> int:
    """Return the address that arrives for ``given``."""
    launch = host.launched(Face.PYTHON, ONE, 1, None, (given, 5))
    (address,) = struct.unpack("<Q", launch.values[0])
    return int(address)


def refusal(host: Host, given: object, raises: type[Exception] = ValueError) -> str:
    text = host.refusal(Face.PYTHON, ONE, 1, None, (given, 5), raises=raises)
    assert text.startswith("k: argument 0 'x' (*fp32): ")
    return text


def questions(host: Host) -> int:
    return [call.name for call in host.driver.calls].count(POINTER_ATTRIBUTE)


# ---- what has an address -------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("address", [0, 1, 0x1004, 2**63 - 1, 2**63, 2**64 - 1])
def test_an_int_is_taken_as_given_and_the_driver_is_not_asked(
    host: Host, face: Face, address: int
) -> None:
    launch = host.launched(face, ONE, 1, None, (address, 5))
    assert launch.values[0] == struct.pack("<Q", address)
    assert questions(host) == 0


@pytest.mark.parametrize("face", FACES, ids=str)
def test_none_is_null(host: Host, face: Face) -> None:
    assert host.launched(face, ONE, 1, None, (None, 5)).values[0] == bytes(8)
    assert questions(host) == 0


@pytest.mark.parametrize(
    "make",
    [Tensor, cuda_array, Exporter, lambda a: Exporter(a - 64, offset=64)],
    ids=["data_ptr", "__cuda_array_interface__", "__dlpack__", "__dlpack__ with an offset"],
)
def test_objects_tell_their_address(host: Host, make: Any) -> None:
    assert address_of(host, make(DEVICE_MEMORY + 0x40)) == DEVICE_MEMORY + 0x40
    assert questions(host) == 1


@pytest.mark.parametrize("make", [Tensor, cuda_array, Exporter])
def test_an_empty_tensor_is_null_and_the_driver_is_not_asked(host: Host, make: Any) -> None:
    assert address_of(host, make(0)) == 0
    assert questions(host) == 0


def test_data_ptr_comes_before_the_other_protocols(host: Host) -> None:
    class Both(Tensor, Exporter):
        def __init__(self) -> None:
            Exporter.__init__(self, 0xBAD)
            Tensor.__init__(self, DEVICE_MEMORY)

    both = Both()
    assert address_of(host, both) == DEVICE_MEMORY
    assert both.asked == []


def test_an_object_with_index_is_an_int(host: Host) -> None:
    class Index:
        def __index__(self) -> int:
            return 0x1230

    assert address_of(host, Index()) == 0x1230


@pytest.mark.parametrize("device", [(CUDA, 0), (CUDA_MANAGED, 0)])
def test_a_producer_on_the_gpu_is_asked_not_to_wait(host: Host, device: Any) -> None:
    exporter = Exporter(DEVICE_MEMORY, device)
    address_of(host, exporter)
    assert exporter.asked == [{"stream": -1}]


@pytest.mark.parametrize("device", [(CPU, 0), (CUDA_HOST, 0)])
def test_a_producer_on_the_host_is_not_given_a_stream(host: Host, device: Any) -> None:
    exporter = Exporter(PINNED, device)
    assert address_of(host, exporter) == PINNED
    assert exporter.asked == [{}]


# ---- host memory ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Tensor, cuda_array, Exporter])
def test_ptr6_host_memory_is_refused_by_name(host: Host, make: Any) -> None:
    given = make(0x1000)
    text = refusal(host, given)
    assert "host memory" in text
    assert "0x1000" in text
    assert type(given).__name__ in text


def test_ptr6_numpys_arrays_are_refused_by_name(host: Host) -> None:
    numpy = pytest.importorskip("numpy")
    assert "host memory" in refusal(host, numpy.zeros(4, dtype="float32"))


@pytest.mark.parametrize("make", [Tensor, cuda_array, Exporter])
def test_pinned_and_managed_memory_is_translated(host: Host, make: Any) -> None:
    assert address_of(host, make(PINNED + 0x123)) == PINNED + 0x123
    assert address_of(host, make(MANAGED + 0x123)) == MANAGED_ON_DEVICE + 0x123


def test_ptr6_nothing_is_launched_when_only_the_second_pointer_is_bad(host: Host) -> None:
    values = (Tensor(DEVICE_MEMORY), Tensor(0x1000))
    text = host.refusal(Face.PYTHON, TWO, 1, None, values)
    assert text.startswith("k: argument 1 'y' (*fp32): ")


def test_a_thread_without_a_context_gets_one_to_ask_in(host: Host) -> None:
    host.driver.current_context = None
    assert address_of(host, Tensor(DEVICE_MEMORY)) == DEVICE_MEMORY
    assert host.driver.current_context == host.driver.primary_context()


def test_the_driver_failing_is_no_fault_of_the_pointer(host: Host) -> None:
    host.driver.fail(POINTER_ATTRIBUTE, 700, times=None)
    error = host.module(ONE).CudaError
    text = host.refusal(Face.PYTHON, ONE, 1, None, (Tensor(DEVICE_MEMORY), 5), raises=error)
    assert "cuPointerGetAttribute failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)" in text


# ---- several devices -----------------------------------------------------------------------------


def test_ptr4_a_pointer_of_another_device_names_both() -> None:
    with other_host(devices=2) as host:
        host.driver.add_memory(DEVICE_MEMORY, SIZE, device=1)
        host.driver.current_context = host.driver.primary_context(0)
        text = refusal(host, Tensor(DEVICE_MEMORY))
        assert "lies on device 1, but device 0 is current" in text
        assert "Tensor" in text
        host.driver.current_context = host.driver.primary_context(1)
        assert address_of(host, Tensor(DEVICE_MEMORY)) == DEVICE_MEMORY
        assert host.driver.launches[-1].device == 1


def test_ptr4_without_a_context_the_streams_device_decides() -> None:
    with other_host(devices=2) as host:
        host.driver.add_memory(DEVICE_MEMORY, SIZE, device=1)
        stream = host.driver.new_stream(host.driver.primary_context(1))
        launch = host.launched(Face.PYTHON, ONE, 1, stream, (Tensor(DEVICE_MEMORY), 5))
        assert launch.device == 1


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("address", [-1, -5, -8388608, 2**64, 2**65 + 0x1000, -(2**64)])
def test_ptr1_error3_an_int_that_is_no_address_is_refused(host: Host, address: int) -> None:
    text = refusal(host, address, OverflowError)
    assert f"{address} is no 64-bit address" in text
    text = host.refusal(Face.PYTHON, TWO, 1, None, (DEVICE_MEMORY, address), raises=OverflowError)
    assert text.startswith("k: argument 1 'y' (*fp32): ")


@pytest.mark.parametrize("make", [Tensor, cuda_array], ids=["data_ptr", "interface"])
@pytest.mark.parametrize("address", [-1, 2**64])
def test_ptr1_so_is_what_an_object_says(host: Host, make: Any, address: int) -> None:
    assert "is no 64-bit address" in refusal(host, make(address), OverflowError)


@pytest.mark.parametrize("given", ["x", 1.0, b"12345678", [1], object(), {}, 1j], ids=type)
def test_what_has_no_address_is_refused_with_its_type(host: Host, given: object) -> None:
    text = refusal(host, given, TypeError)
    assert repr(given) in text
    assert text.endswith(f"of type {type(given).__name__}")
    assert "data_ptr()" in text


@pytest.mark.parametrize("address", [None, "x", 1.5], ids=repr)
def test_an_address_is_an_int(host: Host, address: object) -> None:
    assert f"returned {address!r}" in refusal(host, Tensor(address), TypeError)
    assert "__cuda_array_interface__" in refusal(host, cuda_array(address), TypeError)


@pytest.mark.parametrize("interface", [None, {}, {"data": None}, {"data": (1,)}, [1]], ids=repr)
def test_an_interface_without_data_is_refused(host: Host, interface: object) -> None:
    assert "without an address in 'data'" in refusal(host, CudaArray(interface), TypeError)


def failing_exporter(error: BaseException) -> Exporter:
    return Exporter(0, error)


OWN_ERRORS = (RuntimeError("mine"), AttributeError("mine"), TypeError("mine"), KeyboardInterrupt())


@pytest.mark.parametrize(
    ("make", "error"),
    [
        *((Tensor, error) for error in OWN_ERRORS),
        # To raise AttributeError is how a property says that there is none.
        *((CudaArray, error) for error in OWN_ERRORS if not isinstance(error, AttributeError)),
        *((failing_exporter, error) for error in OWN_ERRORS),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)),
)
def test_ptr2_an_objects_own_exception_passes_through(
    host: Host, make: Any, error: BaseException
) -> None:
    with pytest.raises(type(error)) as caught:
        host.call(Face.PYTHON, ONE, 1, None, (make(error), 5))
    assert caught.value is error
    assert host.driver.launches == ()
    # What the exception says of its origin is kept too.
    assert caught.traceback[-1].name in (
        "data_ptr",
        "__cuda_array_interface__",
        "__dlpack_device__",
    )


def test_a_property_that_says_there_is_none_leaves_the_next_protocol(host: Host) -> None:
    class Hidden(CudaArray, Exporter):
        def __init__(self) -> None:
            CudaArray.__init__(self, AttributeError("not on this device"))
            Exporter.__init__(self, DEVICE_MEMORY)

    assert address_of(host, Hidden()) == DEVICE_MEMORY


@pytest.mark.parametrize("device", [None, (), (2,), (2, 0, 0), ("x", 0), [2, 0]], ids=repr)
def test_a_dlpack_device_that_is_none_is_refused(host: Host, device: Any) -> None:
    with pytest.raises(TypeError):
        host.call(Face.PYTHON, ONE, 1, None, (Exporter(DEVICE_MEMORY, device), 5))
    assert host.driver.launches == ()


def test_a_capsule_of_another_kind_is_refused(host: Host) -> None:
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        host.call(Face.PYTHON, ONE, 1, None, (Exporter(1, name=b"used_dltensor"), 5))
    assert host.driver.launches == ()


def test_dlpack_without_the_method_itself_says_so(host: Host) -> None:
    class Half:
        def __dlpack_device__(self) -> tuple[int, int]:
            return CUDA, 0

    with pytest.raises(AttributeError, match="__dlpack__"):
        host.call(Face.PYTHON, ONE, 1, None, (Half(), 5))
    assert host.driver.launches == ()


# ---- hints ---------------------------------------------------------------------------------------

ALIGNED = of_signature("a: *bf16:16, b: *fp32:16")


@pytest.mark.parametrize("face", FACES, ids=str)
def test_ptr8_ptr9_a_pointer_that_breaks_its_promise_is_refused(host: Host, face: Face) -> None:
    text = host.refusal(face, ALIGNED, 1, None, (0x1000, 0x1004))
    assert text == "k: argument 1 'b' (*fp32:16): 4100 (0x1004) is not divisible by 16"
    for address in (1, 8, 15, 2**64 - 1):
        text = host.refusal(face, ALIGNED, 1, None, (address, 0x1000))
        assert text.startswith("k: argument 0 'a' (*bf16:16): ")


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("address", [0, 16, 0x1000, 2**64 - 16, None])
def test_ptr8_an_aligned_pointer_and_null_keep_it(host: Host, face: Face, address: Any) -> None:
    launch = host.launched(face, ALIGNED, 1, None, (address, 0x1000))
    assert launch.values[0] == struct.pack("<Q", address or 0)


def test_ptr8_the_promise_is_about_the_address_that_the_kernel_gets(host: Host) -> None:
    host.driver.add_memory(0x9001, 64, host=True, managed_as=0xA000)
    launch = host.launched(Face.PYTHON, ALIGNED, 1, None, (Tensor(0x9001), 0))
    assert launch.values[0] == struct.pack("<Q", 0xA000)
    host.driver.add_memory(0x9100, 64, host=True, managed_as=0xA108)
    host.refusal(Face.PYTHON, ALIGNED, 1, None, (Tensor(0x9100), 0))


def test_ptr9_the_header_lists_pointers_without_a_promise() -> None:
    header = of_signature("x: *bf16, y: *fp32:16, t: (*i8, (*i8:16, *fp32))").header()
    listed = header.split("without a promise of 16-byte alignment for these pointers:\n")[1]
    assert listed.split(" */")[0] == " *   x\n *   t.0\n *   t.1.1\n"
    assert "without a promise" not in ALIGNED.header()
