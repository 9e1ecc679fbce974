// For tests: one life of a memory server whose database is on a disk that outlives it, and a compute server
// that commits rows, one a transaction, as journals have them. Everything is in virtual time.
//
//   FaultDisk disk(executor, 1);
//   { DurableLife life(disk, FaultDisk::End::killed); life.connect(); ... }
//   DurableLife next(disk, FaultDisk::End::power_lost);      // on another executor; opens what is there
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "memory/log/testing/fault_disk.h"
#include "memory/opening/durable_database.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory::testing {

inline constexpr std::uint64_t kDatabaseId = 0x1234;
inline const std::string kDatabaseFolder = "data/m0";

Options durable_server_options();
// Segments of 32 KiB.
DurableOptions durable_options();

struct LifeOptions {
  Options server = durable_server_options();
  DurableOptions durable = durable_options();
  std::string address = "sim:m0";
  // Steps of the disk, counted in this life, at which it stops, or fails once.
  std::uint64_t stop_at = FaultDisk::kNever;
  std::uint64_t fail_at = FaultDisk::kNever;
};

class DurableLife {
 public:
  // By table's name: value by key.
  using Rows = std::map<std::string, std::map<std::int64_t, std::int64_t>>;

  // Creates the database, or opens it. The server serves in any case.
  DurableLife(FaultDisk& disk, FaultDisk::End end, LifeOptions options = {});
  DurableLife(const DurableLife&) = delete;
  DurableLife& operator=(const DurableLife&) = delete;
  // The server ends cleanly, if the disk lets it.
  ~DurableLife();

  // Of creating or opening.
  const Status& status() const { return status_; }
  DurableDatabase& database() { return *database_; }
  MemoryServer& server() { return *cluster_->server; }
  TestCluster& cluster() { return *cluster_; }
  TestClient& client() { return *client_; }

  // A compute server comes, and leases a slot with a journal.
  Status connect();
  std::uint32_t slot() const { return slot_; }
  Status create_table(const std::string& name) { return client_->create(accounts(name)).status(); }
  Status drop_table(const std::string& name);
  Status create_index(const std::string& name, const std::string& table);
  // Takes the place of the one of that name, if there is one.
  Status put_routine(const std::string& name, const std::string& definition);
  Status drop_routine(const std::string& name);
  // Commits, which are durable and installed when they return. The rows of the last two are there.
  Status insert(const std::string& table, std::int64_t key, std::int64_t value);
  // A compute server's fault in the entry of an insert, which is not installed.
  enum class Flaw : std::uint8_t { length, body };
  Status insert_flawed(const std::string& table, std::int64_t key, Flaw flaw);
  // The compute server dies.
  void die();
  Status update(const std::string& table, std::int64_t key, std::int64_t value);
  Status erase(const std::string& table, std::int64_t key);
  // Makes one.
  Status checkpoint();
  // Closes journal and slot.
  Status close_slot();

  // Of the versions that are written from now on, where the protocol has timestamps.
  std::uint64_t timestamp = 0;

  // All rows that stand in the region.
  Rows rows() const;
  // Those that the buckets lead to. Only behind an opening: commits here write none.
  Rows rows_by_key() const;
  std::vector<std::string> tables() const;
  const Catalog::ByName<control::RoutineDescriptor>& routines() const;

 private:
  struct Place {
    std::uint64_t offset = 0;
    std::uint64_t grant = 0;
  };
  const Table& table_named(const std::string& name) const;
  control::TableDescriptor descriptor(const std::string& name) const;
  Result<Place> allocate(std::uint32_t table);
  // Where the key's row stands; 0: nowhere.
  std::uint64_t find(const Table& table, std::int64_t key) const;
  std::vector<std::byte> body_at(const Table& table, std::uint64_t offset) const;
  // The record of a new row, whole.
  std::vector<std::byte> make_record(const Table& table, const Place& place, std::int64_t key,
                                     std::int64_t value) const;
  // Of a commit that creates it.
  Status log_birth(const Table& table, const Place& place, const std::vector<std::byte>& record);
  // WRITEs the entry to the ring and flushes it.
  Status log(std::vector<std::byte> entry, std::uint32_t length_bytes);
  Status change(const std::string& name, std::int64_t key, std::int64_t value, bool deleted);

  Status status_;
  std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<DurableDatabase> database_;
  std::unique_ptr<TestClient> client_;
  char computes_ = 0;
  std::uint32_t slot_ = 0;
  std::uint32_t counter_ = 0;
  std::uint64_t ring_offset_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace namdb::memory::testing
