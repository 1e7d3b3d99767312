// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// headers.cpp is empty: its target owns the precompiled headers of the unit tests
// (cmake/Precompile.cmake).
int main() { return 0; }
