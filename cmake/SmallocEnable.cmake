# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SmallocEnable decides what a target needs to be compiled and linked with smalloc.
#
#   smalloc_enable(target [HEAP split|off|superpage|migrate] [LTO] [STATIC] [OPTIONS key=value...]
#                         [PROFILE_GENERATE dir | PROFILE_USE file] [NUMA])
#
# Executables: the plugin for C, C++ (clang 22) and Fortran (flang 22), and libsmalloc. Libraries: the plugin only; the
# executable that uses them brings libsmalloc (a shared library must not: it could then not be opened by dlopen).
# STATIC: the executable is linked with -static (say so with target_link_options), so it gets libsmalloc.a, a whole malloc.
# With another compiler: a warning, and the allocator only. HEAP and OPTIONS are the plugin's -fplugin-arg-smalloc-KEY=VALUE;
# a machine's file (OPTIONS machine=FILE) may be changed like PROFILE_USE's.
# PROFILE_GENERATE: instrumented, with libsmalloc_feedback; a run leaves dir/smalloc.NAME.PID.trace. PROFILE_USE: decisions
# of a directives file; when its content changes, what it decides is compiled again. NUMA: on machines of several nodes memory
# that loops divide among threads lies beside them (docs/numa.md).

# A file's content is part of the command line: another content means another build, with ninja, make and ccache alike.
function(_smalloc_digest out file)
  file(SHA256 "${file}" digest)
  string(SUBSTRING "${digest}" 0 12 digest)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  set(${out} "${digest}" PARENT_SCOPE)
endfunction()

