# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SmallocEnable: compiles and links a target with smalloc.
#
#   smalloc_enable(target [HEAP auto|off|superpage|migrate|guest] [LTO] [STATIC]
#                  [OPTIONS key=value...] [PROFILE_GENERATE dir | PROFILE_USE file] [NUMA])
#
# Executables get the plugin for C, C++ (clang) and Fortran (flang), and libsmalloc. Libraries
# get only the plugin; the executable that uses them links libsmalloc. (A shared library must not
# link it: dlopen could not open that library.)
# STATIC: the executable is linked with -static (set this with target_link_options), so it gets
# libsmalloc.a, a complete malloc.
# With another compiler: a warning, and only the allocator. HEAP and OPTIONS are the plugin's
# -fplugin-arg-smalloc-KEY=VALUE. Changes of a machine file (OPTIONS machine=FILE) are followed as
# those of PROFILE_USE.
# PROFILE_GENERATE: instrumented, with libsmalloc_feedback; a run leaves dir/smalloc.NAME.PID.trace.
# PROFILE_USE: decisions of a directives file; when its content changes, the files that it decides
# are compiled again. NUMA: on machines of several nodes, memory that loops divide among threads
# lies on the nodes of these threads (docs/numa.md).

# The command line contains a digest of the file: other contents cause a new build, with ninja, make
# and ccache.
function(_smalloc_digest out file)
  file(SHA256 "${file}" digest)
  string(SUBSTRING "${digest}" 0 12 digest)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  set(${out} "${digest}" PARENT_SCOPE)
endfunction()

# A build tree may be incomplete, and this was not checked yet.
function(_smalloc_need target library)
  get_target_property(imported ${library} IMPORTED)
  if(NOT imported)
    return()
  endif()
  get_target_property(files ${library} IMPORTED_LOCATION)
  # The archive is no target, but a file that its target names.
  get_target_property(linked ${library} INTERFACE_LINK_LIBRARIES)
  list(FILTER linked INCLUDE REGEX "^/.*libsmalloc")
  list(APPEND files ${linked})
  get_target_property(configurations ${library} IMPORTED_CONFIGURATIONS)
  foreach(configuration IN LISTS configurations)
    get_target_property(file ${library} IMPORTED_LOCATION_${configuration})
    list(APPEND files "${file}")
  endforeach()
  foreach(file IN LISTS files)
    if(file AND NOT EXISTS "${file}")
      message(FATAL_ERROR "smalloc_enable(${target}): ${library} (${file}): not found: build all of smalloc: cmake --build BUILD")
    endif()
  endforeach()
endfunction()

# Compiler caches do not restore files that the plugin writes beside an object, so each unit of the
# target is compiled anew.
function(_smalloc_pass_cache target)
  foreach(language IN ITEMS C CXX Fortran)
    get_target_property(launcher ${target} ${language}_COMPILER_LAUNCHER)
    if(launcher AND NOT launcher MATCHES "CCACHE_RECACHE")
      set_property(TARGET ${target} PROPERTY ${language}_COMPILER_LAUNCHER
                   ${CMAKE_COMMAND} -E env CCACHE_RECACHE=1 SCCACHE_RECACHE=1 ${launcher})
    endif()
  endforeach()
endfunction()

