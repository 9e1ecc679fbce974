#include "memory/placement/vacancy.h"

#include <utility>

#include "common/base/clock.h"

namespace namdb::memory {
namespace {

// How long peers get to receive the last replies.
constexpr std::uint64_t kFarewell_ns = 20 * kMillisecond_ns;

std::unique_ptr<Arrival> make_arrival(reactor::Executor& executor, fabric::ClientFabric& client, Disk& disk,
                                      PlaceKeeper& keeper, ArrivalOptions options) {
  if (keeper.record().state == PlaceState::departed) return nullptr;
  const std::string name = "memory server " + std::to_string(options.server_id) + " to be";
  placement::MakeHello hello = [&executor, name] { return tool_hello(executor.random(), name); };
  return std::make_unique<Arrival>(executor, disk, client, std::move(hello), keeper, std::move(options));
}

}  // namespace

Vacancy::Vacancy(reactor::Executor& executor, std::unique_ptr<fabric::ClientFabric> client,
                 const MakeServer& make_server, Disk& disk, PlaceKeeper& keeper, ArrivalOptions options)
    : executor_(executor),
      client_(std::move(client)),
      arrival_(make_arrival(executor, *client_, disk, keeper, options)),
      host_(options.server_count, keeper, arrival_.get(), [this] { stop(); }),
      fabric_(make_server(host_)),
      changed_(executor) {}

void Vacancy::stop() {
  over_ = true;
  changed_.notify_all();
}

reactor::Task<Status> Vacancy::run(std::string listen, std::function<void()> listening) {
  Status status = co_await fabric_->listen(std::move(listen));
  if (status.ok()) {
    listening();
    if (arrival_ != nullptr) {
      arrival_->start();
      executor_.spawn(gate_, await_arrival());
    }
    while (!over_) co_await changed_.wait();
    const bool here = arrival_ != nullptr && arrival_->here();
    if (!here) co_await executor_.sleep_for(kFarewell_ns);
    status = failure_;
  }
  if (arrival_ != nullptr) co_await arrival_->close();
  co_await gate_.close();
  co_await fabric_->close();
  co_return status;
}

reactor::Task<void> Vacancy::await_arrival() {
  failure_ = co_await arrival_->ended();
  stop();
}

}  // namespace namdb::memory
