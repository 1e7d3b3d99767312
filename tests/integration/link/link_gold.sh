#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gold links rewritten objects, with and without the library, PIE and not.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_linker gold
link_matrix -fuse-ld=gold
end_thp