# Without optimisation, CMake's default, the plugin changes nothing: reported once a project.
function(_smalloc_say_unoptimised target languages)
  get_property(said GLOBAL PROPERTY _smalloc_said_unoptimised)
  if(said)
    return()
  endif()
  get_property(several GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  foreach(language IN LISTS languages)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    set(flags "${CMAKE_${language}_FLAGS}")
    if(NOT several)
      string(APPEND flags " ${CMAKE_${language}_FLAGS_${type}}")
    endif()
    get_target_property(own ${target} COMPILE_OPTIONS)
    get_directory_property(around COMPILE_OPTIONS)
    string(REGEX MATCHALL "(^|[ ;>])-O[0-9a-z]*" levels "${flags} ${own} ${around}")
    list(POP_BACK levels last)
    if(last MATCHES "-O0" OR (NOT last AND NOT several))
      set_property(GLOBAL PROPERTY _smalloc_said_unoptimised YES)
      message(STATUS "smalloc_enable(${target}): compiled without optimisation (CMAKE_BUILD_TYPE '${CMAKE_BUILD_TYPE}'): "
                     "the plugin does nothing there. Try -DCMAKE_BUILD_TYPE=RelWithDebInfo")
      return()
    endif()
  endforeach()
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
  if(arg_HEAP AND NOT arg_HEAP MATCHES "^(auto|off|superpage|migrate|guest)$")
    message(FATAL_ERROR "smalloc_enable(${target}): HEAP ${arg_HEAP}: not one of auto, off, superpage, migrate, guest")
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    message(FATAL_ERROR "smalloc_enable(${target}): an INTERFACE library compiles nothing")
  endif()
  get_target_property(imported ${target} IMPORTED)
  if(imported)
    message(FATAL_ERROR "smalloc_enable(${target}): an imported target is compiled elsewhere")
  endif()

  # Languages whose compiler can load the plugin.
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
    list(JOIN Smalloc_LLVM_VERSIONS " or " versions)
    message(WARNING "smalloc_enable(${target}): the plugin is for clang and flang ${versions}, not for ${text}. "
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
    if(Smalloc_LLVM_MAJOR LESS 22) # flang reads -mllvm before it opens -fpass-plugin
      list(PREPEND flang_flags "SHELL:-Xflang -load" "SHELL:-Xflang ${Smalloc_PLUGIN}")
    endif()
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
    if(options MATCHES "(^|;)(sites|coverage)=")
      _smalloc_pass_cache(${target})
    endif()
    _smalloc_say_unoptimised(${target} "${able}")
    # A plugin's warning must not end a build with -Werror.
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
      # -load comes first: lld parses the plugin's own options before --load-pass-plugin.
      target_link_options(${target} PRIVATE -flto -fuse-ld=lld "-Wl,-mllvm,-load=${Smalloc_PLUGIN}"
                                            "-Wl,--load-pass-plugin=${Smalloc_PLUGIN}")
    endif()
  elseif(arg_LTO)
    message(FATAL_ERROR "smalloc_enable(${target}): LTO: needs clang ${Smalloc_LLVM_MAJOR} and lld")
  endif()

  if(type STREQUAL "EXECUTABLE" AND arg_STATIC)
    _smalloc_need(${target} smalloc::smalloc_static)
    set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES smalloc::smalloc_static)
  elseif(type STREQUAL "EXECUTABLE")
    _smalloc_need(${target} smalloc::smalloc)
    # As a property: target_link_libraries() cannot mix its plain and its keyword form on one
    # target, and the project may use either.
    set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES smalloc::smalloc)
    # A second time by name, in front of the objects: first in symbol resolution, and kept although
    # nothing refers to it strongly (Debian's gcc and many projects link with --as-needed). -Wl, and
    # not LINKER: because CMake 3.25 does not know how flang passes options to the linker.
    set(first "$<TARGET_FILE:smalloc::smalloc>")
    if(arg_PROFILE_GENERATE AND able)
      if(NOT TARGET smalloc::smalloc_feedback)
        message(FATAL_ERROR "smalloc_enable(${target}): PROFILE_GENERATE: libsmalloc_feedback is not part of this build of smalloc")
      endif()
      _smalloc_need(${target} smalloc::smalloc_feedback)
      # In front of libsmalloc: during a recording the program's own malloc serves every allocation.
      set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES smalloc::smalloc_feedback)
      set(first "$<TARGET_FILE:smalloc::smalloc_feedback>,${first}")
    endif()
    target_link_options(${target} PRIVATE "-Wl,--push-state,--no-as-needed,${first},--pop-state")
  endif()
endfunction()
