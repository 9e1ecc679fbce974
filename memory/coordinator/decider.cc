#include "memory/coordinator/decider.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace namdb::memory {
namespace {

bool listed(const std::vector<std::uint32_t>& counters, std::uint32_t counter) {
  return std::ranges::binary_search(counters, counter);
}

}  // namespace

Decision verdict(std::span<const PartAnswer> answers, bool published) {
  bool known = published;
  bool is_void = false;
  bool lacks = false;
  bool unreached = false;
  for (const PartAnswer& answer : answers) {
    if (!answer.reached) {
      unreached = true;
      continue;
    }
    known |= answer.finished || answer.committed;
    is_void |= answer.is_void;
    lacks |= !answer.has && !answer.finished && !answer.committed;
  }
  if (known) return is_void || lacks ? Decision::contradiction : Decision::commit;
  if (is_void || lacks) return Decision::undo;
  return unreached ? Decision::wait : Decision::commit;
}

// A round's knowledge of a slot, and its tasks.
struct Decider::Round {
  struct Host {
    layout::ServerId server = 0;
    std::optional<calls::LookReply> seen;  // none: it does not answer
    std::vector<std::uint32_t> voids;      // to be recorded there
    std::vector<std::uint32_t> commits;
  };

  explicit Round(UndecidedSlot undecided) : slot(std::move(undecided)) {
    for (const layout::ServerId server : slot.hosts) hosts.emplace_back().server = server;
  }

  Host* find(layout::ServerId server) {
    const auto found = std::ranges::find(hosts, server, &Host::server);
    return found == hosts.end() ? nullptr : &*found;
  }
  // A server did not answer, or not with success: the round cannot be the last.
  void missed(layout::ServerId server, const Status& why) {
    if (!waits.ok()) return;
    waits = Status(ErrorCode::cannot_connect_now, "execution slot " + std::to_string(slot.slot) +
                                                      " waits for memory server " + std::to_string(server) +
                                                      ": " + why.message());
  }
  Status corrupt(std::uint32_t counter, const std::string& what) const {
    return Status(ErrorCode::corrupt_data, "the journal entry of commit " + std::to_string(counter) +
                                               " of execution slot " + std::to_string(slot.slot) + " " +
                                               what);
  }
  Status decide_all();
  Status decide(const calls::SeenEntry& entry);

  UndecidedSlot slot;
  std::vector<Host> hosts;
  std::vector<bool> fenced;  // by server
  Status waits;              // why this is not the last round
  std::uint32_t through = 0;
  std::optional<std::uint32_t> known_final;  // an earlier decider has told some host
  std::uint32_t last_commit = 0;
  std::set<std::uint32_t> commits;  // not all of those up to `through`
};

Status Decider::Round::decide_all() {
  through = slot.published;
  std::map<std::uint32_t, calls::SeenEntry> entries;
  for (const Host& host : hosts) {
    if (!host.seen) continue;
    through = std::max(through, host.seen->through);
    if (const auto told = host.seen->final_counter) {
      if (known_final && *known_final != *told)
        return corrupt(std::min(*known_final, *told),
                       "was the last one at one memory server, not at another");
      known_final = told;
    }
    for (const calls::SeenEntry& entry : host.seen->entries) {
      const auto [known, is_new] = entries.emplace(entry.counter, entry);
      if (!is_new && known->second != entry)
        return corrupt(entry.counter, "names other regions on memory server " + std::to_string(host.server));
    }
  }
  // With a final counter all that follows is recorded already.
  if (known_final) return Status();
  std::set<std::uint32_t> voids;
  for (const Host& host : hosts) {
    if (!host.seen) continue;
    voids.insert(host.seen->voids.begin(), host.seen->voids.end());
    if (!host.seen->commits.empty()) last_commit = std::max(last_commit, host.seen->commits.back());
    commits.insert(host.seen->commits.begin(), host.seen->commits.end());
  }
  for (const Host& host : hosts) {
    if (!host.seen) continue;
    for (const std::uint32_t counter : host.seen->commits) {
      if (voids.contains(counter))
        return corrupt(counter, "is void at one memory server, committed at another");
    }
  }
  for (const auto& [counter, entry] : entries) {
    if (Status status = decide(entry); !status.ok()) return status;
  }
  return Status();
}

