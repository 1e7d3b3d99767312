//===- HostVersion.cpp - refuses another major version of LLVM --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Refuses to run in another major version of LLVM than the plugin was built for. Each major version
// changes the layout of classes. The check runs before any other code of the plugin, and calls only
// LLVM's C interface, whose signatures stay. It can run because the loader resolves at once only
// symbols that exist in all versions: the build makes the others weak (CMakeLists.txt).
//===----------------------------------------------------------------------===//
#include "llvm/Config/llvm-config.h"

#include <cstdio>
#include <string>

#include <dlfcn.h>
#include <unistd.h>

// LLVM 16 and newer. A statically linked host may have neither of the two; then the loader names
// the missing symbol.
extern "C" void LLVMGetVersion(unsigned *Major, unsigned *Minor, unsigned *Patch)
    __attribute__((weak));
extern "C" void *LLVMContextCreate() __attribute__((weak)); // all versions

namespace {

/// Returns the path of the plugin for LLVM \p Major beside the plugin at \p Own; empty if not
/// installed.
std::string pluginFor(unsigned Major, const std::string &Own) {
  const std::string Mine = "/llvm-" + std::to_string(LLVM_VERSION_MAJOR) + "/";
  const size_t At = Own.rfind(Mine);
  if (At == std::string::npos)
    return "";
  std::string Other = Own;
  Other.replace(At, Mine.size(), "/llvm-" + std::to_string(Major) + "/");
  return access(Other.c_str(), R_OK) == 0 ? Other : "";
}

// Constructors of this priority run before those of static objects, which call LLVM.
__attribute__((constructor(101))) void checkHostVersion() {
  unsigned Major = LLVM_VERSION_MAJOR, Minor = 0, Patch = 0;
  if (LLVMGetVersion)
    LLVMGetVersion(&Major, &Minor, &Patch);
  else if (LLVMContextCreate)
    Major = 15; // or older
  if (Major == LLVM_VERSION_MAJOR)
    return;
  Dl_info Self{};
  dladdr(reinterpret_cast<void *>(checkHostVersion), &Self);
  const std::string Own = Self.dli_fname ? Self.dli_fname : "SmallocPlugin.so";
  const std::string Other = pluginFor(Major, Own);
  std::fprintf(stderr, "smalloc: error: plugin (%s): built for LLVM %d, loaded into LLVM %u\n",
               Own.c_str(), LLVM_VERSION_MAJOR, Major);
  if (!Other.empty())
    std::fprintf(stderr, "hint: for this compiler: %s\n", Other.c_str());
  else
    std::fprintf(stderr,
                 "hint: use clang-%d, or build smalloc with -DLLVM_DIR=FOLDER for another LLVM "
                 "(" SMALLOC_LLVM_SUPPORTED ")\n",
                 LLVM_VERSION_MAJOR);
  std::fflush(stderr);
  _exit(1); // no destructor of the host may run: the loader still holds its lock
}

} // namespace
