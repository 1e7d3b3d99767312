//===- Directives.cpp - page sizes that a profile prescribes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/options/Directives.h"
#include "passes/options/InputFile.h"
#include "passes/spread/PageShifts.h"
#include "smalloc/directive.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;

namespace smalloc {
namespace {

constexpr StringRef Header = SMALLOC_DIRECTIVES_HEADER;
constexpr uint64_t MaxBytes = uint64_t(16) << 20;

constexpr StringLiteral Spaces = " \t\r";

Text asText(StringRef S) { return Text(S.data(), S.size()); }

Error unusable(StringRef Path, const Twine &Why) {
  return createStringError(inconvertibleErrorCode(),
                           "cannot use the directives of plugin option 'profile-use' (" + Path +
                               "): " + Why + "\nhint: smalloc analyze TRACE -o app.directives");
}

/// Returns the comment "function file:line".
StringRef commentOf(const Directive &D) {
  return StringRef(D.comment.data, D.comment.size).rtrim(Spaces);
}

} // namespace

Expected<Directives> Directives::load(StringRef Name) {
  Directives D;
  D.Path = Name.str();
  auto [Front, Digest] = Name.rsplit('#');
  if (Digest.size() < 12 || Digest.find_first_not_of("0123456789abcdef") != StringRef::npos)
    Digest = "";
  else
    D.Path = Front.str();
  std::string WhyNot;
  D.Contents = readInputFile(D.Path, WhyNot);
  if (!D.Contents)
    return unusable(D.Path, WhyNot);
  StringRef Rest = D.Contents->getBuffer();
  if (Rest.size() > MaxBytes)
    return unusable(D.Path, "it is larger than 16 MiB");
  if (!smalloc_is_directives(Rest.data(), Rest.size()))
    return unusable(D.Path, "it does not begin with '" + Header + "'");
  if (!Digest.empty())
    D.WrongDigest = !StringRef(toHex(SHA256::hash(arrayRefFromStringRef(Rest)), /*LowerCase=*/true))
                         .starts_with(Digest);
  unsigned Number = 0;
  while (!Rest.empty()) {
    StringRef Line;
    std::tie(Line, Rest) = Rest.split('\n');
    if (++Number == 1) {
      for_each_header_word(asText(Line), [&D](Text Key, Text Value) {
        if (Key.is("machine"))
          D.Machine.assign(Value.data, Value.size);
        else if (Key.is("verdict"))
          D.Slower = Value.is("slower");
      });
      continue;
    }
    Directive Parsed;
    switch (parse_directive(asText(Line), Parsed)) {
    case DirectiveLine::kNothing:
      break;
    case DirectiveLine::kBad:
      if (++D.BadLines == 1)
        D.FirstBadLine = Number;
      break;
    case DirectiveLine::kDirective: // the first line for a site counts
      D.Entries.try_emplace({Parsed.site, Parsed.has_context, Parsed.context},
                            Entry{Parsed, Number});
    }
  }
  return D;
}

const Directive *Directives::find(uint64_t Id, StringRef Context) const {
  auto At = Entries.find({Id, true, context_hash(asText(Context))});
  if (At == Entries.end())
    At = Entries.find({Id, false, 0});
  return At == Entries.end() ? nullptr : &At->second.Parsed;
}

std::string Directives::givenUp(const Directive &D) const {
  if (D.page_shift == BaseShift)
    return "";
  if (Slower)
    return "the program has been slower with superpages than without";
  if (smalloc_directive_given_up(D.held, D.validated))
    return ("it held in " + Twine(D.held) + " of " + Twine(D.validated) + " runs").str();
  return "";
}

SmallVector<std::string, 2> Directives::complaints(StringRef DecidedFor) const {
  SmallVector<std::string, 2> All;
  if (BadLines)
    All.push_back((Path + ":" + Twine(FirstBadLine) + ": " + Twine(BadLines) +
                   (BadLines == 1 ? " line is not a directive"
                                  : " lines are not directives, this is the first"))
                      .str());
  if (!Machine.empty() && Machine != DecidedFor)
    All.push_back((Path + ": made for machine " + Machine + ", compiled for " + DecidedFor).str());
  if (WrongDigest)
    All.push_back(Path + ": its content is not what the command line says");
  return All;
}

std::vector<std::string> Directives::stale(StringRef Unit,
                                           function_ref<bool(uint64_t)> HasSite) const {
  std::vector<std::string> All;
  for (const auto &[Key, D] : Entries) {
    const uint64_t Id = D.Parsed.site;
    const StringRef Comment = commentOf(D.Parsed), Place = Comment.rsplit(' ').second;
    if (sys::path::filename(Place.rsplit(':').first) != sys::path::filename(Unit) || HasSite(Id))
      continue;
    All.push_back((Path + ":" + Twine(D.Line) + ": no site here has the id " +
                   utohexstr(Id, /*LowerCase=*/true, /*Width=*/16) + " (" + Comment +
                   "): the source has changed since")
                      .str());
  }
  return All;
}

} // namespace smalloc
