// Connections of which nothing is known: they keep no member out, and are not many for long.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/fabric/tcp/testing/test_pair.h"

namespace namdb::fabric::tcp {
namespace {

// More than a server ever keeps.
constexpr std::size_t kSilent = 1100;

TcpOptions with_key() {
  TcpOptions options;
  options.key = ClusterKey{};
  options.key->bytes.fill(7);
  // Nothing here depends on how fast the machine is: only newer connections end one.
  options.authentication_timeout_ns = 3600 * kSecond_ns;
  options.handshake_timeout_ns = 3600 * kSecond_ns;
  return options;
}

class SilentConnections {
 public:
  explicit SilentConnections(const std::string& address) {
    place_.sin_family = AF_INET;
    place_.sin_port = ::htons(
        static_cast<std::uint16_t>(std::strtoul(address.c_str() + address.rfind(':') + 1, nullptr, 10)));
    place_.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  }
  ~SilentConnections() {
    for (const int descriptor : descriptors_) ::close(descriptor);
  }
  void add() {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(descriptor >= 0);
    descriptors_.push_back(descriptor);
    REQUIRE(::connect(descriptor, reinterpret_cast<const sockaddr*>(&place_), sizeof place_) == 0);
  }
  bool ended(std::size_t number) const {
    pollfd entry{descriptors_[number], POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0;
  }

 private:
  sockaddr_in place_{};
  std::vector<int> descriptors_;
};

void allow_descriptors(rlim_t count) {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = std::min(std::max(limit.rlim_cur, count), limit.rlim_max);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

// With a call and operations, so that it is a member in every respect.
Task<void> be_a_member(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  co_await post_and_wait(*channel, 0);
}

Task<void> pause(Pair& pair) {
  co_await pair.reactor->sleep_for(kMillisecond_ns);
}

TEST_CASE("a member gets in however many silent connections there are, and the oldest of those end") {
  allow_descriptors(3 * kSilent);
  Pair pair(with_key(), with_key());
  SilentConnections silent(pair.server->address());
  for (std::size_t i = 0; i < kSilent; ++i) {
    silent.add();
    // The listener's queue is shorter than all of them.
    if (i % 100 == 99) pair.reactor->run_until(pause(pair));
  }
  pair.reactor->run_until(be_a_member(pair));
  CHECK(silent.ended(0));
  CHECK(!silent.ended(kSilent - 1));
}

Task<void> until_ended(Pair& pair, const SilentConnections& silent) {
  while (!silent.ended(0)) co_await pair.reactor->sleep_for(kMillisecond_ns);
}

TEST_CASE("a connection that does not prove the key ends soon, however long a handshake may take") {
  TcpOptions options = with_key();
  options.authentication_timeout_ns = 5 * kMillisecond_ns;
  Pair pair(options, options);
  SilentConnections silent(pair.server->address());
  silent.add();
  pair.reactor->run_until(until_ended(pair, silent));
}

}  // namespace
}  // namespace namdb::fabric::tcp
