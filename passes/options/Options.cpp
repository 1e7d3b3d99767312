//===- Options.cpp - the plugin's options -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/options/Options.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace smalloc {
namespace {

cl::OptionCategory Category("smalloc", "Superpage-aware allocation");
// Command-line twins of the clang plugin arguments, for tools without such arguments (opt, flang,
// lld). They are strings, so that setOption() checks the values.
cl::opt<std::string> HeapOpt("smalloc-heap", cl::cat(Category),
                             cl::desc("auto, off, superpage, migrate or guest"));
cl::opt<std::string> ModelOpt("smalloc-model", cl::cat(Category), cl::desc("spread or paper"));
cl::opt<std::string> MachineOpt("smalloc-machine", cl::cat(Category),
                                cl::desc("native, a preset, or a file"));
cl::opt<std::string> RewriteOpt("smalloc-rewrite", cl::cat(Category),
                                cl::desc("candidates or all"));
cl::opt<std::string> RootOpt("smalloc-root", cl::cat(Category),
                             cl::desc("base of source paths in site ids"));
cl::opt<std::string> SitesOpt("smalloc-sites", cl::cat(Category),
                              cl::desc("directory for site tables as JSON"));
cl::opt<std::string> CoverageOpt("smalloc-coverage", cl::cat(Category),
                                 cl::desc("directory for counts of attributed accesses"));
cl::opt<std::string> LayoutOpt("smalloc-layout", cl::cat(Category),
                               cl::desc("off or on: padding of colliding rows"));
cl::opt<std::string>
    FirstTouchOpt("smalloc-first-touch", cl::cat(Category),
                  cl::desc("on or off: page faults of fully written objects count"));
cl::opt<std::string> NumaOpt("smalloc-numa", cl::cat(Category), cl::desc("off or hints"));
cl::opt<std::string> GenerateOpt("smalloc-profile-generate", cl::cat(Category), cl::ValueOptional,
                                 cl::desc("instrument; directory for traces"));
cl::opt<std::string> UseOpt("smalloc-profile-use", cl::cat(Category), cl::desc("directives file"));

/// Returns an error whose hint is on a line of its own, as the smalloc command prints it.
Error failure(const Twine &Message, const Twine &Hint) {
  return createStringError(inconvertibleErrorCode(), Message + "\nhint: " + Hint);
}

Error invalid(StringRef Key, StringRef Value, StringRef Valid) {
  return failure("invalid value '" + Value + "' of plugin option '" + Key + "': expected " + Valid,
                 "-fplugin-arg-smalloc-" + Key + "=VALUE (-mllvm -smalloc-" + Key +
                     "=VALUE for flang, opt and lld)");
}

/// Checks the directory \p Dir for the program's traces. The program may run on another machine or
/// as another user, and it creates a missing directory. Therefore only a file that is no directory
/// is an error.
Error checkTraceDirectory(Options &O, StringRef Dir) {
  if (Dir.empty() || !sys::fs::exists(Dir))
    return Error::success();
  if (!sys::fs::is_directory(Dir))
    return failure("cannot use the directory of plugin option 'profile-generate' (" + Dir +
                       "): it is not a directory",
                   "name a directory that the program may write to");
  if (std::error_code Failed = sys::fs::access(Dir, sys::fs::AccessMode::Write))
    O.Warnings.push_back(("the directory of plugin option 'profile-generate' (" + Dir +
                          "): " + Failed.message() + "; the program may leave no trace there")
                             .str());
  return Error::success();
}

/// Sets \p Field to what \p Value means in \p Choices. \p Valid: the choices as text.
template <typename T>
Error choose(T &Field, StringRef Key, StringRef Value,
             std::initializer_list<std::pair<StringRef, T>> Choices, StringRef Valid) {
  for (const auto &[Name, Choice] : Choices)
    if (Value == Name) {
      Field = Choice;
      return Error::success();
    }
  return invalid(Key, Value, Valid);
}

/// Sets \p Directory to \p Value, and creates that directory.
Error createDirectory(std::string &Directory, StringRef Key, StringRef Value) {
  if (Value.empty())
    return invalid(Key, Value, "a directory");
  if (std::error_code Failed = sys::fs::create_directories(Value))
    return failure("cannot create the directory of plugin option '" + Key + "' (" + Value +
                       "): " + Failed.message(),
                   "name a directory that you may write to");
  Directory = Value.str();
  return Error::success();
}

Error setMachine(Options &O, StringRef Key, StringRef Value) {
  if (Value.empty())
    return invalid(Key, Value, "native, a preset's name, or a file");
  Expected<MachineProfile> M = loadMachineProfile(Value);
  if (!M)
    return M.takeError();
  O.Machine = std::move(*M);
  return Error::success();
}

Error setRoot(Options &O, StringRef Key, StringRef Value) {
  if (Value.empty())
    return invalid(Key, Value, "a directory");
  O.Root = Value.str();
  return Error::success();
}

Error setGenerate(Options &O, StringRef Key, StringRef Value) {
  if (Value.contains(',') || Value.contains('%'))
    return invalid(Key, Value, "a directory without commas and percent signs");
  O.GenerateDir = Value.empty() ? "." : Value.str();
  return checkTraceDirectory(O, Value);
}

Error setUse(Options &O, StringRef Key, StringRef Value) {
  if (Value.empty())
    return invalid(Key, Value, "a directives file");
  Expected<Directives> D = Directives::load(Value);
  if (!D)
    return D.takeError();
  O.Use = std::make_shared<const Directives>(std::move(*D));
  return Error::success();
}

} // namespace

