// One row of a transaction's read and write set.
//
// `image` is registered memory that the install stage WRITEs from:
//   0                 the unlocked header word
//   8                 the new body (its payload is the row that the transaction builds)
//   8 + body_bytes    update: the ring word of the displaced version. insert: overflow head and ring words,
//                     so that the whole is a new record up to its ring headers.
#pragma once

#include <cstdint>
#include <span>

#include "common/layout/key.h"
#include "common/layout/record.h"
#include "common/layout/row.h"
#include "common/reactor/block_vector.h"
#include "common/reactor/stable_vector.h"
#include "compute/api/table.h"
#include "compute/txn/lookup.h"
#include "compute/txn/row_buffers.h"

namespace namdb::protocol {

// A WRITE more costs about as much as this many bytes: changed words that are nearer to each other are one.
inline constexpr std::uint32_t kWriteGap_bytes = 64;

enum class WriteKind : std::uint8_t { none, insert, update, erase };

struct Access {
  // `owner` outlives this.
  Access(const storage::TableRef& owner, std::span<const std::byte> key_bytes, std::uint64_t hash)
      : table(owner), key(key_bytes.begin(), key_bytes.end()), key_hash(hash) {}

  const storage::TableRef& table;
  reactor::PooledInlinedVector<std::byte, 24> key;
  std::uint64_t key_hash;
  Lookup lookup;
  WriteKind write = WriteKind::none;
  bool insert_asked = false;  // insert() was called before the lookup was done: must turn out absent
  bool locked = false;        // by the protocol, since it was read
  bool only_read = false;     // asked for only to be read: the protocol does not lock it
  bool shares = false;        // and is to have a reader's lock
  bool shared = false;        // it has one: no other transaction writes the version that was read
  bool shown = false;         // it was read without a lock: that version must not change any more
  bool duplicate = false;     // insert() of a row that the transaction itself sees
  bool passed_over = false;   // by the last fetch(): another transaction had locked it
  txn::RowBuffer image;
  std::uint32_t saved = 0;  // the period of the last savepoint (ReadWriteSet) in which its write was kept

  bool fetched() const { return lookup.done(); }
  bool stored() const { return lookup.state() == Lookup::State::present; }
  bool found() const {
    if (write == WriteKind::insert || write == WriteKind::update) return true;
    return write == WriteKind::none && stored() && !passed_over;
  }
  std::span<std::byte> image_body() const { return {image.data() + 8, table->record.body_bytes()}; }
  std::span<std::byte> image_row() const { return layout::body_payload(image_body()); }
  // An insert revives a tombstone in place, like an update.
  bool writes_in_place() const { return lookup.has_record(); }
};

// The accesses of one transaction.
using Accesses = reactor::BlockVector<Access, 8>;

}  // namespace namdb::protocol
