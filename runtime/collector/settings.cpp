// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// settings.cpp reads the keys of SMALLOC_CONF that concern a recording. Without a setting, all
// regions of a small program are sampled, and kDefaultSamples regions of a larger one. A program
// with raised privileges reads no settings.
#include "runtime/collector/settings.h"
#include "runtime/collector/image_names.h"
#include "runtime/trace/region_sample.h"
#include "smalloc/base/fnv.h"
#include "smalloc/base/numbers.h"
#include "smalloc/base/text.h"
#include "smalloc/files/quiet_file.h"
#include "smalloc/process/loaded_objects.h"
#include "smalloc/process/process_identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc::trace {
namespace {

// Default number of sampled regions. At least seven eighths of them are kept (region_sample.cpp),
// so 224. Their error is within some 7 %: 1 / sqrt(224).
constexpr uint64_t kDefaultSamples = 256;

// Warns in libsmalloc's words (smalloc/config/options.cpp). Does nothing if libsmalloc is loaded:
// it warns itself.
void say_bad_value(const char *key, const char *value, const char *wanted) {
  if (first_definition("smalloc_stats_print"))
    return;
  char line[256], shown[32] = "";
  for (size_t i = 0; value[i] && i + 1 < sizeof shown; i++)
    shown[i] = value[i] >= ' ' && value[i] != 127 ? value[i] : '?';
  const int n = snprintf(line, sizeof line,
                         "smalloc: warning: SMALLOC_CONF: '%s:%s' has a value that is not "
                         "understood: %s is %s; the default is taken\n",
                         key, shown, key, wanted);
  if (n > 0 && write_quietly(2, line, static_cast<size_t>(n)) < 0)
    return; // stderr is closed: ignore
}

// Returns 0 if `text` is no number from 1 to kMostSampledRegions.
uint64_t parse_count(const char *text) {
  uint64_t value;
  return parse_number(Text(text), value) && value <= kMostSampledRegions ? value : 0;
}

} // namespace

bool read_settings(Settings &settings) {
  if (getauxval(AT_SECURE))
    return false;
  const char *conf = getenv("SMALLOC_CONF");
  char text[32] = "";
  double rate = -1;
  if (conf && find_conf_key(conf, "samples", text, sizeof text)) {
    settings.samples = parse_count(text);
    if (settings.samples == 0)
      say_bad_value("samples", text, "a number of regions from 1 to 1048576");
  }
  if (conf && find_conf_key(conf, "rate", text, sizeof text)) {
    rate = parse_share(Text(text));
    if (!(rate > 0))
      say_bad_value("rate", text, "a share above 0 and up to 1, such as 0.1");
  }
  if (!(rate > 0)) {
    rate = 1;
    if (settings.samples == 0)
      settings.samples = kDefaultSamples;
  }
  settings.threshold = static_cast<uint64_t>(rate * static_cast<double>(kEveryRegion) + 0.5);
  if (settings.threshold == 0)
    settings.threshold = 1;
  char event[160] = "";
  if (conf && find_conf_key(conf, "event", event, sizeof event)) {
    settings.samples_event = parse_event(event, settings.event);
    if (!settings.samples_event)
      say_bad_value("event", event, "what smalloc record --source passes");
  }
  if (!conf)
    return true;
  if (find_conf_key(conf, "trace", settings.pattern, sizeof settings.pattern))
    return strcmp(settings.pattern, "off") != 0;
  // A user who names directives wants them obeyed. A program that records by itself would not obey
  // them.
  char directives[4096] = "";
  return !find_conf_key(conf, "directives", directives, sizeof directives) || !*directives;
}

// Computes the input as libsmalloc does (smalloc/core/runtime_agent.cpp): runs with equal values
// count as runs with the same input.
bool input_of_run(uint64_t &input) {
  const char *conf = getenv("SMALLOC_CONF");
  char name[128] = "";
  if (!conf || !find_conf_key(conf, "input", name, sizeof name) || !*name)
    return command_line_signature(input);
  input = fnv1a(name, strlen(name) + 1);
  return true;
}

// Writes the digits itself: printf depends on the locale, whose decimal point may differ.
void rate_text(uint64_t threshold, char *text, size_t capacity) {
  size_t size = 0;
  uint64_t rest = threshold;
  for (bool point = false; size + 2 < capacity && (!point || rest);
       rest = rest % kEveryRegion * 10) {
    text[size++] = static_cast<char>('0' + rest / kEveryRegion);
    if (!point && rest % kEveryRegion)
      text[size++] = '.';
    else if (!point)
      break;
    point = true;
  }
  text[size] = 0;
}

void make_folders(const char *path) {
  char part[sizeof(Settings::pattern)];
  for (size_t i = 0; i + 1 < sizeof part; i++) {
    if (i > 0 && (path[i] == '/' || path[i] == 0)) {
      part[i] = 0;
      mkdir(part, 0777);
    }
    if (path[i] == 0)
      return;
    part[i] = path[i];
  }
}

bool into_folder(char *path, size_t capacity) {
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
    return true;
  const size_t length = strlen(path);
  const int n = snprintf(path + length, capacity - length, "%ssmalloc.%s.%d.trace",
                         path[length - 1] == '/' ? "" : "/", program_invocation_short_name,
                         static_cast<int>(getpid()));
  return n > 0 && static_cast<size_t>(n) < capacity - length;
}

} // namespace smalloc::trace
