// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stats_json.cpp writes the document smalloc.stats/1 of the own process, in pieces and without
// allocation. The command writes the same keys from outside (runtime/cli/process/live_report.cpp).
#include "smalloc/agent/agent.h"
#include "smalloc/agent/run_report.h"
#include "smalloc/base/clock.h"
#include "smalloc/core/runtime.h"
#include "smalloc/pages/kernel_view.h"
#include "smalloc/stats/stats.h"

#include <errno.h>
#include <unistd.h>

namespace smalloc {
namespace {

/// Returns the bytes of the character of several bytes at `c`; 0 if it is no valid UTF-8 (RFC 3629,
/// section 4).
unsigned character_bytes(const char *c) {
  const auto byte = [c](unsigned i) { return static_cast<unsigned char>(c[i]); };
  const unsigned first = byte(0);
  const unsigned bytes = first < 0xc0   ? 0
                         : first < 0xe0 ? 2
                         : first < 0xf0 ? 3
                         : first < 0xf8 ? 4
                                        : 0;
  uint32_t character = first & (0x7fU >> bytes);
  for (unsigned i = 1; i < bytes; i++) {
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
    character = character << 6 | (byte(i) & 0x3f);
  }
  static const uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >> 11 == 0x1b;
  return character < kLeast[bytes] || surrogate || character > 0x10ffff ? 0 : bytes;
}

class JsonWriter {
public:
  explicit JsonWriter(const StatisticsSink &sink) : sink_(sink) {}
  ~JsonWriter() { flush(); }
  JsonWriter &raw(Text text) {
    if (text_.size() + text.size > kPiece)
      flush();
    text_.put(text);
    return *this;
  }
  JsonWriter &number(uint64_t value) {
    TextBuffer<24> digits;
    digits.number(value);
    return raw(digits.text());
  }
  JsonWriter &string(const char *text) {
    raw("\"");
    for (; *text; text++) {
      auto c = static_cast<unsigned char>(*text);
      TextBuffer<8> one;
      if (c >= 0x80) {
        // A name need not be UTF-8, and a long one is cut. RFC 8259 wants UTF-8.
        const unsigned bytes = character_bytes(text);
        one.put(bytes ? Text(text, bytes) : Text("?"));
        text += bytes ? bytes - 1 : 0;
      } else if (c == '"' || c == '\\')
        one.put_char('\\').put_char(*text);
      else if (c < 0x20)
        one.put("\\u00").put_char("0123456789abcdef"[c >> 4]).put_char("0123456789abcdef"[c & 15]);
      else
        one.put_char(*text);
      raw(one.text());
    }
    return raw("\"");
  }
  JsonWriter &key(const char *name) { return raw(",\n\"").raw(name).raw("\":"); }
  /// Writes part/whole with three decimals; null if `whole` is 0.
  JsonWriter &share(uint64_t part, uint64_t whole) {
    if (whole == 0)
      return raw("null");
    uint64_t thousandths = part * 1000 / whole;
    number(thousandths / 1000).raw(".");
    return raw(thousandths % 1000 < 100 ? "0" : "")
        .raw(thousandths % 1000 < 10 ? "0" : "")
        .number(thousandths % 1000);
  }

private:
  static constexpr size_t kPiece = 1024;
  void flush() {
    sink_.write(text_.data(), text_.size(), sink_.data);
    text_.clear();
  }
  const StatisticsSink &sink_;
  TextBuffer<2 * kPiece> text_;
};

void write_heaps(JsonWriter &json, const LiveContents &live, const KernelView &view) {
  json.key("heaps").raw("[");
  for (uint32_t i = 0; i < live.header.heap_count; i++) {
    const KernelView::Heap &h = view.heaps[i];
    json.raw(i ? "," : "").raw("\n{\"name\":").string(g_live.string(live.heaps[i].name));
    json.raw(",\"resident_bytes\":");
    view.known ? json.number(h.resident_bytes) : json.raw("null");
    json.raw(",\"superpage_bytes\":");
    view.known ? json.number(h.superpage_bytes) : json.raw("null");
    json.raw(",\"coverage\":").share(h.superpage_bytes, h.resident_bytes).raw("}");
  }
  json.raw("]");
}

void write_site(JsonWriter &json, const smalloc_live_site &s, uint32_t tracking) {
  TextBuffer<16> id;
  id.hex(s.id);
  bool some_site = s.id != 0;
  json.raw("\n{\"id\":");
  some_site ? json.raw("\"").raw(id.text()).raw("\"") : json.raw("null");
  json.raw(",\"function\":");
  *g_live.string(s.function) ? json.string(g_live.string(s.function)) : json.raw("null");
  json.raw(",\"file\":");
  *g_live.string(s.file) ? json.string(g_live.string(s.file)) : json.raw("null");
  json.raw(",\"line\":");
  some_site ? json.number(s.line) : json.raw("null");
  json.raw(",\"requested_bytes\":").number(s.requested_bytes);
  const bool counted = is_counted(s);
  json.raw(",\"live_bytes\":");
  counted ? json.number(s.live_bytes) : json.raw("null");
  json.raw(",\"peak_bytes\":");
  counted ? json.number(s.peak_bytes) : json.raw("null");
  json.raw(",\"live_objects\":").number(s.live_objects);
  json.raw(",\"superpages\":").number(s.superpages);
  json.raw(",\"superpages_peak\":").number(s.superpages_peak);
  json.raw(",\"directive\":");
  const char *decision = site_decision_name(s.agent);
  decision ? json.string(decision) : json.raw("null");
  json.raw(",\"page_bytes_directed\":");
  decision ? json.number(uint64_t{1} << s.page_shift) : json.raw("null");
  json.raw(",\"superpages_predicted\":");
  decision ? json.number(s.superpages_predicted) : json.raw("null");
  json.raw(",\"estimated\":");
  json.raw(s.small_seen && tracking == SMALLOC_LIVE_SAMPLED ? "true}" : "false}");
}

void write_agent(JsonWriter &json) {
  if (!g_agent.active()) {
    json.raw("null");
    return;
  }
  json.raw("{\"policy\":").string(policy_name(g_agent.policy()));
  json.raw(",\"bar_percent\":").share(g_agent.bar(), 1000);
  json.raw(",\"superpages_supply\":").number(g_agent.supply().free);
  json.raw(",\"superpages_claimed_by_others\":").number(g_agent.claimed_by_others());
  json.raw(",\"superpages_taken\":").number(g_agent.superpages_taken());
  json.raw(",\"phases\":").number(g_agent.phases());
  json.raw(",\"superpages_touched\":").number(g_runtime.touched_units());
  json.raw(",\"touch_ns\":").number(g_runtime.touched_ns()).raw("}");
}

} // namespace

void print_statistics_json(const StatisticsSink &sink) {
  g_runtime.broken().count();
  static const char *const kTracking[] = {"big", "sampled", "exact"};
  const LiveContents &live = g_live.contents();
  const smalloc_live_header &h = live.header;
  bool running = g_runtime.running();
  JsonWriter json(sink);
  json.raw("{\"schema\":\"smalloc.stats/1\"");
  json.key("pid").number(static_cast<uint64_t>(getpid()));
  json.key("program").string(program_invocation_short_name);
  json.key("state").string(heap_state_name());
  json.key("strategy").string(strategy_name(static_cast<uint32_t>(g_runtime.strategy())));
  json.key("thp");
  running ? json.string(g_live.string(h.thp)) : json.raw("null");
  json.key("machine");
  running ? json.string(g_live.string(h.machine)) : json.raw("null");
  const uint64_t now_ns = wall_clock_ns();
  json.key("seconds").number(
      h.started_ns && now_ns > h.started_ns ? (now_ns - h.started_ns) / 1000000000u : 0);
  json.key("tracking").string(kTracking[h.tracking < 3 ? h.tracking : 0]);
  json.key("sample_bytes");
  h.sample_bytes ? json.number(h.sample_bytes) : json.raw("null");
  KernelView view = ask_kernel(live.heaps, h.heap_count);
  json.key("resident_bytes").number(view.total.resident_bytes);
  json.key("superpage_bytes").number(view.total.superpage_bytes);
  json.key("coverage").share(view.total.superpage_bytes, view.total.resident_bytes);
  json.key("mappings").raw("{\"libsmalloc\":").number(view.mappings_of_heaps);
  json.raw(",\"process\":").number(view.mappings_all).raw("}");
  write_heaps(json, live, view);
  json.key("agent");
  write_agent(json);
  json.key("counters").raw("{");
  bool first = true;
  for (const CounterName &c : kCounterNames) {
    json.raw(first ? "\n" : ",\n").string(c.name).raw(":");
    json.number(
        reinterpret_cast<const Counter *>(reinterpret_cast<const char *>(&live.counters) + c.offset)
            ->get());
    first = false;
  }
  json.raw("}");
  json.key("sites").raw("[");
  SiteAccounts::Account order[SMALLOC_LIVE_SITES];
  unsigned count = rank_accounts(order, SMALLOC_LIVE_SITES);
  for (unsigned i = 0; i < count; i++) {
    json.raw(i ? "," : "");
    write_site(json, g_accounts.site(order[i]), h.tracking);
  }
  json.raw("]}\n");
}

} // namespace smalloc
