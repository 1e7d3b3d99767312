// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// machine_json_test.cpp decides which machine profiles are accepted, and that an error names the
// key.
#include "runtime/format/machine_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace smalloc::format {
namespace {

const char *const kMinimal = R"({"schema": "smalloc.machine/1", "name": "mine",
  "tlb": [{"level": 2, "kind": "data", "page_bytes": [4096], "entries": 2048, "ways": {"value": 8}}]})";

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

TEST(MachineJson, NamesTheKeyThatIsWrong) {
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
