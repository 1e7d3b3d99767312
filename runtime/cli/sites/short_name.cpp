// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// short_name.cpp reads a demangled name from left to right and collects its components: what stands
// between "::" outside of brackets.
#include "runtime/cli/sites/short_name.h"

#include <cctype>
#include <vector>

namespace smalloc::cli {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)", kOperator = "operator";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Returns the place behind the bracket that closes the one at `i`, or the end of the name.
size_t behind_bracket(std::string_view name, size_t i) {
  const char open = name[i];
  const char close = open == '<' ? '>' : open == '(' ? ')' : open == '[' ? ']' : '}';
  int depth = 0;
  for (; i < name.size(); i++) {
    const bool arrow = close == '>' && i > 0 && name[i - 1] == '-';
    depth += name[i] == open;
    depth -= name[i] == close && !arrow;
    if (depth == 0)
      return i + 1;
  }
  return i;
}

// Returns the place behind "operator" at `i` and its symbol or type.
size_t behind_operator(std::string_view name, size_t i) {
  i += kOperator.size();
  if (name.substr(i).starts_with("()"))
    return i + 2;
  const bool is_type = i < name.size() && name[i] == ' '; // a conversion, or operator new
  while (i < name.size() && (is_type ? name[i] != '(' && name[i] != '<'
                                     : !is_word(name[i]) && name[i] != '(' && name[i] != ' '))
    i++;
  return i;
}

// Collects the components of a name.
class Components {
public:
  explicit Components(std::string_view name) : name_(name) {
    while (at_ < name_.size() && !done_)
      step();
    finish_component();
  }
  const std::vector<std::string> &all() const { return all_; }

private:
  void finish_component() {
    if (!last_.empty())
      all_.push_back(last_);
    last_.clear();
  }
  void step();
  void skip_parameters();

  std::string_view name_;
  size_t at_ = 0;
  bool done_ = false;
  std::vector<std::string> all_;
  std::string last_;
};

// Parameters end the name, unless something inside of the function follows.
void Components::skip_parameters() {
  const bool is_type = last_ == "decltype";
  at_ = behind_bracket(name_, at_);
  done_ = !is_type && !name_.substr(at_).starts_with("::");
}

void Components::step() {
  const std::string_view rest = name_.substr(at_);
  const bool begins_word = at_ == 0 || !is_word(name_[at_ - 1]);
  if (begins_word && rest.starts_with(kOperator) &&
      (rest.size() == kOperator.size() || !is_word(rest[kOperator.size()]))) {
    const size_t end = behind_operator(name_, at_);
    last_ += name_.substr(at_, end - at_);
    at_ = end;
  } else if (rest.starts_with("::")) {
    finish_component();
    at_ += 2;
  } else if (rest.starts_with(kAnonymous)) {
    at_ += kAnonymous.size();
  } else if (rest[0] == '(') {
    skip_parameters();
  } else if (rest[0] == '<') {
    at_ = behind_bracket(name_, at_);
    last_ += "<>";
  } else if (rest[0] == '[') {
    at_ = behind_bracket(name_, at_);
  } else if (rest[0] == '{') {
    last_ += rest.starts_with("{lambda") ? "{lambda}" : "{...}";
    at_ = behind_bracket(name_, at_);
  } else if (rest.starts_with(" <")) { // template arguments of an operator
    at_ = behind_bracket(name_, at_ + 1);
  } else if (rest[0] == ' ') { // what came before is the return type
    all_.clear();
    last_.clear();
    at_++;
  } else {
    last_ += name_[at_++];
  }
}

} // namespace

std::string short_function(std::string_view name) {
  constexpr size_t kShown = 2; // components: class and function
  const Components components(name);
  std::string out;
  size_t named = 0;
  for (auto part = components.all().rbegin(); part != components.all().rend() && named < kShown;
       ++part) {
    out = out.empty() ? *part : *part + "::" + out;
    named += (*part)[0] != '{' && !part->starts_with("operator()");
  }
  return out.empty() ? std::string(name) : out;
}

std::string with_std_string(std::string name) {
  for (const std::string_view prefix : {"std::__cxx11::", "std::"}) {
    const std::string whole =
        std::string(prefix) + "basic_string<char, std::char_traits<char>, std::allocator<char> >";
    for (size_t at = 0; (at = name.find(whole, at)) != std::string::npos;)
      name.replace(at, whole.size(), "std::string");
  }
  return name;
}

} // namespace smalloc::cli
