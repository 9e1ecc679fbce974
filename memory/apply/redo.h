// Redo: journal entries of the log become records of a region that is not open yet. Before redo the region
// has the checkpoint's records. Redo applies entries of commits only, from the log position that the
// checkpoint names. The entries may come in any order, and each any number of times: a checkpoint is taken
// while transactions run, so it has some of their changes and lacks others.
//
// The records themselves say what is missing:
//   birth   a new record is installed iff its grant number exceeds the number up to which the lives of its
//           place are over
//   update  a version is installed iff the body there bears the stamp that it displaced; else it waits
// Three facts decide nothing: stamps of different slots have no order, entries of the log have no order, and
// a place may be empty because its record is not born yet or because the record was reclaimed. At the end no
// update that waits may be newer than the body at its address: the update is of another life (incarnation),
// or is the version that stands there, or was displaced by a version in the log. Otherwise an entry is
// missing.
//
// Records only: buckets, rings and indexes are made anew from them. A record is left unlocked, with an empty
// ring. Memory: the images that wait, and 8 bytes for each update of the last three ages. One thread; nothing
// suspends.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/layout/journal.h"
#include "common/layout/record.h"
#include "memory/region/region.h"

namespace namdb::memory {

// The places of records as redo finds and leaves them. Each grant of a place to a compute server has a
// number, which ascends for ever in a region.
class RecordPlaces {
 public:
  virtual ~RecordPlaces() = default;
  // How the table's records lie; null for a table that the catalog does not have.
  virtual const layout::RecordLayout* shape(std::uint32_t table) const = 0;
  // The lives of the place up to this number are over, except the life of the record that stands there. The
  // number is that of the place's last grant, less one while the grant is reserved and nothing was written
  // yet. nullopt: the table does not have the place, and every life there is over. A table gets its memory
  // before the entries that use it are applied.
  virtual std::optional<std::uint64_t> life(std::uint32_t table, std::uint64_t offset) const = 0;
  // From now on a record of that grant has the place.
  virtual void born(std::uint32_t table, std::uint64_t offset, std::uint64_t grant) = 0;
  // The record there is another version now.
  virtual void changed(std::uint64_t offset) = 0;
};

class Redo {
 public:
  // `places` outlives this.
  Redo(const Region& region, RecordPlaces& places) : region_(region), places_(places) {}

  // The entry is a commit's. Takes what lies in this region and belongs to tables that the catalog has.
  // Error corrupt_data where an item does not fit; nothing was done to that one.
  Status apply(const layout::JournalEntry& entry);
  // Once all entries were applied. Error corrupt_data names the record and the version whose predecessor is
  // missing.
  Status finish();

  // Begins a new age. For a log without an end, once more of it has been applied than the checkpoint knows.
  void begin_age() {
    ++age_;
    oldest_displaced_ = std::exchange(earlier_displaced_, std::exchange(displaced_, {}));
  }
  // All entries that were in the log when the last age began have been applied. Checks some hundreds of the
  // updates that wait since then, as finish() does, and forgets them; true while more are left. An update is
  // checked when the age after its own ends. Its successor may be of the age before its own: an entry of
  // another server's transaction may be decided later than the entry that displaces its version.
  Result<bool> end_earlier_ages();
  // Updates of this age.
  std::size_t displaced_in_age() const { return displaced_.size(); }

  // From now on counts, by table, the births that are left out because the catalog lacks the table, or the
  // table lacks the place. Most of them are births of rows that are gone since.
  void count_homeless() { counts_homeless_ = true; }
  const std::map<std::uint32_t, std::uint64_t>& homeless() const { return homeless_; }

  // From now on leaves out two things that are corrupt_data otherwise: an item that does not fit, and a
  // version whose predecessor is missing.
  void leave_out_unfit() { leaves_out_ = true; }
  // The messages of the first ones, and the number of all.
  static constexpr std::size_t kNamed = 20;
  const std::vector<std::string>& unfit() const { return unfit_; }
  std::uint64_t unfit_count() const { return unfit_count_; }

  // Updates that wait now.
  std::size_t waiting() const { return waiting_.size(); }

 private:
  using Link = std::pair<std::uint64_t, std::uint64_t>;  // record's address, stamp word
  struct Update {
    std::uint32_t table = 0;
    layout::HeaderWord stamp;
    std::vector<std::byte> image;
    std::uint64_t age = 0;
  };
  // The error, or none where it is left out.
  Status admit(Status status);
  Status apply_birth(const layout::JournalWrite& record);
  Status apply_update(const layout::JournalItem& item);
  // True if the body there bears the stamp that the update displaces; the update then replaces the body.
  Result<bool> install(layout::GlobalAddress record, layout::HeaderWord displaced,
                       std::span<const std::byte> image);
  // A body with that stamp stands there now: installs what has waited for it.
  Status go_on(layout::GlobalAddress record, layout::HeaderWord stamp);
  // The body of that table's record; empty where it has none.
  std::vector<std::byte> body(layout::GlobalAddress record, std::uint32_t table,
                              const layout::RecordLayout& shape) const;
  bool was_displaced(std::uint64_t link) const {
    return displaced_.contains(link) || earlier_displaced_.contains(link) || oldest_displaced_.contains(link);
  }
  Status check_older(layout::GlobalAddress record, layout::HeaderWord displaced, const Update& update) const;

  const Region& region_;
  RecordPlaces& places_;
  std::map<Link, Update> waiting_;  // by the version that it displaces
  absl::flat_hash_set<std::uint64_t>
      displaced_;  // hashes of links: the versions that updates of the log displace
  absl::flat_hash_set<std::uint64_t> earlier_displaced_;  // likewise, in the age before
  absl::flat_hash_set<std::uint64_t> oldest_displaced_;   // and before that
  std::optional<Link> checked_;                           // the last one that end_earlier_ages() has passed
  std::uint64_t age_ = 0;
  bool counts_homeless_ = false;
  std::map<std::uint32_t, std::uint64_t> homeless_;
  bool leaves_out_ = false;
  std::vector<std::string> unfit_;
  std::uint64_t unfit_count_ = 0;
};

}  // namespace namdb::memory
