"""Arguments as a call gives them: hints, constants, tuples, keywords, streams, structs."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import pytest

from tests.launchers import FACES, Face, Host, Launcher, of_kernel, of_signature, other_host
from tests.zoo import ZOO


def words(launch: Any) -> tuple[int, ...]:
    """Return each parameter as the unsigned number that it is."""
    return tuple(int.from_bytes(value, "little") for value in launch.values)


# ---- hints on integers ---------------------------------------------------------------------------

HINTED = of_signature("p: *fp32:16, one: i32:1, wide: i64:1, n: i32:16, u: u64:16")


@pytest.mark.parametrize("face", FACES, ids=str)
def test_dispatch5_shape7_an_argument_that_equals_1_is_kept_but_not_passed(
    host: Host, face: Face
) -> None:
    launch = host.launched(face, HINTED, 1, None, (0x1000, 1, 1, 32, 64))
    assert words(launch) == (0x1000, 32, 64)
    header = HINTED.header()
    assert "int32_t one," in header
    assert "int64_t wide," in header


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("value", [0, -1, 2, 2**32 + 1, -(2**63), 2**63 - 1])
def test_dispatch5_shape7_any_other_value_is_refused_whole(
    host: Host, face: Face, value: int
) -> None:
    text = host.refusal(face, HINTED, 1, None, (0x1000, 1, value, 32, 64))
    assert text.startswith(f"k: argument 2 'wide' (i64:1): {value} ")
    assert text.endswith(" is not 1")


@pytest.mark.parametrize("face", FACES, ids=str)
def test_shape7_the_example_of_the_report(host: Host, face: Face) -> None:
    launcher = of_signature("*fp32, *i64, i32:1, i32")
    assert words(host.launched(face, launcher, 1, None, (16, 32, 1, 7))) == (16, 32, 7)
    assert "is not 1" in host.refusal(face, launcher, 1, None, (16, 32, 2, 7))


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("value", [-16, 0, 16, 2**31 - 16, -(2**31)])
def test_multiples_of_16_of_either_sign_keep_the_promise(
    host: Host, face: Face, value: int
) -> None:
    launch = host.launched(face, HINTED, 1, None, (0, 1, 1, value, 0))
    assert launch.values[1] == struct.pack("<i", value)


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("value", [1, -1, 8, -8, 15, 2**31 - 1])
def test_ptr8_an_integer_that_breaks_its_promise_is_refused_as_it_was_given(
    host: Host, face: Face, value: int
) -> None:
    text = host.refusal(face, HINTED, 1, None, (0, 1, 1, value, 0))
    assert text.startswith(f"k: argument 3 'n' (i32:16): {value} ")
    assert text.endswith(" is not divisible by 16")
    text = host.refusal(face, HINTED, 1, None, (0, 1, 1, 0, 2**64 - 1))
    assert text.startswith(f"k: argument 4 'u' (u64:16): {2**64 - 1} ")


@pytest.mark.parametrize("face", FACES, ids=str)
def test_hints_on_a_tuples_leaves_are_tested(host: Host, face: Face) -> None:
    launcher = of_signature("t: (*fp32:16, (i32:16, i64:1))")
    assert words(host.launched(face, launcher, 1, None, ((32, (48, 1)),))) == (32, 48)
    text = host.refusal(face, launcher, 1, None, ((33, (48, 1)),))
    assert text.startswith("k: argument 0 't.0' (*fp32:16): 33 ")
    text = host.refusal(face, launcher, 1, None, ((32, (48, 2)),))
    assert text.startswith("k: argument 0 't.1.1' (i64:1): 2 ")


# ---- tuples and constants ------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("(*fp32, i32, (i64, constexpr)), u8", ((16, 5, (6, "any")), 7), (16, 5, 6, 7)),
        ("(i32, constexpr)", ((5, 1),), (5,)),
        ("((i64, i64), (i64, constexpr))", (((1, 2), (3, None)),), (1, 2, 3)),
        ("(i32,), (), i32", ((1,), (), 2), (1, 2)),
        ("((), (constexpr,)), i32", (((), (object(),)), 2), (2,)),
        ("(((((i8,),),),),)", ((((((5,),),),),),), (5,)),
        ("(constexpr, (constexpr, i32)), constexpr, i32", ((0, (0, 1)), 0, 2), (1, 2)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_shape3_shape10_tuples_arrive_as_their_leaves_without_constants(
    host: Host, face: Face, text: str, values: Any, expected: Any
) -> None:
    assert words(host.launched(face, of_signature(text), 1, None, values)) == expected


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            [1, (2, 3)],
            "argument 0 't' ((i32, (i64, constexpr))): expected a tuple, got [1, (2, 3)]",
        ),
        (5, "argument 0 't' ((i32, (i64, constexpr))): expected a tuple, got 5"),
        (None, "expected a tuple, got None"),
        ((1,), "argument 0 't' ((i32, (i64, constexpr))): expected 2 elements, got 1"),
        ((1, (2, 3), 4), "expected 2 elements, got 3"),
        ((), "expected 2 elements, got 0"),
        ((1, 2), "argument 0 't.1' ((i64, constexpr)): expected a tuple, got 2"),
        ((1, (2,)), "argument 0 't.1' ((i64, constexpr)): expected 2 elements, got 1"),
        (("x", (2, 3)), "argument 0 't.0' (i32): expected an int, got 'x' of type str"),
        ((1, (2.5, 3)), "argument 0 't.1.0' (i64): expected an int, got 2.5 of type float"),
    ],
    ids=repr,
)
def test_shape3_a_tuple_of_another_shape_is_refused_by_its_place(
    host: Host, given: Any, problem: str
) -> None:
    launcher = of_signature("t: (i32, (i64, constexpr))")
    text = host.refusal(Face.PYTHON, launcher, 1, None, (given,), raises=TypeError)
    assert problem in text


def test_a_tuple_of_a_class_of_its_own_is_a_tuple(host: Host) -> None:
    class Shape(tuple[int, ...]):
        __slots__ = ()

    launcher = of_signature("(i32, i32)")
    assert words(host.launched(Face.PYTHON, launcher, 1, None, (Shape((5, 6)),))) == (5, 6)


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("text", ["", "1024", "constexpr, constexpr", "(), (constexpr,)"])
def test_shape1_signatures_without_run_time_arguments_launch(
    host: Host, face: Face, text: str
) -> None:
    launcher = of_signature(text, triton_version=(3, 6))
    values = tuple(((), (5,)) if text.startswith("(") else "xy"[: text.count("c") or 1])
    values = values if text else ()
    launch = host.launched(face, launcher, 1, None, values)
    assert launch.values == (bytes(8), bytes(8))


@pytest.mark.parametrize("face", FACES, ids=str)
def test_shape1_no_slots_at_all_launch_too(host: Host, face: Face) -> None:
    assert host.launched(face, of_signature(""), 1).parameters == ()


CONSTANTS = of_signature("a: i32, B: constexpr, c: i32, D: constexpr = 4, E: constexpr")


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((1, None, 2), {}),
        ((1, ..., 2, 3), {}),
        ((1, "B", 2, "D", []), {}),
        ((1,), {"c": 2}),
        ((), {"a": 1, "c": 2}),
        ((), {"c": 2, "E": 5, "a": 1}),
        ((1, 0), {"c": 2, "D": 0}),
        ((1, 0, 2), {"E": 7}),
        ((1, 0, 2), {"D": None, "E": 7}),
    ],
    ids=str,
)
def test_constants_are_left_out_at_the_end_hold_their_place_or_are_skipped(
    host: Host, values: Any, named: dict[str, Any]
) -> None:
    module = host.module(CONSTANTS)
    module.launch(host.function(CONSTANTS), 1, None, *values, **named)
    (launch,) = host.driver.launches
    assert words(launch) == (1, 2)


# ---- positions and keywords ----------------------------------------------------------------------


def keyword_refusal(host: Host, launcher: Launcher, *values: Any, **named: Any) -> str:
    function = () if launcher.plan.has_image else (host.function(launcher),)
    with pytest.raises(TypeError) as caught:
        host.module(launcher).launch(*function, *values, **named)
    assert host.driver.launches == ()
    return str(caught.value)


def test_everything_goes_by_keyword_too(host: Host) -> None:
    module = host.module(CONSTANTS)
    module.launch(function=host.function(CONSTANTS), grid=(3, 2), stream=None, c=2, a=1)
    (launch,) = host.driver.launches
    assert (launch.grid, words(launch)) == ((3, 2, 1), (1, 2))


@pytest.mark.parametrize(
    ("values", "named", "problem"),
    [
        ((1, None, 1, 0, 2, 0, 0, 0), {}, "launch() takes at most 8 arguments, got 9"),
        ((1, None, 1, 0), {}, "launch() misses argument 'c'"),
        ((1, None), {"c": 1}, "launch() misses argument 'a'"),
        ((1,), {"a": 1, "c": 2}, "launch() misses argument 'stream'"),
        ((), {}, "launch() misses argument 'grid'"),
        ((1, None, 1, 0, 2), {"a": 1}, "launch() got argument 'a' twice"),
        ((1, None, 1, 0, 2), {"grid": 1}, "launch() got argument 'grid' twice"),
        ((1, None, 1, 0, 2), {"B": 1}, "launch() got argument 'B' twice"),
        ((1, None, 1, 0, 2), {"b": 1}, "launch() has no argument named 'b'"),
        ((1, None, 1, 0, 2), {"größe": 1}, "launch() has no argument named 'größe'"),
        ((1, None, 1, 0, 2), {"": 1}, "launch() has no argument named ''"),
    ],
    ids=str,
)
def test_pyapi10_a_call_that_does_not_fit_is_refused(
    host: Host, values: Any, named: dict[str, Any], problem: str
) -> None:
    assert keyword_refusal(host, CONSTANTS, *values, **named) == f"k: {problem}"


def test_a_launcher_with_an_image_takes_no_function(host: Host) -> None:
    add = of_kernel(next(k for k in ZOO if str(k) == "triton-3.6.0-sm90/add"))
    assert "'function'" in keyword_refusal(host, add, 1, None, 1, 2, 3, 4, 5.0, function=1)
    assert "misses argument 'alpha'" in keyword_refusal(host, add, 1, None, 1, 2, 3, 4)
    host.module(add).launch(1, None, n=7, alpha=0.5, out_ptr=3, y_ptr=2, x_ptr=1)
    assert words(host.driver.launches[-1])[:4] == (1, 2, 3, 7)


# ---- the function handle -------------------------------------------------------------------------

SIMPLE = of_signature("n: i32")


@pytest.mark.parametrize("face", FACES, ids=str)
def test_a_null_function_is_refused(host: Host, face: Face) -> None:
    with pytest.raises(Exception, match=r"^k: the function handle is null$"):
        host.call(face, SIMPLE, 1, None, (5,), function=0)
    assert host.driver.launches == ()


@pytest.mark.parametrize("function", [None, "x", 1.0, object()], ids=type)
def test_a_function_is_an_int(host: Host, function: Any) -> None:
    with pytest.raises(TypeError, match=r"^k: function \(int\): expected an int handle, got "):
        host.module(SIMPLE).launch(function, 1, None, 5)


@pytest.mark.parametrize("function", [-1, 2**64])
def test_a_function_has_64_bits(host: Host, function: Any) -> None:
    with pytest.raises(OverflowError, match=r"^k: function \(int\): .* is no 64-bit handle$"):
        host.module(SIMPLE).launch(function, 1, None, 5)


# ---- streams -------------------------------------------------------------------------------------


class CudaStream:
    """A stream by CUDA Python's protocol."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def __cuda_stream__(self) -> object:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class TorchStream:
    """A stream as PyTorch has it."""

    def __init__(self, handle: object) -> None:
        self.handle = handle

    @property
    def cuda_stream(self) -> object:
        if isinstance(self.handle, BaseException):
            raise self.handle
        return self.handle


