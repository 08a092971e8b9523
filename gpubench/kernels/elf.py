"""The little of the ELF format that a CUBIN needs: its true length, one kernel's identity, and what it takes."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NO_BITS = 8  # a section that takes memory but no bytes of the file
_FRAME_SIZE = 0x11  # the attribute of `.nv.info` that holds (symbol, bytes of stack frame)
_REGISTERS = 0x2F  # ... and (symbol, registers), where the section of the code does not tell
_MOST_THREADS = 0x05  # ... and of one kernel's `.nv.info.NAME` the threads of a block along x, y and z
_PARAMETER = 0x17  # ... of one kernel's `.nv.info.NAME`: (index, ordinal, offset, flags and size) of a parameter
_PARAMETERS_SIZE = 0x19  # ... and the bytes of all of them, in place
_SIZED = 4  # the form of an attribute whose data follow it; the other forms hold at most two bytes in place


def complete(cubin: bytes) -> bytes:
    """Return a CUBIN with its last byte: CuPy's binding cuts it off, as it would the zero at the end of a text.

    That byte is the high byte of the last table's last field, always zero; readers other than the driver miss it.
    """
    if len(cubin) < _HEADER.size or cubin[:4] != b"\x7fELF":
        return cubin
    header = _HEADER.unpack_from(cubin)
    programs, sections, program_size, program_count, section_size, section_count = (
        header[5],
        header[6],
        *header[9:13],
    )
    end = max(programs + program_size * program_count, sections + section_size * section_count)
    return cubin + b"\0" if end == len(cubin) + 1 else cubin


def code_sha256(cubin: bytes, symbol: str, named: bool = True) -> str:
    """Return a hash of what one kernel is to the GPU: its instructions, constants and shared memory.

    Line tables and numbers of symbols are left out, so that a comment, a folder or another kernel in the same program
    changes nothing. named: the symbol counts too; without it a renamed kernel has the hash that it had.
    ValueError when the CUBIN is malformed or has no such kernel.
    """
    parts = {}
    for name, kind, content, size, _ in _sections(cubin):
        if name.endswith("." + symbol) and name.startswith((".text.", ".nv.constant", ".nv.shared.")):
            key = name if named else name.removesuffix(symbol)
            parts[key] = str(size).encode() if kind == _NO_BITS else content
    if f".text.{symbol if named else ''}" not in parts:
        raise ValueError(f"no code of {symbol} in this CUBIN")
    digest = hashlib.sha256()
    for name in sorted(parts):
        digest.update(f"{name}\0{len(parts[name])}\0".encode())
        digest.update(parts[name])
    return digest.hexdigest()


def usage(cubin: bytes, symbol: str) -> tuple[int, int, int]:
    """Return (registers a thread, bytes of static shared memory, bytes of stack frame) of one kernel.

    For compilers that print no report (NVRTC 13.0). ValueError when the CUBIN is malformed or has no such kernel.
    """
    sections = {name: (content, size, info) for name, _, content, size, info in _sections(cubin)}
    if f".text.{symbol}" not in sections:
        raise ValueError(f"no code of {symbol} in this CUBIN")
    shared = sections.get(f".nv.shared.{symbol}", (b"", 0, 0))[1]
    names = sections.get(".strtab", (b"", 0, 0))[0]
    number = _symbol_number(sections.get(".symtab", (b"", 0, 0))[0], names, symbol)
    info = sections.get(".nv.info", (b"", 0, 0))[0]
    frames = dict(_pairs(info, _FRAME_SIZE))
    registers = dict(_pairs(info, _REGISTERS)).get(number, 0) or sections[f".text.{symbol}"][2] >> 24
    return registers, shared, frames.get(number, 0)


def kernels(cubin: bytes) -> tuple[str, ...]:
    """Return the symbols of the kernels in a CUBIN. ValueError when it is malformed."""
    return tuple(name.removeprefix(".nv.info.") for name, *_ in _sections(cubin) if name.startswith(".nv.info."))


def architecture(cubin: bytes) -> int:
    """Return the compute capability that a CUBIN is for, without its point: 90. ValueError when it is malformed."""
    if len(cubin) < _HEADER.size or cubin[:4] != b"\x7fELF":
        raise ValueError("not an ELF file")
    flags = _HEADER.unpack_from(cubin)[7]
    return int(flags >> 8 & 0xFF if cubin[8] >= 8 else flags & 0xFF)  # the ABI's eighth version moved it


def parameters(cubin: bytes, symbol: str) -> tuple[int, ...] | None:
    """Return the sizes in bytes of a kernel's parameters, in order; None where the CUBIN does not tell all of them.

    ValueError when the CUBIN is malformed or has no such kernel.
    """
    found: dict[int, tuple[int, int]] = {}
    total = 0
    for attribute, size, data in _attributes(_info_of(cubin, symbol)):
        if attribute == _PARAMETERS_SIZE:
            total = size
        if attribute == _PARAMETER and len(data) == 12:
            _, ordinal, offset, packed = struct.unpack("<IHHI", data)
            found[ordinal] = (offset, packed >> 18)
    sizes = tuple(size for _, (_, size) in sorted(found.items()))
    end = max((offset + size for offset, size in found.values()), default=0)
    return sizes if end == total else None


def most_threads(cubin: bytes, symbol: str) -> int | None:
    """Return the threads of a block that a kernel is compiled for, at most; None where the CUBIN does not tell.

    ValueError when the CUBIN is malformed or has no such kernel.
    """
    for attribute, _, data in _attributes(_info_of(cubin, symbol)):
        if attribute == _MOST_THREADS and len(data) == 12:
            along_x, along_y, along_z = struct.unpack("<III", data)
            return int(along_x * along_y * along_z)
    return None


def _info_of(cubin: bytes, symbol: str) -> bytes:
    """Return what a CUBIN says of one kernel."""
    content = next((held for name, _, held, *_ in _sections(cubin) if name == f".nv.info.{symbol}"), None)
    if content is None:
        raise ValueError(f"no kernel {symbol} in this CUBIN")
    return content


def _symbol_number(table: bytes, names: bytes, symbol: str) -> int:
    wanted = symbol.encode()
    for number, row in enumerate(_SYMBOL.iter_unpack(table[: len(table) // _SYMBOL.size * _SYMBOL.size])):
        if names[row[0] : names.find(b"\0", row[0])] == wanted and row[1] & 0xF == 2:  # 2: a function
            return number
    return -1


def _pairs(info: bytes, wanted: int) -> Iterator[tuple[int, int]]:
    """Yield the (symbol, value) of every attribute `wanted`."""
    for attribute, _, data in _attributes(info):
        if attribute == wanted and len(data) == 8:
            yield struct.unpack("<II", data)


def _attributes(info: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield (attribute, size or value in place, data) of a section of attributes."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        data = info[at : at + size] if form == _SIZED else b""
        yield attribute, size, data
        at += len(data)


def _sections(cubin: bytes) -> Iterator[tuple[str, int, bytes, int, int]]:
    """Yield (name, type, bytes in the file, size, info) of each section."""
    try:
        header = _HEADER.unpack_from(cubin)
        table, size, count, names_index = header[6], header[11], header[12], header[13]
        rows = [_SECTION.unpack_from(cubin, table + size * number) for number in range(count)]
        names = cubin[rows[names_index][4] : rows[names_index][4] + rows[names_index][5]]
    except (struct.error, IndexError, OverflowError) as error:
        raise ValueError("not an ELF file") from error
    for row in rows:
        name = names[row[0] : names.find(b"\0", row[0])].decode("ascii", "replace")
        content = b"" if row[1] == _NO_BITS else cubin[row[4] : row[4] + row[5]]
        yield name, row[1], content, row[5], row[7]
