// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// history.cpp stores and removes. Storing something known again updates a program's path
// and time of last sight, a machine's description, a directive. A stored run never changes.
#include "runtime/database/history.h"
#include "runtime/database/rows.h"
#include "smalloc/base/clock.h"

#include <cstdlib>
#include <map>

#include <fmt/format.h>

namespace smalloc::database {
namespace {

// Returns "$1, $2, ..." for `count` parameters.
std::string places(size_t count) {
  std::string text;
  for (size_t i = 1; i <= count; i++)
    text += fmt::format("{}${}", i == 1 ? "" : ", ", i);
  return text;
}

// Inserts a row. table: its name with the columns in parentheses.
Rows insert(Connection &connection, const std::string &table, const std::vector<Value> &values,
            const std::string &behind = {}) {
  return connection.query(
      fmt::format("INSERT INTO {} VALUES ({}) {}", table, places(values.size()), behind), values);
}

std::string hex(uint64_t value) { return fmt::format("{:016x}", value); }
uint64_t from_hex(const std::string &text) { return std::strtoull(text.c_str(), nullptr, 16); }

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
  const Rows inserted =
      insert(*connection_, "runs (" + column_names<Run>("") + ")", with_columns({}, r),
             "ON CONFLICT (program, host, pid, started_ns) DO NOTHING RETURNING id");
  if (inserted.empty())
    return false;
  for (const Validation &v : r.validations) {
    insert(*connection_, "validations (run, " + column_names<Validation>("") + ")",
           with_columns({inserted[0][0]}, v), "ON CONFLICT DO NOTHING");
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
  const int64_t id =
      integer_of(insert(*connection_, "analyses (" + column_names<Analysis>("") + ")",
                        with_columns({}, a), "RETURNING id")
                     .at(0)
                     .at(0));
  for (const RankedCategory &c : a.ranking)
    insert(*connection_, "rankings (analysis, " + column_names<RankedCategory>("") + ")",
           with_columns({id}, c));
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
    insert(*connection_,
           "directives (program, site, context, page_shift, rank, superpages, pmb_percent, numa, "
           "comment, validated, held)",
           {program, hex(key.site), key.has_context ? hex(key.context) : std::string(),
            int64_t{entry.page_shift}, static_cast<int64_t>(entry.rank),
            static_cast<int64_t>(entry.superpages), entry.pmb_percent, entry.numa, entry.comment,
            validated, held});
  }
  for (const auto &[name, value] : file.header)
    insert(*connection_, "directive_headers (program, name, value)", {program, name, value});
}

void History::store_directives(const std::string &program, const std::string &path,
                               const directives::File &file) {
  Transaction transaction(*connection_);
  see_program(program, path, static_cast<int64_t>(wall_clock_ns()));
  insert_directives(program, file, Counts::kOfRuns);
  transaction.commit();
}

void History::insert_forgotten(const Run &r) {
  insert(*connection_, "forgotten_runs (program, host, pid, started_ns)",
         {r.program, r.host, r.pid, r.started_ns},
         "ON CONFLICT (program, host, pid, started_ns) DO NOTHING");
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
