#include "common/fabric/sim/client.h"

#include "common/fabric/sim/connection.h"

namespace namdb::fabric::sim {

SimChannel::~SimChannel() {
  connection_.detach_client();
}

void SimChannel::give_up(Status reason) {
  connection_.cut(std::move(reason));
}

bool SimChannel::failed() const {
  return connection_.client_failed();
}

void SimChannel::do_post(Batch& batch) {
  connection_.post(batch);
}

void SimChannel::do_post(Call& call) {
  connection_.post(call);
}

SimClientFabric::SimClientFabric(SimNode& node) : node_(node) {
  node.network().pools.emplace_back(&node, &pool_);
}

SimClientFabric::~SimClientFabric() {
  std::erase_if(node_.network().pools, [this](const auto& entry) { return entry.second == &pool_; });
}

reactor::Task<Result<std::unique_ptr<Channel>>> SimClientFabric::connect(std::string address,
                                                                         std::string hello,
                                                                         std::string* welcome) {
  Scheduler& scheduler = node_.scheduler();
  Network& network = node_.network();
  ConnectEvent event;
  event.network = &network;
  event.client = &node_;
  event.address = std::move(address);
  event.hello = std::move(hello);
  event.begin();
  network.connects.push_back(&event);
  scheduler.schedule(scheduler.now_ns() + 1 + scheduler.options().request.draw(scheduler.random()), event);
  co_await event.done();
  std::erase(network.connects, &event);
  if (!event.result.ok()) co_return std::move(event.result);
  if (welcome != nullptr) *welcome = std::move(event.welcome);
  co_return std::unique_ptr<Channel>(std::make_unique<SimChannel>(node_, pool_, *event.connection));
}

}  // namespace namdb::fabric::sim
