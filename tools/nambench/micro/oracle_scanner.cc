#include "tools/nambench/micro/oracle_scanner.h"

#include "common/fabric/region_words.h"

namespace namdb::nambench {

OracleScanner::OracleScanner(std::span<std::byte> region) : region_(region), thread_([this] { scan(); }) {}

OracleScanner::~OracleScanner() {
  stopping_.store(true);
  thread_.join();
}

void OracleScanner::scan() {
  std::uint64_t read_timestamp = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    bool advanced = false;
    while (fabric::region_word(region_.data() + finished_offset(read_timestamp + 1)).load() ==
           read_timestamp + 1) {
      ++read_timestamp;
      advanced = true;
    }
    if (advanced) {
      fabric::region_word(region_.data() + kReadTimestamp_offset).store(read_timestamp);
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace namdb::nambench
