// Journal entries, by which a commit is finished or undone after its owner died (NAM-DB §6.2).
//
// Each leased slot has a journal ring on a memory server that its commits write to, its *host*. The slot's
// owner alone WRITEs there. It writes a *stream*: entries one behind the other, without gaps, at ascending
// positions. Positions are multiples of 64 bytes, begin with 0 and never repeat. A ring of n bytes holds
// position p at p mod n. An entry never wraps: where the rest of a lap is too short for it, a *pad* stands
// there, up to the lap's end.
//
// Entries and pads are self-certifying: their seal has the slot, the host and the position in the stream. So
// a reader that knows the position takes no entry of an earlier lap or of another slot for the one that it
// expects, and needs no other knowledge of laps.
//
// An entry is the part of a commit that one host has: the items of its regions. A complete entry at every
// host that it names means: all locks of this commit were held, and nothing may abort it any more. While a
// host lacks its entry, nothing is installed. The owner overwrites an entry only once the commit is finished.
//
//   0   magic "JNL2" (high 32 bits), length of the entry in bytes (low 32), a multiple of 8
//   8   the commit's stamp word
//   16  the counter in the lock words of its records where that is another one, else 0 (high 32), number of
//       items (low 32)
//   24  position in the slot's stream on this host
//   32  configuration (high 32), flags (bits 16 to 31; 0), number of region ids (bits 0 to 15), at least 1
//   40  `through` (high 32), 0 (low 32): every counter up to it is finished, by install or abort
//   48  ids of the regions whose hosts must have an entry of this commit each, 16 bits each, padded to 8
//       bytes with 0
//   ..  items, each a multiple of 8 bytes
//   ..  checksum over all before it, seeded with slot, host and position
//
// An item is guarded by one lock word, which the commit holds as ⟨slot, counter, locked⟩; a host applies it
// only while the word has exactly that value. Protocols that lock records before they commit hold these locks
// under another counter than the one in their versions' stamps.
//   update  {kind, ring slot, image bytes | record address | displaced stamp word | image of the new body}
//           install: displaced version -> ring slot, ring word; new body; header word. The image may be a
//           change, to be applied to the body in the record (version_image.h).
//   chain   {kind, number of writes, how many of them are new records | lock word address} then new records
//           {length | address | grant number | bytes} and other writes {length | address | bytes}
//           install: the WRITEs in order (new records, then buckets), then the lock word. Once a bucket names
//           a new record others may lock and change that: then it is left as it is
//           (JournalItem::name_of). The grant number says which grant of its place the record uses, 0 where
//           places are not numbered.
//   room    {kind, length in bytes | address | JournalRoomChecksum of the bytes there}
//           The entry's items are too long for the ring, and stand in a *room* in the host's region, one
//           behind the other. This is then the entry's only item.
//
// A pad: {magic "JPAD" (high 32), length in bytes (low 32), a multiple of 64 | checksum of that word, seeded
// like an entry's}. The rest of its length has no meaning.
#pragma once

#include <absl/container/inlined_vector.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/layout/global_address.h"
#include "common/layout/stamp.h"
#include "common/layout/version_image.h"

namespace namdb::layout {

inline constexpr std::uint32_t kJournalMagic = 0x4a4e4c32;     // "JNL2"
inline constexpr std::uint32_t kJournalPadMagic = 0x4a504144;  // "JPAD"
inline constexpr std::uint64_t kJournalAlign_bytes = 64;
inline constexpr std::uint32_t kJournalPad_bytes = 16;  // of it are WRITTEN

// So many bytes of a stream belong to an entry or pad of that length.
constexpr std::uint64_t journal_stream_bytes(std::uint64_t length_bytes) {
  return (length_bytes + kJournalAlign_bytes - 1) & ~(kJournalAlign_bytes - 1);
}

// A place in a slot's stream on a host.
struct StreamPlace {
  std::uint32_t slot = 0;
  ServerId host = 0;
  std::uint64_t position = 0;

