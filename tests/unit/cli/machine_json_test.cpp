// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// machine_json_test.cpp tests which machine profiles are accepted, and that an error names the key.
#include "runtime/format/machine_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace smalloc::format {
namespace {

const char *const kMinimal = R"({"schema": "smalloc.machine/1", "name": "mine",
  "tlb": [{"level": 2, "kind": "data", "page_bytes": [4096],
           "entries": 2048, "ways": {"value": 8}}]})";

std::string error_of(std::string text, const std::string &from = "", const std::string &to = "") {
  if (!from.empty()) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  try {
    parse_machine(text);
  } catch (const MachineFormatError &error) {
    return error.what();
  }
  return "accepted";
}

TEST(MachineJson, TakesTheMinimalFile) {
  const MachineProfile profile = parse_machine(kMinimal);
  EXPECT_EQ(profile.name, "mine");
  EXPECT_EQ(profile.base_page_bytes, 4096u);
  EXPECT_EQ(profile.reach(), 2048u);
  EXPECT_FALSE(profile.l2_hit_cycles.value);
}

TEST(MachineJson, EveryPresetSurvivesWritingAndReading) {
  for (const struct smalloc_machine &preset : smalloc_machine_presets) {
    const auto document = machine_document(profile_of_preset(preset));
    const MachineProfile again = parse_machine(document.dump());
    EXPECT_EQ(machine_document(again), document) << preset.name;
    EXPECT_EQ(again.reach(), smalloc_machine_reach_pages(&preset)) << preset.name;
  }
}

// Signatures (leaf 1 EAX) and MIDRs of real machines.
TEST(MachinePresets, AreChosenByTheProcessorsOwnNumbers) {
  constexpr uint32_t kAmd = 0x68747541, kHygon = 0x6f677948, kIntel = 0x756e6547;
  const auto x86 = [](uint32_t vendor, uint32_t signature) {
    return std::string(smalloc_machine_by_cpuid(vendor, signature)->name);
  };
  EXPECT_EQ(x86(kAmd, 0x00800f12), "zen1");           // EPYC 7601
  EXPECT_EQ(x86(kHygon, 0x00900f01), "zen1");         // Hygon C86 7185
  EXPECT_EQ(x86(kAmd, 0x00830f10), "zen2");           // EPYC 7742
  EXPECT_EQ(x86(kAmd, 0x00a00f11), "zen3");           // EPYC 7763
  EXPECT_EQ(x86(kAmd, 0x00a20f10), "zen3");           // Ryzen 9 5950X
  EXPECT_EQ(x86(kAmd, 0x00a10f11), "zen4");           // EPYC 9654
  EXPECT_EQ(x86(kAmd, 0x00a60f12), "zen4");           // Ryzen 9 7950X
  EXPECT_EQ(x86(kAmd, 0x00b00f21), "zen5");           // EPYC 9755
  EXPECT_EQ(x86(kIntel, 0x00050654), "skylake-x");    // Xeon Gold 6148
  EXPECT_EQ(x86(kIntel, 0x000906ea), "skylake");      // Core i7-8700
  EXPECT_EQ(x86(kIntel, 0x000606a6), "ice-lake");     // Xeon Gold 6338
  EXPECT_EQ(x86(kIntel, 0x000806f8), "golden-cove");  // Xeon Platinum 8480+
  EXPECT_EQ(x86(kIntel, 0x000c06f2), "golden-cove");  // Xeon Platinum 8592+
  EXPECT_EQ(x86(kIntel, 0x00090672), "golden-cove");  // Core i9-12900K
  EXPECT_EQ(x86(kIntel, 0x000b0671), "golden-cove");  // Core i9-13900K
  EXPECT_EQ(x86(kIntel, 0x000a06d1), "redwood-cove"); // Xeon 6980P
  EXPECT_EQ(x86(kIntel, 0x000b06d1), "lion-cove");    // Core Ultra 7 258V
  EXPECT_EQ(x86(kIntel, 0x000a06f3), "gracemont");    // Xeon 6780E
  EXPECT_EQ(x86(kIntel, 0x000006f6), "core2");        // Core 2 Duo E6600
  EXPECT_EQ(x86(kIntel, 0x00010676), "core2");        // Core 2 Duo E8400
  EXPECT_EQ(x86(kIntel, 0x00000f4a), "generic");      // Pentium 4
  EXPECT_EQ(x86(0x746e6543, 0x00000f4a), "generic");  // another vendor

  const auto arm = [](uint64_t midr) { return std::string(smalloc_machine_by_midr(midr)->name); };
  EXPECT_EQ(arm(0x413fd0c1), "neoverse-n1"); // Graviton 2, Altra
  EXPECT_EQ(arm(0x411fd401), "neoverse-v1"); // Graviton 3
  EXPECT_EQ(arm(0x410fd490), "neoverse-n2"); // Yitian 710
  EXPECT_EQ(arm(0x410fd4f1), "neoverse-v2"); // Graviton 4
  EXPECT_EQ(arm(0x411fd840), "neoverse-v3");
  EXPECT_EQ(arm(0x461f0010), "a64fx");   // Fugaku
  EXPECT_EQ(arm(0x503f0002), "skylark"); // eMAG 8180
  EXPECT_EQ(arm(0x511f0011), "oryon");
  EXPECT_EQ(arm(0x611f0221), "apple-m1-e");
  EXPECT_EQ(arm(0x611f0231), "apple-m1");
  EXPECT_EQ(arm(0x412fd050), "generic"); // Cortex-A55
  EXPECT_EQ(arm(0x431f0af1), "generic"); // ThunderX2

  const auto power = [](const char *platform) {
    return std::string(smalloc_machine_by_platform(platform)->name);
  };
  EXPECT_EQ(power("power9"), "power9");
  EXPECT_EQ(power("power10"), "power10");
  EXPECT_EQ(power("power5+"), "power5");
  EXPECT_EQ(power("ppc970"), "ppc970");
  EXPECT_EQ(power("power7"), "generic");
  EXPECT_EQ(power(nullptr), "generic");
}

