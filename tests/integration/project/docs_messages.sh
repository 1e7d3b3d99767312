#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Each message that docs/troubleshooting.md quotes in a column "message" is in the source, part by
# part between its "...".
. "$(dirname "$0")/../support/lib.sh"
cd "$SMALLOC_SOURCE"
python3 - <<'P' || fail "a quoted message is not in the source"
import glob, re, sys
sources = [p for tree in ("smalloc", "runtime", "passes", "cmake") for p in glob.glob(tree + "/**/*", recursive=True)
           if p.endswith((".cpp", ".h", ".in", ".cmake"))]
text = "\n".join(open(p, encoding="utf-8").read() for p in sources)
text = re.sub(r'"\s*\n\s*"', "", text)  # adjacent literals are one
text = text.replace('\\"', '"')
column, quoted, missing = None, 0, []
for line in open("docs/troubleshooting.md", encoding="utf-8"):
    cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    if not cells:
        column = None
    elif column is None:
        column = cells[0].strip() == "message"
    elif column:
        for message in re.findall(r"`([^`]*)`", cells[0]):
            quoted += 1
            missing += [part for part in message.split("...") if part not in text and len(part) > 3]
for part in missing:
    print(f"docs/troubleshooting.md: not in the source: {part!r}", file=sys.stderr)
sys.exit(bool(missing) or quoted < 30)
P
