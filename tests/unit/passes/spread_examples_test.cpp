// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the worked examples of docs/internals/spread.md from the page and computes them with the
// plugin's arithmetic. For examples that say `lru`, also walks every address through a TLB with
// least-recently-used replacement. An example that cannot be read fails.
#include "passes/spread/NestSpread.h"

#include <fstream>
#include <gtest/gtest.h>
#include <list>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

using namespace smalloc;

namespace {

struct Expectation {
  std::string what, reference;
  double value;
};

struct Example {
  int line = 0;
  bool paper = false;
  std::string title = "untitled", error;
  SpreadTarget target;
  std::vector<std::string> names;
  std::vector<SpreadReference> nest;
  std::vector<Expectation> expected;
  std::vector<std::string> simulated;

  size_t index(const std::string &name) const {
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == name)
        return i;
    return names.size();
  }
};

void PrintTo(const Example &e, std::ostream *out) { *out << e.title; }

double number(const std::string &text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos)
    return std::stod(text);
  return std::stod(text.substr(0, slash)) / std::stod(text.substr(slash + 1));
}

/// Parses a level: "8x512", "?x1000" or "8x512(1..1023 of 1)", whose end follows in `more`.
SpreadLevel level(const std::string &text, std::istream &more) {
  SpreadLevel l;
  const size_t times = text.find('x');
  if (text[0] == '?')
    l.Irregular = true;
  else
    l.StrideBytes = std::stoll(text.substr(0, times));
  const std::string trip = text.substr(times + 1);
  l.Trip = std::stoull(trip);
  if (const size_t range = trip.find('('); range != std::string::npos) {
    l.TripMin = std::stoull(trip.substr(range + 1));
    l.TripMax = std::stoull(trip.substr(trip.find("..") + 2));
    std::string of, loop;
    more >> of >> loop;
    l.TripOf = static_cast<unsigned>(std::stoul(loop));
  }
  return l;
}

void read_target(Example &e, std::istream &words) {
  std::string key;
  while (words >> key) {
    if (key == "page")
      words >> e.target.PageBytes;
    else if (key == "reach")
      words >> e.target.ReachPages;
    else if (key == "sets")
      words >> e.target.Sets;
    else if (key == "superpages")
      words >> e.target.SuperpageReach;
    else if (key == "shared")
      e.target.SharedReach = true;
    else if (key == "stops-at-page")
      e.target.PrefetchCrossesPage = false;
    else
      e.error = "target: " + key;
  }
}

/// Parses a reference such as "8 of 4194304, loops 8x512 4096x1024, group 1 at 0, prefetched".
void read_reference(Example &e, const std::string &name, std::istream &line) {
  SpreadReference r;
  std::string part;
  for (bool first = true; std::getline(line, part, ','); first = false) {
    std::istringstream words(part);
    std::string key, text;
    if (first) {
      words >> r.ElementBytes >> text >> r.ObjectBytes;
      continue;
    }
    words >> key;
    if (key == "loops")
      while (words >> text)
        r.Levels.push_back(level(text, words));
    else if (key == "group")
      words >> r.Group >> text >> r.OffsetBytes;
    else if (key == "start")
      words >> r.StartBytes;
    else if (key == "prefetched")
      r.Prefetched = true;
    else if (key == "on")
      r.Superpages = true;
    else
      e.error = "reference: " + key;
  }
  r.Object = r.Group ? 1000 : 0;
  if (r.Levels.empty())
    e.error = "no loops: " + name;
  e.names.push_back(name);
  e.nest.push_back(r);
}

std::vector<Example> examples() {
  std::ifstream page(SMALLOC_SPREAD_PAGE);
  std::vector<Example> all;
  std::string text;
  bool inside = false;
  for (int at = 1; std::getline(page, text); ++at) {
    if (!inside && (text == "```spread" || text == "```paper")) {
      inside = true;
      all.emplace_back();
      all.back().line = at;
      all.back().paper = text == "```paper";
      continue;
    }
    if (!inside)
      continue;
    Example &e = all.back();
    if (text == "```") {
      inside = false;
      continue;
    }
    std::istringstream words(text);
    std::string first;
    words >> first;
    if (first == "#") {
      e.title = text.substr(2);
    } else if (first == "target") {
      read_target(e, words);
    } else if (!first.empty() && first.back() == ':') {
      first.pop_back();
      read_reference(e, first, words);
    } else if (first == "lru") {
      for (std::string name; words >> name;)
        e.simulated.push_back(name);
    } else {
      std::string name, value;
      words >> name >> value;
      if (value.empty())
        e.error = text;
      else
        e.expected.push_back({first, name, number(value)});
    }
  }
  return all;
}

