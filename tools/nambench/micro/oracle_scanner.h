// The classic oracle's own thread: it scans the list of finished timestamps again and again, and advances the
// read timestamp up to which all have finished.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>

#include "tools/nambench/micro/oracle_clients.h"

namespace namdb::nambench {

inline constexpr std::uint64_t kCounter_offset = 0;
inline constexpr std::uint64_t kReadTimestamp_offset = 64;
inline constexpr std::uint64_t finished_offset(std::uint64_t timestamp) {
  return 4096 + 8 * (timestamp % kFinishedList_words);
}

class OracleScanner {
 public:
  // The region outlives it; zero at first.
  explicit OracleScanner(std::span<std::byte> region);
  OracleScanner(const OracleScanner&) = delete;
  OracleScanner& operator=(const OracleScanner&) = delete;
  ~OracleScanner();

 private:
  void scan();

  std::span<std::byte> region_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace namdb::nambench
