#include "tools/namsim/child_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace namdb::sim {
namespace {

// A child's message for each scenario; the anomaly's text follows it.
struct Numbers {
  std::uint64_t transactions;
  std::uint64_t committed;
  std::uint64_t fingerprint;
  FaultCounts happened;
  std::uint64_t anomaly_bytes;
};

void write_all(int descriptor, const void* data, std::size_t length) {
  const char* at = static_cast<const char*>(data);
  while (length > 0) {
    const ssize_t written = ::write(descriptor, at, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    at += written;
    length -= static_cast<std::size_t>(written);
  }
}

[[noreturn]] void be_child(int descriptor, const std::vector<Scenario>& scenarios,
                           const history::Level& level, std::uint64_t cpu_s) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit core{0, 0};
  ::setrlimit(RLIMIT_CORE, &core);
  for (const Scenario& scenario : scenarios) {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const rlimit cpu{static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1 + cpu_s,
                     RLIM_INFINITY};
    ::setrlimit(RLIMIT_CPU, &cpu);
    const Verdict verdict = run_and_compare(scenario, level);
    const Numbers numbers{verdict.transactions, verdict.committed, verdict.fingerprint, verdict.happened,
                          verdict.anomaly.size()};
    write_all(descriptor, &numbers, sizeof(numbers));
    write_all(descriptor, verdict.anomaly.data(), verdict.anomaly.size());
    if (!verdict.anomaly.empty()) break;
  }
  ::_exit(0);
}

}  // namespace

Result<ChildRun> ChildRun::start(std::vector<Scenario> scenarios, const history::Level& level,
                                 std::uint64_t cpu_s) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Status(ErrorCode::configuration, std::string("no pipe: ") + std::strerror(errno));
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    be_child(ends[1], scenarios, level, cpu_s);
  }
  ::close(ends[1]);
  if (pid < 0) {
    const int error = errno;
    ::close(ends[0]);
    return Status(ErrorCode::configuration, std::string("cannot fork: ") + std::strerror(error));
  }
  return ChildRun(std::move(scenarios), cpu_s, pid, ends[0]);
}

ChildRun::ChildRun(ChildRun&& other) noexcept
    : scenarios_(std::move(other.scenarios_)),
      cpu_s_(other.cpu_s_),
      pid_(std::exchange(other.pid_, -1)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

ChildRun& ChildRun::operator=(ChildRun&& other) noexcept {
  std::swap(scenarios_, other.scenarios_);
  std::swap(cpu_s_, other.cpu_s_);
  std::swap(pid_, other.pid_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

ChildRun::~ChildRun() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::vector<ChildVerdict> ChildRun::finish() {
  std::string said;
  char buffer[4096];
  for (;;) {
    const ssize_t length = ::read(descriptor_, buffer, sizeof(buffer));
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) break;
    said.append(buffer, static_cast<std::size_t>(length));
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  std::vector<ChildVerdict> verdicts;
  for (std::size_t at = 0; said.size() - at >= sizeof(Numbers);) {
    Numbers numbers{};
    std::memcpy(&numbers, said.data() + at, sizeof(numbers));
    at += sizeof(numbers);
    verdicts.push_back({said.substr(at, numbers.anomaly_bytes), numbers.transactions, numbers.committed,
                        numbers.fingerprint, numbers.happened});
    at += verdicts.back().anomaly.size();
  }
  const bool failed = !verdicts.empty() && !verdicts.back().anomaly.empty();
  if (failed || verdicts.size() == scenarios_.size()) return verdicts;
  std::string anomaly = "the run ended with exit code " + std::to_string(WEXITSTATUS(status));
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    anomaly = number == SIGXCPU
                  ? "no end within " + std::to_string(cpu_s_) + " s of processor time"
                  : "the run ended by signal " + std::to_string(number) + " (" + ::strsignal(number) + ")";
  }
  verdicts.push_back({std::move(anomaly)});
  return verdicts;
}

Result<ChildVerdict> run_in_child(const Scenario& scenario, const history::Level& level,
                                  std::uint64_t cpu_s) {
  auto child = ChildRun::start({scenario}, level, cpu_s);
  if (!child.ok()) return child.status();
  return std::move(child->finish().front());
}

}  // namespace namdb::sim
