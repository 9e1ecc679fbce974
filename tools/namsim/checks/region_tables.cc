// The region checker's walk over tables: bucket chains, records, and the versions behind them.
#include <map>
#include <set>

#include "common/layout/bucket.h"
#include "common/layout/overflow_group.h"
#include "common/layout/placement.h"
#include "common/layout/record.h"
#include "common/layout/record_trailer.h"
#include "common/layout/version_image.h"
#include "proto/control.pb.h"
#include "tools/namsim/checks/region_findings.h"

namespace namdb::sim {
namespace {

using layout::HeaderWord;
using layout::Stamp;
using memory::MemoryServer;
using memory::Region;
using memory::Table;

std::string text(Stamp stamp) {
  return "⟨" + std::to_string(stamp.slot) + ", " + std::to_string(stamp.counter) + "⟩";
}

// One table on one server. Key bytes seen are shared by all servers.
class TableCheck {
 public:
  using Keys = std::map<std::vector<std::byte>, std::string>;  // by key, where

  TableCheck(const std::vector<const MemoryServer*>& servers, const MemoryServer& server, const Table& table,
             Keys& keys, std::set<std::uint64_t>& overflow_reached, Findings& findings)
      : slots_(*servers.front()->slots()),
        server_count_(servers.size()),
        server_(server),
        region_(server.region()),
        table_(table),
        shape_(table.shape.record),
        name_("table " + std::to_string(table.shape.id)),
        keys_(keys),
        overflow_reached_(overflow_reached),
        findings_(findings) {}

  void run() {
    for (const memory::Outgrown& old : table_.outgrown) {
      for (std::uint64_t i = 0; i < old.main.array.bucket_count; ++i) {
        if (!forwarded(old.main.array, i))
          findings_.add("the bucket at " + at(old.main.array.bucket_offset(i)) + " of an outgrown array of " +
                        name_ + " is not forwarded");
      }
      reached_buckets_.insert(old.indirect.begin(), old.indirect.end());
    }
    reached_buckets_.insert(table_.forwarded_indirect.begin(), table_.forwarded_indirect.end());
    for (std::uint64_t i = 0; i < table_.main.array.bucket_count; ++i) {
      if (!table_.next || !forwarded(table_.main.array, i)) {
        walk_chain(table_.main.array, i);
        continue;
      }
      walk_chain(table_.next->array, 2 * i);
      walk_chain(table_.next->array, 2 * i + 1);
    }
    check_pieces(table_.indirect, reached_buckets_, true);
    check_pieces(table_.records, linked_, false);
  }

 private:
  std::string at(std::uint64_t offset) const { return place(region_, offset); }

  // The next transaction that meets the lock of a slot whose owner died undoes it.
  bool left_by_design(HeaderWord lock) const {
    const memory::Slot* slot = slots_.find(lock.stamp().slot);
    if (slot == nullptr) return slots_.retired(lock.stamp().slot).has_value();
    return slot->state == memory::SlotState::closed && slot->died;
  }

  bool forwarded(const layout::BucketArray& array, std::uint64_t index) const {
    layout::Bucket bucket{};
    region_.read(array.bucket_offset(index), std::as_writable_bytes(std::span(&bucket, 1)));
    return bucket.certified(region_.address(array.bucket_offset(index))) &&
           bucket.generation == array.generation && bucket.forwarded();
  }

