// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// headers.cpp has nothing: the target it belongs to owns the precompiled headers of the unit tests (cmake/Precompile.cmake).
int main() { return 0; }