  // The seed of the checksums there. Differs for places that agree in two of the three fields.
  std::uint64_t seed() const;
  friend bool operator==(const StreamPlace&, const StreamPlace&) = default;
};

struct JournalWrite {
  GlobalAddress address;
  std::span<const std::byte> bytes;  // multiple of 8
  std::uint64_t grant = 0;           // of a new record
};

struct JournalItem {
  enum class Kind : std::uint8_t { update = 1, chain = 2 };
  Kind kind = Kind::update;
  GlobalAddress lock;                // update: the record; chain: the main bucket
  std::uint32_t ring_slot = 0;       // update
  HeaderWord displaced;              // update: the displaced version's stamp word
  std::span<const std::byte> image;  // update: of the new body
  std::vector<JournalWrite> writes;  // chain
  std::uint32_t new_records = 0;     // chain: so many writes at the front

  // The word by which a bucket names the new record, and where that is WRITTEN; nothing if none does.
  struct Name {
    GlobalAddress address;
    std::uint64_t word;
  };
  std::optional<Name> name_of(const JournalWrite& new_record) const;
};

// Where an entry's items stand if not in the entry.
struct JournalRoom {
  GlobalAddress address;
  std::uint32_t length_bytes = 0;
  std::uint64_t checksum = 0;
};

// The head of an entry, beside the commit's stamps. The ids are the caller's memory.
struct EntryHead {
  std::uint32_t configuration = 1;
  std::uint16_t flags = 0;
  std::uint32_t through = 0;
  std::span<const ServerId> regions;  // ascending, at least one
};

// The regions of a commit. The ids of most commits need no memory of their own, nor do their items.
using RegionIds = absl::InlinedVector<ServerId, 8>;

struct JournalEntry {
  Stamp stamp;
  Stamp lock;  // in the lock words of records; in those of chains it is `stamp`
  std::uint64_t position = 0;
  std::uint32_t length_bytes = 0;  // of the entry in the ring
  std::uint32_t configuration = 0;
  std::uint16_t flags = 0;
  std::uint32_t through = 0;
  RegionIds regions;
  absl::InlinedVector<JournalItem, 2> items;  // none yet if there is a room (read_journal_room)
  std::optional<JournalRoom> room;

  // Where the stream goes on.
  std::uint64_t end() const { return position + journal_stream_bytes(length_bytes); }
};

// Appends items to a buffer, which has room for all of them; see the *_bytes functions.
class JournalItems {
 public:
  explicit JournalItems(std::span<std::byte> buffer) : buffer_(buffer), limit_(buffer.size()) {}
  JournalItems(const JournalItems&) = delete;
  JournalItems& operator=(const JournalItems&) = delete;
  virtual ~JournalItems() = default;
  // `displaced` and `new_body` are the two sealed bodies.
  void update(GlobalAddress record, std::uint32_t ring_slot, std::span<const std::byte> displaced,
              std::span<const std::byte> new_body, ImageForm form = ImageForm::shorter);
  // Announces so many writes in all, the new records first among them.
  void chain(GlobalAddress lock, std::uint32_t new_records, std::uint32_t writes);
  void chain_record(GlobalAddress address, std::uint64_t grant, std::span<const std::byte> bytes);
  void chain_write(GlobalAddress address, std::span<const std::byte> bytes);
  // So much has been appended, a multiple of 8.
  std::uint32_t used_bytes() const { return static_cast<std::uint32_t>(used_); }

  // At most.
  static std::uint32_t update_bytes(std::size_t body_bytes) {
    return static_cast<std::uint32_t>(24 + body_bytes);
  }
  static constexpr std::uint32_t kChain_bytes = 16;
  static std::uint32_t chain_record_bytes(std::size_t bytes) {
    return static_cast<std::uint32_t>(24 + bytes);
  }
  static std::uint32_t chain_write_bytes(std::size_t bytes) { return static_cast<std::uint32_t>(16 + bytes); }

