// Compute servers that take no turn for a while and then go on: fenced before any transaction touches what
// they locked, and waited for, or fenced, before memory that they may write to is used again.
#include <map>

#include "proto/control.pb.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

constexpr std::uint64_t kSilent_ns = kMillisecond_ns;  // many heartbeats

// Knows which workers a memory server has not heard of for a while.
class SilenceMutant : public Mutant {
 public:
  Result<std::string> on_connect(fabric::Service& inner, std::size_t server, fabric::PeerId peer,
                                 std::string_view hello) override {
    heard_ns_[{server, peer}] = cluster().world().now_ns();
    return inner.on_connect(peer, hello);
  }
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    if (method != control::HEARTBEAT) co_return co_await inner->on_call(peer, method, request, *reply);
    const std::uint64_t now_ns = cluster().world().now_ns();
    heard_ns_[{server, peer}] = now_ns;
    Status status = co_await inner->on_call(peer, method, request, *reply);
    control::HeartbeatReply known;
    if (!status.ok() || !known.ParseFromString(*reply)) co_return status;
    std::vector<fabric::PeerId> silent;
    for (const auto& [place, heard_ns] : heard_ns_) {
      if (place.first == server && heard_ns + kSilent_ns < now_ns) silent.push_back(place.second);
    }
    for (const fabric::PeerId other : silent) co_await on_silence(inner, other, known);
    co_return status;
  }

 protected:
  virtual reactor::Task<void> on_silence(fabric::Service* inner, fabric::PeerId peer,
                                         control::HeartbeatReply known) = 0;

 private:
  std::map<std::pair<std::size_t, fabric::PeerId>, std::uint64_t> heard_ns_;
};

// A worker that is silent is taken for dead while its channel lives, and FENCE is answered, no more.
class TakenForDeadUnfenced final : public SilenceMutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    if (method == control::FENCE) co_return Status();
    co_return co_await SilenceMutant::on_call(inner, server, peer, method, request, reply);
  }

 protected:
  reactor::Task<void> on_silence(fabric::Service* inner, fabric::PeerId peer,
                                 control::HeartbeatReply known) override {
    static_cast<void>(known);
    inner->on_disconnect(peer);
    co_return;
  }
};

// A worker that is silent for long enough counts as having no older transaction: durations bound writers.
class SilenceAcknowledges final : public SilenceMutant {
 protected:
  reactor::Task<void> on_silence(fabric::Service* inner, fabric::PeerId peer,
                                 control::HeartbeatReply known) override {
    control::HeartbeatRequest heartbeat;
    heartbeat.set_acknowledged_epoch(known.reuse_epoch());
    heartbeat.set_acknowledged_catalog(known.catalog_version());
    const std::string request = heartbeat.SerializeAsString();
    std::string nothing;
    static_cast<void>(co_await inner->on_call(peer, control::HEARTBEAT, request, nothing));
  }
};

}  // namespace

std::vector<MutantCase> paused_mutants() {
  return {
      {"a slot is decided before its owner, which is only paused, is fenced", "memory/calls/fence.cc",
       Pauses::taken_for_dead, 2, "its final counter", make_mutant<TakenForDeadUnfenced>},
      {"a dropped table's memory is used again while a paused owner of a lock can write",
       "memory/reclaim/epoch_reclaimer.cc", Pauses::tables_dropped, 14, "is damaged",
       make_mutant<SilenceAcknowledges>},
  };
}

}  // namespace namdb::sim
