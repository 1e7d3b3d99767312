# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# StampWrappers: writes the plugin's digest into the wrappers. A compiler cache in front of a
# wrapper (`ccache smalloc-cc`) takes the wrapper for the compiler and does not see the plugin
# behind it, so a new plugin must change the wrapper.
#   cmake -DPLUGIN=FILE;... -DWRAPPERS=FILE;FILE... -P StampWrappers.cmake
set(digest "")
foreach(plugin IN LISTS PLUGIN)
  file(SHA256 "${plugin}" one)
  string(APPEND digest "${one}")
endforeach()
string(LENGTH "${digest}" length)
if(length GREATER 64)
  string(SHA256 digest "${digest}")
endif()
foreach(wrapper IN LISTS WRAPPERS)
  if(EXISTS "${wrapper}")
    file(READ "${wrapper}" before)
    string(REGEX REPLACE "\n# plugin: [^\n]*\n" "\n# plugin: ${digest}\n" after "${before}")
    if(NOT after STREQUAL before)
      file(WRITE "${wrapper}" "${after}")
    endif()
  endif()
endforeach()