/// Returns the misses per access of each reference, all in the same loops; their objects are far
/// apart.
std::vector<double> simulate(const Example &e) {
  std::list<uint64_t> order;
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> where;
  std::mt19937_64 random(1);
  std::vector<double> misses(e.nest.size(), 0);
  std::vector<uint64_t> count(e.nest[0].Levels.size(), 0);
  double executions = 0;
  while (true) {
    ++executions;
    for (size_t k = 0; k < e.nest.size(); ++k) {
      const SpreadReference &r = e.nest[k];
      uint64_t at = r.StartBytes;
      for (size_t i = 0; i < count.size(); ++i) {
        at += static_cast<uint64_t>(r.Levels[i].StrideBytes) * count[i];
        if (r.Levels[i].Irregular)
          at = random() % r.ObjectBytes;
      }
      const uint64_t page = (k + 1) * (uint64_t(1) << 40) + at / e.target.PageBytes;
      if (auto it = where.find(page); it != where.end()) {
        order.splice(order.begin(), order, it->second);
        continue;
      }
      ++misses[k];
      order.push_front(page);
      where[page] = order.begin();
      if (order.size() > e.target.ReachPages) {
        where.erase(order.back());
        order.pop_back();
      }
    }
    size_t i = 0;
    while (i < count.size() && ++count[i] == e.nest[0].Levels[i].Trip)
      count[i++] = 0;
    if (i == count.size())
      break;
  }
  for (double &m : misses)
    m /= executions;
  return misses;
}

class SpreadExamples : public testing::TestWithParam<Example> {};

TEST_P(SpreadExamples, IsWhatThePageSays) {
  const Example &e = GetParam();
  ASSERT_EQ(e.error, "") << "line " << e.line;
  ASSERT_FALSE(e.nest.empty()) << "line " << e.line;
  ASSERT_FALSE(e.expected.empty()) << "line " << e.line;
  const std::vector<SpreadResult> results = nestSpread(e.nest, e.target);
  for (const Expectation &x : e.expected) {
    const size_t k = e.index(x.reference);
    ASSERT_LT(k, e.nest.size()) << "line " << e.line << ": " << x.reference;
    double value = -1;
    if (x.what == "pages")
      value = pagesTouched(e.nest[k], static_cast<unsigned>(e.nest[k].Levels.size()),
                           e.target.PageBytes);
    else if (x.what == "spread")
      value = paperSpread(e.nest[k], e.target.PageBytes);
    else if (x.what == "misses")
      value = results[k].MissesPerAccess;
    else if (x.what == "exposed")
      value = results[k].ExposedPerAccess;
    else
      FAIL() << "line " << e.line << ": " << x.what;
    EXPECT_NEAR(value, x.value, 0.01 * x.value)
        << e.title << ": " << x.what << " of " << x.reference;
  }
  const std::vector<double> truth = e.simulated.empty() ? std::vector<double>() : simulate(e);
  for (const std::string &name : e.simulated) {
    const size_t k = e.index(name);
    ASSERT_LT(k, e.nest.size()) << "line " << e.line << ": lru " << name;
    EXPECT_NEAR(results[k].MissesPerAccess, truth[k], 0.02 * truth[k] + 1e-6)
        << e.title << ": simulated misses of " << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Page, SpreadExamples, testing::ValuesIn(examples()),
                         [](const testing::TestParamInfo<Example> &info) {
                           return "Line" + std::to_string(info.param.line);
                         });

TEST(SpreadPage, HasExamplesOfEverySection) {
  const std::vector<Example> all = examples();
  size_t paper = 0, simulated = 0;
  for (const Example &e : all) {
    paper += e.paper;
    simulated += !e.simulated.empty();
  }
  EXPECT_GE(all.size(), 20u);
  EXPECT_GE(paper, 2u);
  EXPECT_GE(simulated, 6u);
}

} // namespace
