// Rounds of memory servers that open together, as a server answers them.
#include <catch2/catch.hpp>

#include "common/fabric/fabric.h"
#include "memory/state/opening_service.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace gather_test {

class NotedRounds final : public OpeningService {
 public:
  reactor::Task<Status> gather(const control::GatherRequest* request,
                               control::GatherReply* /*reply*/) override {
    gathered.push_back(request->round());
    co_return Status();
  }
  reactor::Task<Status> derive(const control::DeriveRequest* /*request*/,
                               control::DeriveReply* /*reply*/) override {
    co_return Status();
  }
  reactor::Task<Status> serve(const control::ServeRequest* /*request*/) override { co_return Status(); }
  bool restored(std::uint32_t /*slot*/) const override { return false; }
  reactor::Task<Result<calls::LookReply>> look(std::uint32_t /*slot*/) override {
    co_return calls::LookReply();
  }
  reactor::Task<Status> record(std::uint32_t /*slot*/, std::vector<std::uint32_t> /*counters*/,
                               Verdict /*verdict*/) override {
    co_return Status();
  }
  reactor::Task<Status> close(std::uint32_t /*slot*/, std::uint32_t /*final_counter*/) override {
    co_return Status();
  }

  std::vector<std::uint64_t> gathered;
};

struct Gather {
  explicit Gather(std::uint64_t round) {
    control::GatherRequest request;
    request.set_round(round);
    call.method = control::GATHER;
    call.request = request.SerializeAsString();
  }
  fabric::Call call;
};

// Processes of memory server 0, one after another.
struct Processes {
  std::unique_ptr<testing::TestClient> connect(char id) {
    auto client = cluster.client(std::string("m") + id);
    control::Hello hello = testing::hello_of_memory_server(id);
    hello.set_name("memory server 0");
    REQUIRE(client->connect(hello).ok());
    return client;
  }
  bool fenced(char id) { return cluster.server->parts().peers.fenced(testing::compute_id(id)); }

  NotedRounds rounds;
  testing::TestCluster cluster{testing::small_options(), 8U << 20, 1, [this](testing::TestCluster& made) {
                                 made.server->parts().opening_service = &rounds;
                               }};
};

TEST_CASE("a round waits for channels of earlier processes, and leaves those of later ones alone",
          "[gather]") {
  Processes processes;
  const auto first = processes.connect('a');
  const auto second = processes.connect('b');
  Gather gather(7);
  second->channel().post(gather.call);
  processes.cluster.run_for(kMillisecond_ns);
  CHECK(gather.call.pending());
  const auto third = processes.connect('c');
  processes.cluster.run_for(3 * kSecond_ns);
  CHECK(processes.fenced('a'));
  CHECK(!processes.fenced('c'));
  REQUIRE(!gather.call.pending());
  CHECK(gather.call.status().ok());
  CHECK(processes.rounds.gathered == std::vector<std::uint64_t>{7});
}

TEST_CASE("a round whose channel has broken fences no peer that has connected since", "[gather]") {
  Processes processes;
  const auto first = processes.connect('a');
  const auto second = processes.connect('b');
  Gather gather(7);
  second->channel().post(gather.call);
  processes.cluster.run_for(kMillisecond_ns);
  second->disconnect();
  processes.cluster.run_for(kMillisecond_ns);
  const auto third = processes.connect('c');
  processes.cluster.run_for(3 * kSecond_ns);
  CHECK(!processes.fenced('c'));
}

}  // namespace gather_test
}  // namespace namdb::memory
