"""The little of the ELF format that a CUBIN needs: its true length, and the identity of one kernel's machine code."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_NO_BITS = 8  # a section that takes memory but no bytes of the file


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


def code_sha256(cubin: bytes, symbol: str) -> str:
    """Return a hash of what one kernel is to the GPU: its instructions, constants and shared memory.

    Line tables and numbers of symbols are left out, so that a comment, a folder or another kernel in the same program
    changes nothing.
    ValueError when the CUBIN is malformed or has no such kernel.
    """
    parts = {}
    for name, kind, content, size in _sections(cubin):
        if name.endswith("." + symbol) and name.startswith((".text.", ".nv.constant", ".nv.shared.")):
            parts[name] = str(size).encode() if kind == _NO_BITS else content
    if f".text.{symbol}" not in parts:
        raise ValueError(f"no code of {symbol} in this CUBIN")
    digest = hashlib.sha256()
    for name in sorted(parts):
        digest.update(f"{name}\0{len(parts[name])}\0".encode())
        digest.update(parts[name])
    return digest.hexdigest()


def _sections(cubin: bytes) -> Iterator[tuple[str, int, bytes, int]]:
    """Yield (name, type, bytes in the file, size) of each section."""
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
        yield name, row[1], content, row[5]
