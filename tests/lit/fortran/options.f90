! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: flang takes the options by -mllvm, with the same errors.
! REQUIRES: flang
! RUN: not %flang -mllvm -smalloc-heap=huge -O2 -c -o %t.o %s 2>&1 | FileCheck %s
! CHECK: smalloc: error: invalid value 'huge' of plugin option 'heap': expected auto, off, superpage, migrate or guest
subroutine f
end subroutine
