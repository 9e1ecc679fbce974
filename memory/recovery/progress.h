// The progress of a memory server that opens after a restart, for people. Written by the tasks that open it,
// read at any moment; one executor's thread.
#pragma once

#include <cstdint>
#include <string>

namespace namdb::memory {

enum class RecoveryStage : std::uint8_t {
  none,     // nothing to recover
  records,  // checking records, and framing them
  buckets,  // rows into buckets
  keys,     // reading the keys of indexes
  pages,    // writing the pages of indexes
  open,
};

struct RecoveryProgress {
  RecoveryStage stage = RecoveryStage::none;
  std::string subject;        // the table or index that is worked on
  std::uint64_t rows = 0;     // of all tables so far
  std::uint64_t bytes = 0;    // of their records
  std::uint64_t freed = 0;    // records that held no row: deleted, or never written
  std::uint64_t keys = 0;     // of all indexes' pages so far
  std::uint64_t tables = 0;   // done
  std::uint64_t indexes = 0;  // done

  // "buckets of accounts: 1200 rows, 96000 bytes; 0 keys"
  std::string text() const;
};

}  // namespace namdb::memory
