# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Toolchain file: builds libsmalloc for aarch64 on another machine, by Debian's
# g++-aarch64-linux-gnu.
# The plugin is the building machine's own: it compiles with clang --target=aarch64-linux-gnu.
#   scripts/foreign-package arm64 build-aarch64/root libjemalloc-dev
#   cmake --preset aarch64 && cmake --build build-aarch64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/usr/aarch64-linux-gnu")
# Packages of aarch64 that were unpacked into the build folder, then the cross compiler's own.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_BINARY_DIR}/root /usr/aarch64-linux-gnu)
set(smalloc_unpacked ${CMAKE_BINARY_DIR}/root/usr)
set(CMAKE_C_FLAGS_INIT "-isystem ${smalloc_unpacked}/include/aarch64-linux-gnu")
set(CMAKE_CXX_FLAGS_INIT "-isystem ${smalloc_unpacked}/include/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${smalloc_unpacked}/lib/aarch64-linux-gnu")
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT ":${CMAKE_BINARY_DIR}/root/lib/aarch64-linux-gnu")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(SMALLOC_BUILD_PASSES OFF CACHE BOOL "Build the compiler plugin")
set(SMALLOC_BUILD_RUNTIME OFF CACHE BOOL "Build the smalloc command")
set(SMALLOC_BUILD_TESTS OFF CACHE BOOL "Build the tests")
