// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kept_input.h gives the same standard input to several runs of a command: a file is rewound for
// each run, a pipe is read to its end once and kept in an unnamed temporary file. A terminal gives
// none: the runs could not share what is typed.
#pragma once

namespace smalloc::study {

class KeptInput {
public:
  // Reads a pipe or socket `fd` to its end, however long that takes. Calls `waiting` once if
  // the input has not ended after two seconds. Throws std::system_error if the
  // input cannot be read or kept.
  KeptInput(int fd, void (*waiting)());
  ~KeptInput();
  KeptInput(const KeptInput &) = delete;
  KeptInput &operator=(const KeptInput &) = delete;

  // The descriptor for the next run, at the position that `fd` had; -1: no input.
  int rewound();

private:
  int fd_ = -1;
  long long start_ = 0;
};

} // namespace smalloc::study
