// The target `journal`: bytes that the dead owner of a slot has left in a ring. The first byte of the
// input says what the others are:
//   0   an entry or a pad at the ring's start; where it has a room, the rest of the input is that
//   1   an image of a version, and the body beside it
// With bit 7 the magic words, the place and the checksums are made to agree.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/checksum.h"
#include "common/layout/journal.h"
#include "tools/fuzz/targets.h"

namespace namdb::fuzz {
namespace {

using namespace layout;

constexpr std::uint8_t kSealedEntries = 0x80;
constexpr StreamPlace kPlace{30, 1, 4096};
constexpr GlobalAddress kRecord{8192};
constexpr std::size_t kBody_bytes = 256;

// Of memory that is aligned as a region is.
std::vector<std::uint64_t> aligned(Bytes input, std::size_t least_bytes = 0) {
  std::vector<std::uint64_t> words(std::max(input.size(), least_bytes) / 8 + 1);
  if (!input.empty()) std::memcpy(words.data(), input.data(), input.size());
  return words;
}

// As JournalWriter::finish() does: length, place and checksum of an entry whose items may be anything.
void seal_entry(std::vector<std::uint64_t>& words) {
  constexpr std::size_t kHead_words = JournalWriter::kHead_bytes / 8;
  if (words.size() < kHead_words + 2) return;
  const std::uint64_t length_bytes = std::clamp<std::uint64_t>(words[0] % (words.size() * 8 + 1) / 8 * 8,
                                                               JournalWriter::kLeast_bytes, words.size() * 8);
  words[0] = std::uint64_t{kJournalMagic} << 32 | length_bytes;
  words[3] = kPlace.position;
  const std::size_t last = length_bytes / 8 - 1;
  words[last] = checksum64(std::as_bytes(std::span(words).first(last)), kPlace.seed());
}

// Everything that a reader of the entry looks at.
void read_items(const JournalEntry& entry) {
  for (const JournalItem& item : entry.items) {
    read_all(item.image);
    for (const JournalWrite& write : item.writes) read_all(write.bytes);
    for (std::size_t i = 0; i < item.new_records; ++i) (void)item.name_of(item.writes[i]);
  }
}

void read_entry(Bytes input, bool sealed) {
  std::vector<std::uint64_t> words = aligned(input);
  if (sealed) seal_entry(words);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(words));
  const std::uint64_t length_bytes = journal_entry_bytes(bytes);
  (void)journal_entry_place(bytes, kPlace.host);
  (void)read_journal_pad(bytes, kPlace);
  std::optional<JournalEntry> entry = read_journal_entry(bytes, kPlace);
  if (!entry) return;
  NAMDB_CHECK(length_bytes == entry->length_bytes && entry->length_bytes <= bytes.size());
  NAMDB_CHECK(!entry->regions.empty());
  read_items(*entry);
  if (!entry->room) return;
  const std::span<const std::byte> rest = bytes.subspan(entry->length_bytes);
  const std::span<const std::byte> room =
      rest.first(std::min<std::size_t>(entry->room->length_bytes, rest.size()));
  if (sealed) entry->room->checksum = journal_room_checksum(room, kPlace);
  if (read_journal_room(room, kPlace, *entry)) read_items(*entry);
}

void read_image(Bytes input, bool sealed) {
  std::vector<std::uint64_t> slot = aligned(input.first(std::min(input.size(), kBody_bytes)), kBody_bytes);
  slot.resize(kBody_bytes / 8);
  const Bytes rest = input.subspan(std::min(input.size(), kBody_bytes));
  std::vector<std::uint64_t> body = aligned(rest.first(std::min(rest.size(), kBody_bytes)), kBody_bytes);
  body.resize(kBody_bytes / 8);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(slot));
  if (sealed) {
    const std::uint64_t length_bytes = slot[kImageLength_offset / 8] % (kBody_bytes + 1) / 8 * 8;
    slot[kImageLength_offset / 8] = length_bytes;
    if (length_bytes >= kImageRuns_offset)
      slot[kImageChecksum_offset / 8] =
          checksum64(bytes.subspan(kImageLength_offset, length_bytes - kImageLength_offset),
                     checksum64(bytes.first(kBodyPrefix_bytes), kRecord.value));
  }
  if (certify_image(bytes, kRecord))
    (void)restore_body(bytes, kRecord, std::as_writable_bytes(std::span(body)));
}

}  // namespace

void run_journal(Bytes input) {
  if (input.empty()) return;
  const bool sealed = (input[0] & kSealedEntries) != 0;
  if ((input[0] & 1) == 0) return read_entry(input.subspan(1), sealed);
  read_image(input.subspan(1), sealed);
}

std::vector<std::string> journal_inputs() {
  std::vector<std::byte> buffer(2048);
  const auto text = [&](std::size_t length_bytes) {
    return std::string(reinterpret_cast<const char*>(buffer.data()), length_bytes);
  };
  const std::vector<ServerId> regions = {1, 2};
  const EntryHead head{1, 0, 5, regions};
  const Stamp stamp{30, 7};
  std::vector<std::byte> bytes(64, std::byte{3});
  std::vector<std::string> inputs;
  JournalWriter chains(buffer, stamp, stamp, head);
  chains.chain(GlobalAddress{4096}, 1, 2);
  chains.chain_record(GlobalAddress{8192}, 3, bytes);
  chains.chain_write(GlobalAddress{4160}, bytes);
  inputs.push_back('\0' + text(chains.finish(kPlace)));
  JournalWriter room(buffer, stamp, stamp, head);
  room.room(GlobalAddress{1 << 16}, 128, 0);
  inputs.push_back('\0' + text(room.finish(kPlace)) + std::string(128, '\1'));
  const auto pad = journal_pad(128, kPlace);
  inputs.push_back('\0' + std::string(reinterpret_cast<const char*>(pad.data()), pad.size()));
  inputs.push_back('\1' + std::string(2 * kBody_bytes, '\0'));
  for (std::size_t i = 0, count = inputs.size(); i < count; ++i) {
    inputs.push_back(inputs[i]);
    inputs.back()[0] = static_cast<char>(inputs[i][0] | kSealedEntries);
  }
  return inputs;
}

}  // namespace namdb::fuzz
