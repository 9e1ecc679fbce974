#include "common/fabric/verbs/transport.h"

#include <algorithm>

#include "common/fabric/verbs/client.h"
#include "common/fabric/verbs/server.h"
#include "common/fabric/verbs/shared_client.h"

namespace namdb::fabric::verbs {
namespace {

bool is_host_and_port(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == address.size()) return false;
  if (address.starts_with("unix:")) return false;
  const std::string_view port = address.substr(colon + 1);
  return std::all_of(port.begin(), port.end(), [](char digit) { return digit >= '0' && digit <= '9'; });
}

}  // namespace

Transport transport(reactor::Reactor& reactor, const VerbsOptions& options) {
  return {"verbs", "HOST:PORT", is_host_and_port,
          [&reactor, options] {
            return options.communicator == nullptr ? make_verbs_client_fabric(reactor, options)
                                                   : make_shared_client_fabric(reactor, options.communicator);
          },
          [&reactor, options](const ServerRegion& region, Service& service) {
            return std::make_unique<VerbsServerFabric>(reactor, region, service, options);
          }};
}

}  // namespace namdb::fabric::verbs
