#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Building and using a precompiled header.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
printf '#include <stdio.h>\n#include <stdlib.h>\n#include <stdint.h>\n' >all.h
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -x c-header all.h -o all.h.pch
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -include-pch all.h.pch gather.c -o program
has_sites program || fail "no sites"
runs_plain ./program
# A header built without the plugin is usable with it, and the reverse.
quietly "$CLANG" -O2 -x c-header all.h -o plain.pch
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -include-pch plain.pch gather.c -o program
quietly "$CLANG" -O2 -include-pch all.h.pch gather.c -o program
