#include "common/config/daemon_log.h"

#include <poll.h>
#include <signal.h>
#include <spdlog/async.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "common/base/standard_output.h"

namespace namdb::config {
namespace {

constexpr std::size_t kWaitingLines = 4096;
// A pipe that can be written to takes so many bytes without blocking.
constexpr std::size_t kPiece_bytes = 4096;
constexpr int kPatience_ms = 100;
constexpr int kLastPatiences = 10;

// Writes to a descriptor, from the log's thread only.
class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit DescriptorSink(int descriptor) : descriptor_(descriptor) {}

  // The pool whose thread writes: it outlives all calls. Not shared: its thread must never be its last owner,
  // which would have to wait for itself.
  void count_overruns_of(spdlog::details::thread_pool* pool) { pool_ = pool; }
  // From now on no thread waits long for a reader.
  void leave() { leaving_.store(true); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::size_t overruns = pool_->overrun_counter();
    dropped_ += overruns - std::exchange(overruns_, overruns);
    if (dropped_ != 0 &&
        write(spdlog::details::log_msg(message.logger_name, spdlog::level::warn,
                                       std::to_string(dropped_) + " lines of this log were dropped: nobody "
                                                                  "read it, or not fast enough"))) {
      dropped_ = 0;
    }
    if (!write(message)) ++dropped_;
  }
  void flush_() override {}

  bool write(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    for (std::size_t written = 0; written < line.size();) {
      if (!await_reader()) return false;
      const ssize_t result =
          ::write(descriptor_, line.data() + written, std::min(kPiece_bytes, line.size() - written));
      if (result < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (result <= 0) return false;
      written += static_cast<std::size_t>(result);
    }
    return true;
  }

  bool await_reader() {
    pollfd entry{descriptor_, POLLOUT, 0};
    while (last_patiences_ != 0) {
      // An error makes it ready, too, and is write()'s.
      if (::poll(&entry, 1, kPatience_ms) > 0) return true;
      if (leaving_.load()) --last_patiences_;
    }
    return false;
  }

  const int descriptor_;
  spdlog::details::thread_pool* pool_ = nullptr;
  std::size_t overruns_ = 0;
  std::size_t dropped_ = 0;
  int last_patiences_ = kLastPatiences;
  std::atomic<bool> leaving_{false};
};

// Bytes that are not UTF-8 are replaced, so that each line can be read.
std::string quoted(spdlog::string_view_t text) {
  return nlohmann::json(std::string(text.data(), text.size()))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    const auto since = message.time.time_since_epoch();
    const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(since).count() % 1000;
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    char time[32];
    const std::size_t length = std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &utc);
    char fraction[8];
    std::snprintf(fraction, sizeof fraction, ".%03dZ", static_cast<int>(milliseconds));
    const auto level = spdlog::level::to_string_view(message.level);
    std::string text = R"({"time":")";
    text.append(time, length).append(fraction);
    text.append(R"(","level":")").append(level.data(), level.size());
    text.append(R"(","daemon":)").append(quoted(message.logger_name));
    text.append(R"(,"message":)").append(quoted(message.payload)).append("}\n");
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

std::shared_ptr<spdlog::details::thread_pool> make_thread() {
  // The daemon's other threads handle signals, except those of a crash of this one.
  sigset_t blocked;
  sigset_t before;
  ::sigfillset(&blocked);
  for (const int crash : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT}) ::sigdelset(&blocked, crash);
  ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
  auto pool = std::make_shared<spdlog::details::thread_pool>(kWaitingLines, 1);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return pool;
}

}  // namespace

class DaemonLog::Parts {
 public:
  Parts(const std::string& daemon, const std::string& level, const std::string& format, int descriptor)
      : before_(spdlog::default_logger()),
        sink_(std::make_shared<DescriptorSink>(descriptor)),
        pool_(make_thread()) {
    sink_->count_overruns_of(pool_.get());
    logger_ = std::make_shared<spdlog::async_logger>(daemon, sink_, pool_,
                                                     spdlog::async_overflow_policy::overrun_oldest);
    logger_->set_level(spdlog::level::from_str(level));
    if (format == "json")
      logger_->set_formatter(std::make_unique<JsonFormatter>());
    else
      logger_->set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l: %v");
    spdlog::set_default_logger(logger_);
  }
  ~Parts() {
    sink_->leave();
    spdlog::set_default_logger(before_);
    pool_.reset();  // writes the lines that wait
  }

 private:
  std::shared_ptr<spdlog::logger> before_;
  std::shared_ptr<DescriptorSink> sink_;
  std::shared_ptr<spdlog::details::thread_pool> pool_;
  // Lines that wait own it as well: it lives here until the thread has ended, which so never destroys it.
  std::shared_ptr<spdlog::logger> logger_;
};

DaemonLog::DaemonLog(const std::string& daemon, const std::string& level, const std::string& format,
                     int descriptor) {
  ignore_broken_pipes();
  parts_ = std::make_unique<Parts>(daemon, level, format, descriptor);
}

DaemonLog::~DaemonLog() = default;

void DaemonLog::set_level(const std::string& level) {
  spdlog::default_logger()->set_level(spdlog::level::from_str(level));
}

}  // namespace namdb::config
