#include "tools/namctl/command_compute.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/namctl/control_client.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

constexpr std::uint64_t kMicroseconds = 1'000'000;
// Between two looks at a compute server that ends.
constexpr std::uint32_t kLook_ms = 200;
// One that was not heard of for so long may be gone; then its memory servers find that out.
constexpr std::uint64_t kSilent_ns = 2'000'000'000;

std::string time_text(std::uint64_t unix_time_us) {
  const auto seconds = static_cast<std::time_t>(unix_time_us / kMicroseconds);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts);
  return text;
}

const char* state_of(const control::ComputeServer& compute) {
  if (compute.draining()) return "draining";
  return compute.silent_ns() > kSilent_ns ? "silent" : "serving";
}

nlohmann::json json_of(const control::ComputeServer& compute) {
  const control::ComputeFacts& facts = compute.facts();
  return {{"address", facts.address()},
          {"process", text("%016" PRIx64, facts.process())},
          {"workers", compute.workers()},
          {"sessions", facts.sessions()},
          {"since", time_text(facts.started_us())},
          {"version", facts.version()},
          {"state", state_of(compute)},
          {"silent_seconds", in_seconds(compute.silent_ns())}};
}

// Memory server 0, and the way to it.
class Cluster {
 public:
  static Result<Cluster> find(const ClusterFlags& flags) {
    Result<ClusterAddress> address = locate(flags);
    if (!address.ok()) return address.status();
    Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->access);
    if (!control.ok()) return control.status();
    Status last(ErrorCode::configuration, "no memory server is given", "give --memory-server, or --data");
    for (const std::string& memory : address->memory) {
      control::StatusReply reply;
      const Status status = (*control)->call(memory, control::STATUS, control::StatusRequest(), reply);
      if (status.ok() && reply.server_id() == 0) return Cluster(std::move(*control), memory);
      last = status.ok()
                 ? Status(ErrorCode::configuration, "memory server 0 is not among those that are given",
                          "it knows the compute servers")
                 : status;
    }
    return last;
  }

  // In the order of their addresses.
  Result<std::vector<control::ComputeServer>> list() {
    control::ListComputesReply reply;
    Status status = control_->call(server_0_, control::LIST_COMPUTES, control::ListComputesRequest(), reply);
    if (!status.ok()) return status;
    std::vector<control::ComputeServer> computes(reply.computes().begin(), reply.computes().end());
    std::ranges::sort(computes, {}, [](const auto& compute) { return compute.facts().address(); });
    return computes;
  }
  Status drain(std::uint64_t process) {
    control::DrainComputeRequest request;
    request.set_process(process);
    control::DrainComputeReply reply;
    return control_->call(server_0_, control::DRAIN_COMPUTE, request, reply);
  }

 private:
  Cluster(std::unique_ptr<ControlPlane> control, std::string server_0)
      : control_(std::move(control)), server_0_(std::move(server_0)) {}

  std::unique_ptr<ControlPlane> control_;
  std::string server_0_;
};

// The one of that address; of several, as after a restart under the same one, the newest.
const control::ComputeServer* find(const std::vector<control::ComputeServer>& computes,
                                   const std::string& server) {
  const control::ComputeServer* found = nullptr;
  for (const control::ComputeServer& compute : computes) {
    const bool is_newer = found == nullptr || compute.facts().started_us() > found->facts().started_us();
    if (compute.facts().address() == server && is_newer) found = &compute;
  }
  return found;
}

const control::ComputeServer* find(const std::vector<control::ComputeServer>& computes,
                                   std::uint64_t process) {
  const auto found =
      std::ranges::find(computes, process, [](const auto& compute) { return compute.facts().process(); });
  return found == computes.end() ? nullptr : &*found;
}

std::string sessions_text(std::uint32_t sessions) {
  return std::to_string(sessions) + (sessions == 1 ? " session" : " sessions");
}

}  // namespace

int run_compute_list(const ClusterFlags& flags, bool json) {
  const Output output(json);
  Result<Cluster> cluster = Cluster::find(flags);
  if (!cluster.ok()) return report_error(output, cluster.status());
  const auto computes = cluster->list();
  if (!computes.ok()) return report_error(output, computes.status());
  nlohmann::json documents = nlohmann::json::array();
  output.line("address                  workers sessions  since                 version          state");
  for (const control::ComputeServer& compute : *computes) {
    const control::ComputeFacts& facts = compute.facts();
    output.line(text("%-24s %7u %8u  %-21s %-16s %s", facts.address().c_str(), compute.workers(),
                     facts.sessions(), time_text(facts.started_us()).c_str(), facts.version().c_str(),
                     state_of(compute)));
    documents.push_back(json_of(compute));
  }
  output.document({{"compute_servers", documents}});
  return kExitOk;
}

int run_compute_drain(const ClusterFlags& flags, const std::string& server, std::uint32_t timeout_s,
                      bool json) {
  const Output output(json);
  Result<Cluster> cluster = Cluster::find(flags);
  if (!cluster.ok()) return report_error(output, cluster.status());
  auto computes = cluster->list();
  if (!computes.ok()) return report_error(output, computes.status());
  const control::ComputeServer* compute = find(*computes, server);
  if (compute == nullptr) {
    std::string known;
    for (const control::ComputeServer& each : *computes)
      known += (known.empty() ? "" : ", ") + each.facts().address();
    return report_error(output, {ErrorCode::configuration, "no compute server of the cluster is at " + server,
                                 known.empty() ? "none is connected" : "there are " + known});
  }
  const std::uint64_t process = compute->facts().process();
  if (const Status status = cluster->drain(process); !status.ok()) return report_error(output, status);
  std::uint32_t told = ~std::uint32_t{0};
  const std::uint64_t looks = std::uint64_t{timeout_s} * 1000 / kLook_ms;
  for (std::uint64_t look = 0; look <= looks; ++look) {
    computes = cluster->list();
    if (!computes.ok()) return report_error(output, computes.status());
    compute = find(*computes, process);
    if (compute == nullptr) {
      output.line("compute server " + server + " has ended");
      output.document({{"address", server}, {"ended", true}});
      return kExitOk;
    }
    if (compute->facts().sessions() != told) {
      told = compute->facts().sessions();
      output.line("compute server " + server + " is draining: " + sessions_text(told) + " left");
    }
    ::usleep(kLook_ms * 1000);
  }
  output.document({{"address", server}, {"ended", false}, {"sessions", told}});
  std::fprintf(stderr, "namctl: compute server %s has not ended in %u s; it still will\n", server.c_str(),
               timeout_s);
  return kExitOther;
}

}  // namespace namdb::namctl
