// For tests: a region, the compute server's side of a journal, which WRITEs there at once, and a log that the
// test makes durable step by step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/layout/journal.h"
#include "common/reactor/executor.h"
#include "memory/journals/log_sink.h"
#include "memory/options.h"
#include "memory/region/region.h"

namespace namdb::memory::testing {

// Rings of 4 KiB, 4 journals a channel.
Options journal_options();

struct JournalRegion {
  explicit JournalRegion(std::uint64_t length_bytes = 2U << 20);
  Options options;
  std::vector<std::uint64_t> memory;
  std::unique_ptr<Region> region;
};

class JournalOwner {
 public:
  JournalOwner(Region& region, std::uint32_t slot, std::uint64_t ring_offset, std::uint64_t ring_bytes)
      : region_(region), slot_(slot), ring_offset_(ring_offset), ring_bytes_(ring_bytes) {}

  struct Part {
    std::uint32_t counter = 0;
    std::uint64_t pad_begin = 0;  // equal to begin: no pad
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::vector<std::byte> bytes;
  };
  // So many bytes an entry with that payload takes of the stream, a pad included if it needs one now.
  std::uint64_t needs_bytes(std::uint64_t payload_bytes) const;
  // Takes the stream's next place. The entry changes one chain by a write of `payload_bytes`, a multiple of
  // 8.
  Part place(std::uint32_t counter, std::uint64_t payload_bytes, std::uint32_t through = 0);
  // An entry that updates the record there.
  Part place_update(std::uint32_t counter, std::uint64_t record_offset);
  // The same with the items in a room, which stand in `room_items`.
  Part place_with_room(std::uint32_t counter, std::uint64_t room_offset, std::uint64_t payload_bytes,
                       std::vector<std::byte>& room_items);
  void write_pad(const Part& part);
  // Pad and entry.
  void write(const Part& part);
  // One word of the entry.
  void write_word(const Part& part, std::size_t word);
  std::uint64_t position() const { return position_; }
  std::uint32_t slot() const { return slot_; }

 private:
  std::uint64_t rest_of_lap() const { return ring_bytes_ - position_ % ring_bytes_; }
  void store(std::uint64_t position, std::span<const std::byte> bytes);
  Part take(std::uint32_t counter, std::uint64_t length_bytes);

  Region& region_;
  std::uint32_t slot_;
  std::uint64_t ring_offset_;
  std::uint64_t ring_bytes_;
  std::uint64_t position_ = 0;
};

class StepLog final : public LogSink {
 public:
  explicit StepLog(reactor::Executor& executor) : executor_(executor), step_(executor) {}

  struct Record {
    RecordKind kind = RecordKind::entry;
    std::vector<std::byte> bytes;
    std::uint64_t end = 0;
  };
  reactor::Task<Result<Appended>> append(RecordKind kind, std::span<const std::byte> head,
                                         std::span<const std::byte> body) override;
  reactor::Task<Status> flush(std::uint64_t upto) override;
  std::uint64_t max_entry_bytes() const override { return longest_entry_bytes; }
  bool full() const override { return full_now; }

  // The flush under way ends. False if there is none.
  bool complete_flush();
  std::uint64_t appended() const { return records.empty() ? 0 : records.back().end; }

  std::vector<Record> records;
  std::uint64_t durable = 0;
  int flushes = 0;
  int most_flushes_at_once = 0;
  bool at_once = false;   // flushes end by themselves
  bool full_now = false;  // appends are refused
  bool full_for_entries = false;
  std::uint64_t longest_entry_bytes = ~std::uint64_t{0};
  bool fail_flush = false;  // the next flush fails
  int append_yields = 0;    // so long an append takes

 private:
  reactor::Executor& executor_;
  reactor::Event step_;
  int flushing_ = 0;
  int completed_ = 0;  // of all flushes
};

}  // namespace namdb::memory::testing