@pytest.mark.parametrize("face", FACES, ids=str)
def test_a_stream_arrives_as_its_handle(host: Host, face: Face) -> None:
    stream = host.driver.new_stream(host.driver.primary_context())
    assert host.launched(face, SIMPLE, 1, stream, (5,)).stream == stream
    for default in (None, 0, 1, 2):
        assert host.launched(face, SIMPLE, 1, default, (5,)).stream == (default or 0)


def test_objects_tell_their_stream(host: Host) -> None:
    stream = host.driver.new_stream(host.driver.primary_context())

    class Both(CudaStream, TorchStream):
        def __init__(self) -> None:
            CudaStream.__init__(self, (0, stream))
            TorchStream.__init__(self, 0xBAD)

    for given in (CudaStream((0, stream)), TorchStream(stream), Both()):
        assert host.launched(Face.PYTHON, SIMPLE, 1, given, (5,)).stream == stream
    for given in (CudaStream((0, 0)), TorchStream(0)):
        assert host.launched(Face.PYTHON, SIMPLE, 1, given, (5,)).stream == 0


@pytest.mark.parametrize(
    "stream",
    [
        *("s", 1.0, [0], (0, 0), object()),
        *(CudaStream(5), CudaStream((0,)), CudaStream((0, None)), CudaStream([0, 1])),
        *(TorchStream(None), TorchStream("x"), TorchStream(1.5)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_stream_is_refused_with_its_type(host: Host, stream: Any) -> None:
    text = host.refusal(Face.PYTHON, SIMPLE, 1, stream, (5,), raises=TypeError)
    assert "expected an int, None, or an object with __cuda_stream__ or cuda_stream" in text
    assert text.endswith(f"of type {type(stream).__name__}")


@pytest.mark.parametrize("handle", [-1, 2**64, -(2**70)])
def test_a_stream_has_64_bits(host: Host, handle: int) -> None:
    for stream in (handle, CudaStream((0, handle)), TorchStream(handle)):
        text = host.refusal(Face.PYTHON, SIMPLE, 1, stream, (5,), raises=OverflowError)
        assert text.startswith("k: stream ("), text
        assert text.endswith(f"{handle} is no 64-bit handle")


@pytest.mark.parametrize("make", [CudaStream, TorchStream])
def test_ptr2_a_streams_own_exception_passes_through(host: Host, make: Any) -> None:
    error = RuntimeError("mine")
    with pytest.raises(RuntimeError) as caught:
        host.call(Face.PYTHON, SIMPLE, 1, make(error), (5,))
    assert caught.value is error
    assert host.driver.launches == ()


def test_an_attribute_error_of_a_streams_own_is_not_taken_for_a_missing_protocol(
    host: Host,
) -> None:
    error = AttributeError("mine")
    with pytest.raises(AttributeError) as caught:
        host.call(Face.PYTHON, SIMPLE, 1, CudaStream(error), (5,))
    assert caught.value is error


@pytest.mark.parametrize("face", FACES, ids=str)
def test_a_stream_of_another_device_is_refused_by_name(face: Face) -> None:
    with other_host(devices=2) as host:
        host.driver.current_context = host.driver.primary_context(0)
        stream = host.driver.new_stream(host.driver.primary_context(1))
        text = host.refusal(face, SIMPLE, 1, stream, (5,))
        assert text == "k: the stream belongs to device 1, but device 0 is current"
        host.driver.current_context = host.driver.primary_context(1)
        assert host.launched(face, SIMPLE, 1, stream, (5,)).device == 1


# ---- structs and tensor maps ---------------------------------------------------------------------

STRUCT = of_signature("a: i8, s: bytes[24:16], b: i8, t: bytes[3]")
PAYLOAD = bytes(range(24))


@pytest.mark.parametrize("face", FACES, ids=str)
def test_structs_are_copied_whole_and_aligned(host: Host, face: Face) -> None:
    launch = host.launched(face, STRUCT, 1, None, (1, PAYLOAD, 2, b"xyz"))
    found = [(p.offset, p.value) for p in launch.parameters]
    assert found == [(0, b"\1"), (16, PAYLOAD), (40, b"\2"), (41, b"xyz")]


@pytest.mark.parametrize("size", [128, 960, 1280, 17_472])
@pytest.mark.parametrize("face", FACES, ids=str)
def test_structs_of_the_sizes_that_kernels_have(host: Host, face: Face, size: int) -> None:
    payload = bytes(i % 251 for i in range(size))
    launch = host.launched(face, of_signature(f"s: bytes[{size}]"), 1, None, (payload,))
    assert launch.values == (payload,)


def test_any_bytes_like_object_is_a_struct(host: Host) -> None:
    padded = memoryview(b"_" + PAYLOAD + b"_")[1:-1]
    buffer = (ctypes.c_uint8 * 24)(*PAYLOAD)
    for given in (bytearray(PAYLOAD), memoryview(PAYLOAD), padded, buffer):
        launch = host.launched(Face.PYTHON, STRUCT, 1, None, (1, given, 2, b"xyz"))
        assert launch.values[1] == PAYLOAD


@pytest.mark.parametrize("size", [0, 1, 23, 25, 4096])
def test_a_struct_of_another_size_is_refused(host: Host, size: int) -> None:
    text = host.refusal(Face.PYTHON, STRUCT, 1, None, (1, bytes(size), 2, b"xyz"))
    assert text == f"k: argument 1 's' (bytes[24:16]): expected 24 bytes, got {size}"


@pytest.mark.parametrize("given", [None, 5, "x" * 24, [0] * 24], ids=repr)
def test_what_has_no_bytes_is_refused(host: Host, given: Any) -> None:
    text = host.refusal(Face.PYTHON, STRUCT, 1, None, (1, given, 2, b"xyz"), raises=TypeError)
    assert text.startswith("k: argument 1 's' (bytes[24:16]): expected a bytes-like object, got ")
    assert text.endswith(f"of type {type(given).__name__}")


def test_bytes_that_do_not_lie_together_are_refused(host: Host) -> None:
    every_other = memoryview(bytes(48))[::2]
    with pytest.raises(BufferError):
        host.call(Face.PYTHON, STRUCT, 1, None, (1, every_other, 2, b"xyz"))
    assert host.driver.launches == ()


def test_a_null_struct_or_map_is_refused_by_c(host: Host) -> None:
    text = host.refusal(Face.C, STRUCT, 1, None, (1, None, 2, b"xyz"))
    assert text == "k: argument 1 's' (bytes[24:16]) is null"
    text = host.refusal(Face.C, MAP, 1, None, (None, 5))
    assert text == "k: argument 0 'm' (nvTmaDesc) is null"


MAP = of_signature("m: nvTmaDesc, n: i32")
ENCODED = bytes(range(128))


class OldDescriptor:
    """What Triton 3.4's descriptors are to a launcher: an address in the host's memory."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def tma_desc_cpu_ptr(self) -> object:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("face", FACES, ids=str)
def test_shape9_a_tensor_map_arrives_whole(host: Host, face: Face) -> None:
    launch = host.launched(face, MAP, 1, None, (ENCODED, 5))
    assert [(p.offset, p.value) for p in launch.parameters] == [
        (0, ENCODED),
        (128, struct.pack("<i", 5)),
    ]
    assert "const void *m," in MAP.header()


def test_shape9_a_tensor_map_may_be_an_object_that_tells_where_it_lies(host: Host) -> None:
    memory = ctypes.create_string_buffer(ENCODED, 128)
    given = OldDescriptor(ctypes.addressof(memory))
    assert host.launched(Face.PYTHON, MAP, 1, None, (given, 5)).values[0] == ENCODED


@pytest.mark.parametrize(
    ("given", "error", "problem"),
    [
        (bytes(127), ValueError, "expected 128 bytes, got 127"),
        (None, TypeError, "expected 128 bytes or an object with tma_desc_cpu_ptr(), got None"),
        (5, TypeError, "expected 128 bytes or an object with tma_desc_cpu_ptr(), got 5"),
        (OldDescriptor(0), ValueError, "the tensor map is null"),
        (OldDescriptor("x"), TypeError, "expected an address from tma_desc_cpu_ptr(), got 'x'"),
        (OldDescriptor(-1), OverflowError, "-1 is no 64-bit address"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shape9_what_is_no_tensor_map_is_refused(
    host: Host, given: Any, error: type[Exception], problem: str
) -> None:
    text = host.refusal(Face.PYTHON, MAP, 1, None, (given, 5), raises=error)
    assert f"argument 0 'm' (nvTmaDesc): {problem}" in text


def test_ptr2_a_descriptors_own_exception_passes_through(host: Host) -> None:
    error = AttributeError("mine")
    with pytest.raises(AttributeError) as caught:
        host.call(Face.PYTHON, MAP, 1, None, (OldDescriptor(error), 5))
    assert caught.value is error
    assert host.driver.launches == ()
