// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_settings.cpp reads the switches of page_settings.h: each file shows its value in brackets.
#include "smalloc/os/page_settings.h"
#include "smalloc/base/text.h"

namespace smalloc {
namespace {

SizeSetting read_size(const OsHooks &os, const char *root, const char *size, ThpMode general) {
  TextBuffer<400> path;
  path.put(root).put("/kernel/mm/transparent_hugepage/hugepages-").put(size).put("/enabled");
  path.put_char('\0');
  char text[128];
  SizeSetting s;
  if (path.data()[path.size() - 1] != 0 || os.read_file(path.data(), text, sizeof text) <= 0)
    return s;
  s.known = true;
  bool inherits = strstr(text, "[inherit]") != nullptr;
  s.unadvised = strstr(text, "[always]") || (inherits && general == ThpMode::kAlways);
  s.advised =
      s.unadvised || strstr(text, "[madvise]") || (inherits && general == ThpMode::kMadvise);
  return s;
}

} // namespace

PageSettings read_page_settings(const OsHooks &os, const char *root) {
  PageSettings p;
  p.general = thp_mode(os, root);
  p.superpage = read_size(os, root, "2048kB", p.general);
  if (!p.superpage.known) {
    p.superpage.known = p.general != ThpMode::kAbsent;
    p.superpage.unadvised = p.general == ThpMode::kAlways;
    p.superpage.advised = p.superpage.unadvised || p.general == ThpMode::kMadvise;
  }
  p.medium = read_size(os, root, "64kB", p.general);
  p.disabled = os.superpages_disabled();
  if (p.disabled)
    p.superpage.advised = p.superpage.unadvised = p.medium.advised = p.medium.unadvised = false;
  return p;
}

const char *thp_name(ThpMode mode) {
  static const char *const kNames[] = {"absent", "never", "madvise", "always"};
  return kNames[static_cast<unsigned>(mode)];
}

} // namespace smalloc
