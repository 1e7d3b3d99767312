#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shuffle.py prints mixed.c in another source order. It moves the parts after main (marked `//
part:`), the functions inside each part, and the allocation calls between `// shuffle: begin` and
`// shuffle: end`. Nothing else changes. A page-size decision that depends only on the program's
behaviour stays the same.

  shuffle.py SEED < mixed.c > mixed_shuffled.c      (seed 0: everything reversed)
"""
import random
import re
import sys


def reorder(items, rng):
    items = list(items)
    if rng is None:
        items.reverse()
    else:
        rng.shuffle(items)
    return items


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        print("usage: shuffle.py SEED < mixed.c > mixed_shuffled.c", file=sys.stderr)
        return 2
    rng = random.Random(int(sys.argv[1])) if sys.argv[1] != "0" else None
    head, *parts = re.split(r"(?m)^// part: ", sys.stdin.read())
    begin, calls, end = re.split(r"(?m)^ *// shuffle: (?:begin|end)\n", head)
    sys.stdout.write(begin + "".join(reorder(calls.splitlines(keepends=True), rng)) + end)
    for part in reorder(parts, rng):
        name, body = part.split("\n", 1)
        functions = [f for f in re.split(r"(?m)(?<=^})\n\n|(?<=}\n)\n", body.strip() + "\n") if f.strip()]
        sys.stdout.write("// part: " + name + "\n" + "\n\n".join(f.strip() for f in reorder(functions, rng)) + "\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
