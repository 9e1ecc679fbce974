// A client fabric that does not wait long for hosts which do not answer. An attempt to connect that takes
// longer than its patience ends in connection_failure. The transport's own attempt goes on until that ends,
// and a channel that comes of it is closed at once. Until then every other attempt at that address fails at
// once: so a host that hangs costs its peers the patience only now and then.
//
// A host that did answer, but late, is given twice the time from then on, up to kLongest_ns.
//
// One executor's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"

namespace namdb::fabric {

class PatientClient final : public ClientFabric {
 public:
  static constexpr std::uint64_t kPatience_ns = kSecond_ns;
  static constexpr std::uint64_t kLongest_ns = 10 * kSecond_ns;

  // Both outlive this.
  PatientClient(reactor::Executor& executor, ClientFabric& inner, std::uint64_t patience_ns = kPatience_ns)
      : executor_(executor), inner_(inner), patience_ns_(patience_ns), changed_(executor) {}

  std::string_view name() const override { return inner_.name(); }
  LocalPool& pool() override { return inner_.pool(); }
  reactor::Task<Result<std::unique_ptr<Channel>>> connect(std::string address, std::string hello,
                                                          std::string* welcome) override;
  // No caller waits for that address any more, for instance because a region has moved. Attempts to connect
  // to it count as late.
  void give_up(const std::string& address);
  // Waits for the transport's attempts that are under way. Awaited before destruction where any connect()
  // was; may come again.
  reactor::Task<void> settle();

 private:
  struct Attempt;
  struct Host {
    std::uint64_t patience_ns = 0;
    std::uint64_t late = 0;      // attempts without a waiting caller
    std::uint64_t given_up = 0;  // grows with give_up()
  };

  reactor::Task<void> run(std::shared_ptr<Attempt> attempt, std::string address, std::string hello);

  reactor::Executor& executor_;
  ClientFabric& inner_;
  std::uint64_t patience_ns_;
  std::map<std::string, Host> hosts_;  // by address
  std::uint64_t running_ = 0;
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::fabric