 protected:
  void word(std::uint64_t value);
  void bytes(std::span<const std::byte> source);
  // The next so many bytes stand one behind the other, and would end behind the limit. Afterwards there is
  // room for them.
  virtual void pass_limit(std::size_t length_bytes);
  std::span<std::byte> buffer_;
  std::size_t limit_;
  std::size_t used_ = 0;
  std::uint32_t items_ = 0;

 private:
  void need(std::size_t length_bytes) {
    if (used_ + length_bytes > limit_) [[unlikely]]
      pass_limit(length_bytes);
  }
};

// Appends one entry to a buffer. Usage: construct, add items in commit order, or a room, and finish.
class JournalWriter : public JournalItems {
 public:
  // `lock` is of the same slot. The head is copied.
  JournalWriter(std::span<std::byte> buffer, Stamp stamp, Stamp lock, const EntryHead& head);
  // All items of the entry stand there. `checksum` is journal_room_checksum() for the entry's place.
  void room(GlobalAddress address, std::uint32_t length_bytes, std::uint64_t checksum);
  // The entry's length if no more items come; a multiple of 8.
  std::uint32_t length_bytes() const { return used_bytes() + 8; }
  // Seals for the place where the entry will be WRITTEN; returns the entry's length.
  std::uint32_t finish(StreamPlace place);

  static constexpr std::uint32_t kHead_bytes = 48;
  // The length of an entry without items that names so many regions.
  static constexpr std::uint32_t frame_bytes(std::size_t regions) {
    return kHead_bytes + static_cast<std::uint32_t>((2 * regions + 7) / 8 * 8) + 8;
  }
  static constexpr std::uint32_t kLeast_bytes = kHead_bytes + 16;
  static constexpr std::uint32_t kRoom_bytes = 24;

 private:
  std::uint32_t lock_counter_ = 0;
};

// The checksum of the items in a room, which come piece by piece. Each piece has a checksum that is seeded
// with the one before; the result is a checksum of the last of these, seeded like an entry's. So the pieces
// can be written, and forgotten, before the place of the entry is known.
class JournalRoomChecksum {
 public:
  // The length of each piece except the last.
  static constexpr std::size_t kPiece_bytes = 512U << 10;
  void add(std::span<const std::byte> piece);
  std::uint64_t at(StreamPlace place) const;

 private:
  std::uint64_t last_ = 0;
};
// The checksum of items that are in memory as a whole.
std::uint64_t journal_room_checksum(std::span<const std::byte> items, StreamPlace place);

// The length of the entry that begins at the start of `bytes`, or 0 when none does. The entry may be
// incomplete, and longer than `bytes`.
std::uint64_t journal_entry_bytes(std::span<const std::byte> bytes);
// The place that the entry claims; unproven until read_journal_entry() has found the entry complete there.
std::optional<StreamPlace> journal_entry_place(std::span<const std::byte> bytes, ServerId host);

// The entry at the start of `bytes`, if a complete one of that place stands there; its spans point into
// `bytes`. Never reads outside `bytes`, whatever they hold.
std::optional<JournalEntry> read_journal_entry(std::span<const std::byte> bytes, StreamPlace place);
// Takes the items of an entry with a room from the room's bytes, into which their spans point. False, and no
// items, when these are not the items that the entry was written for.
bool read_journal_room(std::span<const std::byte> bytes, StreamPlace place, JournalEntry& entry);

// A pad of that length, a multiple of 64, for that place: the bytes to be WRITTEN.
std::array<std::byte, kJournalPad_bytes> journal_pad(std::uint32_t length_bytes, StreamPlace place);
// The length of the pad of that place at the start of `bytes`, if one stands there. Always a multiple of 64
// and more than 0; it may be longer than `bytes`.
std::optional<std::uint32_t> read_journal_pad(std::span<const std::byte> bytes, StreamPlace place);

}  // namespace namdb::layout
