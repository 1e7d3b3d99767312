// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// settings_check.cpp parses settings by the function that libsmalloc uses, and shortens its
// warning.
#include "runtime/cli/process/settings_check.h"

#include "smalloc/config/options.h"

#include <cstring>

namespace smalloc::cli {

std::string complaint_about(const std::string &settings) {
  static std::string complaint;
  complaint.clear();
  Options ignored;
  parse_options(Text(settings.data(), settings.size()), /*privileged=*/false, ignored,
                [](Text line) { complaint += std::string(line.data, line.size); });
  std::string why = complaint.substr(0, complaint.find('\n'));
  for (const char *part :
       {"smalloc: warning: SMALLOC_CONF: ", ", ignored", "; the default is taken"})
    if (const size_t at = why.find(part); at != std::string::npos)
      why.erase(at, std::strlen(part));
  return why;
}

} // namespace smalloc::cli
