# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes OUTPUT, a header that defines SMALLOC_COMMIT: the short hash of SOURCE's commit; "unknown" if SOURCE is not the
# root of a repository. Without git, which the demonstration does not install, the hash is read from the files of .git.
execute_process(COMMAND git -C "${SOURCE}" rev-parse --show-cdup OUTPUT_VARIABLE above RESULT_VARIABLE status
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(commit unknown)
if(status EQUAL 0 AND above STREQUAL "")
  execute_process(COMMAND git -C "${SOURCE}" rev-parse --short=12 HEAD OUTPUT_VARIABLE hash RESULT_VARIABLE status
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(status EQUAL 0)
    set(commit "${hash}")
  endif()
elseif(NOT status MATCHES "^[0-9]+$" AND EXISTS "${SOURCE}/.git/HEAD") # no git
  file(STRINGS "${SOURCE}/.git/HEAD" head LIMIT_COUNT 1)
  if(head MATCHES "^ref: (.*)$")
    set(reference "${CMAKE_MATCH_1}")
    if(EXISTS "${SOURCE}/.git/${reference}")
      file(STRINGS "${SOURCE}/.git/${reference}" head LIMIT_COUNT 1)
    elseif(EXISTS "${SOURCE}/.git/packed-refs")
      file(STRINGS "${SOURCE}/.git/packed-refs" head REGEX " ${reference}$")
    endif()
  endif()
  if(head MATCHES "^[0-9a-f]+")
    string(SUBSTRING "${CMAKE_MATCH_0}" 0 12 commit)
  endif()
endif()
file(WRITE "${OUTPUT}" "#define SMALLOC_COMMIT \"${commit}\"\n")