Status Decider::Round::decide(const calls::SeenEntry& entry) {
  const std::uint32_t counter = entry.counter;
  std::vector<PartAnswer> answers;
  std::vector<Host*> named;
  // A region has one copy, on the memory server of its id.
  for (const layout::ServerId region : entry.regions) {
    Host* const host = find(region);
    if (host == nullptr)
      return corrupt(counter, "names memory server " + std::to_string(region) + ", where it has no journal");
    named.push_back(host);
    PartAnswer& answer = answers.emplace_back();
    if (!host->seen) continue;
    answer.reached = true;
    answer.has = std::ranges::binary_search(host->seen->entries, counter, {}, &calls::SeenEntry::counter);
    answer.is_void = listed(host->seen->voids, counter);
    answer.committed = listed(host->seen->commits, counter);
    answer.finished = counter <= host->seen->through;
  }
  const Decision outcome = verdict(answers, counter <= through);
  if (outcome == Decision::contradiction)
    return corrupt(counter, "was committed, but a memory server has lost its part");
  if (outcome == Decision::commit) {
    last_commit = std::max(last_commit, counter);
    commits.insert(counter);
  }
  for (std::size_t i = 0; i < named.size(); ++i) {
    const PartAnswer& answer = answers[i];
    if (!answer.has) continue;
    if (outcome == Decision::undo && !answer.is_void) named[i]->voids.push_back(counter);
    if (outcome == Decision::commit && !answer.committed && !answer.finished)
      named[i]->commits.push_back(counter);
  }
  return Status();
}

reactor::Task<Result<std::uint32_t>> Decider::decide(UndecidedSlot slot, Verdicts* verdicts) {
  Round round(std::move(slot));
  co_await fence(&round);
  co_await look(&round);
  Status status = round.decide_all();
  if (!status.ok()) co_return status;
  co_await record_voids(&round);
  co_await record_commits(&round);
  if (!round.waits.ok()) co_return round.waits;
  if (!round.known_final) {
    round.known_final = std::max(round.through, round.last_commit);
    if (verdicts != nullptr)
      *verdicts = {.complete = true, .through = round.through, .committed = std::move(round.commits)};
  }
  co_await record_final(&round);
  if (!round.waits.ok()) co_return round.waits;
  co_return *round.known_final;
}

// Where the owner has no journal it may still have locks, whose release must not come after others took them.
reactor::Task<void> Decider::fence(Round* round) {
  for (std::uint32_t i = 0; i < round->slot.server_count; ++i) {
    const auto server = static_cast<layout::ServerId>(i);
    Status status;
    const bool could_reach = !round->slot.without.contains(i);
    if (!round->slot.owner.empty() && could_reach) status = co_await hosts_.fence(server, round->slot.owner);
    round->fenced.push_back(status.ok());
    if (!status.ok()) round->missed(server, status);
  }
}

// A host whose fence is not confirmed is not asked: its answer could be outdated at once.
reactor::Task<void> Decider::look(Round* round) {
  for (Round::Host& host : round->hosts) {
    if (host.server >= round->fenced.size() || !round->fenced[host.server]) continue;
    const calls::LookRequest request{round->slot.slot};
    auto seen = co_await hosts_.look(host.server, request);
    if (seen.ok())
      host.seen = std::move(*seen);
    else
      round->missed(host.server, seen.status());
  }
}

reactor::Task<void> Decider::record_voids(Round* round) {
  for (Round::Host& host : round->hosts) {
    if (host.voids.empty()) continue;
    calls::VoidRequest request{round->slot.slot, std::move(host.voids)};
    const Status status = co_await hosts_.make_void(host.server, std::move(request));
    if (!status.ok()) round->missed(host.server, status);
  }
}

reactor::Task<void> Decider::record_commits(Round* round) {
  for (Round::Host& host : round->hosts) {
    if (host.commits.empty()) continue;
    calls::VerdictRequest request{round->slot.slot, std::nullopt, std::move(host.commits)};
    const Status status = co_await hosts_.record(host.server, std::move(request));
    if (!status.ok()) round->missed(host.server, status);
  }
}

reactor::Task<void> Decider::record_final(Round* round) {
  for (Round::Host& host : round->hosts) {
    if (host.seen->final_counter) continue;
    calls::VerdictRequest request{round->slot.slot, round->known_final, {}};
    const Status status = co_await hosts_.record(host.server, std::move(request));
    if (!status.ok()) round->missed(host.server, status);
  }
}

}  // namespace namdb::memory
