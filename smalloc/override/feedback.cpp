// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// feedback.cpp loads libsmalloc_feedback.so when the program starts, if the settings contain
// numa:migrate. Otherwise it costs one look at the environment.
#include "smalloc/core/runtime.h"
#include "smalloc/numa/live_options.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/auxv.h>

namespace smalloc {
namespace {

#ifndef SMALLOC_STATIC
/// Loads the library beside this one, where both are built and installed. Else the dynamic linker
/// searches for it.
bool load_feedback() {
  constexpr char kName[] = "libsmalloc_feedback.so";
  Dl_info self;
  char path[4096];
  if (dladdr(reinterpret_cast<void *>(&g_runtime), &self) && self.dli_fname) {
    const char *slash = strrchr(self.dli_fname, '/');
    const size_t folder = slash ? static_cast<size_t>(slash - self.dli_fname) + 1 : 0;
    if (folder && folder + sizeof kName <= sizeof path) {
      memcpy(path, self.dli_fname, folder);
      memcpy(path + folder, kName, sizeof kName);
      if (dlopen(path, RTLD_NOW | RTLD_LOCAL))
        return true;
    }
  }
  return dlopen(kName, RTLD_NOW | RTLD_LOCAL) != nullptr;
}
#else
bool load_feedback() { return false; }
#endif

__attribute__((constructor)) void start_what_was_asked_for() {
  const char *conf = getenv("SMALLOC_CONF");
  if (!conf || !strstr(conf, "numa:") || getauxval(AT_SECURE))
    return;
  if (g_runtime.options().numa.mode >= numa::NumaMode::kMigrate && !load_feedback())
    g_runtime.warn(
        "SMALLOC_CONF: 'numa:migrate' needs libsmalloc_feedback.so beside libsmalloc.so; "
        "nothing migrates");
}

} // namespace
} // namespace smalloc
