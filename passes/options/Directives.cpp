//===- Directives.cpp - page sizes that a profile prescribes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/options/Directives.h"
#include "passes/options/InputFile.h"
#include "passes/spread/PageShifts.h"
#include "smalloc/directive.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;

namespace smalloc {
namespace {

constexpr StringRef Header = SMALLOC_DIRECTIVES_HEADER;
constexpr uint64_t MaxBytes = uint64_t(16) << 20;

bool isHex(StringRef S) {
  return all_of(S, [](char C) { return isDigit(C) || (C >= 'a' && C <= 'f'); });
}

constexpr StringLiteral Spaces = " \t\r";

/// True if \p S consists of decimal digits, few enough for a 64-bit number.
bool isNumber(StringRef S) {
  return !S.empty() && S.size() <= 18 && all_of(S, [](char C) { return isDigit(C); });
}

/// Takes 16 hex digits off the front of \p S into \p Id; false if they are not there.
bool takeId(StringRef &S, uint64_t &Id) {
  if (S.size() < 16 || !isHex(S.take_front(16)) || S.take_front(16).getAsInteger(16, Id))
    return false;
  S = S.drop_front(16);
  return true;
}

/// Returns the FNV-1a hash of \p Context, as the runtime and the smalloc command compute it.
uint64_t contextHash(StringRef Context) {
  uint64_t Hash = 0xcbf29ce484222325u;
  for (unsigned char C : Context)
    Hash = (Hash ^ C) * 0x100000001b3u;
  return Hash;
}

Error unusable(StringRef Path, const Twine &Why) {
  return createStringError(inconvertibleErrorCode(),
                           "cannot use the directives of plugin option 'profile-use' (" + Path +
                               "): " + Why + "\nhint: smalloc analyze TRACE -o app.directives");
}

/// Returns the file that a comment "function file:line" names.
StringRef fileOf(StringRef Comment) {
  StringRef Place = Comment.rsplit(' ').second;
  return Place.rsplit(':').first;
}

} // namespace

Expected<Directives> Directives::load(StringRef Name) {
  Directives D;
  D.Path = Name.str();
  auto [Front, Digest] = Name.rsplit('#');
  if (Digest.size() < 12 || !isHex(Digest))
    Digest = "";
  else
    D.Path = Front.str();
  std::string WhyNot;
  const auto Buffer = readInputFile(D.Path, WhyNot);
  if (!Buffer)
    return unusable(D.Path, WhyNot);
  StringRef Text = Buffer->getBuffer();
  if (Text.size() > MaxBytes)
    return unusable(D.Path, "it is larger than 16 MiB");
  if (!smalloc_is_directives(Text.data(), Text.size()))
    return unusable(D.Path, "it does not begin with '" + Header + "'");
  if (!Digest.empty())
    D.WrongDigest = !StringRef(toHex(SHA256::hash(arrayRefFromStringRef(Text)), /*LowerCase=*/true))
                         .starts_with(Digest);
  unsigned Number = 0;
  while (!Text.empty()) {
    auto [Line, Rest] = Text.split('\n');
    Text = Rest;
    if (++Number == 1) {
      SmallVector<StringRef, 4> Words;
      SplitString(Line, Words, Spaces);
      for (StringRef Word : Words)
        if (Word.consume_front("machine="))
          D.Machine = Word.trim().str();
        else if (Word.consume_front("verdict="))
          D.Slower = Word.trim() == "slower";
    } else if (!D.parse(Line, Number) && ++D.BadLines == 1) {
      D.FirstBadLine = Number;
    }
  }
  return D;
}

/// Adds the directive of \p Line; false if the line is invalid. Accepts the same lines as the
/// runtime (smalloc/agent/directive_line.h).
bool Directives::parse(StringRef Line, unsigned Number) {
  const bool TooLong = Line.size() > SMALLOC_DIRECTIVE_MOST_BYTES;
  Line = Line.ltrim(Spaces);
  if (Line.empty() || Line.starts_with("#"))
    return true;
  uint64_t Id, Context = 0;
  if (TooLong || !takeId(Line, Id))
    return false;
  if (Line.consume_front("/") && !takeId(Line, Context))
    return false;
  if (!Line.empty() && !Spaces.contains(Line.front()))
    return false;
  Directive D;
  D.Line = Number;
  while (!(Line = Line.ltrim(Spaces)).empty()) {
    if (Line.consume_front("#")) { // a '#' within a word starts no comment
      D.Comment = Line.trim(Spaces).str();
      break;
    }
    const StringRef Word = Line.take_front(Line.find_first_of(Spaces));
    Line = Line.drop_front(Word.size());
    auto [Key, Value] = Word.split('=');
    if (Key.empty() || Key.size() == Word.size())
      return false;
    const auto [Held, Validated] = Value.split('/');
    if (Key == "page")
      D.PageShift = StringSwitch<unsigned>(Value)
                        .Case("base", BaseShift)
                        .Case("64k", MediumShift)
                        .Case("2m", SuperpageShift)
                        .Case("1g", GiganticShift)
                        .Default(0);
    if ((Key == "page" && !D.PageShift) || (Key == "rank" && !isNumber(Value)) ||
        (Key == "superpages" && (!isNumber(Value) || Value.getAsInteger(10, D.Superpages))) ||
        (Key == "pmb" && !isNumber(Value.take_until([](char C) { return C == '.'; }))) ||
        (Key == "pmb" && !all_of(Value.split('.').second, [](char C) { return isDigit(C); })) ||
        (Key == "held" &&
         (!isNumber(Held) || !isNumber(Validated) || Held.getAsInteger(10, D.Held) ||
          Validated.getAsInteger(10, D.Validated) || D.Held > D.Validated)))
      return false;
    if (Key == "rank")
      D.Rank = Value.str();
    else if (Key == "pmb")
      D.Pmb = Value.str();
  }
  if (!D.PageShift)
    return false;
  Entries.try_emplace({Id, Context}, std::move(D)); // the first line for a site counts
  return true;
}

uint32_t Directive::worth() const {
  const auto [Whole, Fraction] = StringRef(Pmb).split('.');
  const std::string Digits = (Whole + Fraction + "000").str(); // parse() has checked both parts
  uint64_t Thousandths = UINT64_MAX;
  StringRef(Digits).take_front(Whole.size() + 3).getAsInteger(10, Thousandths);
  return smalloc_directive_worth(!Pmb.empty(), Thousandths, Superpages);
}

const Directive *Directives::find(uint64_t Id, StringRef Context) const {
  auto At = Entries.find({Id, contextHash(Context)});
  if (At == Entries.end())
    At = Entries.find({Id, 0});
  return At == Entries.end() ? nullptr : &At->second;
}

std::string Directives::givenUp(const Directive &D) const {
  if (D.PageShift == BaseShift)
    return "";
  if (Slower)
    return "the program has been slower with superpages than without";
  if (smalloc_directive_given_up(D.Held, D.Validated))
    return ("it held in " + Twine(D.Held) + " of " + Twine(D.Validated) + " runs").str();
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
    const uint64_t Id = Key.first;
    if (sys::path::filename(fileOf(D.Comment)) != sys::path::filename(Unit) || HasSite(Id))
      continue;
    All.push_back((Path + ":" + Twine(D.Line) + ": no site here has the id " +
                   utohexstr(Id, /*LowerCase=*/true, /*Width=*/16) + " (" + D.Comment +
                   "): the source has changed since")
                      .str());
  }
  return All;
}

} // namespace smalloc