// A range that begins inside another range and comes after it in the table would never be found.
TEST(MachinePresets, AreAllReachable) {
  for (const struct smalloc_machine &preset : smalloc_machine_presets) {
    for (const struct smalloc_model_range &models : preset.models) {
      if (models.high) {
        EXPECT_EQ(smalloc_machine_by_cpu(preset.vendor, preset.family, models.high), &preset)
            << preset.name;
      }
    }
    EXPECT_STREQ(smalloc_machine_by_name(preset.name)->name, preset.name);
    for (const struct smalloc_tlb_level &level : {preset.l1, preset.l2}) {
      EXPECT_LE(level.ways_4k, level.entries_4k) << preset.name;
      EXPECT_LE(level.ways_2m, level.entries_2m) << preset.name;
      EXPECT_LE(level.ways_1g, level.entries_1g) << preset.name;
    }
    EXPECT_GT(preset.walk_far_cycles, preset.walk_near_cycles) << preset.name;
    EXPECT_TRUE(preset.base_page_bytes == 4096 || preset.base_page_bytes == 16384 ||
                preset.base_page_bytes == 65536)
        << preset.name;
  }
}

TEST(MachineJson, WalksHaveThreeCurves) {
  MachineProfile profile = parse_machine(kMinimal);
  profile.walk_cost = {{4096, 100, {40.0, {}, {}, "measured"}}};
  profile.overlapped_walk_cost = {{4096, 100, {8.0, 7.0, 9.0, "measured"}},
                                  {2 << 20, {}, {4.0, {}, {}, "measured"}}};
  profile.overlapped_near_walk_cost = {{4096, 100, {12.0, {}, {}, "measured"}}};
  const MachineProfile again = parse_machine(machine_document(profile).dump());
  EXPECT_EQ(machine_document(again), machine_document(profile));
  ASSERT_EQ(again.overlapped_walk_cost.size(), 2u);
  EXPECT_EQ(again.overlapped_walk_cost[0].cycles.value, 8);
  ASSERT_EQ(again.overlapped_near_walk_cost.size(), 1u);
  EXPECT_EQ(again.overlapped_near_walk_cost[0].cycles.value, 12);
  profile.overlapped_walk_cost.resize(257, profile.overlapped_walk_cost[0]);
  try {
    parse_machine(machine_document(profile).dump());
    ADD_FAILURE() << "any number of points is taken";
  } catch (const MachineFormatError &e) {
    EXPECT_STREQ(e.what(), "key 'overlapped_walk_cost' has more than 256 points");
  }
}

