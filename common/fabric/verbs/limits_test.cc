// A real device that has no room for more, by the kernel's limit for groups of processes. See test_peers.h.
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/fabric/verbs/testing/test_peers.h"

namespace namdb::fabric::verbs {
namespace limits_test {

constexpr std::size_t kLarge_bytes = 8U << 20;  // more than a pool has at first

bool put(const std::filesystem::path& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text << std::flush;
  return stream.good();
}

// This process in a group of its own.
class Group {
 public:
  Group() {
    if (!std::filesystem::exists(kRoot / "cgroup.procs")) {
      REQUIRE(::mount("none", kRoot.c_str(), "cgroup2", 0, nullptr) == 0);
    }
    REQUIRE(put(kRoot / "cgroup.subtree_control", "+rdma"));
    std::filesystem::create_directory(kOwn);
    REQUIRE(put(kOwn / "cgroup.procs", std::to_string(::getpid())));
  }
  ~Group() {
    put(kRoot / "cgroup.procs", std::to_string(::getpid()));
    ::rmdir(kOwn.c_str());
  }
  // Objects that the process made before it was in the group are not counted.
  void limit(const std::string& device, const std::string& objects) {
    REQUIRE(put(kOwn / "rdma.max", device + " hca_object=" + objects));
  }

 private:
  inline static const std::filesystem::path kRoot = "/sys/fs/cgroup";
  inline static const std::filesystem::path kOwn = kRoot / "namdb-verbs-test";
};

Task<Status> read(Channel* channel, LocalBuffer* buffer) {
  Batch batch;
  batch.read(0, buffer->data(), 64);
  channel->post(batch);
  const Status& status = co_await batch.done();
  co_return status;
}

struct Outcome {
  Status without_room;
  bool failed = false;
  Status again;
};

Task<void> run_out_of_room(ClientFabric* fabric, std::string address, Group* group, Outcome* outcome) {
  std::unique_ptr<Channel> channel = std::move(*co_await fabric->connect(address, "hello", nullptr));
  const std::string device = fact_of(*channel, "device").text;
  LocalBuffer small(fabric->pool(), 64);
  group->limit(device, "0");
  LocalBuffer large(fabric->pool(), kLarge_bytes);
  outcome->without_room = co_await read(channel.get(), &large);
  outcome->failed = channel->failed();
  channel.reset();
  group->limit(device, "max");
  channel = std::move(*co_await fabric->connect(address, "hello", nullptr));
  outcome->again = co_await read(channel.get(), &large);
}

TEST_CASE("memory that the device has no room for costs the channel, and serves when there is room") {
  Server server;
  Group group;
  const std::unique_ptr<reactor::Reactor> reactor = make_reactor();
  const std::unique_ptr<ClientFabric> fabric = make_verbs_client_fabric(*reactor, options_with_key(7));
  Outcome outcome;
  reactor->run_until(run_out_of_room(fabric.get(), server.address(), &group, &outcome));
  INFO(in_words(outcome.without_room));
  REQUIRE(outcome.without_room.code() == ErrorCode::limit_exceeded);
  REQUIRE(std::string(outcome.without_room.message()).find("refuses to register 8 MiB") != std::string::npos);
  REQUIRE(outcome.failed);
  REQUIRE(outcome.again.ok());
  require_service(server);
}

}  // namespace limits_test
}  // namespace namdb::fabric::verbs
