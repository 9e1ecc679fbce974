// The table of methods, made from method_list.h: from the number of a call to its handler.
#pragma once

#include <cstdint>

#include "common/base/error.h"
#include "memory/calls/call.h"
#include "memory/calls/method_list.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// The memory servers that answer a method. To the others it is unknown.
enum class Where : std::uint8_t {
  every_server,
  server_0,
  not_server_0,
  whole_vector,        // server 0, where the timestamp vector is not partitioned
  partitioned_vector,  // other servers than 0, with a part of the timestamp vector
};

// The consequence of a handler's out_of_memory.
enum class WhenFull : std::uint8_t {
  fail,
  // The handler runs again once extents came back (waiting.h). A handler that answers out_of_memory has
  // changed nothing.
  retry,
};

struct Method {
  std::uint16_t number;
  Where where;
  WhenFull when_full;
  Handler handler;         // one of the two is null
  WaitingHandler waiting;  // the handler may suspend

  bool answered_by(const ServerState& server) const;
};

// Null for a number that is not a method.
const Method* find_method(std::uint16_t number);

namespace handlers {

#define NAMDB_DECLARE_CALL(method, handler, Request, Reply, where, when_full) \
  Status handler(Caller caller, const control::Request& request, control::Reply& reply);
#define NAMDB_DECLARE_WAITING_CALL(method, handler, Request, Reply, where, when_full) \
  reactor::Task<Status> handler(Caller caller, const control::Request& request, control::Reply& reply);
#define NAMDB_DECLARE_BYTES(method, handler, where, when_full) Status handler(const Call& call);
#define NAMDB_DECLARE_WAITING_BYTES(method, handler, where, when_full) \
  reactor::Task<Status> handler(Call call);
NAMDB_MEMORY_METHODS(NAMDB_DECLARE_CALL, NAMDB_DECLARE_WAITING_CALL, NAMDB_DECLARE_BYTES,
                     NAMDB_DECLARE_WAITING_BYTES)
#undef NAMDB_DECLARE_CALL
#undef NAMDB_DECLARE_WAITING_CALL
#undef NAMDB_DECLARE_BYTES
#undef NAMDB_DECLARE_WAITING_BYTES

}  // namespace handlers
}  // namespace namdb::memory