TEST(MachineJson, ReadsWithoutExceptions) {
  std::string why;
  EXPECT_EQ(read_machine(kMinimal, why)->reach(), 2048u);
  EXPECT_EQ(why, "");
  EXPECT_FALSE(read_machine("{\n \"schema\": }", why));
  EXPECT_EQ(why, "it is not JSON: line 2, column 12");
  EXPECT_FALSE(read_machine(std::string(100000, '['), why));
  EXPECT_EQ(why, "it is nested too deeply");
}

TEST(MachineJson, KeepsHowPagesFindTheirSets) {
  MachineProfile profile = parse_machine(kMinimal);
  EXPECT_EQ(profile.tlb[0].index, "");
  profile.tlb[0].index = "modulo";
  EXPECT_EQ(parse_machine(machine_document(profile).dump()).tlb[0].index, "modulo");
}

TEST(MachineJson, CountsLevelsWithoutANumber) {
  const MachineProfile profile = parse_machine(
      R"({"schema": "smalloc.machine/1", "name": "mine",
      "tlb": [{"page_bytes": [4096], "entries": 64},
      {"kind": "instruction", "page_bytes": [4096], "entries": 9},
      {"page_bytes": [4096], "entries": 300}]})");
  ASSERT_EQ(profile.tlb.size(), 2u);
  EXPECT_EQ(profile.tlb[1].level, 2u);
  EXPECT_EQ(profile.reach(), 300u);
}

TEST(MachineJson, NamesTheKeyThatIsWrong) {
  EXPECT_EQ(error_of(kMinimal, "\"mine\"", "\"a\\nb\""), "key 'name' has control characters");
  EXPECT_EQ(error_of(kMinimal, "\"tlb\"", "\"reach_pages\": 0, \"tlb\""),
            "key 'reach_pages' is less than a page; leave it out where it was not measured");
  EXPECT_EQ(error_of(kMinimal, "\"tlb\"", "\"base_page_bytes\": 2097152, \"tlb\""),
            "key 'base_page_bytes' is 2097152, outside 4096 to 1048576");
  EXPECT_EQ(error_of(kMinimal, "\"entries\": 2048, ", ""), "key 'tlb[0].entries' is missing");
  EXPECT_EQ(error_of(kMinimal, "{\"value\": 8}", "{}"), "accepted"); // ways may be unknown
  EXPECT_EQ(error_of(kMinimal, "{\"value\": 8}", "1.5"), "key 'tlb[0].ways' is not a whole number");
  EXPECT_EQ(error_of(kMinimal, "\"name\": \"mine\",", ""), "key 'name' is missing");
  EXPECT_EQ(error_of(kMinimal, "2048", "\"many\""),
            "key 'tlb[0].entries' is neither a number nor {value,low,high,source}");
  EXPECT_THAT(error_of(kMinimal, "2048", "-1"), testing::HasSubstr("'tlb[0].entries' is -1"));
  EXPECT_THAT(error_of(kMinimal, "2048", "4"),
              testing::HasSubstr("ways' is more than its entries"));
  EXPECT_THAT(error_of(kMinimal, "[4096]", "[5000]"), testing::HasSubstr("not a power of two"));
  EXPECT_THAT(error_of(kMinimal, "[4096]", "[2097152]"), testing::HasSubstr("pages of 4096 bytes"));
  EXPECT_THAT(error_of(kMinimal, "machine/1", "machine/2"),
              testing::HasSubstr("smalloc.machine/2"));
}

TEST(MachineJson, RejectsWhatIsNoProfile) {
  EXPECT_THAT(error_of(""), testing::HasSubstr("not JSON"));
  EXPECT_THAT(error_of("{\"schema\": "), testing::HasSubstr("not JSON"));
  EXPECT_EQ(error_of("{\"frequency_hz\": 1e999}"), "it has a number that is too large");
  EXPECT_EQ(error_of("[]"), "it is not a JSON object");
  EXPECT_EQ(error_of("{}"), "key 'schema' is missing");
  EXPECT_NE(error_of(std::string(100000, '[')), "accepted");
  EXPECT_EQ(error_of(std::string(1000, '[') + std::string(1000, ']')), "it is nested too deeply");
}

} // namespace
} // namespace smalloc::format