  void walk_chain(const layout::BucketArray& array, std::uint64_t index) {
    const std::uint64_t main = array.bucket_offset(index);
    const HeaderWord lock(region_.load(main));
    if (lock.locked() && !left_by_design(lock))
      findings_.add("the bucket chain of " + name_ + " at " + at(main) + " is still locked by commit " +
                    text(lock.stamp()));
    std::uint64_t offset = main;
    while (true) {
      layout::Bucket bucket{};
      region_.read(offset, std::as_writable_bytes(std::span(&bucket, 1)));
      const std::string subject = "the bucket at " + at(offset);
      if (!bucket.certified(region_.address(offset))) {
        findings_.add(subject + " of " + name_ + " does not certify");
        return;
      }
      if (bucket.table != table_.shape.id || bucket.generation != array.generation) {
        findings_.add(subject + " is of table " + std::to_string(bucket.table) + ", generation " +
                      std::to_string(bucket.generation) + ", not of " + name_ + ", generation " +
                      std::to_string(array.generation));
        return;
      }
      for (const layout::BucketEntry& entry : bucket.entries) {
        if (!entry.free()) check_entry(array, index, offset, entry);
      }
      if (bucket.next_offset == 0) return;
      offset = bucket.next_offset;
      if (!table_.indirect.used(offset)) {
        findings_.add(subject + " of " + name_ + " leads to " + at(offset) + ", where no indirect bucket is");
        return;
      }
      if (!reached_buckets_.insert(offset).second) {
        findings_.add("the indirect bucket at " + at(offset) + " of " + name_ + " is reached twice");
        return;
      }
    }
  }

  void check_entry(const layout::BucketArray& array, std::uint64_t index, std::uint64_t bucket,
                   const layout::BucketEntry& entry) {
    const std::uint64_t record = entry.offset();
    const std::string subject =
        "an entry of the bucket at " + at(bucket) + " of " + name_ + " leads to " + at(record);
    if (!table_.records.used(record)) {
      findings_.add(subject + ", where no record is");
      return;
    }
    if (!linked_.insert(record).second) {
      findings_.add("the record at " + at(record) + " of " + name_ + " is linked twice");
      return;
    }
    std::vector<std::byte> body(shape_.body_bytes());
    region_.read(record + 8, body);
    if (!layout::certify_body(body, region_.address(record))) {
      findings_.add(subject + ", a record that does not certify");
      return;
    }
    const layout::BodyHeader header = layout::decode_body_header(body.data());
    if (header.table != table_.shape.id) {
      findings_.add(subject + ", a record of table " + std::to_string(header.table));
      return;
    }
    if (static_cast<std::uint16_t>(header.incarnation) != entry.incarnation())
      findings_.add(subject + " as incarnation " + std::to_string(entry.incarnation()) + ", the record is " +
                    std::to_string(header.incarnation));
    const std::uint64_t grant = table_.records.last_grant(record);
    if (header.incarnation != layout::incarnation_of(grant))
      findings_.add("the record at " + at(record) + " of " + name_ + " is incarnation " +
                    std::to_string(header.incarnation) + ", its place was granted last as " +
                    std::to_string(layout::incarnation_of(grant)));
    const layout::Schema& schema = table_.shape.schema;
    const auto key = layout::body_payload(std::span<const std::byte>(body))
                         .subspan(schema.key_offset(), schema.key_bytes());
    const std::uint64_t hash = layout::row_hash(table_.shape.id, schema, key, server_count_);
    if (hash != entry.key_hash) findings_.add(subject + ", a record with another key hash");
    if (layout::bucket_index(hash, server_count_) != region_.map().server_id ||
        array.index_of(hash, server_count_) != index)
      findings_.add("the record at " + at(record) + " of " + name_ +
                    " is in the wrong bucket chain, that of " + at(bucket));
    const auto [other, added] = keys_.emplace(std::vector<std::byte>(key.begin(), key.end()), at(record));
    if (!added)
      findings_.add("the records at " + other->second + " and " + at(record) + " of " + name_ +
                    " have one key");
    check_record(record, body);
  }

