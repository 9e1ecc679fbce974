// The device, port and GID that a server and its clients use: by their addresses, and by name. See
// test_peers.h.
#include "common/fabric/verbs/device_choice.h"

#include "common/fabric/verbs/testing/test_peers.h"

namespace namdb::fabric::verbs {
namespace device_choice_test {

struct Place {
  Status status;
  std::string address;
  std::string device;
  std::uint64_t port = 0;
  std::uint64_t gid_index = 0;
  std::uint64_t region_page_bytes = 0;
  std::uint64_t smallest_page_bytes = 0;
};

Task<void> listen(VerbsServerFabric* fabric, std::string address, Place* place) {
  place->status = co_await fabric->listen(std::move(address));
  place->address = fabric->address();
  place->device = fact_of(*fabric, "device").text;
  place->port = fact_of(*fabric, "port").amount;
  place->gid_index = fact_of(*fabric, "gid_index").amount;
  place->region_page_bytes = fact_of(*fabric, "region_page_bytes").amount;
  place->smallest_page_bytes = fact_of(*fabric, "smallest_page_bytes").amount;
  co_await fabric->close();
}

Place listen_at(const std::string& address, const DeviceChoice& choice) {
  spdlog::set_level(spdlog::level::off);
  const std::unique_ptr<reactor::Reactor> reactor = make_reactor();
  TestService service(*reactor);
  alignas(4096) static std::array<std::byte, 4096> region;
  VerbsOptions options = options_with_key(7);
  options.device = choice;
  VerbsServerFabric fabric(*reactor, {region.data(), region.size(), region.size(), -1}, service, options);
  Place place;
  reactor->run_until(listen(&fabric, address, &place));
  return place;
}

Task<void> look(Channel* channel, Place* place) {
  place->device = fact_of(*channel, "device").text;
  place->port = fact_of(*channel, "port").amount;
  place->gid_index = fact_of(*channel, "gid_index").amount;
  co_return;
}

Place connect_to(const std::string& address, const VerbsOptions& options) {
  Place place;
  place.status = with_channel(address, options, [&](Channel* channel) { return look(channel, &place); });
  return place;
}

Place connect_to(const std::string& address, const DeviceChoice& choice) {
  VerbsOptions options = options_with_key(7);
  options.device = choice;
  return connect_to(address, options);
}

bool says(const Status& status, const std::string& words) {
  return status.code() == ErrorCode::configuration && (status.message().find(words) != std::string::npos ||
                                                       status.hint().find(words) != std::string::npos);
}

TEST_CASE("a server listens at the address of the device that is chosen") {
  const Place asked = listen_at(test_host() + ":0", {});
  REQUIRE(asked.status.ok());
  const auto gid_index = static_cast<std::uint32_t>(asked.gid_index);
  REQUIRE(asked.region_page_bytes == 4096);
  REQUIRE(asked.smallest_page_bytes <= 4096);
  for (const DeviceChoice& choice :
       {DeviceChoice{asked.device, {}, {}}, DeviceChoice{asked.device, 1, gid_index}}) {
    for (const std::string& address : {std::string("0.0.0.0:0"), test_host() + ":0"}) {
      const Place place = listen_at(address, choice);
      INFO(in_words(place.status));
      REQUIRE(place.status.ok());
      REQUIRE(place.address.starts_with(test_host() + ":"));
      REQUIRE(place.device == asked.device);
    }
  }
}

TEST_CASE("a client connects by the device that is chosen, whatever the routes say") {
  const Place server = listen_at(test_host() + ":0", {});
  Server listening;
  const Place routed = connect_to(listening.address(), DeviceChoice{});
  REQUIRE(routed.status.ok());
  REQUIRE(routed.device != server.device);  // so the machine's routes are
  for (const Place& wanted : {server, routed}) {
    const auto gid_index = static_cast<std::uint32_t>(wanted.gid_index);
    for (const DeviceChoice& choice :
         {DeviceChoice{wanted.device, {}, {}}, DeviceChoice{wanted.device, 1, gid_index}}) {
      const Place place = connect_to(listening.address(), choice);
      INFO(in_words(place.status));
      REQUIRE(place.status.ok());
      REQUIRE((place.device == wanted.device && place.port == 1 && place.gid_index == wanted.gid_index));
    }
  }
}

TEST_CASE("a device, port or GID that is not there is refused by name, with those that are") {
  const std::string device = listen_at(test_host() + ":0", {}).device;
  Server listening;
  for (const auto& at : {+[](const std::string& address, const DeviceChoice& choice) {
                           return connect_to(address, choice).status;
                         },
                         +[](const std::string& /*address*/, const DeviceChoice& choice) {
                           return listen_at(test_host() + ":0", choice).status;
                         }}) {
    REQUIRE(says(at(listening.address(), {"no_device", {}, {}}), "there is no RDMA device no_device"));
    REQUIRE(says(at(listening.address(), {"no_device", {}, {}}), device));
    REQUIRE(says(at(listening.address(), {device, 2, {}}), "it has 1 port"));
    REQUIRE(says(at(listening.address(), {device, 1, 77}), "no GID with index 77"));
    // The port's own, which every port has.
    REQUIRE(says(at(listening.address(), {device, 1, 0}), "no IPv4 address"));
  }
}

TEST_CASE("addresses that lead elsewhere than to the chosen device are refused") {
  const Place own = listen_at(test_host() + ":0", {});
  Server listening;
  const Place other = connect_to(listening.address(), DeviceChoice{});
  REQUIRE(says(listen_at(test_host() + ":0", {other.device, {}, {}}).status,
               "the RDMA device " + own.device + ", GID "));
  VerbsOptions options = options_with_key(7);
  options.device.device = other.device;
  options.source_address = test_host();
  REQUIRE(says(connect_to(listening.address(), options).status, "not with the RDMA device " + other.device));
}

}  // namespace device_choice_test
}  // namespace namdb::fabric::verbs
