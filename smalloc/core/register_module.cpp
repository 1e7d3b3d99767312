// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// register_module.cpp tests which of an image's calls of free and delete reach libsmalloc. Sites
// whose objects another allocator would free stay with the program's functions
// (smalloc_module::barred).
#include "smalloc/core/register_module.h"
#include "smalloc/core/runtime.h"
#include "smalloc/process/loaded_objects.h"
#include "smalloc/sites/free_owner.h"
#include "smalloc/sites/modules.h"
#include "smalloc/sites/site_accounts.h"
#include "smalloc/sites/site_words.h"

namespace smalloc {

void module_register(smalloc_module *module) {
  if (!module || module->version != SMALLOC_ABI_VERSION)
    return;
  if (module->sites_start != module->sites_stop)
    modules_note_sites();
  const Options &options = g_runtime.options();
  if (module->sites_start != module->sites_stop)
    g_runtime.warn_of_base_pages();
  HeapStrategy strategy =
      options.heap_given ? options.heap : static_cast<HeapStrategy>(module->heap);
  bool ours = reaches_ours(module->free_function, g_own.free, "free") &&
              reaches_ours(module->realloc_function, g_own.realloc, "realloc");
  if (!ours && in_executable(module))
    g_runtime.switch_off("the program's free() is not smalloc's (it defines its own, or another "
                         "allocator comes first); superpage heaps are off");
  // Also bars directives that come later.
  if (!ours || strategy == HeapStrategy::kOff || g_runtime.is_off())
    module->barred = kAllSites;
  else if (module->delete_function &&
           (!reaches_ours(module->delete_function, g_own.operator_delete, "_ZdlPv") ||
            operators_replaced()))
    module->barred = kCxxSites;
  else
    module->barred = kNoSites;
  if (module->barred != kAllSites) {
    if (!options.heap_given && strategy != HeapStrategy::kAuto)
      g_runtime.set_strategy(strategy);
  }
  set_site_words(*module, {strategy, g_runtime.strategy(), g_runtime.serves_process()});
  modules_add(module);
}

void module_unregister(smalloc_module *module) {
  modules_remove(module);
  // No other thread finds its sites any more. At exit, images are unregistered before the table is
  // printed.
  g_accounts.forget(*module);
}

} // namespace smalloc
