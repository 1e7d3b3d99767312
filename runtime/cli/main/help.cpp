// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// help.cpp writes the help texts and the man page.
#include "runtime/cli/main/help.h"

#include "runtime/cli/verbs.h"

#include <cctype>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace smalloc::cli {
namespace {

constexpr size_t kHelpColumns = 100, kOptionColumn = 30;

// Returns the verb that `app` is or is a part of.
const Verb *verb_of(const CLI::App *app) {
  while (app->get_parent() && app->get_parent()->get_parent())
    app = app->get_parent();
  for (const Verb *verb : all_verbs())
    if (app->get_name() == verb->name)
      return verb;
  return nullptr;
}

// Returns the part that `app` is; nullptr for a verb, or a part without its own examples.
const Part *part_of(const CLI::App *app) {
  const Verb *verb = verb_of(app);
  if (verb && app->get_name() != verb->name)
    for (const Part &part : verb->parts)
      if (app->get_name() == part.name)
        return &part;
  return nullptr;
}

std::string full_name(const CLI::App *app) {
  return app->get_parent() ? full_name(app->get_parent()) + " " + app->get_name()
                           : std::string("smalloc");
}

// Returns the options that users see: CLI11 hides options whose group is empty.
std::vector<const CLI::Option *> visible_options(const CLI::App *app) {
  std::vector<const CLI::Option *> list;
  for (const CLI::Option *option : app->get_options())
    if (!option->get_group().empty())
      list.push_back(option);
  return list;
}

std::string option_name(const CLI::Option *option) {
  if (option->get_positional())
    return option->get_name(true);
  std::string name = option->get_name(false, true);
  if (const size_t comma = name.find(','); comma != std::string::npos)
    name.replace(comma, 1, ", ");
  if (option->get_items_expected_max() > 0 && !option->get_type_name().empty())
    name += " " + option->get_type_name();
  return name;
}

std::string wrap(const std::string &text, size_t indent, size_t first_column) {
  std::string out;
  size_t column = first_column;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find(' ', from), text.size());
    const std::string word = text.substr(from, end - from);
    if (column > indent && column + 1 + word.size() > kHelpColumns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      column++;
    }
    out += word;
    column += word.size();
    from = end + 1;
  }
  return out;
}

std::string described(const std::string &name, const std::string &text) {
  std::string line = "  " + name;
  if (line.size() + 2 > kOptionColumn)
    line += "\n" + std::string(kOptionColumn, ' ');
  else
    line.append(kOptionColumn - line.size(), ' ');
  return line + wrap(text, kOptionColumn, kOptionColumn) + "\n";
}

/// Returns the argument as users type it: twice if two are required, with dots if it may be
/// repeated.
std::string positional_usage(const CLI::Option *option) {
  const std::string name = option->get_name(true);
  const int least = option->get_items_expected_min(), most = option->get_items_expected_max();
  if (most > 1 && most == least)
    return name + " " + name;
  return most > 1 ? name + "..." : name;
}

std::string usage_line(const CLI::App *app) {
  std::string line = full_name(app);
  if (!app->get_subcommands({}).empty()) {
    std::string names;
    for (const CLI::App *sub : app->get_subcommands({}))
      names += (names.empty() ? "" : "|") + sub->get_name();
    return line + " " + names + " [OPTION]...";
  }
  line += " [OPTION]...";
  if (app->get_prefix_command())
    return line + " [--] COMMAND [ARGUMENT]...";
  for (const CLI::Option *option : visible_options(app))
    if (option->get_positional())
      line += option->get_required() ? " " + positional_usage(option)
                                     : " [" + positional_usage(option) + "]";
  if (const Part *part = part_of(app); part && part->runs_a_command)
    line += " -- COMMAND [ARGUMENT]...";
  return line;
}

