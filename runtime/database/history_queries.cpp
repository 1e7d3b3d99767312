// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// history_queries.cpp reads what the history knows.
#include "runtime/database/history.h"
#include "runtime/database/rows.h"

#include <map>

#include <fmt/format.h>

namespace smalloc::database {
namespace {

/// Reads records with their parts. A row of `owners` is the id, the program's path and the record's
/// columns; a row of `parts` is the id of the owner and the part's columns.
template <class Owner, class Part>
std::vector<Owner> read_with_parts(const std::vector<Row> &owners, const std::vector<Row> &parts,
                                   std::vector<Part> Owner::*parts_of) {
  std::vector<Owner> list;
  std::map<int64_t, size_t> at;
  for (const Row &row : owners) {
    Owner &owner = list.emplace_back();
    owner.id = integer_of(row[0]);
    owner.path = text_of(row[1]);
    read_columns(row, 2, owner);
    at[owner.id] = list.size() - 1;
  }
  for (const Row &row : parts)
    if (const auto found = at.find(integer_of(row[0])); found != at.end())
      read_columns(row, 1, (list[found->second].*parts_of).emplace_back());
  return list;
}

std::vector<std::string> texts_of(const Rows &rows) {
  std::vector<std::string> list;
  for (const Row &row : rows)
    list.push_back(text_of(row.at(0)));
  return list;
}

} // namespace

std::vector<Program> History::programs() {
  // Counts each table in one scan. One count a program would search the indexes as often as there
  // are programs.
  const auto counts = [](const char *table) {
    return fmt::format("LEFT JOIN (SELECT program, count(*) AS rows FROM {0} GROUP BY program) "
                       "AS {0} ON {0}.program = build_id ",
                       table);
  };
  std::vector<Program> list;
  for (const Row &row : connection_->query(
           "SELECT build_id, path, first_seen_ns, last_seen_ns, coalesce(runs.rows, 0), "
           "coalesce(analyses.rows, 0), coalesce(directives.rows, 0) FROM programs " +
           counts("runs") + counts("analyses") + counts("directives") +
           "ORDER BY last_seen_ns DESC, build_id"))
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
  return read_with_parts(
      connection_->query(
          fmt::format(
              "SELECT runs.id, programs.path, {} FROM runs "
              "JOIN programs ON programs.build_id = runs.program {} ORDER BY started_ns, runs.id",
              column_names<Run>("runs."), condition),
          parameters),
      connection_->query(
          fmt::format("SELECT run, {} FROM validations JOIN runs ON runs.id = validations.run "
                      "{} ORDER BY run, site, context",
                      column_names<Validation>("validations."), condition),
          parameters),
      &Run::validations);
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
  return read_with_parts(
      connection_->query(
          fmt::format("SELECT analyses.id, programs.path, {} FROM analyses JOIN programs ON "
                      "programs.build_id = analyses.program {} ORDER BY created_ns, analyses.id",
                      column_names<Analysis>("analyses."), condition),
          parameters),
      connection_->query(
          fmt::format("SELECT analysis, {} FROM rankings JOIN analyses ON analyses.id = "
                      "rankings.analysis {} ORDER BY analysis, rank",
                      column_names<RankedCategory>("rankings."), condition),
          parameters),
      &Analysis::ranking);
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
  return texts_of(connection_->query(
      fmt::format("SELECT build_id FROM programs WHERE substr(build_id, 1, {}) = $1 "
                  "ORDER BY last_seen_ns DESC, build_id",
                  prefix.size()),
      {prefix}));
}

std::vector<std::string> History::builds_at(const std::string &path) {
  // The index has the beginning of a path, since PostgreSQL refuses long keys.
  return texts_of(connection_->query(
      "SELECT build_id FROM programs WHERE substr(path, 1, 200) = substr($1, 1, 200) "
      "AND path = $2 ORDER BY last_seen_ns DESC, build_id",
      {path, path}));
}

std::string History::path_of(const std::string &program) {
  const auto paths =
      texts_of(connection_->query("SELECT path FROM programs WHERE build_id = $1", {program}));
  return paths.empty() ? std::string() : paths.front();
}

bool History::has_directives(const std::string &program) {
  return !connection_->query("SELECT 1 FROM directives WHERE program = $1 LIMIT 1", {program})
              .empty();
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

} // namespace smalloc::database
