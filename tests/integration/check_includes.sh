#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/check-includes names the file and the line of an include that breaks the layers, and lets others pass.
. "$(dirname "$0")/lib.sh"
check=$SMALLOC_SOURCE/scripts/check-includes
mkdir -p smalloc/{base,core,include/smalloc} passes runtime/trace
printf '#include <stdint.h>\n' >smalloc/base/units.h
printf '#include "base/units.h"\n#include "smalloc/os/os_hooks.h"\n' >smalloc/core/region.cpp
printf '#include "llvm/base/core/X.h"\n#include "smalloc/site.h"\n' >passes/Plugin.cpp
expect_status 0 "$check" "$PWD"
expect_status 0 "$check" --help
expect_match out '^usage: scripts/check-includes \[FOLDER\]'
expect_status 2 "$check" --bogus
expect_match err 'option \(--bogus\): unknown'
expect_status 2 "$check" /nowhere
expect_match err 'folder \(/nowhere\): not found'
refused() { # FILE LINE INCLUDE
  cp "$1" saved
  printf '%s\n' "$3" >>"$1"
  expect_status 1 "$check" "$PWD"
  expect_match out "^$1:$2: "
  mv saved "$1"
}
refused smalloc/base/units.h 2 '#include "os/os_hooks.h"'
refused smalloc/core/region.cpp 3 '  #  include "../override/malloc.h"'
refused smalloc/core/region.cpp 3 '#include <llvm/IR/Module.h>'
refused smalloc/core/region.cpp 3 '#include "runtime/cli/main.h"'
refused passes/Plugin.cpp 3 '#include "smalloc/core/region.h"'
touch runtime/trace/collector.cpp
refused runtime/trace/collector.cpp 1 '#include "runtime/reuse/histogram.h"'
