# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# StampWrappers decides when the wrappers are other compilers than before: when the plugin is another. A compiler cache in front
# of a wrapper (`ccache smalloc-cc`) takes the wrapper for the compiler and knows of no plugin behind it.
#   cmake -DPLUGIN=FILE -DWRAPPERS=FILE;FILE... -P StampWrappers.cmake
file(SHA256 "${PLUGIN}" digest)
foreach(wrapper IN LISTS WRAPPERS)
  if(EXISTS "${wrapper}")
    file(READ "${wrapper}" before)
    string(REGEX REPLACE "\n# plugin: [^\n]*\n" "\n# plugin: ${digest}\n" after "${before}")
    if(NOT after STREQUAL before)
      file(WRITE "${wrapper}" "${after}")
    endif()
  endif()
endforeach()
