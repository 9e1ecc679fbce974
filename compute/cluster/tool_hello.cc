#include "compute/cluster/tool_hello.h"

#include "common/calls/protocol_version.h"
#include "proto/control.pb.h"

namespace namdb::txn {

std::string tool_hello(const ComputeId& id, const std::string& name) {
  control::Hello hello;
  hello.set_protocol_version(calls::kProtocolVersion);
  hello.set_compute_id(id.data(), id.size());
  hello.set_name(name);
  hello.set_tool(true);
  return hello.SerializeAsString();
}

}  // namespace namdb::txn
