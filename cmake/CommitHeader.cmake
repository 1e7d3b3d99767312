# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes OUTPUT, a header that defines SMALLOC_COMMIT: the short hash of SOURCE's commit; "unknown" if SOURCE is not the
# root of a repository, or there is no git.
execute_process(COMMAND git -C "${SOURCE}" rev-parse --show-cdup OUTPUT_VARIABLE above RESULT_VARIABLE status
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(commit unknown)
if(status EQUAL 0 AND above STREQUAL "")
  execute_process(COMMAND git -C "${SOURCE}" rev-parse --short=12 HEAD OUTPUT_VARIABLE hash RESULT_VARIABLE status
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(status EQUAL 0)
    set(commit "${hash}")
  endif()
endif()
file(WRITE "${OUTPUT}" "#define SMALLOC_COMMIT \"${commit}\"\n")
