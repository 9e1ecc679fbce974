// For tests: one memory server on the simulated fabric, and clients that speak to it. Everything runs in
// virtual time from one seed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/calls/journal_calls.h"
#include "common/fabric/sim/client.h"
#include "common/fabric/sim/server.h"
#include "common/fabric/sim/world.h"
#include "common/layout/bucket.h"
#include "common/layout/record.h"
#include "common/layout/stamp.h"
#include "memory/server/server.h"
#include "proto/control.pb.h"

namespace namdb::memory::testing {

// Small extents, E of 100 ms.
Options small_options();
std::string compute_id(char fill);
control::Hello hello(char id, bool tool = false);
control::Hello hello_of_memory_server(char id);
// bigint primary key "id" and one bigint "value".
control::TableDescriptor accounts(const std::string& name, std::uint64_t buckets_per_server = 4,
                                  std::uint32_t ring_slots = 4);

class TestClient {
 public:
  TestClient(fabric::sim::SimWorld& world, const std::string& name, std::string address = "sim:m0");
  // Not connected afterwards when there is an error.
  Status connect(const control::Hello& greeting);
  // Ends the channel; the server learns of it in virtual time.
  void disconnect() { channel_.reset(); }
  bool connected() const { return channel_ != nullptr; }

  Result<std::string> call(std::uint16_t method, std::string request);
  template <typename Reply, typename Request>
  Result<Reply> call(control::Method method, const Request& request) {
    auto bytes = call(static_cast<std::uint16_t>(method), request.SerializeAsString());
    if (!bytes.ok()) return bytes.status();
    Reply reply;
    if (!reply.ParseFromString(*bytes)) return Status(ErrorCode::internal, "an unreadable reply");
    return reply;
  }
  // Acknowledges all that the server has announced so far, twice, as an idle worker does.
  Status acknowledge_all();
  Result<control::LeaseSlotReply> lease();
  Result<calls::OpenJournalReply> open_journal(std::uint32_t slot);
  // A room for a long journal entry of the slot; its offset.
  Result<std::uint64_t> lease_room(std::uint32_t slot, std::uint64_t length_bytes);
  Status return_room(std::uint32_t slot, std::uint64_t offset);
  // Begins, prepares and finishes.
  Result<control::TableDescriptor> create(const control::TableDescriptor& table);
  Result<std::vector<std::uint64_t>> allocate(std::uint32_t table, std::uint32_t count, bool buckets = false,
                                              std::uint32_t ring_slots = 4);
  Status hint(std::uint16_t method, std::uint32_t table, const std::vector<std::uint64_t>& records);

  const control::Welcome& welcome() const { return welcome_; }
  fabric::sim::SimNode& node() { return node_; }
  fabric::Channel& channel() { return *channel_; }

 private:
  fabric::sim::SimWorld& world_;
  fabric::sim::SimNode& node_;
  std::string address_;  // of the memory server
  fabric::sim::SimClientFabric fabric_;
  std::unique_ptr<fabric::Channel> channel_;
  control::Welcome welcome_;
};

class TestCluster {
 public:
  // Changes to the server before it starts.
  using Prepare = std::function<void(TestCluster& cluster)>;
  explicit TestCluster(Options options = small_options(), std::uint64_t region_bytes = 8U << 20,
                       std::uint64_t seed = 1, const Prepare& prepare = {},
                       const std::string& address = "sim:m0");
  ~TestCluster();
  std::unique_ptr<TestClient> client(const std::string& name) {
    return std::make_unique<TestClient>(world, name, address_);
  }
  void run_for(std::uint64_t duration_ns) { world.run_for(duration_ns); }

  // --- the writes of compute servers to the region, done here at once ---
  std::uint64_t load(std::uint64_t offset) const { return memory_[offset / 8]; }
  void store(std::uint64_t offset, std::uint64_t word) { memory_[offset / 8] = word; }
  std::span<std::byte> bytes(std::uint64_t offset, std::uint64_t length) {
    return std::as_writable_bytes(std::span(memory_)).subspan(offset, length);
  }
  void publish(const control::LeaseSlotReply& slot, std::uint32_t counter);
  // Writes a new record, and enters it into its (main) bucket.
  void insert(const control::TableDescriptor& table, std::uint64_t record, std::int64_t key,
              layout::Stamp stamp, std::uint32_t incarnation = 1);
  // Installs a version over the current one, into the next ring slot, which must be free.
  void update(const control::TableDescriptor& table, std::uint64_t record, layout::Stamp stamp,
              bool deleted = false);
  layout::BodyHeader body_header(std::uint64_t record);
  bool body_certified(const control::TableDescriptor& table, std::uint64_t record);
  // The stamps in the overflow chain, newest first; every entry certifies.
  std::vector<layout::Stamp> overflow_chain(const control::TableDescriptor& table, std::uint64_t record);
  static layout::RecordLayout layout_of(const control::TableDescriptor& table);
  // Where the key's entry stands in its main bucket, 0 = nowhere.
  std::uint64_t lookup(const control::TableDescriptor& table, std::int64_t key);

  fabric::sim::SimWorld world;
  fabric::sim::SimNode& node;

 private:
  std::vector<std::uint64_t> memory_;
  std::string address_;

 public:
  std::unique_ptr<MemoryServer> server;
  std::unique_ptr<fabric::sim::SimServerFabric> fabric;
};

}  // namespace namdb::memory::testing
