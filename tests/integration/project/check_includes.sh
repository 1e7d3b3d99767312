#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/check-includes names the file and the line of an include that breaks the layers, circles
# of includes, and large folders.
. "$(dirname "$0")/../support/lib.sh"
check=$SMALLOC_SOURCE/scripts/check-includes
mkdir -p smalloc/{base,os,pages,include/smalloc} passes/plugin runtime/collector
printf '#include <stdint.h>\n' >smalloc/base/units.h
printf '#include "smalloc/base/units.h"\n#include "smalloc/os/os_hooks.h"\n' >smalloc/pages/region.cpp
printf '#include "llvm/base/core/X.h"\n#include "smalloc/site.h"\n' >passes/plugin/Plugin.cpp
expect_status 0 "$check" "$PWD"
expect_status 0 "$check" --help
expect_match out '^usage: scripts/check-includes \[FOLDER\]'
expect_status 2 "$check" --bogus
expect_match err 'unrecognized arguments: --bogus'
expect_status 2 "$check" /nowhere
expect_match err 'folder \(/nowhere\): not found'
refused() { # FILE LINE INCLUDE
  cp "$1" saved
  printf '%s\n' "$3" >>"$1"
  expect_status 1 "$check" "$PWD"
  expect_match out "^$1:$2: "
  mv saved "$1"
}
refused smalloc/base/units.h 2 '#include "smalloc/os/os_hooks.h"'
refused smalloc/pages/region.cpp 3 '  #  include "../override/malloc.h"'
refused smalloc/pages/region.cpp 3 '#include <llvm/IR/Module.h>'
refused smalloc/pages/region.cpp 3 '#include "runtime/cli/main.h"'
refused passes/plugin/Plugin.cpp 3 '#include "smalloc/pages/region.h"'
touch runtime/collector/collector.cpp
refused runtime/collector/collector.cpp 1 '#include "runtime/reuse/histogram.h"'

# Files of one folder that include each other, where X.h and X.cpp count as one.
printf '#include "smalloc/os/b.h"\n' >smalloc/os/a.h
touch smalloc/os/b.h
expect_status 0 "$check" "$PWD"
printf '#include "smalloc/os/a.h"\n' >smalloc/os/b.cpp
expect_status 1 "$check" "$PWD"
expect_match out '^circle of includes: smalloc/os/a, smalloc/os/b$'
rm smalloc/os/b.cpp
touch smalloc/base/x{1..25}.h
expect_status 1 "$check" "$PWD"
expect_match out '^smalloc/base/: 26 files, at most 25$'
rm smalloc/base/x*.h
mkdir smalloc/elsewhere
touch smalloc/elsewhere/x.h
expect_status 1 "$check" "$PWD"
expect_match out '^smalloc/elsewhere/x\.h:1: smalloc/elsewhere/ is no folder'
