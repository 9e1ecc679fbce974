#include "common/config/rdma_flags.h"

#include <CLI/CLI.hpp>
#include <catch2/catch.hpp>
#include <string>

namespace namdb::config {
namespace {

// False: it cannot be parsed.
bool parse(const std::string& line, RdmaFlags& flags) {
  CLI::App app("test", "test");
  add_rdma_flags(app, flags);
  try {
    app.parse(line);
  } catch (const CLI::ParseError&) {
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("device, port and GID are asked of the addresses unless they are given") {
  RdmaFlags flags;
  REQUIRE(parse("", flags));
  REQUIRE((flags.device.empty() && !flags.port && !flags.gid_index && !flags.traffic_class));
  REQUIRE(wrong_rdma_flags(flags, "shm").empty());
  REQUIRE(parse("--rdma-device mlx5_0 --rdma-port 2 --rdma-gid-index 0 --rdma-traffic-class 255", flags));
  REQUIRE(
      (flags.device == "mlx5_0" && flags.port == 2 && flags.gid_index == 0U && flags.traffic_class == 255));
  REQUIRE(wrong_rdma_flags(flags, "verbs").empty());
}

TEST_CASE("values that no device can have are refused") {
  const std::string line = GENERATE(
      as<std::string>(), "--rdma-port 0", "--rdma-port 255", "--rdma-port first", "--rdma-gid-index -1",
      "--rdma-gid-index 256", "--rdma-traffic-class 256", "--rdma-acknowledge-timeout 0", "--rdma-retries 8");
  CAPTURE(line);
  RdmaFlags flags;
  REQUIRE(!parse(line, flags));
}

TEST_CASE("a port or a GID index is of a device, and only verbs has devices") {
  RdmaFlags flags;
  REQUIRE(parse("--rdma-gid-index 3", flags));
  REQUIRE(wrong_rdma_flags(flags, "verbs") == "--rdma-gid-index needs --rdma-device");
  RdmaFlags with_port;
  REQUIRE(parse("--rdma-port 1", with_port));
  REQUIRE(wrong_rdma_flags(with_port, "verbs") == "--rdma-port needs --rdma-device");
  RdmaFlags with_device;
  REQUIRE(parse("--rdma-device mlx5_0", with_device));
  REQUIRE(wrong_rdma_flags(with_device, "tcp").find("no RDMA devices") != std::string::npos);
}

}  // namespace namdb::config
