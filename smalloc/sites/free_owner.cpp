// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// free_owner.cpp compares addresses of functions with libsmalloc's own. It looks through PLT slots,
// and through the recorder, to the definition that a call really reaches.
#include "smalloc/sites/free_owner.h"
#include "smalloc/base/units.h"
#include "smalloc/include/smalloc/site.h"
#include "smalloc/process/loaded_objects.h"

#include <atomic>
#include <string.h>

namespace smalloc {
namespace {

/// Skips the recorder (libsmalloc_feedback), which records a call and passes it on.
void *behind_recorder(void *definition, const char *name) {
  return definition && image_defines(definition, "__smalloc_v1_open_gate")
             ? next_definition(name, definition)
             : definition;
}

} // namespace

// A position-dependent executable may take the function's address. Then its PLT slot is the address
// in every image. The slot jumps to the first real definition in load order.
bool reaches_ours(void *address, void *own, const char *name) {
  if (address == own)
    return true;
  if (!address || !in_executable(address))
    return behind_recorder(address, name) == own;
  void *visible = strcmp(name, "free") == 0      ? g_own.visible_free
                  : strcmp(name, "realloc") == 0 ? g_own.visible_realloc
                                                 : g_own.visible_delete;
  if (address != visible)
    return false; // a definition of its own that other images cannot see
  return behind_recorder(first_definition(name), name) == own;
}

const char *modules_who_owns_free() {
  if (reaches_ours(g_own.visible_free, g_own.free, "free") &&
      reaches_ours(g_own.visible_realloc, g_own.realloc, "realloc"))
    return nullptr;
  // Two copies of libsmalloc.so, one linked and one preloaded: the first one serves.
  auto *entry = reinterpret_cast<void *>(&__smalloc_v1_malloc);
  void *first = first_definition("__smalloc_v1_malloc");
  if (first && first != entry)
    return "";
  return "another allocator's free() comes before smalloc's; superpage heaps are off (load "
         "libsmalloc first)";
}

Behind who_is_behind(void *definition) {
  if (!definition)
    return Behind::kUnknown;
  const char *name = image_name(definition);
  if (const char *slash = strrchr(name, '/'))
    name = slash + 1;
  if (strncmp(name, "libstdc++", 9) == 0 || strncmp(name, "libc++", 6) == 0)
    return Behind::kRuntime;
  return image_defines(definition, "malloc") ? Behind::kAllocator : Behind::kReplaced;
}

bool operators_replaced() {
  static std::atomic<uint8_t> state{0}; // 1: no, 2: yes
  uint8_t seen = state.load(std::memory_order_relaxed);
  if (SMALLOC_LIKELY(seen != 0))
    return seen == 2;
  auto behind = [](const char *name) {
    // The executable's definitions come before libsmalloc's, perhaps for some of the forms only:
    // the C++ runtime's other forms end in those. libsmalloc's definitions pass every call on, also
    // those of a linked copy behind a preloaded one.
    void *definition = behind_recorder(first_definition(name), name);
    while (definition && image_defines(definition, "__smalloc_v1_malloc"))
      definition = behind_recorder(next_definition(name, definition), name);
    return who_is_behind(definition);
  };
  // The forms that the C++ runtime's other forms end in.
  const char *const names[] = {"_Znwm",
                               "_Znam",
                               "_ZdaPv",
                               "_ZnwmSt11align_val_t",
                               "_ZnamSt11align_val_t",
                               "_ZdlPvSt11align_val_t",
                               "_ZdaPvSt11align_val_t"};
  const Behind of_delete = behind("_ZdlPv");
  bool replaced = of_delete == Behind::kReplaced;
  for (const char *name : names)
    replaced = replaced || behind(name) == Behind::kReplaced;
  if (replaced || of_delete != Behind::kUnknown)
    state.store(replaced ? 2 : 1, std::memory_order_relaxed);
  return replaced;
}

bool deletes_reach_us() {
  static std::atomic<uint8_t> state{0}; // 1: no, 2: yes
  uint8_t seen = state.load(std::memory_order_relaxed);
  if (SMALLOC_UNLIKELY(seen == 0)) {
    void *first = first_definition("_ZdlPv");
    seen = first == g_own.operator_delete && !operators_replaced() ? 2 : 1;
    state.store(seen, std::memory_order_relaxed);
  }
  return seen == 2;
}

} // namespace smalloc