Error setOption(Options &O, StringRef Key, StringRef Value) {
  if (Key == "heap")
    return choose(O.Heap, Key, Value,
                  {{"auto", SMALLOC_HEAP_AUTO},
                   {"off", SMALLOC_HEAP_OFF},
                   {"superpage", SMALLOC_HEAP_SUPERPAGE},
                   {"migrate", SMALLOC_HEAP_MIGRATE},
                   {"guest", SMALLOC_HEAP_GUEST}},
                  "auto, off, superpage, migrate or guest");
  if (Key == "model")
    return choose(O.Model, Key, Value,
                  {{"spread", SMALLOC_MODEL_SPREAD}, {"paper", SMALLOC_MODEL_PAPER}},
                  "spread or paper");
  if (Key == "machine")
    return setMachine(O, Key, Value);
  if (Key == "rewrite") {
    O.RewriteNamed = true;
    return choose(O.Rewrite, Key, Value,
                  {{"candidates", RewriteScope::Candidates}, {"all", RewriteScope::All}},
                  "candidates or all");
  }
  if (Key == "root")
    return setRoot(O, Key, Value);
  if (Key == "sites")
    return createDirectory(O.SitesDir, Key, Value);
  if (Key == "coverage")
    return createDirectory(O.CoverageDir, Key, Value);
  if (Key == "numa")
    return choose(O.NumaHints, Key, Value, {{"off", false}, {"hints", true}}, "off or hints");
  if (Key == "first-touch")
    return choose(O.FirstTouch, Key, Value, {{"off", false}, {"on", true}}, "off or on");
  if (Key == "layout")
    return choose(O.Layout, Key, Value, {{"off", false}, {"on", true}}, "off or on");
  if (Key == "profile-generate")
    return setGenerate(O, Key, Value);
  if (Key == "profile-use")
    return setUse(O, Key, Value);
  return failure("unknown plugin option '" + Key +
                     "': expected heap, model, machine, rewrite, root, layout, first-touch, "
                     "profile-generate, profile-use, sites, coverage or numa",
                 "clang's form is -fplugin-arg-smalloc-KEY=VALUE");
}

std::vector<std::string> decidingOptions(const Options &O) {
  static constexpr const char *Heaps[] = {"auto", "off", "superpage", "migrate", "guest"};
  std::vector<std::string> Pairs = {
      std::string("heap=") + Heaps[O.Heap],
      std::string("model=") + (O.Model == SMALLOC_MODEL_PAPER ? "paper" : "spread"),
      std::string("rewrite=") + (O.Rewrite == RewriteScope::All ? "all" : "candidates"),
      std::string("numa=") + (O.NumaHints ? "hints" : "off"),
      std::string("first-touch=") + (O.FirstTouch ? "on" : "off"),
      "machine=" + (O.Machine.FromFile ? O.Machine.Text : O.Machine.Name)};
  return Pairs;
}

Expected<Options> withCommandLine(Options O) {
  const std::pair<StringRef, const cl::opt<std::string> *> Twins[] = {
      {"heap", &HeapOpt},       {"model", &ModelOpt},       {"machine", &MachineOpt},
      {"rewrite", &RewriteOpt}, {"root", &RootOpt},         {"sites", &SitesOpt},
      {"layout", &LayoutOpt},   {"numa", &NumaOpt},         {"profile-generate", &GenerateOpt},
      {"profile-use", &UseOpt}, {"coverage", &CoverageOpt}, {"first-touch", &FirstTouchOpt}};
  for (const auto &[Key, Twin] : Twins)
    if (Twin->getNumOccurrences())
      if (Error E = setOption(O, Key, *Twin))
        return Expected<Options>(std::move(E));
  if (!O.GenerateDir.empty() && !O.RewriteNamed)
    O.Rewrite = RewriteScope::All;
  if (O.Machine.ReachPages == 0) {
    Expected<MachineProfile> Native = loadMachineProfile("native");
    if (!Native)
      return Native.takeError();
    O.Machine = std::move(*Native);
  }
  return O;
}

} // namespace smalloc
