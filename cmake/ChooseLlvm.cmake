# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ChooseLlvm.cmake finds the LLVM that the plugin is built for, and sets SMALLOC_LLVM_MAJOR and
# LLVM's own variables. -DLLVM_DIR=/usr/lib/llvm-N/lib/cmake/llvm names one. Otherwise it takes the
# first of the supported versions whose headers, clang's too, are installed.
set(SMALLOC_LLVM_SUPPORTED 22 23 21 19) # in this order
list(GET SMALLOC_LLVM_SUPPORTED 0 SMALLOC_LLVM_MAJOR)
if(NOT SMALLOC_BUILD_PASSES)
  return()
endif()

foreach(major IN LISTS SMALLOC_LLVM_SUPPORTED)
  set(prefix /usr/lib/llvm-${major})
  if(NOT LLVM_DIR AND EXISTS ${prefix}/lib/cmake/llvm/LLVMConfig.cmake AND EXISTS ${prefix}/include/clang/Frontend/CompilerInstance.h)
    set(LLVM_DIR ${prefix}/lib/cmake/llvm CACHE PATH "LLVM's CMake package" FORCE)
  endif()
endforeach()
find_package(LLVM CONFIG) # no version: LLVM's version file accepts only an equal minor version
list(JOIN SMALLOC_LLVM_SUPPORTED ", " supported)
if(NOT LLVM_FOUND OR NOT LLVM_VERSION_MAJOR IN_LIST SMALLOC_LLVM_SUPPORTED)
  message(FATAL_ERROR "smalloc's plugin is written for LLVM ${supported}, found '${LLVM_PACKAGE_VERSION}' (${LLVM_DIR}). "
                      "Install llvm-22-dev and libclang-22-dev (scripts/install-packages) or set LLVM_DIR.")
endif()
set(SMALLOC_LLVM_MAJOR ${LLVM_VERSION_MAJOR})
