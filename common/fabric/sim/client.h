// The client side of the simulated transport, on one node.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/fabric/fabric.h"
#include "common/fabric/sim/node.h"

namespace namdb::fabric::sim {

class Connection;

class SimChannel final : public Channel {
 public:
  SimChannel(SimNode& node, LocalPool& pool, Connection& connection)
      : Channel(node),
        pool_(pool),
        connection_(connection),
        atomics_with_cpu_(node.scheduler().options().atomics_with_cpu) {}
  ~SimChannel() override;

  bool atomics_with_cpu() const override { return atomics_with_cpu_; }
  bool failed() const override;
  void give_up(Status reason) override;
  LocalPool& pool() override { return pool_; }
  // The simulated connection behind it, for tests that cut it.
  Connection& connection() { return connection_; }

 protected:
  void do_post(Batch& batch) override;
  void do_post(Call& call) override;

 private:
  LocalPool& pool_;
  Connection& connection_;
  bool atomics_with_cpu_;
};

class SimClientFabric final : public ClientFabric {
 public:
  explicit SimClientFabric(SimNode& node);
  ~SimClientFabric() override;

  std::string_view name() const override { return "sim"; }
  LocalPool& pool() override { return pool_; }
  // `address` is sim:NAME, as the server's listen() got it.
  reactor::Task<Result<std::unique_ptr<Channel>>> connect(std::string address, std::string hello,
                                                          std::string* welcome) override;

 private:
  SimNode& node_;
  LocalPool pool_;
};

}  // namespace namdb::fabric::sim
