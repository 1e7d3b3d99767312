// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// file_name.cpp expands % in file names; an MPI program's rank comes from OMPI_COMM_WORLD_RANK,
// PMI_RANK or SLURM_PROCID.
#include "smalloc/base/file_name.h"
#include "smalloc/base/text.h"

#include <initializer_list>
#include <stdlib.h>
#include <unistd.h>

namespace smalloc {

bool expand_file_name(const char *pattern, char *name, size_t capacity, const char *process) {
  size_t size = 0;
  bool whole = true;
  const auto put = [&](Text text) {
    const size_t room = capacity - 1 - size, n = text.size < room ? text.size : room;
    memcpy(name + size, text.data, n);
    size += n;
    whole &= n == text.size;
  };
  for (; *pattern; pattern++) {
    char key = *pattern == '%' ? pattern[1] : '\0';
    if (key == 'p') {
      put(process ? Text(process)
                  : TextBuffer<20>().number(static_cast<uint64_t>(getpid())).text());
    } else if (key == 'h') {
      char host[256] = "";
      gethostname(host, sizeof host - 1);
      put(host);
    } else if (key == 'r') {
      const char *rank = nullptr;
      for (const char *variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
        if (!rank)
          rank = getenv(variable);
      put(rank ? rank : "0");
    } else if (key == '%') {
      put("%");
    } else {
      put(Text(pattern, 1));
      continue;
    }
    pattern++;
  }
  name[size] = 0;
  return whole;
}

} // namespace smalloc
