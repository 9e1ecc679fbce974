// Shared by the suite's tests: a service that they look into, and clients that are connected.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/fabric/conformance/fixture.h"

namespace namdb::fabric::conformance {

// A peer with this hello gets its welcome, and is counted nowhere.
inline constexpr std::string_view kOnlyAsks = "only asks";

enum Method : std::uint16_t {
  kEcho,
  kReadWord,  // the decimal value of the region's word with that index
  kFail,      // duplicate_key, with the request as its message
  kTooLong,   // a reply that is longer than calls may be
};

// Runs at the server; the test looks at it while nothing runs, or through the methods that lock.
class SuiteService final : public Service {
 public:
  Result<std::string> on_connect(PeerId peer, std::string_view hello) override;
  reactor::Task<Status> on_call(PeerId peer, std::uint16_t method, std::string_view request,
                                std::string& reply) override;
  void on_disconnect(PeerId peer) override;

  std::vector<PeerId> connected() const;
  std::vector<PeerId> disconnected() const;

  std::span<std::byte> region;

 private:
  mutable std::mutex mutex_;
  std::vector<PeerId> connected_;
  std::vector<PeerId> disconnected_;
};

// One transport with `clients` connected clients.
class Suite {
 public:
  Suite(const FixtureFactory& factory, int clients, int run);
  ~Suite();

  Fixture& fixture() { return *fixture_; }
  SuiteService& service() { return service_; }
  std::span<std::byte> region() { return fixture_->region(); }
  std::uint64_t word(std::size_t index);
  // At client `index` only, except null-ness.
  std::unique_ptr<Channel>& channel(int index) { return channels_[static_cast<std::size_t>(index)]; }
  int clients() const { return static_cast<int>(channels_.size()); }

  // Each runs to its end. A job runs at one place; all_clients calls it for each client, at the same time.
  void at(int place, Job job) { fixture_->run({{place, std::move(job)}}); }
  void all_clients(const std::function<reactor::Task<void>(int client)>& job);
  Status connect(int client, std::string hello = "hello", std::string* welcome = nullptr);
  void disconnect(int client);
  // Waits until the server has reported so many peers as disconnected.
  void await_disconnected(std::size_t count);

  // A batch at one client: filled with its operations, posted, awaited, its buffers examined.
  Status post(int client, const std::function<void(Batch&, LocalBuffer&)>& fill,
              const std::function<void(LocalBuffer&)>& examine = {});
  // A call at one client; `request` is replaced by the reply.
  Status call(int client, std::uint16_t method, std::string& bytes);

 private:
  SuiteService service_;
  std::unique_ptr<Fixture> fixture_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

// Runs the test on every transport, as often as its factory says.
void on_every_transport(int clients, const std::function<void(Suite&)>& test);

}  // namespace namdb::fabric::conformance
