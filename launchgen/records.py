"""The record that templates print: every decision, as identifiers, type names, numbers, booleans.

A plan describes one launcher.  It knows every C type and name, the order of everything and which
parts exist; it knows nothing of Jinja, of folders, of this machine or of the time.  Every field
says where it lands in the output.

The records are msgspec's, which are as good as frozen dataclasses and made thirty times as fast:
there are two dozen, and every ``launchgen emit`` makes them.  They stand in one module, however
long, because a template's author looks for fields in one place.
"""

from __future__ import annotations

from msgspec import Struct

from launchgen.descriptor_records import PlanDescriptor, PlanDescriptorType
from launchgen.level0_records import PlanLevel0
from launchgen.naming import CIdentifier


class Banner(Struct, frozen=True, kw_only=True):
    """The comment on top of every file: what made it, from what, how to make it again."""

    signature: str
    """Name and canonical signature, or their first line where they are long; printed where
    ``has_signature``."""
    has_signature: bool
    signature_rest: tuple[str, ...]
    """The further lines, each cut behind an argument."""
    origin: str
    """Where the signature was read from, in words; printed where ``has_origin``."""
    has_origin: bool
    target: str
    sources: tuple[str, ...]
    """``name  sha256:…`` of each file that was read, and of the image."""
    regenerate: str
    """The command line, without an output folder."""
    version: str
    """Of launchgen; printed where ``has_version``."""
    has_version: bool


class PlanParameter(Struct, frozen=True, kw_only=True):
    """A leaf of the signature that a caller passes: one C parameter, one slot or none."""

    label: str
    """In the signature's words, in messages: ``ptrs[1][0]``."""
    index: int
    """Index of the source argument, in messages."""
    declared: str
    """Type and hint as in a signature, in messages."""
    note: str
    """``name: type``, the comment that ties a line of C to the signature."""
    public_c: str
    """Type in the C prototype, up to the name: ``float *``, ``int32_t ``."""
    public: CIdentifier
    """Name in the C prototype."""
    argument: CIdentifier
    """Name of the parameter inside the C source."""
    slot_c: str
    """Type of the storage bits, up to the name."""
    storage_c: str
    """The same type alone, as in a cast."""
    slot: CIdentifier
    """Name of the storage bits."""
    is_pointer: bool
    is_scalar: bool
    is_struct: bool
    is_tensor_map: bool
    is_descriptor: bool
    is_memory: bool
    """A struct or a tensor map: its bits lie at the address that is passed."""
    is_by_address: bool
    """Those and descriptors, for which null is refused."""
    descriptor: PlanDescriptor | None
    copy: CIdentifier
    """Name of a descriptor as the runtime keeps it."""
    filled: CIdentifier
    """Name of what the kernel takes of a descriptor besides: the map, sizes in 32 bits."""
    size: int
    """Bytes of the slot; 0: it has none."""
    align: int
    """Of the slot, in bytes."""
    rounds: bool
    """Whether the storage bits come out of ``round_c``, which can refuse."""
    round_c: str
    is_divisible: bool
    """Whether a value must be divisible by 16."""
    is_one: bool
    """Whether a value must be 1."""
    is_signed: bool
    """Whether a value may be negative, for messages."""


class PlanDeclaration(Struct, frozen=True, kw_only=True):
    """One parameter of a C function."""

    type_c: str
    """Type, up to the name."""
    name: CIdentifier
    note: str
    """What it stands for in the signature; printed where ``has_note``."""
    has_note: bool


class PlanScratch(Struct, frozen=True, kw_only=True):
    """Scratch memory that the kernel needs from the caller."""

    what: str
    """In messages: ``global scratch``."""
    public: CIdentifier
    """Name of the parameter and part of the size function's name."""
    slot: CIdentifier
    size: int
    """Bytes for each that the grid counts: a block or a cluster, of the neediest variant."""
    align: int
    """Of the buffer, in bytes."""


class PlanSlot(Struct, frozen=True, kw_only=True):
    """One entry of the array that the driver reads: the address of a slot's bits."""

    place: str
    """C expression of the bits, or of their address where ``is_memory``."""
    is_memory: bool
    is_part: bool
    """Whether the bits are a part of a descriptor, which the launcher does not change."""
    note: str
    text: str
    """What messages call it: ``argument 3 'n' (i32)``."""
    size: int
    """Bytes."""