class HouseHelp : public CLI::Formatter {
public:
  std::string make_help(const CLI::App *app, std::string, CLI::AppFormatMode) const override {
    if (!app->get_parent())
      return short_help();
    std::string text;
    const Part *part = part_of(app);
    for (const Example &example : part ? part->examples : verb_of(app)->examples)
      text += fmt::format("  {}\n      {}\n", example.command, example.effect);
    text += fmt::format("\nUsage: {}\n\n", usage_line(app));
    text += wrap(app->get_description(), 0, 0) + "\n\n";
    for (const CLI::App *sub : app->get_subcommands({}))
      text += described(sub->get_name(), sub->get_description());
    for (const CLI::Option *option : visible_options(app))
      text += described(option_name(option), option->get_description());
    return text;
  }
};

// Escapes text for man(7), where '-' and '\' have a meaning, and '.' and quotes at a line's start
// too.
std::string roff(const std::string &text) {
  std::string out;
  for (char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  if (!out.empty() && (out[0] == '.' || out[0] == '\''))
    out.insert(0, "\\&");
  return out;
}

// Returns the examples, a paragraph each. A paragraph macro must not follow a heading.
std::string man_examples(const Example (&examples)[2]) {
  std::string text;
  for (const Example &example : examples)
    text += fmt::format("{}.RS\n.nf\n{}\n.fi\n.RE\n{}\n", text.empty() ? "" : ".PP\n",
                        roff(example.command), roff(example.effect));
  return text;
}

std::string man_options(const CLI::App *app) {
  std::string text;
  for (const CLI::Option *option : visible_options(app))
    if (option->get_name() != "--help" && option->get_name(false, true) != "-h,--help")
      text += fmt::format(".TP\n.B {}\n{}\n", roff(option_name(option)),
                          roff(option->get_description()));
  return text;
}

} // namespace

namespace {

std::string man_overview();
std::string man_verb(const Verb &verb, CLI::App &app);

// Refuses a value for a flag; otherwise CLI11 would take --json=3 for --json.
void refuse_values_of_flags(CLI::App &verb) {
  for (CLI::Option *option : verb.get_options())
    if (option->get_expected_max() == 0)
      option->disable_flag_override();
}

} // namespace

void install_help(CLI::App &app) {
  auto formatter = std::make_shared<HouseHelp>();
  app.formatter(formatter);
  for (CLI::App *verb : app.get_subcommands({})) {
    verb->formatter(formatter);
    refuse_values_of_flags(*verb);
    for (CLI::App *sub : verb->get_subcommands({})) {
      sub->formatter(formatter);
      refuse_values_of_flags(*sub);
    }
  }
}

std::string short_help() {
  std::string text =
      "  smalloc try -- ./app\n      does ./app gain from superpages: ten lines, nothing to "
      "recompile\n"
      "  smalloc sites ./app\n      where ./app allocates, what goes on superpages, and why\n\n"
      "Usage: smalloc VERB [OPTION]...\n\nVerbs:\n";
  for (const Verb *verb : all_verbs())
    text += described(verb->name, verb->summary);
  return text + "\n" + described("-h, --help", "Print this help; after a verb, that verb's") +
         described("--version", "Print the version");
}

std::string man_page(CLI::App &app, const std::string &name) {
  for (const Verb *verb : all_verbs())
    if (name == verb->name)
      return man_verb(*verb, app);
  return name.empty() ? man_overview() : std::string();
}

