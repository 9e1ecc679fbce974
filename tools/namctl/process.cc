#include "tools/namctl/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace namdb::namctl {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string boot_id() {
  std::string id = read_file("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

// The name in field 2 may hold blanks and brackets: fields are counted from its last bracket.
std::optional<std::uint64_t> read_start_time(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(bracket + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  std::uint64_t start_time_ticks = 0;
  fields >> start_time_ticks;
  if (!fields) return std::nullopt;
  return start_time_ticks;
}

std::string errno_text(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

// In the child: only calls that are safe after fork. Never returns.
[[noreturn]] void run_child(char* const* argv, int log, int null_input, int report) {
  ::setsid();
  if (::chdir("/") != 0) ::_exit(127);
  // The parent's mask and handlers are not the daemon's.
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(null_input, 0);
  ::dup2(log, 1);
  ::dup2(log, 2);
  ::execv(argv[0], argv);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

Process::Process(Process&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), identity_(std::move(other.identity_)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(identity_, other.identity_);
  return *this;
}

Process::~Process() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<Process> Process::open(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) return std::nullopt;
  Process process(descriptor, {pid, 0, boot_id()});
  const std::optional<std::uint64_t> start_time_ticks = read_start_time(pid);
  if (!start_time_ticks) return std::nullopt;
  process.identity_.start_time_ticks = *start_time_ticks;
  return process;
}

std::optional<Process> Process::find(pid_t pid) {
  std::optional<Process> process = open(pid);
  // Asked last: while the pidfd reports life, the facts about the pid are those of this process.
  if (!process || !process->alive()) return std::nullopt;
  return process;
}

std::optional<Process> Process::find(const ProcessIdentity& identity) {
  std::optional<Process> process = find(identity.pid);
  if (!process || process->identity_.start_time_ticks != identity.start_time_ticks ||
      process->identity_.boot_id != identity.boot_id) {
    return std::nullopt;
  }
  return process;
}

bool Process::alive() const {
  return !wait(0);
}

void Process::signal(int number) const {
  ::syscall(SYS_pidfd_send_signal, descriptor_, number, nullptr, 0);
}

bool Process::wait(int timeout_ms) const {
  pollfd entry{descriptor_, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&entry, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

std::string Process::end_in_words() const {
  int status = 0;
  if (::waitpid(identity_.pid, &status, WNOHANG) != identity_.pid) return "ended";
  if (WIFEXITED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "ended";
}

Result<Process> start_in_background(const std::vector<std::string>& argv, const std::filesystem::path& log) {
  const int log_descriptor = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_descriptor < 0) return {ErrorCode::configuration, errno_text("cannot write " + log.string())};
  const int null_input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  int report[2];
  if (null_input < 0 || ::pipe2(report, O_CLOEXEC) != 0) {
    ::close(log_descriptor);
    if (null_input >= 0) ::close(null_input);
    return {ErrorCode::configuration, errno_text("cannot start a process")};
  }
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) run_child(arguments.data(), log_descriptor, null_input, report[1]);
  const int fork_error = errno;
  ::close(log_descriptor);
  ::close(null_input);
  ::close(report[1]);
  int error = pid < 0 ? fork_error : 0;
  // The pipe closes without a word when the program is executed.
  if (pid > 0 && ::read(report[0], &error, sizeof error) != sizeof error) error = 0;
  ::close(report[0]);
  if (error != 0) {
    errno = error;
    return {ErrorCode::configuration, errno_text("cannot start " + argv[0])};
  }
  std::optional<Process> process = Process::open(pid);
  if (!process) return {ErrorCode::configuration, "cannot watch " + argv[0] + ": no pidfd_open or no /proc"};
  return std::move(*process);
}

Status write_pid_file(const std::filesystem::path& path, const ProcessIdentity& identity) {
  const nlohmann::json content = {
      {"pid", identity.pid}, {"start_time_ticks", identity.start_time_ticks}, {"boot_id", identity.boot_id}};
  const std::filesystem::path temporary = path.string() + ".new";
  {
    std::ofstream file(temporary, std::ios::trunc);
    file << content.dump() << '\n';
    if (!file.flush()) return {ErrorCode::configuration, "cannot write " + temporary.string()};
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) return {ErrorCode::configuration, "cannot write " + path.string() + ": " + error.message()};
  return {};
}

std::optional<Process> process_of_pid_file(const std::filesystem::path& path) {
  const nlohmann::json content = nlohmann::json::parse(read_file(path), nullptr, false);
  std::optional<Process> process;
  if (content.is_object() && content.value("pid", nlohmann::json()).is_number_integer() &&
      content.value("start_time_ticks", nlohmann::json()).is_number_unsigned() &&
      content.value("boot_id", nlohmann::json()).is_string()) {
    process = Process::find(ProcessIdentity{content["pid"].get<pid_t>(),
                                            content["start_time_ticks"].get<std::uint64_t>(),
                                            content["boot_id"].get<std::string>()});
  }
  if (!process) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  return process;
}

}  // namespace namdb::namctl
