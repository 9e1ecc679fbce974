#include "common/fabric/tcp/transport.h"

#include <algorithm>

#include "common/fabric/tcp/server.h"

namespace namdb::fabric::tcp {
namespace {

bool is_host_and_port(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == address.size()) return false;
  if (address.starts_with("unix:")) return false;
  const std::string_view port = address.substr(colon + 1);
  return std::all_of(port.begin(), port.end(), [](char digit) { return digit >= '0' && digit <= '9'; });
}

}  // namespace

Transport transport(reactor::Reactor& reactor, const TcpOptions& options) {
  return {"tcp", "HOST:PORT", is_host_and_port,
          [&reactor, options] { return make_tcp_client_fabric(reactor, options); },
          [&reactor, options](const ServerRegion& region, Service& service) {
            return std::make_unique<TcpServerFabric>(reactor, region, service, options);
          }};
}

}  // namespace namdb::fabric::tcp