class PlanLimits(Struct, frozen=True, kw_only=True):
    """Limits of the target: of the grid in blocks, of clusters, of memory in bytes."""

    grid_x: int
    grid_y: int
    grid_z: int
    portable_cluster: int
    default_shared: int
    largest_shared: int
    """Of any device, without the driver's mode for more."""


class PlanAttribute(Struct, frozen=True, kw_only=True):
    """One launch attribute: its id's name in the runtime and the words of its value."""

    id_c: str
    value_c: str


class PlanImage(Struct, frozen=True, kw_only=True):
    """A compiled kernel: printed into the source, or included from a copy beside it."""

    file: str
    """Name of the copy."""
    content: bytes
    size: int
    """Bytes of the content."""
    length: int
    """Bytes in the source: text ends with a zero there, for the driver."""
    is_text: bool
    is_inline: bool


class PlanVariant(Struct, frozen=True, kw_only=True):
    """One image of the kernel, and what a launch of it needs beside its arguments.

    Without an image there is one all the same.  Sizes are in bytes.
    """

    architecture: str
    """What the image is compiled for; empty where it is not known."""
    suffix: str
    """Behind the names of what is this variant's; empty where there are no others."""
    image: PlanImage | None
    entry: str
    parameter_count: int
    """How many slots the kernel takes, of those that are passed."""
    threads: int
    shared: int
    has_oversized_shared: bool
    """Whether the driver is asked for its mode for more shared memory than devices have."""
    cluster_x: int
    cluster_y: int
    cluster_z: int
    cluster_size: int
    grid_counts_clusters: bool
    attributes: tuple[PlanAttribute, ...]
    attribute_count: int
    has_attributes: bool


class PlanChoice(Struct, frozen=True, kw_only=True):
    """Compute capabilities whose devices run an image, as in 90 for 9.0."""

    variant: int
    """Index of the variant."""
    first: int
    last: int
    has_last: bool
    """Whether ``last`` counts: newer devices do not run it."""


class PlanExample(Struct, frozen=True, kw_only=True):
    """One argument of the call in the example program."""

    value_c: str
    """The value, or the name of the scratch memory."""
    cast_c: str
    """Type of the parameter, as in a cast."""
    note: str
    is_value: bool
    is_buffer: bool
    is_scratch: bool


class PlanUnpack(Struct, frozen=True, kw_only=True):
    """One tuple of the Python call, taken apart into an array of its elements."""

    object: str
    """C expression of the tuple."""
    array: CIdentifier
    count: int
    capacity: int
    """Length of the array: the count, but at least 1."""
    entry: int
    """Its row in the table for messages."""


class PlanConversion(Struct, frozen=True, kw_only=True):
    """A leaf of the Python call, turned into the storage bits of a parameter."""

    parameter: PlanParameter
    object: str
    """C expression of the Python object."""
    entry: int
    """Its row in the table for messages."""
    wide: CIdentifier
    """Name of a scalar's value before it is narrowed to storage bits."""
    storage: CIdentifier
    """Name of a struct's or tensor map's own copy."""
    wide_c: str
    convert_c: str
    limits_c: str


class PlanAllocation(Struct, frozen=True, kw_only=True):
    """Scratch memory that the Python launcher asks the allocator for."""

    scratch: PlanScratch
    buffer: CIdentifier
    """Name of the object that keeps the memory alive."""
    entry: int


class PlanEntry(Struct, frozen=True, kw_only=True):
    """A row of the table that messages of the Python launcher name arguments from."""

    place: str
    """``argument 3 'n'``."""
    type: str
    """Type and hint as in a signature."""


class PlanKeyword(Struct, frozen=True, kw_only=True):
    """One parameter of the Python function, in order."""

    name: CIdentifier
    hint: str
    """Type in the stub."""
    is_constant: bool
    """It may be left out."""
    is_trailing: bool
    """So may everything after it: it has a default where arguments are given by position."""


