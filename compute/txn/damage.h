// Bytes in a region that do not certify: a record's, or a bucket's. As a rule they are being written, or were
// while they were READ, and the next READ shows others. Where nobody holds them and READ after READ shows
// the same, they are damaged.
//
// Why that is so: a writer locks the header word first, and unlocks it behind all that it wrote, with a word
// that was not there before, or is there again with what was there before. Each READ is posted after the one
// before completed. So one that shows the same free word as the one before, and not all of one version,
// overlapped a writer at one of its ends at most; several in a row did not.
//
// Not so the first record of a place: it is one WRITE, whose header word is free from the beginning and may
// land before the rest, and its writer may be held up in the middle, or die. A lookup by key never meets
// that, since the bucket is written behind the record. A scan by calls (table_read.h) does, since the memory
// server gives out places. Such a record has displaced nothing, and the snapshot sees neither the
// header word's commit nor the body's: a commit that it sees was installed before. So the record is absent
// (Lookup::expect_half_written).
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "compute/api/table.h"

namespace namdb::protocol {

class SteadyBytes {
 public:
  static constexpr std::uint32_t kLooks = 8;

  // One more READ showed useless bytes that nobody holds; `checksum` is over them, the lock word and their
  // address. True: it was the same for kLooks READs.
  bool seen(std::uint64_t checksum) {
    looks_ = checksum == checksum_ ? looks_ + 1 : 1;
    checksum_ = checksum;
    return looks_ >= kLooks;
  }
  void forget() { looks_ = 0; }
  bool halfway() const { return looks_ == kLooks / 2; }

 private:
  std::uint64_t checksum_ = 0;
  std::uint32_t looks_ = 0;
};

// The error that readers of a damaged `what` get.
Status damaged(const storage::Table& table, std::string_view what, layout::GlobalAddress address);

}  // namespace namdb::protocol
