// For tests: the region of a copy in memory, which opens on the copy's own disk, and has to be what a restart
// makes of the same disk.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/sim/world.h"
#include "memory/opening/prepared_database.h"
#include "memory/opening/testing/disk_lives.h"
#include "memory/placement/copy_image.h"
#include "memory/server/server.h"

namespace namdb::memory::testing {

// The step that makes what is derived, as a test sees it.
struct DeriveStep {
  bool waits = false;  // for the end of the process
  bool begun = false;
};

class TestImage final : public CopyImage {
 public:
  // The step may be null, and outlives this.
  TestImage(fabric::sim::SimNode& node, FaultDisk& disk, Options options, DeriveStep* step = nullptr)
      : node_(node), step_(step), memory_((4U << 20) / 8), server_(make_server(node, std::move(options))) {
    DurableOptions durable = durable_options();
    durable.stopping = [this] { return stopping_; };
    database_ = std::make_unique<PreparedDatabase>(node, disk, kDatabaseFolder, *server_, std::move(durable));
  }

  reactor::Task<Status> load() override { return database_->load(); }
  void stop() override { stopping_ = true; }
  Status apply(const LogRecord& record) override { return database_->apply(record); }
  LogPosition applied() const override { return database_->applied(); }
  Result<bool> forget_settled() override { return database_->forget_settled(); }
  void end_log(LogEnd end) override { database_->end_log(std::move(end)); }
  reactor::Task<Status> derive() override {
    if (step_ != nullptr) step_->begun = true;
    while (step_ != nullptr && step_->waits && !stopping_) co_await node_.sleep_for(kMillisecond_ns);
    co_return co_await database_->derive();
  }

  // Opens it, behind the end of the process that followed.
  void check(fabric::sim::SimWorld& world, fabric::sim::SimNode& node, const FaultDisk& disk) {
    const std::unique_ptr<FaultDisk> twin = disk.copy(11);
    DurableLife restarted(*twin, FaultDisk::End::killed);
    INFO(restarted.status().to_string());
    REQUIRE(restarted.status().ok());
    auto opened = world.run(node, database_->open(durable_options()));
    INFO(opened.status().to_string());
    REQUIRE(opened.ok());
    compare(*server_, restarted.server());
    world.run(node, (*opened)->close());
  }

 private:
  std::unique_ptr<MemoryServer> make_server(fabric::sim::SimNode& node, Options options) {
    auto made = MemoryServer::create(node, std::as_writable_bytes(std::span(memory_)), std::move(options));
    REQUIRE(made.ok());
    return std::move(*made);
  }
  static std::vector<std::byte> record_at(const MemoryServer& server, const Table& table,
                                          std::uint64_t offset) {
    std::vector<std::byte> bytes(table.shape.record.locked_bytes());
    server.region().read(offset, bytes);
    return bytes;
  }
  static void compare(const MemoryServer& one, const MemoryServer& other) {
    CHECK(one.catalog()->version() == other.catalog()->version());
    CHECK(one.region().grants().last() == other.region().grants().last());
    REQUIRE(one.tables().all().size() == other.tables().all().size());
    for (const auto& [id, table] : one.tables().all()) {
      INFO("table " << id);
      REQUIRE(other.tables().all().contains(id));
      const Table& twin = *other.tables().all().at(id);
      REQUIRE(table->records.used_count() == twin.records.used_count());
      for (std::uint64_t at = table->records.next_used(0); at != 0; at = table->records.next_used(at)) {
        REQUIRE(twin.records.block_of(at).has_value());
        REQUIRE(twin.records.life(at) == table->records.life(at));
        REQUIRE(record_at(one, *table, at) == record_at(other, twin, at));
      }
      REQUIRE(table->main.array.bucket_count == twin.main.array.bucket_count);
    }
  }

  fabric::sim::SimNode& node_;
  DeriveStep* step_;
  bool stopping_ = false;
  std::vector<std::uint64_t> memory_;
  std::unique_ptr<MemoryServer> server_;
  std::unique_ptr<PreparedDatabase> database_;
};

}  // namespace namdb::memory::testing
