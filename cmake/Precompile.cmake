# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Precompile.cmake makes a build from nothing faster: it precompiles the headers of other projects
# (LLVM, JSON, CLI11, GoogleTest) once a target, and joins files. These headers take most of the
# build's time. smalloc's own headers are always read where they are included, so that each file
# names what it uses.
option(SMALLOC_UNITY "Compile several files of the plugin and of the command at once (half the time from nothing; a change compiles more)" OFF)
option(SMALLOC_PRECOMPILE "Compile the headers of libraries once a target (faster; a missing #include of them is not noticed)" OFF)

# ccache recognises GCC's precompiled headers only if the preprocessed source names them. GCC 12
# also forgets that they are system headers: it warns of false overlaps and bounds inside
# std::string (its bug 105651).
function(_smalloc_uses_precompiled target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)
endfunction()

# smalloc_precompile(TARGET <header>...): precompiles these headers for TARGET.
function(smalloc_precompile target)
  if(SMALLOC_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    _smalloc_uses_precompiled(${target})
  endif()
endfunction()

# smalloc_precompiled_by(TARGET OWNER): TARGET uses the precompiled headers of OWNER, which has the
# same options.
function(smalloc_precompiled_by target owner)
  if(SMALLOC_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${owner})
    _smalloc_uses_precompiled(${target})
  endif()
endfunction()

# smalloc_unity(TARGET): compiles the sources of TARGET in groups: headers and templates of libraries
# are then compiled once a group. The allocator keeps one object a file, as it is tested and
# measured.
function(smalloc_unity target)
  if(SMALLOC_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()
