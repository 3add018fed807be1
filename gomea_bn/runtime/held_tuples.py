"""Large named tuples as kernels get them: by the address of their fields, instead of every field as an argument.

Numba passes a named tuple as hundreds of arguments, one for each pointer and length of its arrays, and every function
puts them together again. Compiling that took most of the time of large kernels. A tuple of many arrays is therefore
laid out once, in the frame of the call from Python, and kernels get its address. Nothing writes to it, so that the
compiler may keep what it has read.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils as numba_builders
from numba.core import types
from numba.core.datamodel import models as numba_models
from numba.core.datamodel.registry import register_default
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.pythonapi import NativeValue, unbox

MOST_ARRAYS = 5
"""Largest number of arrays of a named tuple that kernels get as arguments, such as a solution, which they also make."""

# numba declares no types of these
_builders: Any = numba_builders
_lower: Any = lower_builtin
_lower_any_field: Any = lower_getattr_generic
_Model: Any = numba_models.DataModel
_Named: Any = types.NamedTuple
_Structure: Any = ir.LiteralStructType
_unbox_by: Any = unbox
_NativeValue: Any = NativeValue


class HeldTuple(_Named):  # type: ignore[misc]
    """The type of a named tuple that kernels get by its address."""

    def __init__(self, members: tuple[Any, ...], held_class: type) -> None:
        super().__init__(members, held_class)
        # names of compiled functions have the names of all types in them
        whole_name: str = self.name
        self.name: str = f"{held_class.__name__}.{hashlib.sha256(whole_name.encode()).hexdigest()[:12]}"


# every call from Python asks for the types of its arguments
@functools.cache
def held(numba_type: Any) -> Any:
    """Return the type by which kernels get arguments of a type: `HeldTuple` for named tuples with many arrays."""
    if not isinstance(numba_type, types.BaseTuple) or isinstance(numba_type, HeldTuple):
        return numba_type
    tuple_type: Any = numba_type
    members = tuple(map(held, tuple_type))
    if isinstance(numba_type, types.BaseNamedTuple):
        named_class = tuple_type.instance_class
        # one of arrays of one type is also read by places that only a call knows
        if isinstance(numba_type, types.NamedTuple) and _n_arrays(numba_type) > MOST_ARRAYS:
            return HeldTuple(members, named_class)
        return types.BaseTuple.from_types(members, named_class)  # type: ignore[no-untyped-call]
    return types.BaseTuple.from_types(members)  # type: ignore[no-untyped-call]


def _n_arrays(numba_type: Any) -> int:
    if isinstance(numba_type, types.BaseTuple):
        return sum(map(_n_arrays, numba_type))  # type: ignore[call-overload]
    return int(isinstance(numba_type, types.Array))


class _Fields(_Structure):  # type: ignore[misc]
    """The type of the fields of a held tuple."""


def promise_fields(module: Any, target_data: Any) -> None:
    """Tell the optimiser that the fields of held tuples can be read everywhere in the functions that get them."""
    sizes: dict[int, int] = {}
    for function in module.functions:
        for argument in function.args:
            fields = getattr(argument.type, "pointee", None)
            if isinstance(fields, _Fields):
                if id(fields) not in sizes:
                    sizes[id(fields)] = fields.get_abi_size(target_data)
                argument.attributes.dereferenceable = sizes[id(fields)]


@register_default(HeldTuple)
class _HeldModel(_Model):  # type: ignore[misc]
    """The address of a structure of all members; those that are held lie inside, others as in arrays of theirs."""

    def __init__(self, manager: Any, held_type: Any) -> None:
        super().__init__(manager, held_type)
        self.members = [manager.lookup(member) for member in held_type]
        self.fields: Any = _Fields(
            [each.fields if isinstance(each, _HeldModel) else each.get_data_type() for each in self.members]
        )
        self._address = self.fields.as_pointer()

    def get_value_type(self) -> Any:
        return self._address

    get_data_type = get_argument_type = get_return_type = get_value_type

    def as_data(self, builder: Any, value: Any) -> Any:
        return value

    as_argument = as_return = as_data

    def from_data(self, builder: Any, value: Any) -> Any:
        return value

    from_argument = from_return = from_data

    def traverse(self, builder: Any) -> list[Any]:
        return []

    def inner_models(self) -> list[Any]:
        return []


def _read_named(context: Any, builder: Any, held_type: Any, address: Any, name: str) -> Any:
    """Write the code that reads a field of a held tuple by its name."""
    return _read_field(context, builder, held_type, address, held_type.fields.index(name))


def _read_numbered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write the code that reads a field of a held tuple by its place, as assignments to several names do."""
    return _read_field(context, builder, signature.args[0], *arguments)


