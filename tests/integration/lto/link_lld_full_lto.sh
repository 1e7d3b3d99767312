#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Full LTO with lld, without the plugin in the link: the rewritten code of the compile phase stays.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_linker lld
link_matrix -fuse-ld=lld -flto
end_thp
