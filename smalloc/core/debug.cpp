// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// debug.cpp formats the reports of debug.h. It allocates nothing: the heap may be damaged.
#include "smalloc/core/debug.h"
#include "smalloc/base/text.h"

#include <stdlib.h>

namespace smalloc {

void report_bad_pointer(const BadPointerReport &r, bool abort_too) {
  TextBuffer<1024> line;
  // In the object's last page, or in the bytes up to its size class.
  const bool behind = r.kind == BadPointer::kInside && r.bytes && r.offset >= r.bytes;
  line.put("smalloc: error: ");
  if (r.kind == BadPointer::kFreedBefore)
    line.put("double ").put(r.call);
  else
    line.put(r.call).put(behind                          ? " of a pointer past an object"
                         : r.kind == BadPointer::kInside ? " of a pointer into an object"
                                                         : " of a pointer to no object");
  line.put(" (0x").hex(reinterpret_cast<uintptr_t>(r.pointer)).put("): ");
  if (r.kind == BadPointer::kInside)
    line.put("it is ")
        .number(behind ? r.offset - r.bytes : r.offset)
        .put(behind ? " bytes past the end of " : " bytes after the start of ");
  if (r.kind == BadPointer::kNoObject && !r.site_known) {
    line.put("it lies in smalloc's memory, where no object starts");
  } else {
    if (r.bytes)
      line.put("an object of ").bytes(r.bytes);
    else
      line.put("an object");
    const smalloc_live_site &site = g_accounts.site(r.account);
    const char *function = g_live.string(site.function), *file = g_live.string(site.file);
    if (r.site_known && site.id)
      line.put(" allocated in ")
          .put(*function ? function : "?")
          .put(" at ")
          .put(*file ? file : "?")
          .put(":")
          .number(site.line);
    else
      line.put(" allocated at an unknown site");
    if (r.kind == BadPointer::kFreedBefore)
      line.put(", freed before");
  }
  line.put("\nhint: ");
  line.put(abort_too ? "the core file, or a debugger, shows the caller (SMALLOC_CONF=abort:false "
                       "reports and continues)\n"
                     : "SMALLOC_CONF=abort:true aborts the program at this call\n");
  kLinux.write_error(line.data(), line.size());
  if (abort_too)
    abort();
}

} // namespace smalloc