function(smalloc_enable target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LTO;NUMA;STATIC" "HEAP;PROFILE_GENERATE;PROFILE_USE" "OPTIONS")
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "smalloc_enable(${target}): no such target: call it after add_executable or add_library")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "smalloc_enable(${target}): unknown argument: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "smalloc_enable(${target}): ${arg_KEYWORDS_MISSING_VALUES}: needs a value")
  endif()
  if(arg_PROFILE_GENERATE AND arg_PROFILE_USE)
    message(FATAL_ERROR "smalloc_enable(${target}): PROFILE_GENERATE and PROFILE_USE: one after the other")
  endif()
  if(arg_PROFILE_GENERATE AND arg_STATIC)
    message(FATAL_ERROR "smalloc_enable(${target}): PROFILE_GENERATE: a static program cannot be recorded")
  endif()
  if(arg_PROFILE_USE)
    cmake_path(ABSOLUTE_PATH arg_PROFILE_USE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    if(NOT EXISTS "${arg_PROFILE_USE}")
      message(FATAL_ERROR "smalloc_enable(${target}): PROFILE_USE ${arg_PROFILE_USE}: no such file: "
                          "smalloc analyze TRACE -o ${arg_PROFILE_USE}")
    endif()
  endif()
  if(arg_HEAP AND NOT arg_HEAP MATCHES "^(split|off|superpage|migrate)$")
    message(FATAL_ERROR "smalloc_enable(${target}): HEAP ${arg_HEAP}: not one of split, off, superpage, migrate")
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    message(FATAL_ERROR "smalloc_enable(${target}): an INTERFACE library compiles nothing")
  endif()
  get_target_property(imported ${target} IMPORTED)
  if(imported)
    message(FATAL_ERROR "smalloc_enable(${target}): an imported target is compiled elsewhere")
  endif()

  # Which languages have a compiler that can load the plugin?
  get_property(enabled GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(able "")
  set(unable "")
  foreach(language IN ITEMS C CXX Fortran)
    if(NOT language IN_LIST enabled)
      continue()
    endif()
    set(id "${CMAKE_${language}_COMPILER_ID}")
    set(version "${CMAKE_${language}_COMPILER_VERSION}")
    if(id MATCHES "^(Clang|LLVMFlang)$" AND version MATCHES "^${Smalloc_LLVM_MAJOR}(\\.|$)")
      list(APPEND able ${language})
    else()
      list(APPEND unable "${language}: ${id} ${version}")
    endif()
  endforeach()
  if(unable)
    list(JOIN unable ", " text)
    message(WARNING "smalloc_enable(${target}): the plugin is for clang and flang ${Smalloc_LLVM_MAJOR}, not for ${text}. "
                    "For these, only the allocator is linked: no allocation site is analysed or rewritten. "
                    "Try -DCMAKE_C_COMPILER=clang-${Smalloc_LLVM_MAJOR} -DCMAKE_CXX_COMPILER=clang++-${Smalloc_LLVM_MAJOR}")
  endif()

  if(able)
    if(NOT EXISTS "${Smalloc_PLUGIN}")
      message(FATAL_ERROR "smalloc_enable(${target}): plugin (${Smalloc_PLUGIN}): not found: "
                          "build or install smalloc's component 'passes'")
    endif()
    _smalloc_digest(digest "${Smalloc_PLUGIN}")
    set(options ${arg_OPTIONS})
    if(arg_HEAP)
      list(APPEND options "heap=${arg_HEAP}")
    endif()
    if(arg_NUMA)
      list(APPEND options "numa=hints")
    endif()
    if(arg_PROFILE_GENERATE)
      list(APPEND options "profile-generate=${arg_PROFILE_GENERATE}")
    endif()
    if(arg_PROFILE_USE)
      _smalloc_digest(profile_digest "${arg_PROFILE_USE}")
      list(APPEND options "profile-use=${arg_PROFILE_USE}#${profile_digest}")
    endif()
    set(clang_flags "-fplugin=${Smalloc_PLUGIN}" "-fplugin-arg-smallocdigest-${digest}")
    set(flang_flags "-fpass-plugin=${Smalloc_PLUGIN}" "-DSMALLOC_PLUGIN_DIGEST=0x${digest}")
    foreach(option IN LISTS options)
      if(option MATCHES "^machine=(.*[./].*)$")
        cmake_path(ABSOLUTE_PATH CMAKE_MATCH_1 BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE machine)
        if(NOT EXISTS "${machine}")
          message(FATAL_ERROR "smalloc_enable(${target}): OPTIONS ${option}: no such file: smalloc calibrate --profile ${machine}")
        endif()
        _smalloc_digest(digest "${machine}")
        set(option "machine=${machine}")
        list(APPEND clang_flags "-fplugin-arg-smallocmachine-${digest}")
        list(APPEND flang_flags "-DSMALLOC_MACHINE_DIGEST=0x${digest}")
      endif()
      list(APPEND clang_flags "-fplugin-arg-smalloc-${option}")
      list(APPEND flang_flags "SHELL:-mllvm -smalloc-${option}")
    endforeach()
    # A warning from a plugin must not end somebody's -Werror build.
    list(APPEND clang_flags -Wno-error=backend-plugin)
    if(arg_LTO)
      list(APPEND clang_flags -flto)
      list(APPEND flang_flags -flto)
    endif()
    foreach(language IN ITEMS C CXX)
      if(language IN_LIST able)
        target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:${language}>:${clang_flags}>")
      endif()
    endforeach()
    if("Fortran" IN_LIST able)
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:Fortran>:${flang_flags}>")
    endif()
    if(arg_LTO AND NOT type MATCHES "^(STATIC|OBJECT)_LIBRARY$")
      # -load first: lld parses the plugin's own options before it looks at --load-pass-plugin.
      target_link_options(${target} PRIVATE -flto -fuse-ld=lld "-Wl,-mllvm,-load=${Smalloc_PLUGIN}"
                                            "-Wl,--load-pass-plugin=${Smalloc_PLUGIN}")
    endif()
  elseif(arg_LTO)
    message(FATAL_ERROR "smalloc_enable(${target}): LTO: needs clang ${Smalloc_LLVM_MAJOR} and lld")
  endif()

  if(type STREQUAL "EXECUTABLE" AND arg_STATIC)
    set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES smalloc::smalloc_static)
  elseif(type STREQUAL "EXECUTABLE")
    # As a property: target_link_libraries() may not mix its plain and its keyword form on one target, and the project
    # may use either.
    set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES smalloc::smalloc)
    # Once more by name, in front of the objects: first in symbol resolution, and kept although nothing refers to it
    # strongly (Debian's gcc and many projects link with --as-needed).
    # -Wl, and not LINKER: because CMake 3.25 does not know how flang passes options to the linker.
    set(first "$<TARGET_FILE:smalloc::smalloc>")
    if(arg_PROFILE_GENERATE AND able)
      if(NOT TARGET smalloc::smalloc_feedback)
        message(FATAL_ERROR "smalloc_enable(${target}): PROFILE_GENERATE: libsmalloc_feedback is not part of this build of smalloc")
      endif()
      # In front of libsmalloc: while it records, every allocation is the program's own malloc.
      set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES smalloc::smalloc_feedback)
      set(first "$<TARGET_FILE:smalloc::smalloc_feedback>,${first}")
    endif()
    target_link_options(${target} PRIVATE "-Wl,--push-state,--no-as-needed,${first},--pop-state")
  endif()
endfunction()
