// The locks of a compute server that has died, in virtual time.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tools/namsim/testing/sessions.h"

namespace namdb::sim {
namespace {

// A lock is looked into once it has been in the way for so long.
constexpr std::uint64_t kSuspicion_ns = 20 * kMillisecond_ns;

}  // namespace

TEST_CASE("a dead compute server's locks cost those who meet them one wait, however many they are",
          "[protocols]") {
  const std::string protocol = GENERATE("nowait", "waitdie");
  const std::string stages = GENERATE("one-sided", "two-sided");
  CAPTURE(protocol, stages);
  Sessions sessions(protocol, stages);
  // Several of its sessions, and so perhaps several slots.
  for (int id = 0; id < 20; ++id) {
    SqlClient& owner = sessions.open(0);
    REQUIRE(sessions.done(0, owner, "BEGIN"));
    REQUIRE(sessions.done(0, owner, "UPDATE t SET v = 7 WHERE id = " + std::to_string(id)));
  }
  sessions.kill(0);
  SqlClient& heir = sessions.open(1);
  std::uint64_t all_ns = 0;
  std::uint64_t longest_ns = 0;
  for (int id = 0; id < 20; ++id) {
    REQUIRE(sessions.done(1, heir, "UPDATE t SET v = v + 1 WHERE id = " + std::to_string(id)));
    all_ns += sessions.took_ns();
    longest_ns = std::max(longest_ns, sessions.took_ns());
  }
  CAPTURE(all_ns, longest_ns);
  CHECK(longest_ns >= kSuspicion_ns);
  CHECK(all_ns < 3 * kSuspicion_ns);
}

}  // namespace namdb::sim