  void check_record(std::uint64_t record, std::vector<std::byte>& body) {
    const std::string subject = "the record at " + at(record) + " of " + name_;
    layout::BodyHeader version = layout::decode_body_header(body.data());
    const HeaderWord word(region_.load(record));
    if (word.locked()) {
      findings_.add(subject + " is still locked by commit " + text(word.stamp()));
    } else if (word != version.header_word()) {
      findings_.add(subject + " has a header of commit " + text(word.stamp()) + " and a body of " +
                    text(version.stamp));
    }
    if (!slots_.published(version.stamp))
      findings_.add(subject + " shows commit " + text(version.stamp) + ", which is not published");
    check_readers(record, subject);
    if (shape_.timestamps) return check_timestamps(record, version, body, subject);
    std::vector<std::byte> image(shape_.body_bytes());
    std::vector<bool> followed(shape_.ring_slots);
    while (!version.birth() && version.ring_slot < shape_.ring_slots) {
      const HeaderWord ring(region_.load(record + shape_.ring_header_offset(version.ring_slot)));
      if (ring.moved() || ring != version.displaced) break;
      const std::string slot = subject + ", ring slot " + std::to_string(version.ring_slot);
      if (followed[version.ring_slot]) {
        findings_.add(slot + ": the links of its versions go round");
        return;
      }
      followed[version.ring_slot] = true;
      region_.read(record + shape_.ring_payload_offset(version.ring_slot), image);
      const layout::BodyHeader older = layout::decode_body_header(image.data());
      if (!step_back(record, image, body) || older.header_word() != ring) {
        findings_.add(slot + ": the version of commit " + text(ring.stamp()) + " does not certify");
        return;
      }
      if (!slots_.published(older.stamp))
        findings_.add(slot + " holds commit " + text(older.stamp) + ", which is not published");
      version = older;
    }
    if (!version.birth() && shape_.ring_slots != 0 && version.ring_slot >= shape_.ring_slots)
      findings_.add(subject + " has a version whose link leads to ring slot " +
                    std::to_string(version.ring_slot) + " of " + std::to_string(shape_.ring_slots));
    for (std::uint32_t i = 0; i < shape_.ring_slots; ++i) {
      const HeaderWord ring(region_.load(record + shape_.ring_header_offset(i)));
      if (followed[i] || ring.moved()) continue;
      findings_.add(subject + ", ring slot " + std::to_string(i) + " keeps commit " + text(ring.stamp()) +
                    ", to which no link leads, and is not moved: no writer can ever take it");
    }
    if (shape_.moves_versions()) check_overflow(record, version, body, subject);
  }

  // Words of the dead stay until a transaction meets them; but an owner gives its words back before its slot.
  void check_readers(std::uint64_t record, const std::string& subject) {
    for (std::uint32_t i = 0; i < shape_.reader_words; ++i) {
      const std::uint32_t reader = HeaderWord(region_.load(record + shape_.reader_offset(i))).stamp().slot;
      const memory::Slot* const slot = slots_.find(reader);
      if (slot != nullptr && slot->state == memory::SlotState::closed && !slot->died)
        findings_.add(subject + " has a reader of slot " + std::to_string(reader) +
                      ", which its owner closed");
    }
  }

  // From a version's body to that of the one before, whose image is given. False if it does not certify.
  bool step_back(std::uint64_t record, std::span<const std::byte> image, std::vector<std::byte>& body) const {
    return layout::certify_image(image, region_.address(record)) &&
           layout::restore_body(image, region_.address(record), body);
  }

  // Where a ring's oldest version is overwritten: those that are left are each older than the one before.
  void check_timestamps(std::uint64_t record, layout::BodyHeader version, std::vector<std::byte>& body,
                        const std::string& subject) {
    std::vector<std::byte> image(shape_.body_bytes());
    for (std::uint32_t steps = 1; steps < shape_.ring_slots && version.ring_slot != layout::kNoRingSlot;
         ++steps) {
      const std::string slot = subject + ", ring slot " + std::to_string(version.ring_slot);
      if (version.ring_slot >= shape_.ring_slots) {
        findings_.add(slot + " of " + std::to_string(shape_.ring_slots));
        return;
      }
      region_.read(record + shape_.ring_payload_offset(version.ring_slot), image);
      const layout::BodyHeader older = layout::decode_body_header(image.data());
      if (!step_back(record, image, body) || older.timestamp() >= version.timestamp()) {
        findings_.add(slot + ": the version before that of commit " + text(version.stamp) +
                      " does not certify, or is not older");
        return;
      }
      version = older;
    }
  }

