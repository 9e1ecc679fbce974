#include "memory/journals/testing/journal_owner.h"

#include <algorithm>
#include <array>

#include "common/layout/record.h"

namespace namdb::memory::testing {

using layout::GlobalAddress;
using layout::JournalWriter;

Options journal_options() {
  Options options;
  options.extent_bytes = 64U << 10;
  options.vector_capacity = 64;
  options.journal_bytes = 4096;
  options.max_slots_per_peer = 4;
  options.max_journal_room_bytes = 512U << 10;
  return options;
}

JournalRegion::JournalRegion(std::uint64_t length_bytes)
    : options(journal_options()),
      memory(length_bytes / 8),
      region(std::move(
          *Region::create(std::as_writable_bytes(std::span(memory)), options, 0x1234'5678'9abcULL))) {}

std::uint64_t JournalOwner::needs_bytes(std::uint64_t payload_bytes) const {
  const std::uint64_t length =
      layout::journal_stream_bytes(JournalWriter::frame_bytes(1) + JournalWriter::kChain_bytes +
                                   JournalWriter::chain_write_bytes(payload_bytes));
  return rest_of_lap() < length ? rest_of_lap() + length : length;
}

JournalOwner::Part JournalOwner::take(std::uint32_t counter, std::uint64_t length_bytes) {
  Part part;
  part.counter = counter;
  part.pad_begin = position_;
  if (rest_of_lap() < length_bytes) position_ += rest_of_lap();
  part.begin = position_;
  position_ += layout::journal_stream_bytes(length_bytes);
  part.end = position_;
  part.bytes.resize(length_bytes);
  return part;
}

JournalOwner::Part JournalOwner::place(std::uint32_t counter, std::uint64_t payload_bytes,
                                       std::uint32_t through) {
  const std::vector<std::byte> payload(payload_bytes, static_cast<std::byte>(counter));
  Part part = take(counter, JournalWriter::frame_bytes(1) + JournalWriter::kChain_bytes +
                                JournalWriter::chain_write_bytes(payload_bytes));
  const std::array<layout::ServerId, 1> regions{0};
  const layout::EntryHead head{1, 0, through, regions};
  const layout::Stamp stamp{slot_, counter};
  JournalWriter writer(part.bytes, stamp, stamp, head);
  writer.chain(GlobalAddress(0, 8192), 0, 1);
  writer.chain_write(GlobalAddress(0, 8200), payload);
  writer.finish({slot_, 0, part.begin});
  return part;
}

JournalOwner::Part JournalOwner::place_update(std::uint32_t counter, std::uint64_t record_offset) {
  const GlobalAddress record(0, record_offset);
  const layout::Stamp stamp{slot_, counter};
  std::vector<std::byte> body(layout::kBodyPrefix_bytes + 16);
  layout::seal_body(body, record, {.stamp = stamp, .table = 1});
  Part part = take(counter, JournalWriter::frame_bytes(1) + JournalWriter::update_bytes(body.size()));
  const std::array<layout::ServerId, 1> regions{0};
  const layout::EntryHead head{1, 0, 0, regions};
  JournalWriter writer(part.bytes, stamp, stamp, head);
  writer.update(record, 0, body, body, layout::ImageForm::whole);
  writer.finish({slot_, 0, part.begin});
  return part;
}

JournalOwner::Part JournalOwner::place_with_room(std::uint32_t counter, std::uint64_t room_offset,
                                                 std::uint64_t payload_bytes,
                                                 std::vector<std::byte>& room_items) {
  const std::vector<std::byte> payload(payload_bytes, static_cast<std::byte>(counter));
  room_items.assign(JournalWriter::kChain_bytes + JournalWriter::chain_write_bytes(payload_bytes),
                    std::byte{});
  layout::JournalItems items(room_items);
  items.chain(GlobalAddress(0, 8192), 0, 1);
  items.chain_write(GlobalAddress(0, 8200), payload);
  Part part = take(counter, JournalWriter::frame_bytes(1) + JournalWriter::kRoom_bytes);
  const std::array<layout::ServerId, 1> regions{0};
  const layout::EntryHead head{1, 0, 0, regions};
  const layout::Stamp stamp{slot_, counter};
  const layout::StreamPlace at{slot_, 0, part.begin};
  JournalWriter writer(part.bytes, stamp, stamp, head);
  writer.room(GlobalAddress(0, room_offset), items.used_bytes(),
              layout::journal_room_checksum(room_items, at));
  writer.finish(at);
  return part;
}

void JournalOwner::store(std::uint64_t position, std::span<const std::byte> bytes) {
  region_.write(ring_offset_ + position % ring_bytes_, bytes);
}

void JournalOwner::write_pad(const Part& part) {
  if (part.pad_begin == part.begin) return;
  const auto length = static_cast<std::uint32_t>(part.begin - part.pad_begin);
  store(part.pad_begin, layout::journal_pad(length, {slot_, 0, part.pad_begin}));
}

void JournalOwner::write(const Part& part) {
  write_pad(part);
  store(part.begin, part.bytes);
}

void JournalOwner::write_word(const Part& part, std::size_t word) {
  store(part.begin + 8 * word, std::span(part.bytes).subspan(8 * word, 8));
}

reactor::Task<Result<LogSink::Appended>> StepLog::append(RecordKind kind, std::span<const std::byte> head,
                                                         std::span<const std::byte> body) {
  for (int i = 0; i < append_yields; ++i) co_await executor_.yield();
  if (full_now || (full_for_entries && kind == RecordKind::entry))
    co_return Result<Appended>(Status(ErrorCode::disk_full, "the log is full"));
  Record record;
  record.kind = kind;
  record.bytes.assign(head.begin(), head.end());
  record.bytes.insert(record.bytes.end(), body.begin(), body.end());
  const std::uint64_t begin = appended();
  record.end = begin + record.bytes.size();
  records.push_back(std::move(record));
  co_return Result<Appended>(Appended{begin, records.back().end});
}

reactor::Task<Status> StepLog::flush(std::uint64_t upto) {
  ++flushes;
  most_flushes_at_once = std::max(most_flushes_at_once, ++flushing_);
  if (at_once) {
    co_await executor_.yield();
  } else {
    for (const int mine = flushes; completed_ < mine;) co_await step_.wait();
  }
  --flushing_;
  if (fail_flush) co_return Status(ErrorCode::configuration, "the disk has failed");
  durable = std::max(durable, upto);
  co_return Status();
}

bool StepLog::complete_flush() {
  if (flushing_ == 0) return false;
  ++completed_;  // flushes end in their order
  step_.notify_all();
  return true;
}

}  // namespace namdb::memory::testing
