// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// options.cpp parses the keys of SMALLOC_CONF by one table. NUMA keys have a table of their own
// (numa/live_options.h).
#include "smalloc/config/options.h"
#include "smalloc/base/conf_keys.h"

namespace smalloc {
namespace {

using Line = TextBuffer<512>;

constexpr uint64_t kMostSamples = 1u << 20; ///< the same as in runtime/trace/region_sample.h
/// Half of a process' addresses on x86-64: a larger size is a typing error.
constexpr uint64_t kMostBytes = uint64_t{64} << 40;
constexpr uint64_t kLeastBudgetBytes = uint64_t{2} << 20;    // one superpage; for none there is
                                                             // heap:off
constexpr uint64_t kLeastReserveBytes = uint64_t{256} << 20; // kLeastReserved of
                                                             // core/runtime_region.cpp

bool set_heap(Text v, Options &o) {
  static const char *const kNames[] = {"auto", "off", "superpage", "migrate", "guest"};
  if (!parse_choice(v, kNames, o.heap))
    return false;
  o.heap_given = true;
  return true;
}
bool set_pages(Text v, Options &o) {
  static const char *const kNames[] = {"thp", "hugetlb", "1g", "mthp", "base"};
  return parse_choice(v, kNames, o.pages);
}
bool set_budget(Text v, Options &o) {
  if (v.size && v.data[v.size - 1] == '%') {
    uint64_t percent;
    if (!parse_number(Text(v.data, v.size - 1), percent) || percent == 0 || percent > 100)
      return false;
    o.budget_percent = static_cast<unsigned>(percent);
    o.budget_bytes = 0;
    return true;
  }
  if (!parse_bytes_between(v, kLeastBudgetBytes, kMostBytes, o.budget_bytes))
    return false;
  o.budget_percent = 0;
  return true;
}
bool set_populate(Text v, Options &o) {
  static const char *const kNames[] = {"auto", "always"};
  return parse_choice(v, kNames, o.populate);
}
bool set_promote(Text v, Options &o) {
  static const char *const kNames[] = {"auto", "off", "eager", "calls", "thread"};
  if (!parse_choice(v, kNames, o.promote))
    return false;
  o.helper_thread = o.promote != PromotePolicy::kCalls;
  return true;
}
bool set_demote(Text v, Options &o) {
  uint64_t percent = Options().demote_percent;
  if (v.is("off"))
    percent = 0;
  else if (!v.is("auto") &&
           (v.size < 2 || v.data[v.size - 1] != '%' ||
            !parse_number(Text(v.data, v.size - 1), percent) || percent == 0 || percent > 100))
    return false;
  o.demote_percent = static_cast<unsigned>(percent);
  return true;
}
/// Parses words with + between them, because commas separate keys, or `off` alone, which is no bit.
/// Bit N of `set`: the list has names[N].
template <size_t n> bool parse_words(Text v, const char *const (&names)[n], unsigned &set) {
  unsigned found = 0;
  for (size_t start = 0; !v.is("off") && start <= v.size;) {
    size_t end = start;
    while (end < v.size && v.data[end] != '+')
      end++;
    unsigned word;
    if (!parse_choice(Text(v.data + start, end - start), names, word))
      return false;
    found |= 1u << word;
    start = end + 1;
  }
  set = found;
  return true;
}
bool set_stats(Text v, Options &o) {
  static const char *const kNames[] = {"exit", "json", "jemalloc", "sites"};
  unsigned set;
  if (!parse_words(v, kNames, set))
    return false;
  o.stats_live = set != 0;
  o.stats_at_exit = set & 7;
  o.stats_json = set & 2;
  o.stats_jemalloc = set & 4;
  o.stats_sites = set != 0;
  return true;
}
bool set_program(Text v, Options &o) {
  static const char *const kNames[] = {"static", "text", "stack"};
  unsigned set;
  if (!parse_words(v, kNames, set))
    return false;
  o.static_on_superpages = set & 1;
  o.text_on_superpages = set & 2;
  o.stack_on_superpages = set & 4;
  return true;
}
/// Sets a path in which every % begins a pattern that file_name.cpp expands. A mistyped pattern
/// would stay as it is, and all processes would share the file.
template <size_t kCapacity> bool set_pattern(Text v, char (&path)[kCapacity]) {
  for (size_t i = 0; i < v.size; i++)
    if (v.data[i] == '%' && (++i == v.size || !memchr("phr%", v.data[i], 4)))
      return false;
  return parse_name(v, path);
}

/// True for KIND/TYPE/CONFIG/CONFIG1/PRECISE/PERIOD, hexadecimal except KIND. Only the recorder
/// interprets the fields.
bool is_event(Text v) {
  unsigned slashes = 0;
  for (size_t i = 0; i < v.size; i++) {
    const char c = v.data[i];
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (c == '/' && i + 1 < v.size && v.data[i + 1] != '/')
      slashes++;
    else if (c == '/' || (slashes && !digit))
      return false;
  }
  return slashes == 5;
}

struct Key {
  const char *name;
  bool (*set)(Text value, Options &options);
  const char *values = ""; ///< valid values, for a warning about a bad one
};
constexpr char kSwitch[] = "on or off";
constexpr char kPath[] = "a path of 1 to 255 bytes";
constexpr char kPattern[] = "a path of 1 to 255 bytes, where % is before p, h, r or another % only";
constexpr char kRateValues[] = "a share above 0 and up to 1, such as 0.1";
const Key kKeys[] = {
    {"heap", set_heap, "auto, off, superpage, migrate or guest"},
    {"pages", set_pages, "thp, hugetlb, 1g, mthp or base"},
    {"force", [](Text v, Options &o) { return parse_switch(v, o.force); }, kSwitch},
    {"budget", set_budget, "2m to 64t, such as 512m, or 1% to 100%"},
    {"only-advised", [](Text v, Options &o) { return parse_switch(v, o.only_advised); }, kSwitch},
    {"cache",
     [](Text v, Options &o) { return parse_bytes_between(v, 0, kMostBytes, o.cache_bytes); },
     "0 to 64t, such as 64m"},
    {"populate", set_populate, "auto or always"},
    {"promote", set_promote, "auto, off, eager, calls or thread"},
    {"demote", set_demote, "auto, off or 1% to 100%"},
    {"reserve",
     [](Text v, Options &o) {
       return parse_bytes_between(v, kLeastReserveBytes, kMostBytes, o.reserve_bytes);
     },
     "256m to 64t, such as 64g"},
    {"stats", set_stats, "off, or exit, json, jemalloc, sites with + between them"},
    {"directives", [](Text v, Options &o) { return parse_name(v, o.directives); }, kPath},
    {"validate",
     [](Text v, Options &o) {
       o.validate_given = parse_switch(v, o.validate);
       return o.validate_given;
     },
     kSwitch},
    {"input", [](Text v, Options &o) { return parse_name(v, o.input); },
     "a name of 1 to 127 bytes"},
    {"trace",
     [](Text v, Options &o) {
       o.trace = v.size > 0 && !v.is("off");
       return v.size > 0;
     },
     "a file name or off"},
    {"rate", [](Text v, Options &) { return parse_share(v) > 0; }, kRateValues},
    {"samples",
     [](Text v, Options &) {
       uint64_t regions = 0;
       return parse_number(v, regions) && regions >= 1 && regions <= kMostSamples;
     },
     "a number of regions from 1 to 1048576"},
    {"event", [](Text v, Options &) { return is_event(v); }, "what smalloc record --source passes"},
    {"debug", [](Text v, Options &o) { return parse_switch(v, o.debug); }, kSwitch},
    {"abort",
     [](Text v, Options &o) {
       o.abort_given = parse_switch(v, o.abort_on_error);
       return o.abort_given;
     },
     "true or false"},
    {"program", set_program, "off, or static, text, stack with + between them"},
    {"stats_file", [](Text v, Options &o) { return set_pattern(v, o.stats_file); }, kPattern},
    {"sysfs", [](Text v, Options &o) { return parse_name(v, o.sysfs); }, kPath},
};

/// Returns Levenshtein's distance of two names of at most kLongest letters; kLongest if one is
/// longer.
unsigned distance(Text a, Text b) {
  constexpr size_t kLongest = 15;
  if (a.size > kLongest || b.size > kLongest)
    return kLongest;
  unsigned row[kLongest + 1];
  for (unsigned j = 0; j <= b.size; j++)
    row[j] = j;
  for (unsigned i = 1; i <= a.size; i++) {
    unsigned diagonal = row[0];
    row[0] = i;
    for (unsigned j = 1; j <= b.size; j++) {
      unsigned replace = diagonal + (a.data[i - 1] != b.data[j - 1]);
      unsigned least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
      diagonal = row[j];
      row[j] = least < replace ? least : replace;
    }
  }
  return row[b.size];
}

void say(WarningSink warn, Text item, const char *what);

/// Returns the probable key: `key` in small letters, up to a = that the user wrote for the colon.
Text meant_as_key(Text key, char (&letters)[16]) {
  size_t size = 0;
  for (; size < key.size && key.data[size] != '='; size++) {
    if (size == sizeof letters)
      return key;
    const char c = key.data[size];
    letters[size] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return Text(letters, size);
}

void say_unknown(WarningSink warn, Text item, Text written) {
  char letters[16];
  const Text key = meant_as_key(written, letters);
  const char *nearest = nullptr;
  for (const Key &k : kKeys)
    if (distance(key, k.name) <= 2 && distance(key, k.name) < key.size &&
        (!nearest || distance(key, k.name) < distance(key, nearest)))
      nearest = k.name;
  for (size_t i = 0; i < numa::kLiveKeyCount; i++)
    if (const char *name = numa::kLiveKeys[i].name;
        distance(key, name) <= 2 && distance(key, name) < key.size &&
        (!nearest || distance(key, name) < distance(key, nearest)))
      nearest = name;
  TextBuffer<128> text;
  text.put("is not a known key, ignored; ");
  if (nearest)
    text.put("did you mean ").put(nearest).put(":").put("?");
  else
    text.put("docs/tuning.md lists the keys");
  text.put_char('\0');
  say(warn, item, text.data());
}

void say(WarningSink warn, Text item, const char *what) {
  if (!warn)
    return;
  // Print one line for each warning, whatever the item contains.
  constexpr size_t kMostShown = 200;
  Line line;
  line.put("smalloc: warning: SMALLOC_CONF: '");
  for (size_t i = 0; i < item.size && i < kMostShown; i++)
    line.put_char(item.data[i] >= ' ' && item.data[i] != 127 ? item.data[i] : '?');
  line.put(item.size > kMostShown ? "...' " : "' ").put(what).put_char('\n');
  warn(line.text());
}

void apply(Text item, Text key, Text value, bool privileged, Options &options, WarningSink warn) {
  if (privileged) {
    if (key.is("heap") && value.is("off"))
      set_heap(value, options);
    return; // silent: a set-uid program's output must not change
  }
  const auto understood = [&](bool good, const char *name, const char *values) {
    if (good)
      return;
    TextBuffer<160> text;
    text.put("has a value that is not understood: ").put(name).put(" is ").put(values);
    text.put("; the default is taken").put_char('\0');
    say(warn, item, text.data());
  };
  for (const Key &k : kKeys)
    if (key.is(k.name))
      return understood(k.set(value, options), k.name, k.values);
  for (size_t i = 0; i < numa::kLiveKeyCount; i++)
    if (const numa::LiveKey &k = numa::kLiveKeys[i]; key.is(k.name))
      return understood(k.set(value, options.numa), k.name, k.values);
  say_unknown(warn, item, key);
}

} // namespace

void parse_options(Text conf, bool privileged, Options &options, WarningSink warn) {
  for_each_key(conf, [&](Text item, Text key, Text value) {
    apply(item, key, value, privileged, options, warn);
  });
}

void switch_pages_off(Options &options) {
  options.heap = HeapStrategy::kOff;
  options.heap_given = true;
  options.only_advised = options.validate = false;
  options.static_on_superpages = options.text_on_superpages = options.stack_on_superpages = false;
  options.directives[0] = 0;
  options.numa.mode = numa::NumaMode::kOff;
  options.numa.mode_given = true;
}

} // namespace smalloc
