# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails if a dynamic relocation of the program lies inside smalloc_sites, smalloc_keys or smalloc_cells."""
import json
import subprocess
import sys

def elf(*options):
    out = subprocess.run(["llvm-readobj", "--elf-output-style=JSON", *options, sys.argv[1]], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)[0]

ranges = []
for entry in elf("--sections")["Sections"]:
    section = entry["Section"]
    if section["Name"]["Name"].startswith("smalloc_"):
        ranges.append((section["Address"], section["Address"] + section["Size"]))
assert len(ranges) == 3, ranges
found = 0
for group in elf("--relocs")["Relocations"]:
    for entry in group["Relocs"]:
        found += 1
        offset = entry["Relocation"]["Offset"]
        assert not any(low <= offset < high for low, high in ranges), hex(offset)
assert found > 0
