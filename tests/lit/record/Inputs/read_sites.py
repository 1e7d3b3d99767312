# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the records of a dumped smalloc_sites section, checking the rules of smalloc/site.h."""
import struct
import sys

data = open(sys.argv[1], "rb").read()
FIXED = struct.Struct("<IHHII Q iIII 8I 4Q ff 8B Q 2I".replace(" ", ""))
assert FIXED.size == 136, FIXED.size
at = 0
while at < len(data):
    (magic, version, fixed, size, flags, ident, cell, line, column, element, function, file, callee, spread, why,
     context, machine, reach, size_bytes, pages, faults, least, misses, saving, pattern, decision, by, model, shift,
     confidence, source, base_shift, node, worth, array) = FIXED.unpack_from(data, at)
    assert magic == 0x31534D53 and version == 1 and fixed == 136, hex(magic)
    assert size % 8 == 0 and size > fixed and at + size <= len(data), size

    def text(offset):
        if offset == 0:
            return ""
        assert fixed <= offset < size, offset
        return data[at + offset:data.index(b"\0", at + offset, at + size)].decode()

    def known(n):
        return "unknown" if n == 2**64 - 1 else n

    print(f"id={ident:016x} function={text(function)} file={text(file)} callee={text(callee)} line={line} column={column}"
          f" element={element} size={known(size_bytes)} pattern={pattern} decision={decision} min={known(least)}"
          f" machine={text(machine)} reach={reach} any={flags >> 12 & 1}" + f" worth={worth}" * (worth != 0) + f" array={text(array)}" * (array != 0))
    print(f"why={text(why)}")
    at += size
print("end")
