// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// history.cpp stores and removes. Storing something known again updates a program's path
// and time of last sight, a machine's description, a directive. A stored run never changes.
#include "runtime/database/history.h"
#include "runtime/database/rows.h"
#include "runtime/database/run_key.h"
#include "smalloc/base/clock.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace smalloc::database {
namespace {

// Rows of a statement: few enough for the parameters that both systems allow, and enough that the
// way to a server does not count.
constexpr size_t kRowsOfStatement = 128;

// Returns "($1, $2, ...)" for a row of `columns` parameters after the first `before` ones.
std::string places(size_t before, size_t columns) {
  std::string text;
  for (size_t i = 1; i <= columns; i++)
    text += fmt::format("{}${}", i == 1 ? "(" : ", ", before + i);
  return text + ")";
}

// Inserts rows. table: its name with the columns in parentheses. values: of all rows, one after the
// other.
Rows insert(Connection &connection, const std::string &table, size_t columns,
            const std::vector<Value> &values, const std::string &behind) {
  std::string rows;
  for (size_t at = 0; at < values.size(); at += columns)
    rows += (at ? ", " : "") + places(at, columns);
  return connection.query(fmt::format("INSERT INTO {} VALUES {} {}", table, rows, behind), values);
}

// Inserts a row.
Rows insert(Connection &connection, const std::string &table, const std::vector<Value> &values,
            const std::string &behind = {}) {
  return insert(connection, table, values.size(), values, behind);
}

RunKey key_of_row(const Row &row) {
  return run_key(text_of(row[0]), text_of(row[1]), integer_of(row[2]), integer_of(row[3]));
}

// Returns those of the runs that were pruned.
std::set<RunKey> forgotten_of(Connection &connection, const std::vector<Run> &runs) {
  std::set<RunKey> forgotten;
  for (size_t first = 0; first < runs.size(); first += kRowsOfStatement) {
    std::string rows;
    std::vector<Value> values;
    for (size_t i = first; i < std::min(first + kRowsOfStatement, runs.size()); i++) {
      const size_t n = values.size();
      rows += fmt::format("{}(${}, ${}, CAST(${} AS BIGINT), CAST(${} AS BIGINT))", n ? ", " : "",
                          n + 1, n + 2, n + 3, n + 4);
      values.insert(values.end(), {runs[i].program, runs[i].host, runs[i].pid, runs[i].started_ns});
    }
    for (const Row &row : connection.query("SELECT program, host, pid, started_ns FROM "
                                           "forgotten_runs WHERE (program, host, pid, started_ns) "
                                           "IN (VALUES " +
                                               rows + ")",
                                           values))
      forgotten.insert(key_of_row(row));
  }
  return forgotten;
}

// Returns the programs of the runs, each once.
std::vector<Program> programs_of(const std::vector<Run> &runs) {
  std::map<std::string, Program> programs;
  std::map<std::string, int64_t> path_ns; // when the program was last seen with a path
  for (const Run &run : runs) {
    const auto [at, is_new] =
        programs.try_emplace(run.program, Program{run.program, "", run.started_ns, run.started_ns});
    Program &program = at->second;
    program.first_seen_ns = std::min(program.first_seen_ns, run.started_ns);
    program.last_seen_ns = std::max(program.last_seen_ns, run.started_ns);
    int64_t &latest_ns = path_ns.try_emplace(run.program, INT64_MIN).first->second;
    if (!run.path.empty() && run.started_ns >= latest_ns) {
      program.path = run.path;
      latest_ns = run.started_ns;
    }
  }
  std::vector<Program> list;
  for (auto &[id, program] : programs)
    list.push_back(std::move(program));
  return list;
}

// Results of one directive in runs.
struct Results {
  int64_t validated = 0, held = 0;
};
using Directive = std::tuple<std::string, std::string, std::string>; // program, site, context

// Adds results to directives that are on superpages.
void count_results(Connection &connection, const std::map<Directive, Results> &results) {
  std::string rows;
  std::vector<Value> values;
  const auto update = [&] {
    // Both systems name the columns of VALUES so, and PostgreSQL takes uncast parameters for text.
    connection.query("UPDATE directives SET validated = validated + added.column1, "
                     "held = held + added.column2 FROM (VALUES " +
                         rows +
                         ") AS added WHERE program = added.column3 AND site = added.column4 "
                         "AND context = added.column5 AND page_shift > 12",
                     values);
    rows.clear();
    values.clear();
  };
  for (const auto &[directive, result] : results) {
    const size_t n = values.size();
    rows += fmt::format("{}(CAST(${} AS BIGINT), CAST(${} AS BIGINT), ${}, ${}, ${})",
                        n ? ", " : "", n + 1, n + 2, n + 3, n + 4, n + 5);
    values.insert(values.end(), {result.validated, result.held, std::get<0>(directive),
                                 std::get<1>(directive), std::get<2>(directive)});
    if (values.size() == kRowsOfStatement * 5)
      update();
  }
  if (!values.empty())
    update();
}

std::string hex(uint64_t value) { return fmt::format("{:016x}", value); }
uint64_t from_hex(const std::string &text) { return std::strtoull(text.c_str(), nullptr, 16); }

} // namespace

