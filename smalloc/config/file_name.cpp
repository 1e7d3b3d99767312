// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// file_name.cpp expands % in file names; an MPI program's rank comes from OMPI_COMM_WORLD_RANK,
// PMI_RANK or SLURM_PROCID.
#include "smalloc/config/file_name.h"

#include <initializer_list>
#include <stdlib.h>
#include <unistd.h>

namespace smalloc {

void expand_file_name(const char *pattern, FileName &expanded) {
  TextBuffer<511> name; // cuts a longer name, and still ends it with a zero byte
  for (; *pattern; pattern++) {
    char key = *pattern == '%' ? pattern[1] : '\0';
    if (key == 'p') {
      name.number(static_cast<uint64_t>(getpid()));
    } else if (key == 'h') {
      char host[128] = "";
      gethostname(host, sizeof host - 1);
      name.put(host);
    } else if (key == 'r') {
      const char *rank = nullptr;
      for (const char *variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
        if (!rank)
          rank = getenv(variable);
      name.put(rank ? rank : "0");
    } else if (key == '%') {
      name.put_char('%');
    } else {
      name.put_char(*pattern);
      continue;
    }
    pattern++;
  }
  expanded.put(name.text()).put_char('\0');
}

} // namespace smalloc
