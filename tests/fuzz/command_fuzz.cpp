// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// command_fuzz: gives any bytes to a verb of the command, in this process. The target's name
// selects the kind of file, and the bytes select one of the verbs that read it. The verb ends with
// exit status 0 or 1. After 0 the result is whole. After 1 there is none, an earlier result is
// unchanged, and the reason is printed. The input stays as it is, and no other file is left.
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"
#include "tests/fuzz/fuzz.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace smalloc::cli;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

// The input is written to `place`. "-o out" is added to each command line.
struct Reader {
  const char *name, *place;
  std::vector<Words> commands;
};
const std::vector<Reader> kReaders = {
    {"elf", "in", {{"sites", "in", "--json"}, {"report", "in"}}},
    {"trace",
     "in",
     {{"trace", "show", "in", "--json"},
      {"analyze", "in", "--no-db", "--machine", "zen4"},
      {"numa", "simulate", "in", "--json"}}},
    {"database",
     "in.db",
     {{"db", "list", "--db", "in.db", "--json"},
      {"db", "show", "2a179d", "--db", "in.db", "--json"},
      {"db", "export", "--db", "in.db"}}},
    {"directives", "in", {{"directives", "show", "in", "--json"}}},
    {"machine", "in", {{"machine", "show", "./in", "--json"}, {"report", "in"}}},
    {"report", "in", {{"report", "in"}, {"diff", "in", "in", "--json"}}},
    {"run_lines", "state/smalloc/runs/aa.jsonl", {{"db", "list", "--json"}}},
};

// A new working folder, which is also the only place for smalloc's state.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "smalloc-fuzz.XXXXXX").string();
    FUZZ_CHECK(mkdtemp(name.data()));
    path = name;
    fs::current_path(path);
    setenv("XDG_STATE_HOME", (path / "state").c_str(), 1);
    unsetenv("SMALLOC_CONF");
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  ~Folder() {
    fs::current_path("/");
    fs::remove_all(path);
  }
};

std::string contents(const fs::path &file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path &file, std::string_view bytes) {
  std::ofstream out(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  FUZZ_CHECK(out.flush());
}

const Verb &verb_named(const std::string &name) {
  for (const Verb *verb : all_verbs())
    if (name == verb->name)
      return *verb;
  std::abort();
}

// Runs a command line as main() does; returns its exit status.
int status_of(Words words) {
  try {
    CLI::App app;
    const Verb &verb = verb_named(words.front());
    const auto action = verb.declare(*app.add_subcommand(verb.name));
    std::reverse(words.begin(), words.end()); // as CLI11 takes them
    app.parse(words);
    return action();
  } catch (const Failure &failure) {
    FUZZ_CHECK(!failure.what.empty() && !failure.why.empty());
    for (const char c : describe(failure))
      FUZZ_CHECK(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    return failure.status;
  } catch (const std::bad_alloc &) {
    return kFailed;
  }
}

bool is_json(const Words &words) { return words.back() == "--json"; }

// Checks one command. An earlier result, if `earlier`, is there before.
void check(const Reader &reader, Words words, std::string_view input, bool earlier) {
  const bool is_history =
      reader.name == std::string_view("database") || reader.name == std::string_view("run_lines");
  const Folder folder;
  fs::create_directories((folder.path / reader.place).parent_path());
  write(reader.place, input);
  const std::string before = "an earlier result\n";
  if (earlier)
    write("out", before);
  const bool json = is_json(words);
  words.insert(words.end(), {"-o", "out", "-q"});
  const int status = status_of(words);
  FUZZ_CHECK(status == kDone || status == kFailed);
  if (status == kDone) {
    const std::string result = contents("out");
    FUZZ_CHECK(!json || nlohmann::json::accept(result));
    FUZZ_CHECK(result != before);
  } else {
    FUZZ_CHECK(fs::exists("out") == earlier && (!earlier || contents("out") == before));
  }
  // Reports of runs are taken into the history, and a history takes them in.
  if (!is_history || (status == kFailed && reader.name == std::string_view("database")))
    FUZZ_CHECK(contents(reader.place) == input);
  if (!is_history)
    for (const auto &entry : fs::directory_iterator("."))
      FUZZ_CHECK(entry.path().filename() == "in" || entry.path().filename() == "out");
}

// Returns the reader that the target is named after: command_READER_fuzz.
const Reader &reader_of_target() {
  const std::string_view target = program_invocation_short_name;
  for (const Reader &reader : kReaders)
    if (target == "command_" + std::string(reader.name) + "_fuzz")
      return reader;
  std::abort();
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Reader &reader = reader_of_target();
  const std::string_view input(reinterpret_cast<const char *>(data), size);
  const size_t choice = std::hash<std::string_view>()(input);
  check(reader, reader.commands[choice % reader.commands.size()], input, (choice >> 8) % 2 != 0);
  return 0;
}
