// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// completions.cpp walks the verbs and their parts once, and writes what each shell wants of them:
// the first word is a verb, the second may be its part, words that begin with '-' are options, and
// behind "--" stands a command of the user's. Everything else is left to the shell's completion of
// files.
#include "runtime/cli/main/completions.h"

#include "runtime/cli/verbs.h"

#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace smalloc::cli {
namespace {

struct Word {
  std::string name, description;
};

struct Option {
  std::string long_name, short_name, description; // without dashes
  bool takes_value = false;
};

struct Level { // a verb or a part
  std::string verb, part, description;
  std::vector<Word> parts;
  std::vector<Option> options;
};

Level level_of(const CLI::App &app, std::string verb, std::string part) {
  Level level{std::move(verb), std::move(part), {}, {}, {}};
  for (const CLI::App *below : app.get_subcommands([](const CLI::App *) { return true; }))
    level.parts.push_back({below->get_name(), below->get_description()});
  for (const CLI::Option *option : app.get_options()) {
    if (option->get_group().empty() || option->get_positional())
      continue;
    const auto longs = option->get_lnames(), shorts = option->get_snames();
    level.options.push_back({longs.empty() ? "" : longs.front(),
                             shorts.empty() ? "" : shorts.front(), option->get_description(),
                             option->get_items_expected_max() > 0});
  }
  return level;
}

std::vector<Level> levels_of(const CLI::App &app) {
  std::vector<Level> levels;
  for (const Verb *verb : all_verbs()) {
    const CLI::App *sub = app.get_subcommand(verb->name);
    levels.push_back(level_of(*sub, verb->name, ""));
    levels.back().description = verb->summary;
    for (const CLI::App *part : sub->get_subcommands([](const CLI::App *) { return true; }))
      levels.push_back(level_of(*part, verb->name, part->get_name()));
  }
  return levels;
}

// Returns the text in single quotes, which is one word for each of the three shells.
std::string in_quotes(const std::string &text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string joined_names(const Level &level) {
  std::string names;
  for (const Word &part : level.parts)
    names += (names.empty() ? "" : " ") + part.name;
  for (const Option &option : level.options) {
    if (!option.short_name.empty())
      names += (names.empty() ? "-" : " -") + option.short_name;
    if (!option.long_name.empty())
      names += (names.empty() ? "--" : " --") + option.long_name;
  }
  return names;
}

// Returns the pattern for the words "VERB PART" by which a script chooses the level. A verb's
// pattern matches its parts, too, so the scripts list the parts first.
std::string pattern_of(const Level &level) {
  return level.part.empty() ? in_quotes(level.verb + " ") + "*"
                            : in_quotes(level.verb + " " + level.part);
}

std::string bash_script(const std::vector<Level> &levels) {
  std::string verbs = "-h --help --version", cases;
  for (const Level &level : levels)
    if (level.part.empty())
      verbs += " " + level.verb;
  for (const bool parts : {true, false})
    for (const Level &level : levels)
      if (level.part.empty() != parts)
        cases +=
            fmt::format("  {}) names={} ;;\n", pattern_of(level), in_quotes(joined_names(level)));
  return fmt::format(R"(# bash completion for smalloc; generated: smalloc --completion bash
_smalloc() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} part='' names='' i
  COMPREPLY=()
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [ "${{COMP_WORDS[i]}}" = -- ]; then
      if [ $((i + 1)) = "$COMP_CWORD" ]; then COMPREPLY=($(compgen -c -- "$current")); fi
      return
    fi
  done
  [ "$COMP_CWORD" -le 2 ] || part=${{COMP_WORDS[2]}}
  case "${{COMP_WORDS[1]}} $part" in
{}  esac
  [ "$COMP_CWORD" != 1 ] || names={}
  if [ "$COMP_CWORD" -le 2 ] || [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$names" -- "$current"))
  fi
}}
complete -o bashdefault -o default -F _smalloc smalloc
)",
                     cases, in_quotes(verbs));
}

std::string zsh_words(const Level &level) {
  std::string words;
  for (const Word &part : level.parts)
    words += " " + in_quotes(part.name + ":" + part.description);
  for (const Option &option : level.options) {
    if (!option.short_name.empty())
      words += " " + in_quotes("-" + option.short_name + ":" + option.description);
    if (!option.long_name.empty())
      words += " " + in_quotes("--" + option.long_name + ":" + option.description);
  }
  return words;
}

std::string zsh_script(const std::vector<Level> &levels) {
  std::string verbs, cases;
  for (const Level &level : levels)
    if (level.part.empty())
      verbs += " " + in_quotes(level.verb + ":" + level.description);
  for (const bool parts : {true, false})
    for (const Level &level : levels)
      if (level.part.empty() != parts)
        cases += fmt::format("  {}) names=({} ) ;;\n", pattern_of(level), zsh_words(level));
  return fmt::format(R"(#compdef smalloc
# zsh completion for smalloc; generated: smalloc --completion zsh
_smalloc() {{
  local -a names
  local part='' behind=${{words[(i)--]}}
  if (( behind < CURRENT )); then
    shift $behind words
    (( CURRENT -= behind ))
    _normal
    return
  fi
  if (( CURRENT == 2 )); then
    names=({} )
    _describe verb names
    return
  fi
  (( CURRENT == 3 )) || part=$words[3]
  case "$words[2] $part" in
{}  esac
  if (( CURRENT == 3 )) || [[ $words[CURRENT] == -* ]]; then
    _describe option names && return
  fi
  _files
}}
_smalloc "$@"
)",
                     verbs, cases);
}

std::string fish_script(const std::vector<Level> &levels) {
  std::string text = "# fish completion for smalloc; generated: smalloc --completion fish\n";
  for (const Level &level : levels) {
    if (level.part.empty())
      text += fmt::format("complete -c smalloc -n __fish_use_subcommand -f -a {} -d {}\n",
                          level.verb, in_quotes(level.description));
    std::string condition = "__fish_seen_subcommand_from " + level.verb, others;
    for (const Word &part : level.parts)
      others += " " + part.name;
    if (!level.part.empty())
      condition += "; and __fish_seen_subcommand_from " + level.part;
    for (const Word &part : level.parts)
      text += fmt::format("complete -c smalloc -n {} -f -a {} -d {}\n",
                          in_quotes(condition + "; and not __fish_seen_subcommand_from" + others),
                          part.name, in_quotes(part.description));
    for (const Option &option : level.options)
      text += fmt::format("complete -c smalloc -n {}{}{}{} -d {}\n", in_quotes(condition),
                          option.short_name.empty() ? "" : " -s " + option.short_name,
                          option.long_name.empty() ? "" : " -l " + option.long_name,
                          option.takes_value ? " -r" : "", in_quotes(option.description));
  }
  return text;
}

} // namespace

std::string completion_script(const CLI::App &app, const std::string &shell) {
  const std::vector<Level> levels = levels_of(app);
  return shell == "bash"  ? bash_script(levels)
         : shell == "zsh" ? zsh_script(levels)
                          : fish_script(levels);
}

} // namespace smalloc::cli
