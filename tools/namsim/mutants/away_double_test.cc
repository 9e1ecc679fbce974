// A worker that stays while a memory server opens again must have nothing to do with that one's earlier life.
#include <catch2/catch.hpp>

#include "proto/control.pb.h"
#include "tools/namsim/mutants/mutant.h"
#include "tools/namsim/testing/small_table.h"

namespace namdb::sim {
namespace away_double_test {

constexpr std::uint64_t kOpening_ns = 20 * kSecond_ns;  // several times what an opening takes
constexpr std::uint64_t kMaxTransaction_ns = 120 * kSecond_ns;

// Memory server 0 believes that workers joined without server 1, whose channels they have.
class JoinsWithoutIt final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    control::JoinClusterRequest join;
    const bool altered =
        method == control::JOIN_CLUSTER && server == 0 && join.ParseFromString(std::string(request));
    if (!altered) co_return co_await inner->on_call(peer, method, request, *reply);
    join.set_epochs(1, 0);
    const std::string bytes = join.SerializeAsString();
    co_return co_await inner->on_call(peer, method, bytes, *reply);
  }
};

// Whether server 1 opens while a transaction of before its end is open.
bool opens(Interposer* interposer) {
  SmallTable rows("si", kMaxTransaction_ns, "one-sided", 2, true, interposer);
  std::int64_t near = 0;
  while (rows.server_of(near) != 0) ++near;
  std::int64_t far = 0;
  while (rows.server_of(far) != 1) ++far;
  rows.change(far, 1);  // an entry in the log of server 1
  const auto before = rows.begin();
  rows.write(*before, near, 1);
  rows.cluster().begin_restart_memory(1, DiskAfter::killed);
  return rows.cluster().await_opened(1, kOpening_ns);
}

TEST_CASE("a memory server opens only when workers that knew its earlier life have left", "[away]") {
  CHECK(opens(nullptr));
  JoinsWithoutIt stays;
  CHECK_FALSE(opens(&stays));
}

}  // namespace away_double_test
}  // namespace namdb::sim
