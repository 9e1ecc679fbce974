#include "memory/opening/opening_progress.h"

#include <algorithm>
#include <utility>

namespace namdb::memory {

void OpeningProgress::begin(std::string part, std::uint64_t total_bytes) {
  part_ = std::move(part);
  done_bytes_ = 0;
  total_bytes_ = total_bytes;
  began_ns_ = executor_.now_ns();
}

void OpeningProgress::derive() {
  deriving_ = true;
}

std::string OpeningProgress::text() const {
  if (deriving_) return recovery_.text();
  if (total_bytes_ == 0) return part_;
  const std::uint64_t percent =
      total_bytes_ == 0 ? 100 : std::min<std::uint64_t>(done_bytes_ * 100 / total_bytes_, 100);
  const std::uint64_t elapsed_us = std::max<std::uint64_t>((executor_.now_ns() - began_ns_) / 1000, 1);
  return part_ + ": " + std::to_string(percent) + " % of " + std::to_string(total_bytes_ >> 20) + " MiB, " +
         std::to_string(done_bytes_ / elapsed_us) + " MB/s";
}

void OpeningProgress::start(std::function<void(const std::string&)> line) {
  line_ = std::move(line);
  if (line_) executor_.spawn(gate_, tell());
}

reactor::Task<void> OpeningProgress::tell() {
  while (!gate_.closing()) {
    co_await ended_.wait_until(executor_.now_ns() + kInterval_ns);
    if (!gate_.closing()) line_(text());
  }
}

reactor::Task<void> OpeningProgress::end() {
  auto all_ended = gate_.close();
  ended_.notify_all();
  co_await all_ended;
}

}  // namespace namdb::memory
