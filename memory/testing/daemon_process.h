// For tests: nam-memoryd as a process, and a folder for its data. The test program defines kDaemonProgram.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace namdb::memory::testing {

namespace fs = std::filesystem;

// The path of nam-memoryd.
extern const char* const kDaemonProgram;

// A folder that goes away with the test.
struct Folder {
  Folder() {
    char name[] = "/tmp/namdb-memoryd-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string data() const { return (path / "m0").string(); }
  fs::path path;
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Daemon {
 public:
  Daemon(const Folder& folder, std::vector<std::string> arguments) {
    static int number = 0;
    const std::string name = std::to_string(number++);
    log_ = folder.path / ("log" + name);
    notify_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string notify_path = (folder.path / ("notify" + name)).string();
    REQUIRE(notify_path.size() < sizeof address.sun_path);
    notify_path.copy(address.sun_path, notify_path.size());
    REQUIRE(::bind(notify_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    ::setenv("NOTIFY_SOCKET", notify_path.c_str(), 1);
    arguments.insert(arguments.begin(), kDaemonProgram);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
    REQUIRE(::posix_spawn(&pid_, kDaemonProgram, &actions, nullptr, argv.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon() {
    ::close(notify_);
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  void signal(int number) { ::kill(pid_, number); }
  // The exit code; -1 when a signal ended it.
  int wait() {
    int state = 0;
    REQUIRE(::waitpid(std::exchange(pid_, 0), &state, 0) > 0);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  }
  std::string log() const {
    std::ifstream file(log_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // The same once it has those words: the daemon does not wait for its log.
  std::string log_with(const std::string& words) const {
    std::string text = log();
    for (; !contains(text, words); text = log()) ::poll(nullptr, 0, 1);
    return text;
  }
  // Where it listens, once it is ready.
  std::string address() const {
    const std::string text = log_with("ready at ");
    const std::size_t begin = text.find("ready at ") + 9;
    return text.substr(begin, text.find(' ', begin) - begin);
  }
  // Waits until it tells the service manager that it is ready, or has ended.
  bool ready() {
    const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    REQUIRE(process >= 0);
    pollfd waits[2] = {{notify_, POLLIN, 0}, {process, POLLIN, 0}};
    char message[256] = {};
    bool ready = false;
    while (!ready && ::poll(waits, 2, -1) > 0) {
      if (waits[0].revents == 0) break;
      const ssize_t length = ::recv(notify_, message, sizeof message - 1, 0);
      ready =
          contains(std::string(message, static_cast<std::size_t>(std::max<ssize_t>(length, 0))), "READY=1");
    }
    ::close(process);
    return ready;
  }

 private:
  pid_t pid_ = 0;
  int notify_ = -1;  // where the service manager would listen
  fs::path log_;
};

// Runs to its end and gives exit code and output.
inline std::pair<int, std::string> run(const Folder& folder, std::vector<std::string> arguments) {
  Daemon daemon(folder, std::move(arguments));
  const int code = daemon.wait();
  return {code, daemon.log()};
}

}  // namespace namdb::memory::testing
