#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""extract-vmlinux.py BZIMAGE OUT: the uncompressed kernel inside a bzImage, which QEMU starts four seconds sooner."""
import subprocess
import sys

image = open(sys.argv[1], "rb").read()
for magic, command in ((b"\x28\xb5\x2f\xfd", ["zstd", "-dc", "-q"]), (b"\xfd7zXZ\0", ["xz", "-dc", "-q"])):
    at = image.find(magic)
    while at >= 0:
        # What follows the compressed kernel makes the tool complain after it has written all.
        out = subprocess.run(command, input=image[at:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
        if out[:4] == b"\x7fELF":
            open(sys.argv[2], "wb").write(out)
            sys.exit(0)
        at = image.find(magic, at + 1)
sys.exit("extract-vmlinux.py: error: no kernel in " + sys.argv[1])
