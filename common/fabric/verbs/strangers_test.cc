// Connections that prove nothing, on a real device: they end soon. See test_peers.h.
#include "common/fabric/verbs/testing/test_peers.h"

namespace namdb::fabric::verbs {
namespace strangers_test {

// Nothing here depends on how fast the machine is.
VerbsOptions patient(std::uint64_t authentication_timeout_ns) {
  VerbsOptions options = options_with_key(7);
  options.authentication_timeout_ns = authentication_timeout_ns;
  options.handshake_timeout_ns = 3600 * kSecond_ns;
  return options;
}

// Connected, and then they say nothing.
class SilentPeers {
 public:
  SilentPeers() : reactor_(make_reactor()) {
    auto manager = ConnectionManager::create(*reactor_);
    REQUIRE(manager.ok());
    manager_ = std::move(*manager);
  }
  Status add(const std::string& address) {
    links_.push_back(std::make_unique<Link>(*reactor_, *manager_, options_with_key(7)));
    return reactor_->run_until(connect(this, links_.back().get(), address));
  }
  // Until so many were refused; false if that takes too long.
  bool await_refused(Server& server, std::uint64_t count) {
    return reactor_->run_until(await(this, &server, count));
  }

 private:
  static Task<Status> connect(SilentPeers* self, Link* link, std::string address) {
    const DeviceOf device_of = [self](ibv_context* context, std::uint8_t /*port*/) -> Result<Device*> {
      if (self->device_ == nullptr) {
        auto device = Device::open(*self->reactor_, context->device, 16);
        if (!device.ok()) return device.status();
        self->device_ = std::move(*device);
      }
      return self->device_.get();
    };
    co_return co_await link->connect(address, device_of, self->reactor_->now_ns() + kPatience_ns);
  }
  static Task<bool> await(SilentPeers* self, Server* server, std::uint64_t count) {
    const std::uint64_t deadline_ns = self->reactor_->now_ns() + kPatience_ns;
    while (server->facts()["refused"] < count && self->reactor_->now_ns() < deadline_ns)
      co_await self->reactor_->sleep_for(kMillisecond_ns);
    co_return server->facts()["refused"] >= count;
  }

  std::unique_ptr<reactor::Reactor> reactor_;
  std::unique_ptr<ConnectionManager> manager_;
  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Link>> links_;
};

TEST_CASE("a peer that does not prove the key is refused soon, however long a handshake may take") {
  Server server(patient(5 * kMillisecond_ns));
  SilentPeers silent;
  // On a slow machine it may have ended before this end knows that it began.
  const Status connected = silent.add(server.address());
  INFO(in_words(connected));
  CHECK(silent.await_refused(server, 1));
}

}  // namespace strangers_test
}  // namespace namdb::fabric::verbs
