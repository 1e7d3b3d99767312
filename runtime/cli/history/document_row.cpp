// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// document_row.cpp finds the end of a document: the brace that closes its first one. The parser
// checks later whether it is JSON.
#include "runtime/cli/history/document_row.h"

#include "runtime/errors/diagnostics.h"

#include <fmt/format.h>

namespace smalloc::cli {

std::string_view last_document(const std::string &file, const std::vector<unsigned char> &bytes) {
  const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  std::string_view last = text;
  size_t documents = 0, depth = 0, start = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        i++;
      else if (c == '"')
        quoted = false;
    } else if (c == '{') {
      if (depth++ == 0)
        start = i;
    } else if (depth == 0) {
      if (static_cast<unsigned char>(c) > ' ')
        return text; // other text between the documents
    } else if (c == '"') {
      quoted = true;
    } else if (c == '}' && --depth == 0) {
      documents++;
      last = text.substr(start, i + 1 - start);
    }
  }
  if (depth != 0)
    return text; // torn: the intended document is unknown
  if (documents > 1)
    print_note(fmt::format("{} holds {} documents, since statistics are appended: this is of the "
                           "last one; stats_file:NAME.%p.json makes a file "
                           "a process",
                           file, documents));
  return last;
}

} // namespace smalloc::cli
