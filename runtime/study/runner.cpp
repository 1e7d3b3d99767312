// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runner.cpp forks, waits until the counters are set up, executes the command, samples it and reaps
// it.
#include "runtime/study/runner.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace smalloc::study {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
// Most processes of a command that are sampled; larger trees are outside the study's scope.
constexpr unsigned kMostProcesses = 1024;

using pmu::Quantity;
constexpr Quantity kCounted[] = {
    Quantity::kCycles,       Quantity::kInstructions, Quantity::kWalks,       Quantity::kWalkCycles,
    Quantity::kMemoryStalls, Quantity::kCacheMisses,  Quantity::kBranchMisses};

double seconds(const struct timeval &t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

std::string contents(const std::string &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void add_tree(int process, Footprint &sum, unsigned &left) {
  if (left == 0)
    return;
  left--;
  const std::string folder = "/proc/" + std::to_string(process);
  sum += parse_smaps(contents(folder + "/smaps"));
  std::error_code error; // the process may end at any moment
  for (fs::directory_iterator thread(folder + "/task", error), end; !error && thread != end;
       thread.increment(error)) {
    std::istringstream children(contents(thread->path().string() + "/children"));
    for (int child; children >> child;)
      add_tree(child, sum, left);
  }
}

// Strings as exec takes them: pointers, with a null pointer behind the last.
class StringArray {
public:
  explicit StringArray(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (std::string &text : texts_)
      pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  StringArray(const StringArray &) = delete;
  StringArray &operator=(const StringArray &) = delete;
  char *const *data() const { return pointers_.data(); }

private:
  std::vector<std::string> texts_;
  std::vector<char *> pointers_;
};

// Returns this process's environment with the plan's variables.
std::vector<std::string> settings_of(const RunPlan &plan) {
  std::vector<std::string> settings;
  for (char **entry = environ; *entry; entry++) {
    const std::string name(*entry, std::string(*entry).find('='));
    if (!plan.environment.count(name))
      settings.emplace_back(*entry);
  }
  for (const auto &[name, value] : plan.environment)
    settings.push_back(name + "=" + value);
  return settings;
}

// Runs the command in the child. Makes only calls that are safe after fork; the parent made the
// strings.
[[noreturn]] void become(const RunPlan &plan, char *const *arguments, char *const *environment,
                         int error_pipe) {
  const int nothing = open("/dev/null", O_RDWR);
  dup2(plan.input >= 0 ? plan.input : nothing, STDIN_FILENO);
  if (!plan.show_output) {
    dup2(nothing, STDOUT_FILENO);
    dup2(plan.errors >= 0 ? plan.errors : nothing, STDERR_FILENO);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (plan.without_thp)
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  environ = const_cast<char **>(environment);
  execvp(arguments[0], arguments);
  const int error = errno;
  if (write(error_pipe, &error, sizeof error) < 0)
    _exit(126);
  _exit(127);
}

} // namespace

Footprint sample_tree(int process) {
  Footprint sum;
  unsigned left = kMostProcesses;
  add_tree(process, sum, left);
  return sum;
}

// Samples the memory of the child and its children until it ends, at first often. Stores what the
// run took.
static void sample_until_end(pid_t child, double sample_seconds, Clock::time_point start,
                             RunResult &result) {
  const int process_fd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  double pause = 0.02;
  int status = 0;
  struct rusage usage = {};
  for (;;) {
    const pid_t ended = wait4(child, &status, WNOHANG, &usage);
    if (ended == child || (ended < 0 && errno != EINTR))
      break;
    if (process_fd >= 0) {
      struct pollfd waiter = {process_fd, POLLIN, 0};
      poll(&waiter, 1, static_cast<int>(pause * 1000));
      if (waiter.revents)
        continue;
    } else {
      usleep(static_cast<useconds_t>(pause * 1e6));
    }
    const double at = elapsed();
    const Footprint sample = sample_tree(child);
    if (sample.total().total())
      result.footprint.add(at, sample);
    pause = std::min(sample_seconds, pause * 2);
  }
  result.wall_seconds = elapsed();
  if (process_fd >= 0)
    close(process_fd);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.user_seconds = seconds(usage.ru_utime);
  result.system_seconds = seconds(usage.ru_stime);
  result.minor_faults = static_cast<uint64_t>(usage.ru_minflt);
  result.major_faults = static_cast<uint64_t>(usage.ru_majflt);
  result.peak_resident_bytes = static_cast<uint64_t>(usage.ru_maxrss) << 10;
}

RunResult run_once(const RunPlan &plan) {
  RunResult result;
  StringArray arguments(plan.command), environment(settings_of(plan));
  int error_pipe[2], go_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0)
    return result.error = errno, result;
  if (pipe2(go_pipe, O_CLOEXEC) != 0) {
    result.error = errno;
    close(error_pipe[0]);
    close(error_pipe[1]);
    return result;
  }
  const pid_t child = fork();
  if (child == 0) {
    char go;
    close(go_pipe[1]);
    while (read(go_pipe[0], &go, 1) < 0 && errno == EINTR) { // waits until the counters are set up
    }
    become(plan, arguments.data(), environment.data(), error_pipe[1]);
  }
  result.error = child < 0 ? errno : 0;
  close(error_pipe[1]);
  close(go_pipe[0]);
  if (child < 0) {
    close(error_pipe[0]);
    close(go_pipe[1]);
    return result;
  }
  std::optional<pmu::Counters> counters;
  if (plan.perf)
    counters.emplace(*plan.perf, kCounted, pmu::Target{child, true});
  const auto start = Clock::now();
  close(go_pipe[1]);
  // A successful exec closes the pipe; otherwise the child writes errno to it.
  int error = 0;
  if (read(error_pipe[0], &error, sizeof error) == sizeof error)
    result.error = error;
  close(error_pipe[0]);
  sample_until_end(child, plan.sample_seconds, start, result);
  if (counters)
    result.events = counters->read();
  return result;
}

} // namespace smalloc::study