  // The chain in the overflow region behind the oldest version of the ring.
  void check_overflow(std::uint64_t record, layout::BodyHeader version, std::vector<std::byte>& body,
                      const std::string& subject) {
    const std::uint32_t entry_bytes = memory::Overflow::entry_bytes(shape_.body_bytes());
    std::vector<std::byte> image(shape_.body_bytes());
    layout::OverflowLink newer;
    layout::OverflowLink link(region_.load(record + layout::overflow_head_offset(shape_)));
    while (!link.none()) {
      const std::uint64_t entry = link.entry();
      const std::string where = subject + ": its overflow entry at " + at(entry);
      if (!server_.overflow().used(link, entry_bytes)) {
        findings_.add(where + " is not one that is handed out");
        return;
      }
      if (!overflow_reached_.insert(entry).second) {
        findings_.add(where + " is reached twice");
        return;
      }
      region_.read(entry + layout::kOverflowBody_offset, image);
      const layout::BodyHeader older = layout::decode_body_header(image.data());
      const HeaderWord stamp(region_.load(entry + layout::kOverflowStamp_offset));
      if (!step_back(record, image, body) || older.header_word() != stamp) {
        findings_.add(where + " does not certify");
        return;
      }
      if (version.birth() || stamp != version.displaced)
        findings_.add(where + " holds commit " + text(stamp.stamp()) + ", the version before it, " +
                      text(version.stamp) + ", displaced " + text(version.displaced.stamp()));
      if (region_.load(memory::Overflow::newer_offset(link, entry_bytes)) != newer.word())
        findings_.add(where + " does not lead back to the entry before it");
      version = older;
      newer = link;
      link = layout::OverflowLink(region_.load(entry + layout::kOverflowNext_offset));
      const bool neighbours = link.entry() + entry_bytes == entry && link.place() + 1 == newer.place();
      if (newer.place() != 0 && !link.none() && !neighbours)
        findings_.add(where + " has another before it in its group than the one that it leads to");
    }
    // The older versions were collected: that requires a successor that every snapshot sees.
    if (!version.birth() && !slots_.published(version.stamp))
      findings_.add(subject + ": the version before commit " + text(version.stamp) +
                    " is gone although that commit is not published");
  }

  bool zero(std::uint64_t offset, std::uint64_t bytes) const {
    for (std::uint64_t i = 0; i < bytes; i += 8) {
      if (region_.load(offset + i) != 0) return false;
    }
    return true;
  }

  // Pieces that are handed out and were not found on the walk.
  void check_pieces(const memory::SlabAllocator& units, const std::set<std::uint64_t>& found, bool buckets) {
    const std::string kind = buckets ? "the indirect bucket at " : "the record at ";
    std::set<std::uint64_t> waiting;
    for (const memory::Freed& freed : server_.reclaimer().pending()) {
      if (!buckets && freed.table == table_.shape.id) waiting.insert(freed.offset);
    }
    for (std::uint64_t piece = units.next_used(0); piece != 0; piece = units.next_used(piece)) {
      const std::string subject = kind + at(piece) + " of " + name_;
      const std::uint64_t grant = units.last_grant(piece);
      if (!buckets && (grant == 0 || grant > region_.grants().last()))
        findings_.add(subject + " has number " + std::to_string(grant) + ", granted up to " +
                      std::to_string(region_.grants().last()));
      if (found.contains(piece)) {
        if (waiting.contains(piece)) findings_.add(subject + " is linked and waits to be used again");
      } else if (waiting.contains(piece)) {
        const HeaderWord lock(region_.load(piece));
        if (!lock.locked() || lock.stamp().slot != layout::kCollectorSlot)
          findings_.add(subject + " waits to be used again and is not locked by the collector");
      } else if (!zero(piece, units.unit_bytes())) {
        findings_.add(subject + " was written, is not linked and waits for nothing");
      } else if (!server_.reservations().reserved(table_.shape.id, buckets, piece)) {
        findings_.add(subject + " is handed out and nobody's");
      }
    }
  }

