#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A class has two member containers of one kind. Another unit reads one at random, which sets the
# decision of that member's site. The other member is read in order and keeps its own. Tested:
# vectors, strings, spans, pointers, the program's own classes, in classes that are bases, members,
# templates, elements, local or global; without LTO.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
source=$SMALLOC_SOURCE/tests/integration/fixtures/members.cpp
for unit in 0 1; do
  quietly "$CLANG" -x c++ -std=c++20 -O2 -fPIC -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 \
    -fplugin-arg-smalloc-first-touch=off -DUNIT=$unit -c "$source" -o "unit$unit.o"
done
quietly "$CLANG" -x none -shared unit0.o unit1.o -o libmembers.so -lstdc++
expect_status 0 "$SMALLOC" sites --json libmembers.so
python3 - "$source" <<'PY'
import json, sys

lines = open(sys.argv[1]).read().split("\n")
said, wrong = {}, []
for site in json.load(open("out"))["sites"]:
    text = lines[site["line"] - 1] if site["file"].endswith("members.cpp") else ""
    for word in ("picked", "walked"):
        if text.endswith("// " + word):
            said.setdefault(site["line"], []).append(site["why"])
            if ("picked at random" in site["why"]) != (word == "picked"):
                wrong.append(f"{site['line']}: {text.strip()}: {site['why']}")
marked = {i + 1 for i, text in enumerate(lines) if text.endswith(("// picked", "// walked"))}
missing = [f"{i}: {lines[i - 1].strip()}" for i in sorted(marked - set(said))]
assert not wrong and not missing, "\n".join(["wrong:", *wrong, "no site:", *missing])
assert len(marked) >= 40, len(marked)
PY
