// Journal entries, with which repair finishes or undoes a commit whose owner died (NAM-DB §6.2).
//
// Each leased slot has a journal ring in a memory server's region, written by its owner only. An entry starts
// at a multiple of 64 bytes, never wraps, and is self-certifying: repair finds entries by looking at every
// such place. An entry whose counter is at most the slot's word in the timestamp vector is done and may be
// overwritten; the owner overwrites no other. An entry that is too long for the ring has a room of its own in
// that region, and starts where the room does. A complete entry means: all locks of this commit were held,
// and nothing may abort it any more. Without one, nothing was installed.
//
//   0   magic (high 32 bits), length of the entry in bytes (low 32)
//   8   the commit's stamp word
//   16  the counter in the lock words of its records where that is another one, else 0 (high 32), number of
//       items (low 32)
//   24  items, each a multiple of 8 bytes
//   ..  checksum over all before it, seeded with the entry's address
//
// An item is guarded by one lock word, which the commit holds as ⟨slot, counter, locked⟩; repair applies it
// only while the word has exactly that value. Protocols that lock records before they commit hold those under
// another counter than the one that their versions bear.
//   update  {kind, ring slot, image bytes | record address | displaced stamp word | image of the new body}
//           install: displaced version -> ring slot, ring word; new body; header word. The image may be a
//           change, to be applied to the body in the record (version_image.h).
//   chain   {kind, number of writes, how many of them are new records | lock word address} then writes
//           {length | address | bytes}
//           install: the WRITEs in order (new records, then buckets), then the lock word. Once a bucket names
//           a new record others may lock and change that: repair leaves it as it is then
//           (JournalItem::name_of).
#pragma once

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

inline constexpr std::uint32_t kJournalMagic = 0x4a4e4c31;  // "JNL1"
inline constexpr std::uint64_t kJournalAlign_bytes = 64;

struct JournalWrite {
  GlobalAddress address;
  std::span<const std::byte> bytes;  // multiple of 8
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

struct JournalEntry {
  Stamp stamp;
  Stamp lock;  // in the lock words of records; in those of chains it is `stamp`
  std::vector<JournalItem> items;
};

// Appends one entry to a registered buffer. Usage: construct, add items in commit order, finish.
class JournalWriter {
 public:
  // `buffer` has room for the whole entry; see the *_bytes functions. `lock` is of the same slot.
  JournalWriter(std::span<std::byte> buffer, Stamp stamp, Stamp lock);
  JournalWriter(std::span<std::byte> buffer, Stamp stamp) : JournalWriter(buffer, stamp, stamp) {}
  // `displaced` and `new_body` are the two sealed bodies.
  void update(GlobalAddress record, std::uint32_t ring_slot, std::span<const std::byte> displaced,
              std::span<const std::byte> new_body, ImageForm form = ImageForm::shorter);
  void chain(GlobalAddress lock, std::uint32_t new_records, std::uint32_t writes);
  // One of the writes that chain() announced.
  void chain_write(GlobalAddress address, std::span<const std::byte> bytes);
  // Seals for the place where the entry will be WRITTEN; returns the entry's length, a multiple of 8.
  std::uint32_t finish(GlobalAddress entry);

  static constexpr std::uint32_t kFrame_bytes = 32;
  // At most.
  static std::uint32_t update_bytes(std::size_t body_bytes) {
    return static_cast<std::uint32_t>(24 + body_bytes);
  }
  static constexpr std::uint32_t kChain_bytes = 16;
  static std::uint32_t chain_write_bytes(std::size_t bytes) { return static_cast<std::uint32_t>(16 + bytes); }

 private:
  void word(std::uint64_t value);
  void bytes(std::span<const std::byte> source);
  std::span<std::byte> buffer_;
  std::size_t used_ = 0;
  std::uint32_t items_ = 0;
  std::uint32_t lock_counter_ = 0;
};

// The length of the entry that begins at the start of `bytes`, or 0 when none does. The entry may be
// incomplete, and longer than `bytes`.
std::uint64_t journal_entry_bytes(std::span<const std::byte> bytes);

// The entry at the start of `bytes`, if a complete one stands there; its spans point into `bytes`. Never
// reads outside `bytes`, whatever they hold.
std::optional<JournalEntry> read_journal_entry(std::span<const std::byte> bytes, GlobalAddress entry);

}  // namespace namdb::layout
