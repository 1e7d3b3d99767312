// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rows.h converts records (records.h) to the values of a row and back. Unknown values are NULL.
#pragma once

#include "runtime/database/connection.h"
#include "runtime/database/records.h"

namespace smalloc::database {

inline Value value_of(const std::string &member) { return member; }
inline Value value_of(int64_t member) { return member; }
inline Value value_of(double member) { return member; }
inline Value value_of(bool member) { return int64_t{member}; }
template <class T> Value value_of(const std::optional<T> &member) {
  return member ? Value(*member) : Value();
}

inline void read_value(const Value &value, std::string &member) { member = text_of(value); }
inline void read_value(const Value &value, int64_t &member) { member = integer_of(value); }
inline void read_value(const Value &value, double &member) { member = real_of(value); }
inline void read_value(const Value &value, bool &member) { member = integer_of(value) != 0; }
template <class T> void read_value(const Value &value, std::optional<T> &member) {
  if (!is_null(value))
    read_value(value, member.emplace());
}

/// Returns the names of the record's columns, separated by commas. table: what stands before each
/// name ("runs."); empty: nothing.
template <class Record> std::string column_names(const std::string &table) {
  std::string names;
  const Record record{};
  visit_columns(record, [&](const char *name, const auto &) {
    names += (names.empty() ? "" : ", ") + table + name;
  });
  return names;
}

/// Returns `values` followed by the values of the record's columns.
template <class Record>
std::vector<Value> with_columns(std::vector<Value> values, const Record &record) {
  visit_columns(record,
                [&](const char *, const auto &member) { values.push_back(value_of(member)); });
  return values;
}

/// Reads the record's columns from the row's values from `first` on.
template <class Record> void read_columns(const Row &row, size_t first, Record &record) {
  visit_columns(record, [&](const char *, auto &member) { read_value(row.at(first++), member); });
}

} // namespace smalloc::database