class PlanPython(Struct, frozen=True, kw_only=True):
    """The Python module: names, conversion steps in order, messages."""

    convention: str
    """How it is called, and so which template prints it."""
    module: CIdentifier
    """What is imported."""
    tail: int
    """Index of the first of the last four arguments before the kernel's, in Triton's conventions:
    metadata of the kernel and of the launch, two hooks."""
    knows_oversized: bool
    """Whether its release asks for the driver's mode for more shared memory than devices have."""
    keywords: tuple[PlanKeyword, ...]
    """Every parameter of the function, in order."""
    own: tuple[PlanKeyword, ...]
    """Parameters of the function that are the launcher's own; they stand first."""
    by_name: tuple[PlanKeyword, ...]
    """The others: one for each source argument, constants included."""
    count: int
    required: int
    """How many positional arguments a call needs."""
    grid: int
    """Index of the argument ``grid``."""
    stream: int
    arguments: tuple[str, ...]
    """The signature, argument by argument."""
    has_arguments: bool
    entries: tuple[PlanEntry, ...]
    has_entries: bool
    images: tuple[str, ...]
    """What the images are compiled for, where it is known."""
    has_images: bool
    unpacks: tuple[PlanUnpack, ...]
    """Outer tuples first."""
    conversions: tuple[PlanConversion, ...]
    allocations: tuple[PlanAllocation, ...]
    has_inner_constants: bool
    """Whether a constant stands before the last run-time argument."""
    num_warps: int
    num_ctas: int
    is_cooperative: bool
    is_pdl: bool
    global_scratch_size: int
    """Bytes for one block; the alignment is the buffer's."""
    global_scratch_align: int
    profile_scratch_size: int
    profile_scratch_align: int
    triton_version: str
    has_triton_version: bool


class LaunchPlan(Struct, frozen=True, kw_only=True):
    """Everything decided about one launcher."""

    name: CIdentifier
    guard: CIdentifier
    banner: Banner
    limits: PlanLimits
    variants: tuple[PlanVariant, ...]
    """Best first."""
    variant_count: int
    best: PlanVariant
    """The first of them: shown where only one can be."""
    is_several: bool
    choices: tuple[PlanChoice, ...]
    """Which devices run which variant; the first that fits counts."""
    choice_count: int
    architectures: str
    """What the images are compiled for, in messages: ``sm_90a, sm_80``."""
    counts_alike: bool
    """Whether all variants count the grid in the same unit."""
    has_image: bool
    has_copies: bool
    """Whether an image is included from a copy."""
    takes_function: bool
    """Whether the caller hands over the loaded kernel: there is no image."""
    is_standalone: bool
    """Whether each source carries everything, its header included, to be printed alone."""
    prototype: tuple[PlanDeclaration, ...]
    """Parameters of ``NAME_launch`` in the header."""
    definition: tuple[PlanDeclaration, ...]
    """The same inside the C source, where a user's name stands behind a prefix."""
    core: tuple[PlanDeclaration, ...]
    """Parameters of the function that both launchers call: storage bits."""
    parameters: tuple[PlanParameter, ...]
    descriptors: tuple[PlanDescriptor, ...]
    has_descriptors: bool
    descriptor_types: tuple[PlanDescriptorType, ...]
    """Each once, in the order of their first use."""
    scratch: tuple[PlanScratch, ...]
    has_scratch: bool
    null_slots: tuple[CIdentifier, ...]
    """Hidden slots without a need: the kernel gets null there."""
    has_null_slots: bool
    slots: tuple[PlanSlot, ...]
    has_slots: bool
    uses_memcpy: bool
    """Whether a fragment of the C launcher copies bits."""
    example: tuple[PlanExample, ...]
    """Arguments of the example's call, in the order of ``prototype``."""
    example_x: int
    """Grid of the example: the smallest that is allowed."""
    example_y: int
    example_z: int
    uses_buffers: bool
    """Whether the example allocates device memory."""
    unhinted: tuple[str, ...]
    """Pointers that carry no ``:16``, as the header's comment lists them."""
    has_unhinted: bool
    fragments: tuple[str, ...]
    """Of the runtime, in order, that the C launcher needs."""
    python_fragments: tuple[str, ...]
    """Of the runtime, in order, that the Python launcher needs."""
    python: PlanPython
    called: LaunchPlan | None
    """The plan of the Python launcher where that is another function than C's."""
    level0: PlanLevel0
