#include "tools/namctl/command_memory.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "proto/control.pb.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

struct Purpose {
  const char* name;   // for programs
  const char* words;  // for people
};

Purpose purpose_of(control::MemoryPurpose purpose) {
  switch (purpose) {
    case control::MEMORY_REGION_MAP:
      return {"region_map", "region map"};
    case control::MEMORY_TIMESTAMP_VECTOR:
      return {"timestamp_vector", "timestamp vector"};
    case control::MEMORY_ALIGNMENT:
      return {"alignment", "before and behind the extents"};
    case control::MEMORY_JOURNALS:
      return {"journals", "journals"};
    case control::MEMORY_MAIN_BUCKETS:
      return {"main_buckets", "main buckets"};
    case control::MEMORY_INDIRECT_BUCKETS:
      return {"indirect_buckets", "indirect buckets"};
    case control::MEMORY_RECORDS:
      return {"records", "records with their rings"};
    case control::MEMORY_INDEXES:
      return {"indexes", "indexes"};
    case control::MEMORY_OVERFLOW:
      return {"overflow", "old versions moved out of rings"};
    case control::MEMORY_FREE_EXTENTS:
      return {"free_extents", "free extents"};
    default:
      return {"unknown", "something that this namctl does not know"};
  }
}

// With a comma between each three digits; "" for 0.
std::string digits(std::uint64_t value) {
  std::string plain = value == 0 ? "" : std::to_string(value);
  for (std::size_t i = plain.size(); i > 3; i -= 3) plain.insert(i - 3, ",");
  return plain;
}

std::string row(const std::string& name, const control::MemoryPart& part) {
  std::string line = text("  %-48s %17s %17s %15s %15s %17s %13s", name.c_str(), digits(part.bytes()).c_str(),
                          digits(part.used_bytes()).c_str(), digits(part.reserved_bytes()).c_str(),
                          digits(part.waiting_bytes()).c_str(), digits(part.free_bytes()).c_str(),
                          digits(part.unusable_bytes()).c_str());
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

control::MemoryPart sum_of(const control::MemoryReply& reply) {
  control::MemoryPart sum;
  for (const control::MemoryPart& part : reply.parts()) {
    sum.set_bytes(sum.bytes() + part.bytes());
    sum.set_used_bytes(sum.used_bytes() + part.used_bytes());
    sum.set_reserved_bytes(sum.reserved_bytes() + part.reserved_bytes());
    sum.set_waiting_bytes(sum.waiting_bytes() + part.waiting_bytes());
    sum.set_free_bytes(sum.free_bytes() + part.free_bytes());
    sum.set_unusable_bytes(sum.unusable_bytes() + part.unusable_bytes());
  }
  return sum;
}

void print(const Output& output, const std::string& address, const control::MemoryReply& reply) {
  output.line(text("memory server %u at %s: a region of %s bytes, limit %s, in extents of %s",
                   reply.server_id(), address.c_str(), digits(reply.region_bytes()).c_str(),
                   digits(reply.limit_bytes()).c_str(), digits(reply.extent_bytes()).c_str()));
  output.line(text("  %-48s %17s %17s %15s %15s %17s %13s", "", "bytes", "used", "reserved", "waiting",
                   "free", "unusable"));
  for (const control::MemoryPart& part : reply.parts()) {
    std::string name = purpose_of(part.purpose()).words;
    if (part.table() != 0) name = part.name() + (part.dropped() ? " (dropped): " : ": ") + name;
    if (part.merged() != 0) name = std::to_string(part.merged()) + " smaller tables: " + name;
    output.line(row(name, part));
  }
  const control::MemoryPart sum = sum_of(reply);
  output.line(row("sum", sum));
  if (sum.bytes() != reply.region_bytes()) {
    output.line("  WRONG: the sum is not the region's size");
  }
}

nlohmann::json kinds_json(const control::MemoryPart& part) {
  return {{"bytes", part.bytes()},
          {"used_bytes", part.used_bytes()},
          {"reserved_bytes", part.reserved_bytes()},
          {"waiting_bytes", part.waiting_bytes()},
          {"free_bytes", part.free_bytes()},
          {"unusable_bytes", part.unusable_bytes()}};
}

nlohmann::json to_json(const std::string& address, const control::MemoryReply& reply) {
  nlohmann::json parts = nlohmann::json::array();
  for (const control::MemoryPart& part : reply.parts()) {
    nlohmann::json entry = kinds_json(part);
    entry["purpose"] = purpose_of(part.purpose()).name;
    if (part.table() != 0) {
      entry["table"] = part.name();
      entry["table_id"] = part.table();
      entry["dropped"] = part.dropped();
    }
    if (part.merged() != 0) entry["merged"] = part.merged();
    parts.push_back(entry);
  }
  return {{"address", address},
          {"up", true},
          {"server_id", reply.server_id()},
          {"epoch", reply.epoch()},
          {"region_bytes", reply.region_bytes()},
          {"region_limit_bytes", reply.limit_bytes()},
          {"extent_bytes", reply.extent_bytes()},
          {"free_extents", reply.free_extents()},
          {"parts", parts},
          {"sum", kinds_json(sum_of(reply))}};
}

}  // namespace

int run_memory(const ClusterFlags& flags, bool json) {
  const Output output(json);
  Result<ClusterAddress> address = locate(flags);
  if (!address.ok()) return report_error(output, address.status());
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->access);
  if (!control.ok()) return report_error(output, control.status());
  keep_region_hosts(**control, *address);
  bool all_good = true;
  nlohmann::json servers = nlohmann::json::array();
  for (const std::string& server : address->memory) {
    control::MemoryReply reply;
    const Status status = (*control)->call(server, control::MEMORY, control::MemoryRequest(), reply);
    if (!status.ok()) {
      output.line("memory server " + server + ": DOWN, " + status.message());
      servers.push_back({{"address", server}, {"up", false}, {"error", status.to_string()}});
      all_good = false;
      continue;
    }
    print(output, server, reply);
    servers.push_back(to_json(server, reply));
    all_good = all_good && sum_of(reply).bytes() == reply.region_bytes();
  }
  output.document({{"memory_servers", servers}});
  return all_good ? kExitOk : kExitOther;
}

}  // namespace namdb::namctl
