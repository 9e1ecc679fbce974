// Common to the calls about a region's move to another host (common/placement/move_calls.h).
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "memory/calls/call.h"
#include "memory/state/departure_service.h"

namespace namdb::memory {

// Error insufficient_privilege: the caller is a compute server.
Status check_mover(const Call& call);
// Error also if this server has no region that may move, or if the region may not move now.
Result<DepartureService*> departure_for(const Call& call);

template <typename Request>
struct AskedDeparture {
  DepartureService* service;
  Request request;
};

// The service, and the request to it.
template <typename Request>
Result<AskedDeparture<Request>> ask_departure(const Call& call,
                                              std::optional<Request> (*decode)(std::string_view)) {
  const auto service = departure_for(call);
  if (!service.ok()) return service.status();
  std::optional<Request> request = decode(call.request);
  if (!request) return malformed(call.method);
  return AskedDeparture<Request>{service.value(), *std::move(request)};
}

}  // namespace namdb::memory
