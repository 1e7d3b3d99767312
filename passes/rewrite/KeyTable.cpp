//===- KeyTable.cpp - a unit's summary as data ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the block of section smalloc_keys (smalloc/site.h): a header, the flows between keys, what
// the unit's loops do with the memory of keys, and the strings.
//===----------------------------------------------------------------------===//
#include "passes/ir/UnitName.h"
#include "passes/rewrite/SiteTable.h"
#include "passes/rewrite/StringArea.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/EndianStream.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Limits of texts in bytes: names of template instances have any length.
constexpr size_t MaxNameBytes = 200, MaxKeyNameBytes = 300, MaxWhyBytes = 400;

/// The strings of a block. The header holds the length of the block, so they are added first.
class KeyStrings {
public:
  KeyStrings(const Module &M, const KeyedSummary &Summary);
  uint32_t nameOf(uint64_t Key) {
    auto [It, New] = NameAt.try_emplace(Key, 0);
    if (auto Name = Summary.Names.find(Key); New && Name != Summary.Names.end())
      It->second = Area.add(StringRef(Name->second).take_front(MaxKeyNameBytes));
    return It->second;
  }

  const KeyedSummary &Summary;
  StringArea Area;
  uint32_t UnitAt;
  std::vector<uint32_t> Whys; ///< of the accesses

private:
  DenseMap<uint64_t, uint32_t> NameAt;
};

KeyStrings::KeyStrings(const Module &M, const KeyedSummary &Summary)
    : Summary(Summary), Area(static_cast<uint32_t>(
                            sizeof(smalloc_keys) + Summary.Flows.size() * sizeof(smalloc_flow) +
                            Summary.Accesses.size() * sizeof(smalloc_key_access))),
      UnitAt(Area.add(unitName(M).take_back(MaxNameBytes))) {
  for (const KeyedSummary::Flow &F : Summary.Flows)
    nameOf(F.To);
  for (const KeyedSummary::Access &A : Summary.Accesses) {
    nameOf(A.Root.Key);
    Whys.push_back(Area.add(StringRef(A.Why).take_front(MaxWhyBytes)));
  }
  Area.align();
}

/// Returns the header, the flows and the accesses.
std::string fixedPart(KeyStrings &Strings, endianness Order) {
  const KeyedSummary &Summary = Strings.Summary;
  std::string Fixed;
  raw_string_ostream Out(Fixed);
  support::endian::Writer W(Out, Order);
  W.write<uint32_t>(SMALLOC_KEYS_MAGIC);
  W.write<uint16_t>(SMALLOC_ABI_VERSION);
  W.write<uint16_t>(sizeof(smalloc_keys));
  W.write<uint32_t>(Strings.Area.end());
  W.write<uint32_t>(static_cast<uint32_t>(Summary.Flows.size()));
  W.write<uint32_t>(static_cast<uint32_t>(Summary.Accesses.size()));
  W.write<uint32_t>(Strings.UnitAt);
  for (const KeyedSummary::Flow &F : Summary.Flows) {
    W.write<uint64_t>(F.From);
    W.write<uint64_t>(F.To);
    W.write<uint32_t>(Strings.nameOf(F.To));
    W.write<uint32_t>(F.Flags);
  }
  for (size_t I = 0; I < Summary.Accesses.size(); ++I) {
    const KeyedSummary::Access &A = Summary.Accesses[I];
    W.write<uint64_t>(A.Root.Key);
    W.write<uint64_t>(A.MinBytes);
    W.write<float>(static_cast<float>(A.Misses));
    W.write<float>(static_cast<float>(A.Saving));
    W.write<uint32_t>(Strings.nameOf(A.Root.Key));
    W.write<uint32_t>(Strings.Whys[I]);
    Out << static_cast<char>(A.Pattern) << static_cast<char>(A.Root.Contents)
        << static_cast<char>(A.Confidence);
    Out.write_zeros(sizeof(smalloc_key_access::reserved));
  }
  return Fixed;
}

static_assert(sizeof(smalloc_keys) == 24 && sizeof(smalloc_flow) == 24 &&
                  sizeof(smalloc_key_access) == 40,
              "the block's fields above follow smalloc/site.h");

} // namespace

GlobalVariable *emitKeys(Module &M, const KeyedSummary &Summary, KeptVariables &Kept) {
  KeyStrings Strings(M, Summary);
  const std::string Fixed =
      fixedPart(Strings, M.getDataLayout().isLittleEndian() ? endianness::little : endianness::big);
  Constant *Block = ConstantDataArray::getString(M.getContext(), Fixed + Strings.Area.Bytes,
                                                 /*AddNull=*/false);
  auto *G = new GlobalVariable(M, Block->getType(), /*isConstant=*/true,
                               GlobalValue::InternalLinkage, Block, "__smalloc_v1_keys");
  G->setSection(SMALLOC_KEYS_SECTION);
  G->setAlignment(Align(8));
  G->setDSOLocal(true);
  Kept.ForImage.push_back(G); // only the section's bounds refer to it
  return G;
}

} // namespace smalloc