def _read_field(context: Any, builder: Any, held_type: Any, address: Any, place: int) -> Any:
    """Write the code that reads a field of a held tuple: the address of one that is held itself."""
    model = context.data_model_manager[held_type].members[place]
    field = _builders.gep_inbounds(builder, address, 0, place % len(held_type))
    if isinstance(model, _HeldModel):
        return field
    stored = _read(builder, field, model.get_data_type())
    return stored if model.get_data_type() == model.get_value_type() else model.from_data(builder, stored)


def _read(builder: Any, place: Any, kind: Any) -> Any:
    """Write the code that reads what lies at a place, one number or address after another."""
    if isinstance(kind, (ir.LiteralStructType, ir.ArrayType)):
        whole = ir.Constant(kind, ir.Undefined)
        for i in range(len(kind)):
            part = kind.elements[i] if isinstance(kind, ir.LiteralStructType) else kind.element
            whole = builder.insert_value(
                whole, _read(builder, _builders.gep_inbounds(builder, place, 0, i), part), i
            )
        return whole
    value = builder.load(place)
    # nothing writes to a held tuple
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _lay_out(held_type: Any, python_tuple: Any, c: Any) -> Any:
    """Write the code that lays out a tuple of Python in the frame of the call."""
    model = c.context.data_model_manager[held_type]
    place = _builders.alloca_once(c.builder, model.fields)
    is_wrong = _builders.alloca_once_value(c.builder, _builders.false_bit)
    cleanups: list[Callable[[], None]] = []
    _fill(held_type, model, python_tuple, place, is_wrong, cleanups, c)
    # what was written is hidden from the reads, which are marked as reads of what never changes
    kind = ir.FunctionType(place.type, [place.type])
    address = c.builder.asm(kind, "", "=r,0,~{memory}", [place], True)

    def clean_up() -> None:
        for each in reversed(cleanups):
            each()

    return _NativeValue(address, is_error=c.builder.load(is_wrong), cleanup=clean_up if cleanups else None)


def _fill(
    held_type: Any,
    model: _HeldModel,
    python_tuple: Any,
    place: Any,
    is_wrong: Any,
    cleanups: list[Callable[[], None]],
    c: Any,
) -> None:
    """Write the code that lays out the members of a tuple of Python at a place."""
    for i, (member, of_member) in enumerate(zip(held_type, model.members, strict=True)):
        item = c.pyapi.tuple_getitem(python_tuple, i)
        field = _builders.gep_inbounds(c.builder, place, 0, i)
        if isinstance(of_member, _HeldModel):
            _fill(member, of_member, item, field, is_wrong, cleanups, c)
            continue
        if isinstance(member, types.Array):
            c.builder.call(_array_filler(member, of_member, field.type, c), [item, field, is_wrong])
            continue
        native = c.unbox(member, item)
        c.builder.store(of_member.as_data(c.builder, native.value), field)
        with c.builder.if_then(native.is_error, likely=False):
            c.builder.store(_builders.true_bit, is_wrong)
        if native.cleanup is not None:
            cleanups.append(native.cleanup)


def _array_filler(array_type: Any, model: Any, place: Any, c: Any) -> Any:
    """Return the function of a module that lays out an array at a place, written once for arrays of one type."""
    name = f"gomea_bn_fill.{array_type}"
    module = c.builder.module
    if name in module.globals:
        return module.globals[name]
    kind = ir.FunctionType(ir.VoidType(), [c.pyapi.pyobj, place, _builders.false_bit.type.as_pointer()])
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    item, field, is_wrong = function.args
    native = c._replace(builder=builder, pyapi=c.context.get_python_api(builder)).unbox(array_type, item)
    builder.store(model.as_data(builder, native.value), field)
    with builder.if_then(native.is_error, likely=False):
        builder.store(_builders.true_bit, is_wrong)
    builder.ret_void()
    return function


_lower_any_field(HeldTuple)(_read_named)
_lower("static_getitem", HeldTuple, types.IntegerLiteral)(_read_numbered)
_unbox_by(HeldTuple)(_lay_out)
