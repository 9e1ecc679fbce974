// The commits of dead compute servers: memory server 0 decides, after the owner is fenced at every memory
// server, from what all of them have; each installs its part; then the slot is closed, and locks that are
// left may be undone. Server 0 calls its own parts directly, so the doubles are about the calls to others.
#include <algorithm>
#include <map>
#include <set>

#include "common/calls/decider_calls.h"
#include "proto/control.pb.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"
#include "tools/namsim/scenario/emphasise.h"

namespace namdb::sim {
namespace {

using layout::HeaderWord;

// Transactions that meet a dead slot's locks hear that it lives, for ever.
class LocksNeverUndone final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    Status status = co_await inner->on_call(peer, method, request, *reply);
    control::ListSlotsReply list;
    if (method != control::LIST_SLOTS || request.empty() || !list.ParseFromString(*reply)) co_return status;
    for (control::Slot& slot : *list.mutable_slots()) slot.set_state(control::SLOT_LEASED);
    *reply = list.SerializeAsString();
    co_return status;
  }
};

// No other memory server tells server 0 what it has.
class NeverDecided final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    if (method == calls::kLookMethod) co_return Status(ErrorCode::internal, "a double refuses");
    co_return co_await inner->on_call(peer, method, request, *reply);
  }
};

// FENCE is answered, and nothing is fenced; LOOK does not find the owner connected.
class NotFenced final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    if (method == control::FENCE) co_return Status();
    if (method == calls::kLookMethod) {
      if (const auto look = calls::decode_look(request))
        cluster().memory(server).server->parts().journals.left(look->slot);
    }
    co_return co_await inner->on_call(peer, method, request, *reply);
  }
};

// Slots stay dead for a while: the other memory servers take their time with the owner's fence.
class LateDecision : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    if (method == control::FENCE && late_.emplace(request).second)
      co_await cluster().memory(server).node->sleep_for(kLate_ns);
    co_return co_await inner->on_call(peer, method, request, *reply);
  }

 private:
  static constexpr std::uint64_t kLate_ns = 60 * kMillisecond_ns;
  std::set<std::string, std::less<>> late_;
};

// ... and transactions that meet their locks hear that they are closed.
class UndoneBeforeClosed final : public LateDecision {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    Status status = co_await LateDecision::on_call(inner, server, peer, method, request, reply);
    control::ListSlotsReply list;
    if (method != control::LIST_SLOTS || request.empty() || !list.ParseFromString(*reply)) co_return status;
    for (control::Slot& slot : *list.mutable_slots()) {
      if (slot.state() == control::SLOT_DEAD) slot.set_state(control::SLOT_CLOSED);
    }
    *reply = list.SerializeAsString();
    co_return status;
  }
};

// Knows the entries of a slot that a memory server has.
class DecidingMutant : public Mutant {
 protected:
  const memory::JournalStream* stream(std::size_t server, std::uint32_t slot) {
    return cluster().memory(server).server->journals().find(slot);
  }
  static const memory::KeptEntry* entry(const memory::JournalStream& stream, std::uint32_t counter) {
    const auto found = std::ranges::find_if(
        stream.entries(), [counter](const memory::KeptEntry& kept) { return kept.stamp.counter == counter; });
    return found == stream.entries().end() ? nullptr : &*found;
  }
};

// A commit counts as complete once server 0 has its part.
class OnePartSuffices final : public DecidingMutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    std::string altered(request);
    if (method == calls::kVerdictMethod) leave_out_lacking(server, altered);
    Status status = co_await inner->on_call(peer, method, altered, *reply);
    if (method == calls::kLookMethod && status.ok()) add_lacking(server, request, *reply);
    co_return status;
  }

 private:
  void add_lacking(std::size_t server, std::string_view request, std::string& reply) {
    const auto look = calls::decode_look(request);
    auto seen = calls::decode_look_reply(reply);
    if (!look || !seen || seen->final_counter) return;
    const memory::JournalStream* const first = stream(0, look->slot);
    if (first == nullptr) return;
    for (const memory::KeptEntry& kept : first->entries()) {
      const std::uint32_t counter = kept.stamp.counter;
      const bool names = std::ranges::count(kept.regions, static_cast<layout::ServerId>(server)) != 0;
      const auto has = [counter](const calls::SeenEntry& known) { return known.counter == counter; };
      if (!names || counter <= seen->through || std::ranges::any_of(seen->entries, has)) continue;
      seen->entries.push_back({counter, kept.configuration, {kept.regions.begin(), kept.regions.end()}});
    }
    std::ranges::sort(seen->entries, {}, &calls::SeenEntry::counter);
    reply = calls::encode(*seen);
  }
  void leave_out_lacking(std::size_t server, std::string& request) {
    auto verdict = calls::decode_verdict(request);
    if (!verdict) return;
    const memory::JournalStream* const here = stream(server, verdict->slot);
    std::erase_if(verdict->commits,
                  [&](std::uint32_t counter) { return here == nullptr || entry(*here, counter) == nullptr; });
    request = calls::encode(*verdict);
  }
};