  const memory::Slots& slots_;
  const std::size_t server_count_;
  const MemoryServer& server_;
  const Region& region_;
  const Table& table_;
  const layout::RecordLayout& shape_;
  const std::string name_;
  Keys& keys_;
  std::set<std::uint64_t>& overflow_reached_;
  Findings& findings_;
  std::set<std::uint64_t> linked_;
  std::set<std::uint64_t> reached_buckets_;
};

// Overflow entries that no record leads to.
void check_overflow_entries(const MemoryServer& server, const std::set<std::uint64_t>& reached,
                            Findings& findings) {
  std::map<std::uint64_t, memory::OldVersion> pending;
  for (const memory::OldVersion& version : server.old_versions().pending()) {
    const std::uint64_t entry = version.entry.entry();
    const std::string subject = "the overflow entry at " + place(server.region(), entry);
    if (!pending.emplace(entry, version).second) findings.add(subject + " waits twice to be freed");
    if (!server.overflow().used(version.entry, version.entry_bytes))
      findings.add(subject + " waits to be freed and is not used");
    if (!reached.contains(entry) && server.tables().find(version.table))
      findings.add(subject + " is reached from no record of table " + std::to_string(version.table));
  }
  for (const auto& [bytes, units] : server.overflow().classes()) {
    for (std::uint64_t group = units->next_used(0); group != 0; group = units->next_used(group)) {
      const auto first = pending.lower_bound(group);
      if (first == pending.end() || first->first >= group + bytes)
        findings.add("the overflow group at " + place(server.region(), group) + " will never be freed");
    }
  }
}

// Where the catalog believes the main buckets to be; it may not have heard yet of those that came after.
bool was_array(const Table& table, const control::TableDescriptor& descriptor, int server) {
  const std::uint32_t doublings = descriptor.doublings_size() == 0 ? 0 : descriptor.doublings(server);
  for (const memory::MainBuckets& main : table.arrays()) {
    if (main.array.base_offset == descriptor.bucket_base(server) &&
        main.array.generation == descriptor.generation() + doublings)
      return true;
  }
  return false;
}

}  // namespace

void check_tables(const std::vector<const MemoryServer*>& servers, Findings& findings) {
  std::map<std::uint32_t, const control::TableDescriptor*> known;
  for (const auto& [name, table] : servers.front()->catalog()->tables()) known[table.id()] = &table;
  std::map<std::uint32_t, TableCheck::Keys> keys;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const MemoryServer& server = *servers[i];
    std::set<std::uint64_t> overflow_reached;
    for (const auto& [id, table] : server.tables().all()) {
      if (!table->discarded && !known.contains(id))
        findings.add("server " + std::to_string(i) + " keeps table " + std::to_string(id) +
                     ", which the catalog does not have");
    }
    for (const auto& [id, descriptor] : known) {
      const memory::TablePointer table = server.tables().find(id);
      if (!table) {
        findings.add("server " + std::to_string(i) + " lacks table " + std::to_string(id) +
                     " of the catalog");
        continue;
      }
      if (!was_array(*table, *descriptor, static_cast<int>(i)) ||
          descriptor->buckets_per_server() != table->shape.buckets_per_server ||
          (descriptor->single_version() ? 0 : descriptor->ring_slots()) != table->shape.record.ring_slots ||
          descriptor->reader_words() != table->shape.record.reader_words ||
          descriptor->generation() != table->shape.generation) {
        findings.add("server " + std::to_string(i) + " has another idea of table " + std::to_string(id) +
                     " than the catalog");
        continue;
      }
      TableCheck(servers, server, *table, keys[id], overflow_reached, findings).run();
    }
    check_overflow_entries(server, overflow_reached, findings);
  }
}

}  // namespace namdb::sim
