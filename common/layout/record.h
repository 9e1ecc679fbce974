// A record in the region: header word, current body, and the ring of displaced versions (NAM-DB §5.1).
//
//   0                      header word: the lock; unlocked it equals the stamp word of the current body
//   8                      current body
//   8 + body_bytes         trailer: one word, whose meaning depends on the database; record_trailer.h has a
//                          view for each
//   16 + body_bytes        ring headers, one word a ring slot
//   ... + 8 * ring_slots   reader words, in databases whose readers share locks: ⟨slot, priority, locked⟩ of
//                          a transaction that keeps the record from being written, 0 = free; set and cleared
//                          by CAS. Where there are any, there is no ring
//   ... + 8 * reader_words ring payloads, room for one body each (version_image.h)
//
// A body is self-certifying:
//   0   stamp word: slot, counter, deleted (a tombstone)
//   8   displaced word: the stamp word of the version that this one displaced; 0 = birth marker. Where
//       records have timestamps: the version's own timestamp
//   16  meta word: table id (32 bits), incarnation (24 bits), 0 (1 bit), ring slot of the displaced version
//       (7 bits; where versions have timestamps, kNoRingSlot: this is the first)
//   24  checksum over all the rest, seeded with the record's address; it never covers the header word
//   32  payload: the row (row.h), a multiple of 8 bytes
// The certified body's stamp decides visibility; the header word only says who holds the record. A READ that
// covers header word and body gets words of different times: certify_body() tells whether it is one body.
//
// Ring words: a displaced version's stamp word; `moved` once the memory server has copied the payload to the
// overflow region. A writer takes a ring slot only while moved is set; the memory server sets moved only
// while it is not: the word never has two writers. The next slot to take is the one after the current
// body's. A fresh ring is all moved with no stamp.
//
// Writers: the holder of the header word writes ring payload, ring word, body (or those parts of it that
// change), header word, in this order, on one channel. A crash leaves a prefix of these WRITEs, which the
// memory server completes from the journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/layout/global_address.h"
#include "common/layout/stamp.h"
#include "common/layout/words.h"

namespace namdb::layout {

inline constexpr std::uint32_t kBodyMeta_offset = 16;
inline constexpr std::uint32_t kBodyChecksum_offset = 24;
inline constexpr std::uint32_t kBodyPrefix_bytes = 32;  // before the payload
// Never set in a body's meta word: the image is a change (version_image.h).
inline constexpr std::uint64_t kChange_bit = 0x80;
inline constexpr std::uint32_t kMaxPayload_bytes = 32 * 1024;
inline constexpr std::uint32_t kMaxRingSlots = 64;
inline constexpr std::uint32_t kNoRingSlot = 0x7f;
// The number of reader words of a record whose readers share locks.
inline constexpr std::uint32_t kReaderWords = 4;
inline constexpr std::uint32_t kIncarnation_mask = (1U << 24) - 1;
// The incarnation of the record that is created at a place that was granted under that number. A place's
// numbers ascend for ever, so among 2^24 numbers no two lives of a place share one. When a tombstone's place
// is given back, the tombstone gets the next incarnation: it differs from that in entries and caches until
// the place's next life. Beyond 2^24 numbers key and stamp tell lives apart.
constexpr std::uint32_t incarnation_of(std::uint64_t grant) {
  return static_cast<std::uint32_t>(grant) & kIncarnation_mask;
}
// No lease: a CAS from it to itself is a READ that later READs of its channel come behind.
inline constexpr std::uint64_t kNoLease = 0xb5ad'4ece'da1c'e2a9;

// Where the parts of a record lie; decided by the table's payload length and ring size.
struct RecordLayout {
  std::uint32_t payload_bytes = 0;  // multiple of 8
  std::uint32_t ring_slots = 0;     // at most kMaxRingSlots; 0: displaced versions are not kept
  // Versions have timestamps, and the trailer is a lease (record_trailer.h). A ring's oldest version is
  // overwritten, not moved.
  bool timestamps = false;
  std::uint32_t reader_words = 0;  // 0 or kReaderWords; not with a ring, nor with timestamps

  bool moves_versions() const { return ring_slots != 0 && !timestamps; }

  std::uint32_t body_bytes() const { return kBodyPrefix_bytes + payload_bytes; }
  // Header word and current body, which a lookup READs.
  std::uint32_t current_bytes() const { return 8 + body_bytes(); }
  std::uint32_t trailer_offset() const { return current_bytes(); }
  std::uint32_t ring_header_offset(std::uint32_t ring_slot) const {
    return current_bytes() + 8 + 8 * ring_slot;
  }
  std::uint32_t ring_headers_bytes() const { return 8 * ring_slots; }  // which a writer READs behind its lock
  std::uint32_t reader_offset(std::uint32_t index) const {
    return current_bytes() + 8 + 8 * ring_slots + 8 * index;
  }
  // Header word through the last reader word, which an insert WRITEs.
  std::uint32_t locked_bytes() const { return reader_offset(reader_words); }
  std::uint32_t ring_payload_offset(std::uint32_t ring_slot) const {
    return locked_bytes() + ring_slot * body_bytes();
  }
  // The whole record, rounded so that records start on cache lines.
  std::uint32_t record_bytes() const { return (locked_bytes() + ring_slots * body_bytes() + 63) & ~63U; }
};

// The fields of a body that are not the row.
struct BodyHeader {
  Stamp stamp;
  bool deleted = false;
  HeaderWord displaced;  // value 0: this version is the record's first
  std::uint32_t table = 0;
  std::uint32_t incarnation = 0;  // 24 bits
  std::uint32_t ring_slot = 0;    // where the displaced version was put

  bool birth() const { return displaced.value() == 0; }
  // Where records have timestamps: the version's.
  std::uint64_t timestamp() const { return displaced.value(); }
  // The unlocked header word that goes with this body.
  HeaderWord header_word() const { return HeaderWord(stamp, deleted); }
};

// Reads the header fields without looking at the checksum.
BodyHeader decode_body_header(const std::byte* body);
// True if the checksum fits the bytes and the record's address: the body is one version, whole.
bool certify_body(std::span<const std::byte> body, GlobalAddress record);
// Writes the prefix before the payload that already stands at body + kBodyPrefix_bytes.
void seal_body(std::span<std::byte> body, GlobalAddress record, const BodyHeader& header);

inline std::span<const std::byte> body_payload(std::span<const std::byte> body) {
  return body.subspan(kBodyPrefix_bytes);
}
inline std::span<std::byte> body_payload(std::span<std::byte> body) {
  return body.subspan(kBodyPrefix_bytes);
}

// Fills header word .. reader words of a new record (locked_bytes() long) whose sealed body already stands
// at offset 8: unlocked header, trailer 0, a fresh ring, no readers.
void frame_new_record(std::span<std::byte> record, const RecordLayout& layout);

// An old version that the version mover copied out of a ring. Written by the memory server only, READ by
// anyone; `next` leads to older entries of the same record.
inline constexpr std::uint32_t kOverflowNext_offset = 0;   // link to the next older entry, 0 = none
inline constexpr std::uint32_t kOverflowStamp_offset = 8;  // the body's stamp word
inline constexpr std::uint32_t kOverflowBody_offset = 16;  // the ring slot's image, unchanged

}  // namespace namdb::layout
