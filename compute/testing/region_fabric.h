// Memory servers that consist of their bytes only: a fabric whose operations take effect at once, in the
// order in which they are posted, on memory that the test writes and reads. Calls go to handlers that the
// test gives; a method without one answers with nothing, which is an empty message.
//
// Choices that the contract (common/fabric/fabric.h) leaves open are not drawn here: a test that needs a torn
// READ writes torn bytes, and changes them before a certain batch.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/calls/protocol_version.h"
#include "common/fabric/fabric.h"
#include "common/layout/global_address.h"
#include "common/layout/region_map.h"
#include "common/layout/words.h"
#include "proto/control.pb.h"

namespace namdb::protocol::testing {

class RegionFabric final : public fabric::ClientFabric {
 public:
  static constexpr std::uint64_t kVector_offset = layout::kRegionMap_bytes;
  static constexpr std::uint64_t kVectorCapacity = 64;

  using Handler = std::function<Status(std::string_view request, std::string& reply)>;

  // `welcome`: of all servers.
  RegionFabric(reactor::Executor& executor, std::size_t servers, std::uint64_t region_bytes,
               control::Welcome welcome)
      : executor_(executor), region_bytes_(region_bytes), welcome_(std::move(welcome)) {
    for (std::size_t i = 0; i < servers; ++i) regions_.emplace_back(region_bytes / 8);
    forgive();
  }

  std::string_view name() const override { return "bytes"; }
  fabric::LocalPool& pool() override { return pool_; }
  // The address is the server's id.
  reactor::Task<Result<std::unique_ptr<fabric::Channel>>> connect(std::string address, std::string /*hello*/,
                                                                  std::string* welcome) override {
    const auto server = static_cast<layout::ServerId>(std::stoul(address));
    *welcome = welcome_of(server);
    std::unique_ptr<fabric::Channel> channel = std::make_unique<RegionChannel>(*this, server);
    co_return Result<std::unique_ptr<fabric::Channel>>(std::move(channel));
  }

  std::byte* at(layout::GlobalAddress address) {
    return reinterpret_cast<std::byte*>(regions_[address.server()].data()) + address.offset();
  }
  std::uint64_t word(layout::GlobalAddress address) { return layout::load_word(at(address)); }
  void set_word(layout::GlobalAddress address, std::uint64_t word) { layout::store_word(at(address), word); }

  // Before the batch takes effect that is posted as the n-th from now on, counted from 0. A handler whose
  // call stands for a batch calls begin_batch().
  void before_batch(std::size_t n, std::function<void()> change) {
    changes_.emplace(batches_ + n, std::move(change));
  }
  void begin_batch() {
    const auto [first, last] = changes_.equal_range(batches_++);
    for (auto change = first; change != last; ++change) change->second();
  }
  void handle(std::uint16_t method, Handler handler) { handlers_[method] = std::move(handler); }

  // Calls to that server are answered by answer_calls() only, in the order in which they were posted.
  void hold_calls(layout::ServerId server) { held_.try_emplace(server); }
  void answer_calls(layout::ServerId server) {
    const auto held = held_.extract(server);
    for (fabric::Call* call : held.mapped()) answer(*call);
  }

  std::size_t batches() const { return batches_; }
  // Operations that were misaligned or reached beyond the region. Each has failed its channel.
  std::size_t outside() const { return outside_; }
  // Channels that are given up do not fail yet.
  void fail_late() { late_ = true; }
  // Channels that failed take operations again.
  void forgive() { failed_.assign(regions_.size(), false); }

 private:
  class RegionChannel final : public fabric::Channel {
   public:
    RegionChannel(RegionFabric& fabric, layout::ServerId server)
        : Channel(fabric.executor_), fabric_(fabric), server_(server) {}
    bool atomics_with_cpu() const override { return true; }
    bool failed() const override { return fabric_.failed_[server_]; }
    void give_up(Status /*reason*/) override { fabric_.failed_[server_] = !fabric_.late_; }
    fabric::LocalPool& pool() override { return fabric_.pool(); }

   private:
    void do_post(fabric::Batch& batch) override {
      batch.begin();
      batch.complete(executor(), fabric_.run(server_, batch));
    }
    void do_post(fabric::Call& call) override {
      call.begin();
      const auto held = fabric_.held_.find(server_);
      if (held != fabric_.held_.end()) return held->second.push_back(&call);
      fabric_.answer(call);
    }
    RegionFabric& fabric_;
    layout::ServerId server_;
  };

  std::string welcome_of(layout::ServerId server) {
    layout::RegionMap map{.magic = layout::kRegionMagic,
                          .format_version = layout::kRegionFormatVersion,
                          .server_id = server,
                          .epoch = 1,
                          .limit_bytes = region_bytes_,
                          .extent_bytes = region_bytes_,
                          .vector_offset = kVector_offset,
                          .vector_capacity = kVectorCapacity};
    map.seal();
    control::Welcome welcome = welcome_;
    welcome.set_protocol_version(calls::kProtocolVersion);
    welcome.set_server_id(server);
    welcome.set_server_count(static_cast<std::uint32_t>(regions_.size()));
    welcome.set_region_bytes(region_bytes_);
    welcome.set_region_map(&map, sizeof map);
    return welcome.SerializeAsString();
  }

  Status run(layout::ServerId server, const fabric::Batch& batch) {
    begin_batch();
    for (const fabric::Operation& operation : batch.operations()) {
      const std::uint64_t offset = operation.remote_offset;
      const bool inside = offset % 8 == 0 && operation.length_bytes % 8 == 0 &&
                          operation.length_bytes <= region_bytes_ &&
                          offset <= region_bytes_ - operation.length_bytes;
      if (!inside) {
        ++outside_;
        failed_[server] = true;
      }
      if (failed_[server]) return Status(ErrorCode::connection_failure, "the channel has failed");
      NAMDB_CHECK(pool_.contains(operation.local, operation.length_bytes));
      run(operation, at(layout::GlobalAddress(server, offset)));
    }
    return {};
  }

  void answer(fabric::Call& call) {
    const auto handler = handlers_.find(call.method);
    const bool handled = handler != handlers_.end();
    call.complete(executor_, handled ? handler->second(call.request, call.reply) : Status());
  }

  static void run(const fabric::Operation& operation, std::byte* place) {
    const std::uint64_t before = layout::load_word(place);
    switch (operation.kind) {
      case fabric::OperationKind::read:
        std::memcpy(operation.local, place, operation.length_bytes);
        return;
      case fabric::OperationKind::write:
        std::memcpy(place, operation.local, operation.length_bytes);
        return;
      case fabric::OperationKind::compare_and_swap:
        if (before == operation.expected) layout::store_word(place, operation.operand);
        break;
      case fabric::OperationKind::fetch_add:
        layout::store_word(place, before + operation.operand);
        break;
    }
    layout::store_word(operation.local, before);
  }

  reactor::Executor& executor_;
  std::uint64_t region_bytes_;
  control::Welcome welcome_;
  fabric::LocalPool pool_;
  std::vector<std::vector<std::uint64_t>> regions_;
  std::map<std::uint16_t, Handler> handlers_;
  std::map<layout::ServerId, std::vector<fabric::Call*>> held_;
  std::multimap<std::size_t, std::function<void()>> changes_;
  std::size_t batches_ = 0;
  std::size_t outside_ = 0;
  std::vector<bool> failed_;  // of each server
  bool late_ = false;
};

}  // namespace namdb::protocol::testing