namespace {

std::string man_overview() {
  std::string text =
      ".\\\" Generated from the command's own options: smalloc --man\n"
      ".TH SMALLOC 1 \"" SMALLOC_RELEASED "\" \"smalloc " SMALLOC_VERSION "\" \"User Commands\"\n"
      ".SH NAME\nsmalloc \\- put each heap object on the page size that pays\n"
      ".SH SYNOPSIS\n.B smalloc\n.I VERB\n[\\fIOPTION\\fR]...\n";
  text +=
      ".SH DESCRIPTION\nReads what the smalloc compiler plugin left in programs, says what the "
      "system can do for "
      "them, and runs them.\nResults go to standard output, everything else to standard error.\n";
  text += ".SH VERBS\nEach has a page of its own.\n";
  for (const Verb *verb : all_verbs())
    text += fmt::format(".TP\n.BR {} (1)\n{}\n", roff(fmt::format("smalloc-{}", verb->name)),
                        roff(verb->summary));
  text += ".SH \"EXIT STATUS\"\n"
          ".TP\n0\nDone.\n.TP\n1\nFailed; the error says why and the hint what to do next.\n"
          ".TP\n2\nThe command line was not understood.\n"
          ".TP\n3\nA threshold of \\-\\-fail\\-if was crossed.\n"
          ".PP\n.BR run , \" \" record , \" \" apply , \" numa record\" \" and \" \"numa "
          "replay\"\nreturn the "
          "command's own status; 125: smalloc itself failed (its command line included), 126: the "
          "command cannot be executed, 127: it was not found, as with\n.BR env (1).\n"
          ".PP\n.B try\nreturns the status of the first run that fails, 0 if none does, and 125 to "
          "127 as above.\n";
  text +=
      ".SH THRESHOLDS\n"
      "\\fB\\-\\-fail\\-if\\fR 'KEY OP NUMBER' may be repeated. KEY is a path in what "
      "\\fB\\-\\-json\\fR "
      "prints, its parts separated by dots; in a list a part is an index, the \\fBname\\fR of an "
      "element, or * for any: \\fItotals.fail\\fR, \\fIsites.*.superpages\\fR. OP is >, >=, <, <=, "
      "== "
      "or !=. A null value crosses no threshold.\n";
  text +=
      ".SH ENVIRONMENT\n"
      ".TP\n.B SMALLOC_CONF\nkey:value,... read by libsmalloc; the verbs that run a command append "
      "to it.\n"
      ".TP\n.B LD_PRELOAD\nThe verbs that run a command put the library in front of it.\n"
      ".TP\n.B XDG_STATE_HOME\nThe history of programs and reports of runs are in its folder "
      "smalloc (~/.local/state).\n"
      ".TP\n.B XDG_CONFIG_HOME\nThe stored machine profile is in its folder smalloc (~/.config).\n"
      ".TP\n.B NO_COLOR\nNo colour when set and not empty.\n";
  text += ".SH \"SEE ALSO\"\n.BR smalloc\\-cc (1),\n.BR malloc (3),\n.BR madvise (2)\n";
  return text;
}

// Returns the page of one verb, with its parts.
std::string man_verb(const Verb &verb, CLI::App &app) {
  const CLI::App *sub = app.get_subcommand(verb.name);
  const std::string name = fmt::format("smalloc-{}", verb.name);
  std::string title = name;
  for (char &c : title)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = fmt::format(
      ".\\\" Generated from the command's own options: smalloc --man={}\n"
      ".TH {} 1 \"" SMALLOC_RELEASED "\" \"smalloc " SMALLOC_VERSION "\" \"User Commands\"\n"
      ".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n.SH DESCRIPTION\n{}\n.SH EXAMPLES\n",
      verb.name, roff(title), roff(name), roff(verb.summary), roff(usage_line(sub)),
      roff(verb.description));
  text += man_examples(verb.examples);
  if (const std::string options = man_options(sub); !options.empty())
    text += ".SH OPTIONS\n" + options;
  if (!sub->get_subcommands({}).empty())
    text += ".SH PARTS\n";
  for (const CLI::App *below : sub->get_subcommands({})) {
    text +=
        fmt::format(".SS \"{}\"\n{}\n", roff(usage_line(below)), roff(below->get_description()));
    if (const Part *part = part_of(below))
      text += ".PP\n" + man_examples(part->examples);
    text += man_options(below);
  }
  return text + ".SH \"SEE ALSO\"\n.BR smalloc (1)\nfor exit statuses, thresholds and the "
                "environment\n";
}

} // namespace

} // namespace smalloc::cli
