// The records of a log out of its blocks, which come one behind the other, from files (log_reader.h) or from
// another host (memory/placement). A record may be longer than a block.
//
//   BlockRecords records;
//   if (records.accept(block) != BlockRecords::Fit::follows) ...
//   while (auto record = records.next()) ...     // then the next block, or broken()
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/log/log_format.h"

namespace namdb::memory {

struct LogRecord {
  LogPosition begin = 0;
  LogPosition end = 0;
  std::uint16_t kind = 0;
  std::span<const std::byte> bytes;  // until the next record, or block, is taken
};

class BlockRecords {
 public:
  // The first block may be any one: the rest of a record that began before it is passed.
  BlockRecords() = default;
  // The first block has to be the log's first.
  void begin_log() { known_ = true; }
  // As at first. The position stays until a block comes.
  void begin_anew();

  enum class Fit : std::uint8_t {
    follows,
    out_of_order,   // it does not follow the block before
    no_open_record  // it goes on with a record that is not open
  };
  // The next block. Those of the one before were taken, or are dropped. Its bytes stay until done().
  Fit accept(const CertifiedBlock& block);
  // All of the block was taken.
  bool done() const { return payload_.empty(); }
  // The next record that ends in the block; nullopt: there is none.
  std::optional<LogRecord> next();
  // Behind next(): no record stands where one should begin. The rest of the block is dropped.
  bool broken() const { return broken_; }

  // Behind the last block.
  LogPosition position() const { return position_; }
  std::uint64_t sequence() const { return sequence_; }  // of the next block
  std::uint64_t previous() const { return previous_; }  // checksum of the last
  // Where the next record begins that next() has not given out.
  LogPosition next_begin() const { return open_ ? open_begin_ : position_ - payload_.size(); }

 private:
  bool known_ = false;  // what the next block must be, as follows
  std::uint64_t sequence_ = 0;
  std::uint64_t previous_ = 0;
  LogPosition position_ = 0;

  std::span<const std::byte> payload_;  // what is left of the block
  bool skipping_ = true;                // the record that goes on here began before what is read
  bool broken_ = false;
  std::vector<std::byte> open_record_;  // the part that was read of a record that spans blocks
  LogPosition open_begin_ = 0;
  std::optional<RecordHeader> open_;
};

}  // namespace namdb::memory
