#include "tools/namctl/region_move.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "common/placement/configuration.h"
#include "common/placement/move_calls.h"
#include "tools/namctl/region_hosts.h"

namespace namdb::namctl {
namespace {

using placement::MoveReply;
using placement::MoveState;

constexpr std::chrono::milliseconds kLook{100};
// How long a host may be silent while it opens a region that has come to it, or ends.
constexpr std::chrono::seconds kSilence{60};

class RegionMove {
 public:
  RegionMove(const Output& output, ControlPlane& control, std::string from, std::string to)
      : output_(output), control_(control), from_(std::move(from)), to_(std::move(to)) {}

  Status run() {
    Status status = check();
    if (!status.ok() || done_) return status;
    output_.line("memory server " + std::to_string(server_) + " moves from " + from_ + " to " + to_);
    status = copy();
    if (!status.ok()) return status;
    return await_served();
  }
  nlohmann::json to_json() const {
    return {{"server_id", server_},
            {"from", from_},
            {"to", to_},
            {"copied_bytes", copied_.copied_bytes},
            {"copy_seconds", in_seconds(copied_.duration_ns)},
            {"rounds", copied_.rounds}};
  }

 private:
  // That there is a region at the one, and none at the other. Done: it has moved already.
  Status check() {
    const auto old = ask_host(control_, from_, {});
    if (!old.ok()) return old.status();
    server_ = old->server_id;
    if (old->state == MoveState::departed) {
      const auto configuration = ask_configuration(control_, from_);
      if (!configuration.ok()) return configuration.status();
      const bool known = server_ < configuration->regions();
      const std::string where = known ? configuration->place(server_).address : "another host";
      done_ = where == to_;
      if (!done_) return Status(ErrorCode::configuration, "the region of " + from_ + " is at " + where);
      output_.line("memory server " + std::to_string(server_) + " is at " + to_ + " already");
      return Status();
    }
    if (old->state != MoveState::here) return Status(ErrorCode::configuration, from_ + " has no region");
    const auto next = ask_host(control_, to_, {});
    if (!next.ok()) return next.status();
    if (next->state == MoveState::here || next->state == MoveState::departed) {
      return Status(
          ErrorCode::configuration,
          to_ + (next->state == MoveState::here ? " has a region of its own" : " had a region once"),
          "start nam-memoryd with a new data folder there, and --join");
    }
    if (next->server_id != server_) {
      return Status(ErrorCode::configuration, to_ + " waits for the region of memory server " +
                                                  std::to_string(next->server_id) + ", and " + from_ +
                                                  " has that of memory server " + std::to_string(server_));
    }
    return Status();
  }

  Status copy() {
    auto reply = ask_host(control_, to_, {from_, to_});
    if (!reply.ok()) return reply.status();
    while (reply->state == MoveState::copies || reply->state == MoveState::claims) {
      copied_ = *reply;
      show_progress(reply->state == MoveState::copies ? progress_text(*reply) : "asks for the region");
      std::this_thread::sleep_for(kLook);
      reply = ask_host(control_, to_, {});
      // It ends as a host without a region, and begins as a memory server.
      if (!reply.ok()) break;
    }
    show_progress("");
    if (reply.ok() && reply->state == MoveState::waits) {
      return Status(
          ErrorCode::object_not_in_prerequisite_state,
          "the region has not moved: " + (reply->error.empty() ? "the host has restarted" : reply->error),
          "it is served where it was; try again");
    }
    return Status();
  }

  // The new host says so by itself once it has opened.
  Status await_served() {
    const auto began = std::chrono::steady_clock::now();
    Status status;
    bool opens = false;
    while (std::chrono::steady_clock::now() - began < kSilence || opens) {
      const auto reply = ask_host(control_, to_, {});
      status = reply.status();
      if (reply.ok() && reply->state == MoveState::here) {
        output_.line("memory server " + std::to_string(server_) + " is at " + to_ + " now; " +
                     progress_text(copied_));
        output_.line(from_ +
                     " says where it is as long as it runs: let all nam-computed and other memory "
                     "servers have the new address in their configuration before it is stopped");
        return Status();
      }
      if (reply.ok() && reply->state == MoveState::waits)
        return Status(ErrorCode::object_not_in_prerequisite_state,
                      "the region has not moved: " + reply->error, "it is served where it was; try again");
      opens = !status.ok() && status.code() == ErrorCode::cannot_connect_now;
      show_progress(opens ? "opens the database" : "waits for an answer of " + to_);
      std::this_thread::sleep_for(kLook);
    }
    return Status(ErrorCode::connection_failure, to_ + " does not answer: " + status.message(),
                  "look at its log; once it runs it goes on by itself");
  }

  const Output& output_;
  ControlPlane& control_;
  std::string from_;
  std::string to_;
  std::uint32_t server_ = 0;
  bool done_ = false;
  MoveReply copied_;
};

}  // namespace

Status move_region(const Output& output, ControlPlane& control, const std::string& from,
                   const std::string& to, nlohmann::json* document) {
  RegionMove move(output, control, from, to);
  const Status status = move.run();
  if (status.ok()) *document = move.to_json();
  return status;
}

}  // namespace namdb::namctl
