#include "tools/namctl/command_checkpoint.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "memory/log/manifest.h"
#include "tools/namctl/control_client.h"
#include "tools/namctl/disk_view.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

// The line of a terminal, which the next one replaces.
void show_progress(const std::vector<LongCall>& calls) {
  std::string line;
  for (const LongCall& call : calls) {
    const control::CheckpointStatus& checkpoint = call.progress.disk().checkpoint();
    if (call.ended || !checkpoint.running()) continue;
    line += (line.empty() ? "" : "; ") + text("server %u: ", call.progress.server_id()) +
            checkpoint_progress(checkpoint);
  }
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

// The addresses of the servers that are asked.
Result<std::vector<std::string>> choose(ControlPlane& control, const ClusterAddress& address,
                                        std::optional<std::uint32_t> server) {
  if (!server) return address.memory;
  for (const std::string& memory : address.memory) {
    control::StatusReply reply;
    const Status status = control.call(memory, control::STATUS, control::StatusRequest(), reply);
    if (status.ok() && reply.server_id() == *server) return std::vector<std::string>{memory};
  }
  return Status(ErrorCode::configuration,
                "no memory server of the cluster says that it is number " + std::to_string(*server));
}

void print(const Output& output, const control::CheckpointReply& reply) {
  const control::CheckpointStatus& made = reply.checkpoint();
  output.line(text("%6u %10s %9.1f %12.1f %10" PRIu64 " %10.1f %16" PRIu64, reply.server_id(),
                   memory::generation_text(made.generation()).c_str(), in_seconds(made.duration_ns()),
                   mebibytes(made.written_bytes()), made.chunks(), mebibytes(made.bytes()),
                   made.redo_from()));
}

}  // namespace

int run_checkpoint(const ClusterFlags& flags, std::optional<std::uint32_t> server, bool fast, bool json) {
  const Output output(json);
  Result<ClusterAddress> address = locate(flags);
  if (!address.ok()) return report_error(output, address.status());
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->access);
  if (!control.ok()) return report_error(output, control.status());
  keep_region_hosts(**control, *address);
  const auto chosen = choose(**control, *address, server);
  if (!chosen.ok()) return report_error(output, chosen.status());
  std::vector<LongCall> calls;
  for (const std::string& memory : *chosen) calls.emplace_back().address = memory;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const std::function<void()> watch = [&calls, terminal] {
    if (terminal) show_progress(calls);
  };
  control::CheckpointRequest request;
  request.set_fast(fast);
  (*control)->call_all(calls, control::CHECKPOINT, request, watch);
  if (terminal) std::fprintf(stderr, "\r\033[K");

  bool all_good = true;
  bool titled = false;
  nlohmann::json servers = nlohmann::json::array();
  for (const LongCall& call : calls) {
    control::CheckpointReply reply;
    Status status = call.status;
    if (status.ok() && !reply.ParseFromString(call.reply))
      status = Status(ErrorCode::protocol_violation, "the memory server answered nonsense");
    if (!status.ok()) {
      all_good = false;
      std::fprintf(stderr, "namctl: memory server %s: %s\n", call.address.c_str(), status.message().c_str());
      servers.push_back({{"address", call.address}, {"error", status.to_string()}});
      continue;
    }
    if (!titled) {
      titled = true;
      output.line("server generation   seconds  MiB written     chunks  MiB in all        redo from");
    }
    print(output, reply);
    servers.push_back({{"address", call.address},
                       {"server_id", reply.server_id()},
                       {"checkpoint", checkpoint_json(reply.checkpoint())}});
  }
  output.document({{"memory_servers", servers}});
  return all_good ? kExitOk : kExitOther;
}

}  // namespace namdb::namctl
