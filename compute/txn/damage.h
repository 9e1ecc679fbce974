// Bytes in a region that do not certify: a record's, or a bucket's. Usually a writer is changing them, or was
// during the READ, and the next READ shows other bytes. If no transaction holds their lock and READ after
// READ shows the same bytes, they are damaged.
//
// The reason: a writer locks the header word first, and unlocks it behind all its WRITEs. The word that
// unlocks is a new one, or the old one if the old contents are there again. Each READ is posted after the one
// before completed. So a READ that shows the same free word as the one before, but not all of one version,
// overlapped at most one end of a writer; several such READs in a row overlapped none.
//
// The first record of a place is an exception: it is one WRITE, whose header word is free from the beginning
// and may land before the rest. Its writer may be held up in the middle, or die. A lookup by key never meets
// that, since the bucket is written behind the record. A scan by calls (table_read.h) does, since the memory
// server gives out places. Such a record has displaced nothing, and the snapshot sees neither the header
// word's commit nor the body's: a commit that it sees was installed before. So the record is absent
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

  // One more READ showed bytes that do not certify and that no transaction holds; `checksum` covers them, the
  // lock word and their address. True: it was the same for kLooks READs.
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
