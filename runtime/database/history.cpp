// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// history.cpp stores and reads the history. Storing something known again updates a program's path
// and time of last sight, a machine's description, a directive. A stored run never changes.
#include "runtime/database/history.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <map>

#include <fmt/format.h>

namespace smalloc::database {
namespace {

template <class T> Value optional_value(const std::optional<T> &value) {
  return value ? Value(*value) : Value();
}
std::optional<int64_t> optional_integer(const Value &value) {
  return is_null(value) ? std::optional<int64_t>() : integer_of(value);
}
std::optional<double> optional_real(const Value &value) {
  return is_null(value) ? std::optional<double>() : real_of(value);
}

// Returns "$1, $2, ..." for `count` parameters.
std::string places(size_t count) {
  std::string text;
  for (size_t i = 1; i <= count; i++)
    text += fmt::format("{}${}", i == 1 ? "" : ", ", i);
  return text;
}

std::string hex(uint64_t value) { return fmt::format("{:016x}", value); }
uint64_t from_hex(const std::string &text) { return std::strtoull(text.c_str(), nullptr, 16); }

constexpr char kRunColumns[] =
    "program, host, pid, started_ns, kind, input, seconds, user_seconds, system_seconds, "
    "peak_bytes, minor_faults, major_faults, machine, policy, bar_percent, superpages_supply, "
    "superpages_peak, superpages_at_first_touch, promotions, migrations, live_bytes_peak, "
    "tlb_misses, "
    "superpages_touched, touch_seconds";
constexpr size_t kRunColumnCount = 24;
constexpr char kAnalysisColumns[] =
    "program, created_ns, machine, input, traces, accesses, seconds, significant, cycles_base, "
    "saved_all, saved_joint, superpages_chosen, saved_seconds, tlb_misses_base, "
    "tlb_misses_directed, page_faults_base, page_faults_directed, touch_seconds";
constexpr size_t kAnalysisColumnCount = 18;

} // namespace

directives::Key key_of_directive(const std::string &site, const std::string &context) {
  return {from_hex(site), !context.empty(), from_hex(context)};
}

void History::see_program(const std::string &build_id, const std::string &path, int64_t at_ns) {
  connection_->query(
      "INSERT INTO programs (build_id, path, first_seen_ns, last_seen_ns) VALUES ($1, $2, $3, $4) "
      "ON CONFLICT (build_id) DO UPDATE SET "
      "first_seen_ns = CASE WHEN excluded.first_seen_ns < programs.first_seen_ns "
      "THEN excluded.first_seen_ns ELSE programs.first_seen_ns END, "
      "path = CASE WHEN excluded.path <> '' AND excluded.last_seen_ns >= programs.last_seen_ns "
      "THEN excluded.path ELSE programs.path END, "
      "last_seen_ns = CASE WHEN excluded.last_seen_ns > programs.last_seen_ns "
      "THEN excluded.last_seen_ns ELSE programs.last_seen_ns END",
      {build_id, path, at_ns, at_ns});
}

void History::store_machine(const Machine &m) {
  connection_->query(
      "INSERT INTO machines (host, profile, cpu, processors, memory_bytes, last_seen_ns) "
      "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (host) DO UPDATE SET "
      "profile = excluded.profile, cpu = excluded.cpu, processors = excluded.processors, "
      "memory_bytes = excluded.memory_bytes, last_seen_ns = excluded.last_seen_ns "
      "WHERE excluded.last_seen_ns >= machines.last_seen_ns",
      {m.host, m.profile, m.cpu, m.processors, m.memory_bytes, m.last_seen_ns});
}

bool History::insert_run(const Run &r, Counts counts) {
  see_program(r.program, r.path, r.started_ns);
  const Rows inserted = connection_->query(
      fmt::format("INSERT INTO runs ({}) VALUES ({}) "
                  "ON CONFLICT (program, host, pid, started_ns) DO NOTHING RETURNING id",
                  kRunColumns, places(kRunColumnCount)),
      {r.program,
       r.host,
       r.pid,
       r.started_ns,
       r.kind,
       r.input,
       optional_value(r.seconds),
       optional_value(r.user_seconds),
       optional_value(r.system_seconds),
       optional_value(r.peak_bytes),
       optional_value(r.minor_faults),
       optional_value(r.major_faults),
       r.machine,
       r.policy,
       optional_value(r.bar_percent),
       optional_value(r.superpages_supply),
       optional_value(r.superpages_peak),
       optional_value(r.superpages_at_first_touch),
       optional_value(r.promotions),
       optional_value(r.migrations),
       optional_value(r.live_bytes_peak),
       optional_value(r.tlb_misses),
       optional_value(r.superpages_touched),
       optional_value(r.touch_seconds)});
  if (inserted.empty())
    return false;
  for (const Validation &v : r.validations) {
    connection_->query("INSERT INTO validations (run, site, context, taken, superpages_predicted, "
                       "superpages_peak, live_bytes_peak, verdict) VALUES (" +
                           places(8) + ") ON CONFLICT DO NOTHING",
                       {inserted[0][0], v.site, v.context, int64_t{v.taken}, v.superpages_predicted,
                        v.superpages_peak, v.live_bytes_peak, v.verdict});
    if (counts == Counts::kOfRuns && (v.verdict == "held" || v.verdict == "failed"))
      connection_->query("UPDATE directives SET validated = validated + 1, held = held + $1 "
                         "WHERE program = $2 AND site = $3 AND context = $4 AND page_shift > 12",
                         {int64_t{v.verdict == "held"}, r.program, v.site, v.context});
  }
  return true;
}

bool History::store_run(const Run &run) { return store_runs({run}).front(); }

std::vector<bool> History::store_runs(const std::vector<Run> &runs) {
  std::vector<bool> fresh;
  if (runs.empty())
    return fresh;
  Transaction transaction(*connection_);
  for (const Run &run : runs)
    fresh.push_back(insert_run(run, Counts::kOfRuns));
  transaction.commit();
  return fresh;
}

int64_t History::insert_analysis(const Analysis &a) {
  see_program(a.program, a.path, a.created_ns);
  const int64_t id = integer_of(
      connection_
          ->query(fmt::format("INSERT INTO analyses ({}) VALUES ({}) RETURNING id",
                              kAnalysisColumns, places(kAnalysisColumnCount)),
                  {a.program, a.created_ns, a.machine, a.input, a.traces, a.accesses, a.seconds,
                   int64_t{a.significant}, a.cycles_base, a.saved_all, a.saved_joint,
                   a.superpages_chosen, optional_value(a.saved_seconds),
                   optional_value(a.tlb_misses_base), optional_value(a.tlb_misses_directed),
                   optional_value(a.page_faults_base), optional_value(a.page_faults_directed),
                   optional_value(a.touch_seconds)})
          .at(0)
          .at(0));
  for (const RankedCategory &c : a.ranking)
    connection_->query(
        "INSERT INTO rankings (analysis, rank, kind, category, function, file, line, superpages, "
        "footprint_bytes, saved_cycles, saved_low, saved_high, pmb_percent, chosen) VALUES (" +
            places(14) + ")",
        {id, c.rank, c.kind, c.category, c.function, c.file, c.line, c.superpages,
         c.footprint_bytes, c.saved_cycles, c.saved_low, c.saved_high, c.pmb_percent,
         int64_t{c.chosen}});
  return id;
}

int64_t History::store_analysis(const Analysis &analysis) {
  Transaction transaction(*connection_);
  const int64_t id = insert_analysis(analysis);
  transaction.commit();
  return id;
}

void History::insert_directives(const std::string &program, const directives::File &file,
                                Counts counts) {
  std::map<directives::Key, std::pair<int64_t, std::pair<int64_t, int64_t>>> before;
  for (const Row &row : connection_->query("SELECT site, context, page_shift, validated, held "
                                           "FROM directives WHERE program = $1",
                                           {program})) {
    const std::string context = text_of(row[1]);
    before[key_of_directive(text_of(row[0]), context)] = {integer_of(row[2]),
                                                          {integer_of(row[3]), integer_of(row[4])}};
  }
  connection_->query("DELETE FROM directives WHERE program = $1", {program});
  connection_->query("DELETE FROM directive_headers WHERE program = $1", {program});
  for (const auto &[key, entry] : file.entries) {
    int64_t validated = static_cast<int64_t>(entry.validated),
            held = static_cast<int64_t>(entry.held);
    if (const auto old = before.find(key); counts == Counts::kOfRuns && validated == 0 &&
                                           old != before.end() &&
                                           old->second.first == int64_t{entry.page_shift}) {
      validated = old->second.second.first;
      held = old->second.second.second;
    }
    connection_->query(
        "INSERT INTO directives (program, site, context, page_shift, rank, superpages, "
        "pmb_percent, numa, comment, validated, held) VALUES (" +
            places(11) + ")",
        {program, hex(key.site), key.has_context ? hex(key.context) : std::string(),
         int64_t{entry.page_shift}, static_cast<int64_t>(entry.rank),
         static_cast<int64_t>(entry.superpages), entry.pmb_percent, entry.numa, entry.comment,
         validated, held});
  }
  for (const auto &[name, value] : file.header)
    connection_->query("INSERT INTO directive_headers (program, name, value) VALUES ($1, $2, $3)",
                       {program, name, value});
}

void History::store_directives(const std::string &program, const std::string &path,
                               const directives::File &file) {
  Transaction transaction(*connection_);
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  see_program(program, path, int64_t{now.tv_sec} * 1000000000 + now.tv_nsec);
  insert_directives(program, file, Counts::kOfRuns);
  transaction.commit();
}

std::vector<Program> History::programs() {
  std::vector<Program> list;
  for (const Row &row :
       connection_->query("SELECT build_id, path, first_seen_ns, last_seen_ns, "
                          "(SELECT count(*) FROM runs WHERE program = build_id), "
                          "(SELECT count(*) FROM analyses WHERE program = build_id), "
                          "(SELECT count(*) FROM directives WHERE program = build_id) "
                          "FROM programs ORDER BY last_seen_ns DESC, build_id"))
    list.push_back({text_of(row[0]), text_of(row[1]), integer_of(row[2]), integer_of(row[3]),
                    integer_of(row[4]), integer_of(row[5]), integer_of(row[6])});
  return list;
}

std::vector<Machine> History::machines() {
  std::vector<Machine> list;
  for (const Row &row : connection_->query("SELECT host, profile, cpu, processors, memory_bytes, "
                                           "last_seen_ns FROM machines ORDER BY host"))
    list.push_back({text_of(row[0]), text_of(row[1]), text_of(row[2]), integer_of(row[3]),
                    integer_of(row[4]), integer_of(row[5])});
  return list;
}

std::vector<Run> History::read_runs(const std::string &condition,
                                    const std::vector<Value> &parameters) {
  std::vector<Run> list;
  std::map<int64_t, size_t> at;
  for (const Row &row : connection_->query(
           fmt::format(
               "SELECT runs.id, programs.path, {} FROM runs "
               "JOIN programs ON programs.build_id = runs.program {} ORDER BY started_ns, runs.id",
               kRunColumns, condition),
           parameters)) {
    Run r;
    r.id = integer_of(row[0]);
    r.path = text_of(row[1]);
    r.program = text_of(row[2]);
    r.host = text_of(row[3]);
    r.pid = integer_of(row[4]);
    r.started_ns = integer_of(row[5]);
    r.kind = text_of(row[6]);
    r.input = text_of(row[7]);
    r.seconds = optional_real(row[8]);
    r.user_seconds = optional_real(row[9]);
    r.system_seconds = optional_real(row[10]);
    r.peak_bytes = optional_integer(row[11]);
    r.minor_faults = optional_integer(row[12]);
    r.major_faults = optional_integer(row[13]);
    r.machine = text_of(row[14]);
    r.policy = text_of(row[15]);
    r.bar_percent = optional_real(row[16]);
    r.superpages_supply = optional_integer(row[17]);
    r.superpages_peak = optional_integer(row[18]);
    r.superpages_at_first_touch = optional_integer(row[19]);
    r.promotions = optional_integer(row[20]);
    r.migrations = optional_integer(row[21]);
    r.live_bytes_peak = optional_integer(row[22]);
    r.tlb_misses = optional_integer(row[23]);
    r.superpages_touched = optional_integer(row[24]);
    r.touch_seconds = optional_real(row[25]);
    at[r.id] = list.size();
    list.push_back(std::move(r));
  }
  for (const Row &row : connection_->query(
           fmt::format("SELECT run, site, context, taken, superpages_predicted, "
                       "validations.superpages_peak, validations.live_bytes_peak, verdict "
                       "FROM validations JOIN runs ON runs.id = validations.run "
                       "{} ORDER BY run, site, context",
                       condition),
           parameters))
    if (const auto found = at.find(integer_of(row[0])); found != at.end())
      list[found->second].validations.push_back(
          {text_of(row[1]), text_of(row[2]), integer_of(row[3]) != 0, integer_of(row[4]),
           integer_of(row[5]), integer_of(row[6]), text_of(row[7])});
  return list;
}

std::vector<Run> History::runs(const std::string &program) {
  return program.empty() ? read_runs("", {}) : read_runs("WHERE runs.program = $1", {program});
}

std::optional<Run> History::run(int64_t id) {
  auto list = read_runs("WHERE runs.id = $1", {id});
  return list.empty() ? std::optional<Run>() : std::move(list.front());
}

std::vector<Analysis> History::analyses(const std::string &program) {
  const std::string condition = program.empty() ? "" : "WHERE analyses.program = $1";
  const std::vector<Value> parameters =
      program.empty() ? std::vector<Value>() : std::vector<Value>{program};
  std::vector<Analysis> list;
  std::map<int64_t, size_t> at;
  for (const Row &row : connection_->query(
           fmt::format("SELECT analyses.id, programs.path, {} FROM analyses JOIN programs ON "
                       "programs.build_id = analyses.program {} ORDER BY created_ns, analyses.id",
                       kAnalysisColumns, condition),
           parameters)) {
    Analysis a;
    a.id = integer_of(row[0]);
    a.path = text_of(row[1]);
    a.program = text_of(row[2]);
    a.created_ns = integer_of(row[3]);
    a.machine = text_of(row[4]);
    a.input = text_of(row[5]);
    a.traces = integer_of(row[6]);
    a.accesses = real_of(row[7]);
    a.seconds = real_of(row[8]);
    a.significant = integer_of(row[9]) != 0;
    a.cycles_base = real_of(row[10]);
    a.saved_all = real_of(row[11]);
    a.saved_joint = real_of(row[12]);
    a.superpages_chosen = integer_of(row[13]);
    a.saved_seconds = optional_real(row[14]);
    a.tlb_misses_base = optional_real(row[15]);
    a.tlb_misses_directed = optional_real(row[16]);
    a.page_faults_base = optional_real(row[17]);
    a.page_faults_directed = optional_real(row[18]);
    a.touch_seconds = optional_real(row[19]);
    at[a.id] = list.size();
    list.push_back(std::move(a));
  }
  for (const Row &row : connection_->query(
           fmt::format("SELECT analysis, rank, kind, category, function, file, line, superpages, "
                       "footprint_bytes, saved_cycles, saved_low, saved_high, pmb_percent, chosen "
                       "FROM rankings JOIN analyses ON analyses.id = rankings.analysis "
                       "{} ORDER BY analysis, rank",
                       condition),
           parameters))
    if (const auto found = at.find(integer_of(row[0])); found != at.end())
      list[found->second].ranking.push_back(
          {integer_of(row[1]), text_of(row[2]), text_of(row[3]), text_of(row[4]), text_of(row[5]),
           integer_of(row[6]), integer_of(row[7]), integer_of(row[8]), real_of(row[9]),
           real_of(row[10]), real_of(row[11]), real_of(row[12]), integer_of(row[13]) != 0});
  return list;
}

std::optional<directives::File> History::directives(const std::string &program) {
  directives::File file;
  for (const Row &row : connection_->query("SELECT site, context, page_shift, rank, superpages, "
                                           "pmb_percent, numa, comment, validated, held "
                                           "FROM directives WHERE program = $1",
                                           {program})) {
    directives::Entry entry;
    const std::string context = text_of(row[1]);
    entry.page_shift = static_cast<unsigned>(integer_of(row[2]));
    entry.rank = static_cast<uint64_t>(integer_of(row[3]));
    entry.superpages = static_cast<uint64_t>(integer_of(row[4]));
    entry.pmb_percent = real_of(row[5]);
    entry.numa = text_of(row[6]);
    entry.comment = text_of(row[7]);
    entry.validated = static_cast<uint64_t>(integer_of(row[8]));
    entry.held = static_cast<uint64_t>(integer_of(row[9]));
    file.entries[key_of_directive(text_of(row[0]), context)] = entry;
  }
  if (file.entries.empty())
    return std::nullopt;
  for (const Row &row : connection_->query(
           "SELECT name, value FROM directive_headers WHERE program = $1", {program}))
    file.header[text_of(row[0])] = text_of(row[1]);
  file.header["program"] = program;
  directives::give_ranks(file);
  return file;
}

std::vector<std::string> History::programs_like(const std::string &prefix) {
  std::vector<std::string> list;
  for (const Program &program : programs())
    if (program.build_id.starts_with(prefix))
      list.push_back(program.build_id);
  return list;
}

std::vector<Run> History::forgotten_runs() {
  std::vector<Run> list;
  for (const auto &row :
       connection_->query("SELECT program, host, pid, started_ns FROM forgotten_runs "
                          "ORDER BY program, host, pid, started_ns")) {
    Run run;
    run.program = text_of(row.at(0));
    run.host = text_of(row.at(1));
    run.pid = integer_of(row.at(2));
    run.started_ns = integer_of(row.at(3));
    list.push_back(run);
  }
  return list;
}

void History::insert_forgotten(const Run &r) {
  connection_->query("INSERT INTO forgotten_runs (program, host, pid, started_ns) VALUES (" +
                         places(4) + ") ON CONFLICT (program, host, pid, started_ns) DO NOTHING",
                     {r.program, r.host, r.pid, r.started_ns});
}

History::Removed History::prune(int64_t before_ns, int64_t keep) {
  Transaction transaction(*connection_);
  Removed removed;
  const auto old_rows = [&](const char *table, const char *time) {
    return fmt::format(
        "SELECT id FROM (SELECT id, {1} AS at_ns, row_number() OVER (PARTITION BY program "
        "ORDER BY {1} DESC, id DESC) AS place FROM {0}) AS placed WHERE at_ns < $1 AND place > $2",
        table, time);
  };
  const std::string runs = old_rows("runs", "started_ns"),
                    analyses = old_rows("analyses", "created_ns");
  const std::vector<Value> parameters = {before_ns, keep};
  connection_->query("INSERT INTO forgotten_runs (program, host, pid, started_ns) "
                     "SELECT program, host, pid, started_ns FROM runs WHERE id IN (" +
                         runs +
                         ") AND EXISTS (SELECT 1 FROM validations WHERE validations.run = runs.id) "
                         "ON CONFLICT (program, host, pid, started_ns) DO NOTHING",
                     parameters);
  connection_->query("DELETE FROM validations WHERE run IN (" + runs + ")", parameters);
  removed.runs = static_cast<int64_t>(
      connection_->query("DELETE FROM runs WHERE id IN (" + runs + ") RETURNING id", parameters)
          .size());
  connection_->query("DELETE FROM rankings WHERE analysis IN (" + analyses + ")", parameters);
  removed.analyses = static_cast<int64_t>(
      connection_
          ->query("DELETE FROM analyses WHERE id IN (" + analyses + ") RETURNING id", parameters)
          .size());
  // A program without runs and analyses that was not seen since is removed with its directives.
  const std::string forgotten =
      "SELECT build_id FROM programs WHERE last_seen_ns < $1 "
      "AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.program = build_id) "
      "AND NOT EXISTS (SELECT 1 FROM analyses WHERE analyses.program = build_id)";
  for (const char *table : {"directives", "directive_headers", "forgotten_runs"})
    connection_->query(fmt::format("DELETE FROM {} WHERE program IN ({})", table, forgotten),
                       {before_ns});
  removed.programs = static_cast<int64_t>(
      connection_
          ->query("DELETE FROM programs WHERE build_id IN (" + forgotten + ") RETURNING build_id",
                  {before_ns})
          .size());
  transaction.commit();
  return removed;
}

} // namespace smalloc::database
