// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// containers: a unit that is nearly all headers. A page of code reads a table of measurements, with
// a container, an algorithm or a stream in each line. Only compiled (scripts/compile-cost).
#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

struct Series {
  std::string unit;
  std::vector<double> values;
};

class Measurements {
public:
  void read(const std::string &text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string name;
      Series series;
      words >> name >> series.unit;
      for (double value; words >> value;)
        series.values.push_back(value);
      std::sort(series.values.begin(), series.values.end());
      series_[name] = std::move(series);
    }
  }

  double median(const std::string &name) const {
    auto it = series_.find(name);
    if (it == series_.end() || it->second.values.empty())
      return 0;
    return it->second.values[it->second.values.size() / 2];
  }

  std::unordered_map<std::string, std::vector<std::string>> by_unit() const {
    std::unordered_map<std::string, std::vector<std::string>> names;
    for (const auto &[name, series] : series_)
      names[series.unit].push_back(name);
    return names;
  }

  std::string text() const {
    std::ostringstream out;
    for (const auto &[name, series] : series_) {
      out << name << ' ' << series.unit;
      for (double value : series.values)
        out << ' ' << value;
      out << '\n';
    }
    return out.str();
  }

private:
  std::map<std::string, Series> series_;
};

} // namespace

std::string summary(const std::string &text) {
  Measurements all;
  all.read(text);
  std::string out;
  for (const auto &[unit, names] : all.by_unit()) {
    double most = 0;
    for (const std::string &name : names)
      most = std::max(most, all.median(name));
    out += unit + ": " + std::to_string(most) + "\n";
  }
  return out + all.text();
}

std::vector<std::vector<double>> transposed(const std::vector<std::vector<double>> &rows) {
  std::vector<std::vector<double>> columns(rows.empty() ? 0 : rows[0].size());
  for (size_t j = 0; j < columns.size(); ++j)
    for (const std::vector<double> &row : rows)
      columns[j].push_back(row[j]);
  return columns;
}

std::vector<double> product(const std::vector<double> &a, const std::vector<double> &b, size_t n) {
  std::vector<double> c(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      for (size_t k = 0; k < n; ++k)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
  return c;
}

std::function<int(int)> composed(std::vector<std::function<int(int)>> steps) {
  return [steps = std::move(steps)](int x) {
    for (const auto &step : steps)
      x = step(x);
    return x;
  };
}
