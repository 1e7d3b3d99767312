# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the summaries of an object's smalloc_keys section, checking the rules of smalloc/site.h."""
import os
import struct
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as folder:
    out = os.path.join(folder, "keys")
    subprocess.run(["llvm-objcopy", "-O", "binary", "--only-section=smalloc_keys", "--set-section-flags",
                    "smalloc_keys=alloc", sys.argv[1], out], check=True)
    data = open(out, "rb").read()
at = 0
while at < len(data):
    magic, version, fixed, size, flows, accesses, unit = struct.unpack_from("<IHHIIII", data, at)
    assert magic == 0x314B4D53 and version == 1 and fixed == 24, hex(magic)
    assert size % 8 == 0 and at + size <= len(data), size
    strings = fixed + 24 * flows + 40 * accesses

    def text(offset):
        if offset == 0:
            return ""
        assert strings <= offset < size, offset
        return data[at + offset:data.index(b"\0", at + offset, at + size)].decode()

    for i in range(flows):
        source, target, name, flags = struct.unpack_from("<QQII", data, at + fixed + 24 * i)
        words = ["from-contents", "to-contents", "unless-wrapper", "wrapper", "conditional", "if-wrapper"]
        print("flow", f"{source:016x} -> {target:016x}", text(name), *[w for k, w in enumerate(words) if flags >> k & 1])
    for i in range(accesses):
        key, least, misses, saving, name, why, pattern, contents, confidence = struct.unpack_from(
            "<QQffIIBBB5x", data, at + fixed + 24 * flows + 40 * i)
        print("access", f"{key:016x}", text(name), "contents " * contents + f"pattern={pattern}",
              "never" if least == 2**64 - 1 else f"from={least}", text(why))
    at += size
