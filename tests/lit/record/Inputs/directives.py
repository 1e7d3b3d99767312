# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""directives.py FOLDER: base pages for the first site of a unit's table where it is inlined first, superpages wherever else it
is, and a second line for it, which says base pages."""
import glob
import json
import sys

site = json.load(open(glob.glob(sys.argv[1] + "/*.json")[0]))["sites"][0]
context = 0xCBF29CE484222325
for byte in "\n".join(site["context"]).encode():
    context = (context ^ byte) * 0x100000001B3 % 2**64
print("# smalloc.directives/1")
print(f"{site['id']}/{context:016x} page=base")
print(f"{site['id']} page=2m")
print(f"{site['id']} page=base")
