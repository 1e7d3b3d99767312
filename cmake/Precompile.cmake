# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Precompile.cmake decides which headers are compiled once a target: those of other projects only (LLVM, JSON, CLI11, GoogleTest), which
# take most of the time that a build takes. Ours are always read where they are included, so that each file names what it uses.
option(SMALLOC_PRECOMPILE "Compile the headers of libraries once a target (faster; a missing #include of them is not noticed)" OFF)

# GCC's precompiled headers are known to ccache only when they are named in what it preprocesses. And GCC 12 forgets that they are
# the system's: it tells of overlaps and bounds inside std::string that are none (its bug 105651).
function(_smalloc_uses_precompiled target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)
endfunction()

# smalloc_precompile(TARGET <header>...)
function(smalloc_precompile target)
  if(SMALLOC_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    _smalloc_uses_precompiled(${target})
  endif()
endfunction()

# smalloc_precompiled_by(TARGET OWNER): TARGET has the same options as OWNER, and uses what was compiled for it.
function(smalloc_precompiled_by target owner)
  if(SMALLOC_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${owner})
    _smalloc_uses_precompiled(${target})
  endif()
endfunction()
