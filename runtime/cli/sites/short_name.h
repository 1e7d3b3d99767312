// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// short_name.h shortens C++ names for cells, sentences and pictures. A name from a template can be
// longer than a page, and names of one class differ only near their end.
#pragma once

#include <string>
#include <string_view>

namespace smalloc::cli {

/// Returns the class and the function of a demangled C++ name: no return type, parameters,
/// template arguments, or outer namespaces. "a::b::C<int>::f(long)" becomes "C<>::f". Lambdas and
/// their operators keep the function around them.
std::string short_function(std::string_view name);

/// Returns the demangled name with std::string for the template behind it.
std::string with_std_string(std::string name);

} // namespace smalloc::cli