directives::Key key_of_directive(const std::string &site, const std::string &context) {
  return {from_hex(site), !context.empty(), from_hex(context)};
}

void History::see_programs(const std::vector<Program> &programs) {
  std::vector<Value> values;
  const auto insert_all = [&] {
    // A row that stays as it is gets no new version: on a server those of many hosts would pile up.
    insert(
        *connection_, "programs (build_id, path, first_seen_ns, last_seen_ns)", 4, values,
        "ON CONFLICT (build_id) DO UPDATE SET "
        "first_seen_ns = CASE WHEN excluded.first_seen_ns < programs.first_seen_ns "
        "THEN excluded.first_seen_ns ELSE programs.first_seen_ns END, "
        "path = CASE WHEN excluded.path <> '' AND excluded.last_seen_ns >= programs.last_seen_ns "
        "THEN excluded.path ELSE programs.path END, "
        "last_seen_ns = CASE WHEN excluded.last_seen_ns > programs.last_seen_ns "
        "THEN excluded.last_seen_ns ELSE programs.last_seen_ns END "
        "WHERE excluded.first_seen_ns < programs.first_seen_ns "
        "OR excluded.last_seen_ns >= programs.last_seen_ns");
    values.clear();
  };
  for (const Program &program : programs) {
    values.insert(values.end(),
                  {program.build_id, program.path, program.first_seen_ns, program.last_seen_ns});
    if (values.size() == kRowsOfStatement * 4)
      insert_all();
  }
  if (!values.empty())
    insert_all();
}

void History::see_program(const std::string &build_id, const std::string &path, int64_t at_ns) {
  see_programs({{build_id, path, at_ns, at_ns}});
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

std::vector<bool> History::insert_runs(const std::vector<Run> &runs, Counts counts) {
  see_programs(programs_of(runs));
  const std::string run_table = "runs (" + column_names<Run>("") + ")",
                    validation_table = "validations (run, " + column_names<Validation>("") + ")";
  const size_t run_columns = with_columns({}, Run()).size(),
               validation_columns = with_columns({int64_t{0}}, Validation()).size();
  std::vector<bool> fresh;
  std::vector<Value> validations;
  const auto insert_validations = [&] {
    if (!validations.empty())
      insert(*connection_, validation_table, validation_columns, validations,
             "ON CONFLICT DO NOTHING");
    validations.clear();
  };
  std::map<Directive, Results> results;
  for (size_t first = 0; first < runs.size(); first += kRowsOfStatement) {
    const size_t end = std::min(first + kRowsOfStatement, runs.size());
    std::vector<Value> values;
    for (size_t i = first; i < end; i++)
      values = with_columns(std::move(values), runs[i]);
    std::map<RunKey, int64_t> ids; // of the runs that were not there
    for (const Row &row : insert(*connection_, run_table, run_columns, values,
                                 "ON CONFLICT (program, host, pid, started_ns) DO NOTHING "
                                 "RETURNING program, host, pid, started_ns, id"))
      ids[key_of_row(row)] = integer_of(row[4]);
    for (size_t i = first; i < end; i++) {
      const auto id = ids.find(run_key(runs[i]));
      fresh.push_back(id != ids.end());
      if (id == ids.end())
        continue;
      for (const Validation &v : runs[i].validations) {
        validations.emplace_back(id->second);
        validations = with_columns(std::move(validations), v);
        if (validations.size() == kRowsOfStatement * validation_columns)
          insert_validations();
        if (v.verdict == "held" || v.verdict == "failed") {
          Results &of = results[{runs[i].program, v.site, v.context}];
          of.validated++;
          of.held += v.verdict == "held";
        }
      }
      ids.erase(id); // the same run once more is known
    }
  }
  insert_validations();
  if (counts == Counts::kOfRuns)
    count_results(*connection_, results);
  return fresh;
}

bool History::store_run(const Run &run) { return store_runs({run}).front(); }

std::vector<bool> History::store_runs(const std::vector<Run> &runs) {
  if (runs.empty())
    return {};
  Transaction transaction(*connection_);
  // The results of a pruned run still count, and its report may come again.
  const std::set<RunKey> forgotten = forgotten_of(*connection_, runs);
  const auto is_kept = [&](const Run &run) { return !forgotten.contains(run_key(run)); };
  std::vector<Run> kept;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(kept), is_kept);
  const std::vector<bool> fresh_kept = insert_runs(kept, Counts::kOfRuns);
  transaction.commit();
  std::vector<bool> fresh;
  for (size_t i = 0, at = 0; i < runs.size(); i++)
    fresh.push_back(is_kept(runs[i]) && fresh_kept[at++]);
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