// A memory server says that its part of a commit is installed when it is not.
class NotInstalled final : public DecidingMutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    const auto verdict = calls::decode_verdict(request);
    if (method != calls::kVerdictMethod || !verdict)
      co_return co_await inner->on_call(peer, method, request, *reply);
    memory::Journals& journals = cluster().memory(server).server->parts().journals;
    for (const std::uint32_t counter : verdict->commits)
      journals.decide(verdict->slot, counter, memory::Verdict::committed);
    co_return co_await inner->on_call(peer, method, request, *reply);
  }
};

// A record or a chain is installed whatever its lock word has become.
class InstalledUnlocked final : public DecidingMutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    const auto verdict = calls::decode_verdict(request);
    if (method == calls::kVerdictMethod && verdict) {
      for (const std::uint32_t counter : verdict->commits) lock_again(server, verdict->slot, counter);
    }
    co_return co_await inner->on_call(peer, method, request, *reply);
  }

 private:
  void lock_again(std::size_t server, std::uint32_t slot, std::uint32_t counter) {
    const memory::JournalStream* const here = stream(server, slot);
    const memory::KeptEntry* const kept = here == nullptr ? nullptr : entry(*here, counter);
    if (kept == nullptr) return;
    const auto copy = here->read_again(*kept);
    if (!copy) return;
    for (const layout::JournalItem& item : copy->entry.items) {
      if (item.lock.server() != server) continue;
      std::uint64_t& word = cluster().memory(server).words[item.lock.offset() / 8];
      const bool update = item.kind == layout::JournalItem::Kind::update;
      const layout::Stamp stamp = update ? copy->entry.lock : copy->entry.stamp;
      if (!HeaderWord(word).locked()) word = HeaderWord(stamp, false, true).value();
    }
  }
};

// Memory server 1 has what server 0 asks others for.
void on_two_servers(Scenario& scenario) {
  scenario.resize({.memory_servers = 2});
}

void many_deaths_on_two_servers(Scenario& scenario) {
  scenario.resize({.memory_servers = 2, .computes = 8, .keys = 4, .kills = 7});
}

// Commits of rows that are not there, with a dead owner now and then.
void inserts_and_kills(Scenario& scenario) {
  emphasise(Emphasis::kills, scenario.draw, scenario);
  scenario.resize({.memory_servers = 2, .computes = 4, .keys = 30});
  scenario.workload_options.absent_keys = 28;
}

}  // namespace

std::vector<MutantCase> deciding_mutants() {
  return {
      {"the locks of a closed slot are never undone", "compute/recovery/dead_locks.cc", Emphasis::kills, 1,
       "a row stays out of reach", make_mutant<LocksNeverUndone>},
      {"a dead slot is never decided", "memory/coordinator/dead_slots.cc", Emphasis::kills, 3,
       "a row stays out of reach", make_mutant<NeverDecided>, nullptr, on_two_servers},
      {"memory servers are asked before the owner is fenced", "memory/coordinator/decider.cc",
       Emphasis::kills, 18, "a row stays out of reach", make_mutant<NotFenced>, nullptr, on_two_servers},
      {"a lock is undone before its slot is closed", "compute/recovery/dead_locks.cc", Emphasis::kills, 257,
       "a row stays out of reach", make_mutant<UndoneBeforeClosed>, make_mutant<LateDecision>,
       on_two_servers},
      {"a commit that lacks a part is committed", "memory/coordinator/decider.cc", Emphasis::kills, 178,
       "lost update", make_mutant<OnePartSuffices>, nullptr, many_deaths_on_two_servers},
      {"a slot is closed before all parts of its commits are installed", "memory/deciding/decide.cc",
       Emphasis::kills, 16, "lost update", make_mutant<NotInstalled>, nullptr, many_deaths_on_two_servers},
      {"a part is installed where the dead commit's lock is gone", "memory/apply/applier.cc",
       Emphasis::inserts, 5, "is damaged", make_mutant<InstalledUnlocked>, nullptr, inserts_and_kills},
  };
}

}  // namespace namdb::sim
