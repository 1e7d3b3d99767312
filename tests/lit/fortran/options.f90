! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: flang takes the options by -mllvm, with the same errors.
! REQUIRES: flang
! RUN: not %flang -mllvm -smalloc-heap=huge -O2 -c -o %t.o %s 2>&1 | FileCheck %s
! CHECK: smalloc: error: invalid value 'huge' of plugin option 'heap': expected split, off, superpage or migrate
subroutine f
end subroutine
