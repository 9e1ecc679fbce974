// The target `log`: a segment of the log on disk. The first byte of the input says how: with bit 0 headers
// and blocks get checksums, places and the log's id that agree, so that their contents are read; the second
// is the page on which the second block begins, where there is one. The others are the pages behind the
// segment's header.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "memory/log/log_format.h"
#include "memory/log/log_reader.h"
#include "memory/log/testing/fault_disk.h"
#include "tools/fuzz/executor.h"
#include "tools/fuzz/targets.h"

namespace namdb::fuzz {
namespace {

using namespace memory;

constexpr std::uint64_t kPages = 4;
constexpr std::uint64_t kSegment_bytes = kPages * kDiskPage_bytes;
constexpr LogIdentity kIdentity{77, {5, 1}};

// Blocks as the input has them, but whole: of a payload that fits, and each behind the one before it.
void seal_blocks(std::span<std::byte> segment, std::uint64_t second_page) {
  std::uint64_t previous = 0;
  std::uint64_t sequence = 0;
  LogPosition position = 0;
  std::uint64_t place = kDiskPage_bytes;
  for (const std::uint64_t end_page : {second_page, kPages}) {
    const std::uint64_t room_bytes = end_page * kDiskPage_bytes - std::min(end_page * kDiskPage_bytes, place);
    if (room_bytes < kDiskPage_bytes) continue;
    std::uint64_t word = 0;
    std::memcpy(&word, segment.data() + place + 8, sizeof word);
    BlockHeader header;
    header.place = place;
    header.sequence = sequence++;
    header.previous = previous;
    header.position = position;
    header.payload_bytes =
        static_cast<std::uint32_t>((word >> 32) % (room_bytes - kBlockHeader_bytes + 1) / 8 * 8);
    std::memcpy(&header.continued_bytes, segment.data() + place + 56, sizeof header.continued_bytes);
    position += header.payload_bytes;
    previous = seal_block(kIdentity.log_id, header, segment.subspan(place, header.block_bytes()));
    place += header.block_bytes();
  }
}

reactor::Task<void> read_log(testing::FaultDisk* disk, std::span<const std::byte> segment) {
  NAMDB_CHECK((co_await disk->make_folder("log")).ok());
  auto file = co_await disk->create("log/" + segment_name(0), kSegment_bytes);
  NAMDB_CHECK(file.ok() && (co_await (*file)->write_durably(0, segment)).ok());
  NAMDB_CHECK((co_await disk->sync_folder("log")).ok());
  LogReader reader(*disk, "log", 2 * kDiskPage_bytes);
  if (!(co_await reader.open(0, std::nullopt)).ok()) {
    co_await reader.close();
    co_return;
  }
  for (std::size_t damages = 0;;) {
    auto record = co_await reader.next();
    if (!record.ok()) {
      if (!reader.damage() || ++damages > kPages) break;
      reader.skip_damage();
      continue;
    }
    if (!*record) break;
    NAMDB_CHECK((*record)->begin <= (*record)->end);
    read_all((*record)->bytes);
  }
  co_await reader.close();
}

}  // namespace

void run_log(Bytes input) {
  if (input.size() < 2) return;
  std::vector<std::byte> segment(kSegment_bytes);
  write_segment_header({kIdentity, 0, kSegment_bytes}, std::span(segment).first(kDiskPage_bytes));
  const Bytes pages = input.subspan(2);
  std::memcpy(segment.data() + kDiskPage_bytes, pages.data(),
              std::min(pages.size(), segment.size() - kDiskPage_bytes));
  if ((input[0] & 1) != 0) seal_blocks(segment, 2 + input[1] % 3);
  SteppedExecutor executor;
  testing::FaultDisk disk(executor, 1);
  reactor::Gate gate;
  executor.spawn(gate, read_log(&disk, segment));
  NAMDB_CHECK(executor.run_until([&] { return gate.count() == 0; }, 100'000));
}

std::vector<std::string> log_inputs() {
  std::string block(kBlockHeader_bytes, '\0');
  const auto append_record = [&](std::uint16_t kind, const std::string& bytes) {
    std::string record(RecordHeader{kind, static_cast<std::uint32_t>(bytes.size())}.whole_bytes(), '\0');
    write_record_header({kind, static_cast<std::uint32_t>(bytes.size())},
                        reinterpret_cast<std::byte*>(record.data()));
    std::copy(bytes.begin(), bytes.end(), record.begin() + kRecordHeader_bytes);
    block += record;
  };
  append_record(1, "one");
  append_record(2, std::string(100, '2'));
  const std::uint64_t payload_bytes = block.size() - kBlockHeader_bytes;
  block[12] = static_cast<char>(payload_bytes);
  return {std::string("\1\0", 2) + block, std::string("\1\1", 2) + block + block,
          std::string("\0\0", 2) + block};
}

}  // namespace namdb::fuzz
