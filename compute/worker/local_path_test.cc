// Which pairs of welcomes are one memory server's.
#include "compute/worker/local_path.h"

#include <catch2/catch.hpp>

#include "proto/control.pb.h"

namespace namdb::compute {
namespace {

std::string welcome(std::uint32_t server, std::uint64_t database, std::uint64_t epoch) {
  control::Welcome welcome;
  welcome.set_server_id(server);
  welcome.set_database_id(database);
  welcome.set_epoch(epoch);
  return welcome.SerializeAsString();
}

ErrorCode refusal(const std::string& remote, const std::string& local) {
  const fabric::LocalPath path = local_path("10.0.0.1:7400", "unix:/run/x.sock", "compute");
  const Status status = path.same_server(remote, local);
  REQUIRE(!status.ok());
  CHECK(status.message().find("unix:/run/x.sock") != std::string::npos);
  CHECK(status.message().find("10.0.0.1:7400") != std::string::npos);
  return status.code();
}

}  // namespace

TEST_CASE("a socket is the memory server's where both welcomes are of one start") {
  const fabric::LocalPath path = local_path("10.0.0.1:7400", "unix:/run/x.sock", "compute");
  CHECK(path.same_server(welcome(1, 5, 77), welcome(1, 5, 77)).ok());
  CHECK(path.same_server("\xff", welcome(1, 5, 77)).code() == ErrorCode::protocol_violation);
}

TEST_CASE("a socket of another server, or another database, is a mistake; of another start, it may mend") {
  CHECK(refusal(welcome(1, 5, 77), welcome(0, 5, 78)) == ErrorCode::configuration);
  CHECK(refusal(welcome(1, 5, 77), welcome(1, 6, 78)) == ErrorCode::configuration);
  CHECK(refusal(welcome(1, 5, 77), welcome(1, 5, 78)) == ErrorCode::memory_server_restarted);
}

TEST_CASE("a peer that only asks is a tool, whose end is no compute server's") {
  control::Hello hello;
  REQUIRE(hello.ParseFromString(local_path("a:1", "unix:/b", "compute").hello()));
  CHECK(hello.tool());
  CHECK(hello.name() == "compute");
  CHECK(hello.compute_id().size() == 16);
}

}  // namespace namdb::compute
