# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ChooseCompiler.cmake takes Clang on a system without another compiler. The plugin needs Clang
# anyway, but Debian's Clang has a version in its name, which CMake does not look for.
if(CMAKE_C_COMPILER OR CMAKE_CXX_COMPILER OR DEFINED ENV{CC} OR DEFINED ENV{CXX})
  return()
endif()
find_program(SMALLOC_USUAL_CXX NAMES c++ g++ clang++ NO_CACHE)
find_program(SMALLOC_CLANG_C NAMES clang-22 clang-23 clang-21 clang-19 NO_CACHE)
find_program(SMALLOC_CLANG_CXX NAMES clang++-22 clang++-23 clang++-21 clang++-19 NO_CACHE)
if(NOT SMALLOC_USUAL_CXX AND SMALLOC_CLANG_C AND SMALLOC_CLANG_CXX)
  set(CMAKE_C_COMPILER ${SMALLOC_CLANG_C} CACHE FILEPATH "C compiler")
  set(CMAKE_CXX_COMPILER ${SMALLOC_CLANG_CXX} CACHE FILEPATH "C++ compiler")
endif()
