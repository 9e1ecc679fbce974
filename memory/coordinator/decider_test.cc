// Whole decisions about a slot with two commits on three hosts, with deciders, hosts and an owner that
// fail at every step. Each protection has a double that lacks it, in which the same runs find a wrong
// outcome.
#include "memory/coordinator/decider.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <set>

#include "common/base/random.h"
#include "common/reactor/testing/manual_executor.h"

namespace namdb::memory {
namespace {

constexpr std::uint32_t kSlot = 20;
constexpr std::uint32_t kHosts = 3;
constexpr std::uint32_t kCommits = 2;
// That host drops its part of an entry when it learns the outcome; others keep theirs.
constexpr std::uint32_t kDropsAtOnce = 1;

// Protections that a double lacks.
enum class Lacks : std::uint8_t {
  nothing,
  void_before_acting,    // a void counts as recorded when it is not
  void_everywhere,       // only one host makes it void
  all_parts,             // where one host has its part, all seem to
  fence,                 // the owner goes on
  flush_before_looking,  // a host counts what is not on disk
  through,               // a host that dropped a finished part does not say that it was finished
  recorded_verdict,      // a host installs its part, and keeps no record
};

std::vector<layout::ServerId> regions_of(std::uint32_t counter) {
  if (counter == 1) return {0, 1};
  return {0, 1, 2};
}

bool names(std::uint32_t counter, std::uint32_t host) {
  return counter != 1 || host < 2;
}

struct Kept {
  std::set<std::uint32_t> entries;
  std::set<std::uint32_t> voids;
  std::set<std::uint32_t> commits;
  std::optional<std::uint32_t> final_counter;
  std::uint32_t through = 0;

  bool decided(std::uint32_t counter) const {
    return counter <= through || voids.contains(counter) || commits.contains(counter);
  }
};

struct HostDouble {
  Kept ring;  // with all that is on disk
  Kept disk;
  std::set<std::uint32_t> applied;
  bool owner_reaches_it = true;
  std::uint32_t down_for = 0;  // calls

  void flush() { disk = ring; }
  // It knows the outcomes: it may use the places of the entries again.
  void drop(const std::vector<std::uint32_t>& counters) {
    for (const std::uint32_t counter : counters) ring.entries.erase(counter);
  }
  void restart() {
    ring = disk;
    owner_reaches_it = false;
    applied = disk.commits;
    for (std::uint32_t counter = 1; counter <= disk.through; ++counter) applied.insert(counter);
  }
};

// Where a commit's part is when the owner is taken for dead.
enum class At : std::uint8_t { nowhere, ring, disk };

struct Event {
  enum class Kind : std::uint8_t {
    none,
    decider_dies_before,
    decider_dies_after,
    reply_is_lost,
    host_restarts,        // before the call
    host_restarts_after,  // and the reply is lost
    host_is_down,         // for a while
    all_lose_power,
    late_part_lands,
  };
  std::uint32_t step = 0;
  Kind kind = Kind::none;
  std::uint32_t host = 0;
};
constexpr std::array kKinds = {Event::Kind::decider_dies_before, Event::Kind::decider_dies_after,
                               Event::Kind::reply_is_lost,       Event::Kind::host_restarts,
                               Event::Kind::host_restarts_after, Event::Kind::host_is_down,
                               Event::Kind::all_lose_power,      Event::Kind::late_part_lands};

class SlotWorld final : public DeciderHosts {
 public:
  SlotWorld(std::vector<At> parts, std::uint32_t knows_through, Lacks lacks, std::vector<Event> events)
      : lacks_(lacks), events_(std::move(events)) {
    std::size_t part = 0;
    for (std::uint32_t counter = 1; counter <= kCommits; ++counter) {
      for (std::uint32_t host = 0; host < kHosts; ++host) {
        if (!names(counter, host)) continue;
        const At at = parts[part++];
        if (at != At::nowhere) hosts_[host].ring.entries.insert(counter);
        if (at == At::disk) {
          hosts_[host].disk.entries.insert(counter);
          told_owner_.insert({counter, host});
        }
      }
    }
    // The first commit is finished. Hosts that know have dropped their parts.
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      if (knows_through == 0) break;
      if (names(1, host)) hosts_[host].applied.insert(1);
      if ((knows_through >> host & 1) == 0) continue;
      hosts_[host].ring.through = 1;
      hosts_[host].ring.entries.erase(1);
      hosts_[host].disk.through = 1;
      hosts_[host].disk.entries.erase(1);
    }
    acknowledge();
  }

  // Deciders follow each other until one has closed the slot. Returns a fault of the outcome, or nothing.
  std::string run() {
    for (int round = 0; round < 20 && !closed_; ++round) {
      dead_ = false;
      Decider decider(*this);
      UndecidedSlot slot;
      slot.slot = kSlot;
      slot.owner = "its owner";
      slot.server_count = kHosts;
      slot.hosts = {0, 1, 2};
      std::optional<Result<std::uint32_t>> result;
      reactor::Gate gate;
      executor_.spawn(gate, keep(decider.decide(std::move(slot)), &result));
      executor_.run_ready();
      if (!result) return "the decider hangs";
      if (!result->ok() && result->status().code() == ErrorCode::corrupt_data)
        return result->status().message();
      closed_ = result->ok() && !dead_;
      if (closed_) final_counter_ = **result;
    }
    if (!closed_) return "the slot is never closed";
    check_end();
    return wrong_;
  }

  reactor::Task<Status> fence(layout::ServerId server, std::string /*compute_id*/) override {
    if (!begin(server)) co_return lost();
    if (lacks_ != Lacks::fence) hosts_[server].owner_reaches_it = false;
    co_return end(server);
  }

  reactor::Task<Result<calls::LookReply>> look(layout::ServerId server, calls::LookRequest request) override {
    if (request.slot != kSlot) wrong("another slot is asked for");
    if (!begin(server)) co_return lost();
    HostDouble& host = hosts_[server];
    if (lacks_ != Lacks::flush_before_looking) host.flush();
    calls::LookReply reply;
    reply.through = lacks_ == Lacks::through ? 0 : host.ring.through;
    reply.final_counter = host.ring.final_counter;
    for (std::uint32_t counter = 1; counter <= kCommits; ++counter) {
      const bool seems = lacks_ == Lacks::all_parts && names(counter, server) &&
                         std::ranges::any_of(hosts_, [counter](const HostDouble& other) {
                           return other.ring.entries.contains(counter);
                         });
      if (host.ring.through >= counter || (!host.ring.entries.contains(counter) && !seems)) continue;
      reply.entries.push_back({counter, 1, regions_of(counter)});
    }
    reply.voids.assign(host.ring.voids.begin(), host.ring.voids.end());
    reply.commits.assign(host.ring.commits.begin(), host.ring.commits.end());
    const Status status = end(server);
    if (!status.ok()) co_return status;
    co_return reply;
  }

  reactor::Task<Status> make_void(layout::ServerId server, calls::VoidRequest request) override {
    if (!begin(server)) co_return lost();
    HostDouble& host = hosts_[server];
    const bool does =
        lacks_ != Lacks::void_before_acting && (lacks_ != Lacks::void_everywhere || server == 0);
    if (does) {
      host.ring.voids.insert(request.counters.begin(), request.counters.end());
      if (server == kDropsAtOnce) host.drop(request.counters);
      host.flush();
    }
    co_return end(server);
  }

  reactor::Task<Status> record(layout::ServerId server, calls::VerdictRequest request) override {
    if (!begin(server)) co_return lost();
    HostDouble& host = hosts_[server];
    for (const std::uint32_t counter : request.commits) {
      if (!host.ring.entries.contains(counter) && !host.ring.commits.contains(counter))
        wrong("a host commits what it has no part of");
      if (host.ring.voids.contains(counter)) wrong("a host commits what it has void");
      host.applied.insert(counter);
    }
    if (lacks_ != Lacks::recorded_verdict) {
      host.ring.commits.insert(request.commits.begin(), request.commits.end());
      if (server == kDropsAtOnce) host.drop(request.commits);
      if (request.final_counter) {
        for (const std::uint32_t counter : host.ring.entries) {
          if (!host.ring.decided(counter)) wrong("the last counter is told before all is decided");
        }
        host.ring.final_counter = request.final_counter;
      }
      host.flush();
    }
    co_return end(server);
  }

 private:
  static reactor::Task<void> keep(reactor::Task<Result<std::uint32_t>> task,
                                  std::optional<Result<std::uint32_t>>* result) {
    result->emplace(co_await std::move(task));
  }
  static Status lost() { return Status(ErrorCode::connection_failure, "the reply is lost"); }
  void wrong(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }

  Event::Kind event(std::uint32_t step, std::uint32_t* host) const {
    for (const Event& planned : events_) {
      if (planned.step != step) continue;
      *host = planned.host;
      return planned.kind;
    }
    return Event::Kind::none;
  }

  // False: the call has no effect.
  bool begin(std::uint32_t server) {
    if (dead_) return false;
    now_ = event(step_++, &now_host_);
    if (now_ == Event::Kind::decider_dies_before) dead_ = true;
    if (now_ == Event::Kind::host_restarts) hosts_[now_host_].restart();
    if (now_ == Event::Kind::host_is_down) hosts_[now_host_].down_for = 3;
    if (now_ == Event::Kind::late_part_lands) land(now_host_);
    if (now_ == Event::Kind::all_lose_power) {
      for (HostDouble& host : hosts_) host.restart();
      dead_ = true;
    }
    if (dead_) return false;
    if (now_ == Event::Kind::host_restarts && now_host_ == server) return false;
    if (hosts_[server].down_for == 0) return true;
    --hosts_[server].down_for;
    return false;
  }

  Status end(std::uint32_t /*server*/) {
    if (now_ == Event::Kind::decider_dies_after) dead_ = true;
    if (now_ == Event::Kind::host_restarts_after) hosts_[now_host_].restart();
    if (dead_ || now_ == Event::Kind::reply_is_lost || now_ == Event::Kind::host_restarts_after)
      return lost();
    return Status();
  }

  // The owner lives, and what it posted to that host arrives; the host flushes it and says so.
  void land(std::uint32_t host) {
    if (!hosts_[host].owner_reaches_it) return;
    for (std::uint32_t counter = 1; counter <= kCommits; ++counter) {
      if (!names(counter, host) || hosts_[host].ring.through >= counter) continue;
      hosts_[host].ring.entries.insert(counter);
      hosts_[host].flush();
      told_owner_.insert({counter, host});
    }
    acknowledge();
  }
  void acknowledge() {
    for (std::uint32_t counter = 1; counter <= kCommits; ++counter) {
      bool all = true;
      for (std::uint32_t host = 0; host < kHosts; ++host)
        all &= !names(counter, host) || told_owner_.contains({counter, host});
      if (all) acknowledged_.insert(counter);
    }
  }

  void check_end() {
    for (std::uint32_t host = 0; host < kHosts; ++host) land(host);
    // Only what is on disk counts from here on.
    for (HostDouble& host : hosts_) {
      host.restart();
      if (host.disk.final_counter != final_counter_)
        wrong("a host does not know the final counter of a closed slot");
      for (const std::uint32_t counter : host.disk.entries) {
        if (!host.disk.decided(counter)) wrong("a closed slot has an undecided entry");
      }
    }
    for (std::uint32_t counter = 1; counter <= kCommits; ++counter) {
      std::uint32_t named = 0;
      std::uint32_t applied = 0;
      for (std::uint32_t host = 0; host < kHosts; ++host) {
        if (!names(counter, host)) continue;
        ++named;
        applied += hosts_[host].applied.contains(counter) ? 1 : 0;
      }
      if (applied != 0 && applied != named) wrong("half of a commit is there");
      if (applied == 0 && acknowledged_.contains(counter)) wrong("an acknowledged commit is undone");
      if (applied != 0 && counter > final_counter_) wrong("a commit lies behind the final counter");
    }
  }

  Lacks lacks_;
  std::vector<Event> events_;
  reactor::testing::ManualExecutor executor_;
  std::array<HostDouble, kHosts> hosts_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_owner_;  // commit, host: its part is durable
  std::set<std::uint32_t> acknowledged_;
  std::uint32_t step_ = 0;
  Event::Kind now_ = Event::Kind::none;
  std::uint32_t now_host_ = 0;
  bool dead_ = false;
  bool closed_ = false;
  std::uint32_t final_counter_ = 0;
  std::string wrong_;
};

constexpr std::uint32_t kParts = 5;
constexpr std::uint32_t kPartPlaces = 243;  // 3^5
constexpr std::uint32_t kSteps = 24;

std::vector<At> places_of(std::uint32_t number) {
  std::vector<At> parts;
  for (std::uint32_t i = 0; i < kParts; ++i, number /= 3) parts.push_back(static_cast<At>(number % 3));
  return parts;
}

// The owner finished its first commit, so all of it was durable; some hosts know that.
bool may_know(const std::vector<At>& parts, std::uint32_t knows_through) {
  return knows_through == 0 || (parts[0] == At::disk && parts[1] == At::disk);
}

std::string describe(const std::vector<At>& parts, std::uint32_t knows_through,
                     const std::vector<Event>& events) {
  std::string text = "parts";
  for (const At at : parts) text += " " + std::to_string(static_cast<int>(at));
  text += ", through known to " + std::to_string(knows_through);
  for (const Event& event : events) {
    text += ", step " + std::to_string(event.step) + " event " +
            std::to_string(static_cast<int>(event.kind)) + " host " + std::to_string(event.host);
  }
  return text;
}

// The first wrong outcome of all beginnings with one event at every step, and of many with several events.
std::string first_wrong(Lacks lacks) {
  for (std::uint32_t number = 0; number < kPartPlaces; ++number) {
    const std::vector<At> parts = places_of(number);
    for (std::uint32_t knows = 0; knows < 1U << kHosts; ++knows) {
      if (!may_know(parts, knows)) continue;
      for (std::uint32_t step = 0; step < kSteps; ++step) {
        for (const Event::Kind kind : kKinds) {
          const bool of_a_host = kind == Event::Kind::host_restarts ||
                                 kind == Event::Kind::host_restarts_after ||
                                 kind == Event::Kind::host_is_down || kind == Event::Kind::late_part_lands;
          for (std::uint32_t host = 0; host < (of_a_host ? kHosts : 1); ++host) {
            const std::vector<Event> events = {{step, kind, host}};
            const std::string wrong = SlotWorld(parts, knows, lacks, events).run();
            if (!wrong.empty()) return wrong + ": " + describe(parts, knows, events);
          }
        }
      }
    }
  }
  Random random(1);
  for (int i = 0; i < 30'000; ++i) {
    const std::vector<At> parts = places_of(static_cast<std::uint32_t>(random.below(kPartPlaces)));
    const auto knows = static_cast<std::uint32_t>(random.below(1U << kHosts));
    if (!may_know(parts, knows)) continue;
    std::vector<Event> events;
    for (std::uint64_t n = 2 + random.below(4); n > 0; --n) {
      events.push_back({static_cast<std::uint32_t>(random.below(2 * kSteps)),
                        kKinds[random.below(kKinds.size())],
                        static_cast<std::uint32_t>(random.below(kHosts))});
    }
    const std::string wrong = SlotWorld(parts, knows, lacks, events).run();
    if (!wrong.empty()) return wrong + ": " + describe(parts, knows, events);
  }
  return "";
}

}  // namespace

TEST_CASE("after a failure of any server at any step, commits are whole, and the acknowledged ones are there",
          "[decider]") {
  CHECK(first_wrong(Lacks::nothing).empty());
}

TEST_CASE("each protection of a decision is needed", "[decider]") {
  for (const Lacks lacks : {Lacks::void_before_acting, Lacks::void_everywhere, Lacks::all_parts, Lacks::fence,
                            Lacks::flush_before_looking, Lacks::through, Lacks::recorded_verdict}) {
    INFO("without protection " << static_cast<int>(lacks));
    CHECK_FALSE(first_wrong(lacks).empty());
  }
}

TEST_CASE("a slot that was left is not fenced, and one without journals is closed at once", "[decider]") {
  struct Quiet final : DeciderHosts {
    reactor::Task<Status> fence(layout::ServerId /*server*/, std::string /*compute_id*/) override {
      ++fences;
      co_return Status();
    }
    reactor::Task<Result<calls::LookReply>> look(layout::ServerId /*host*/,
                                                 calls::LookRequest /*request*/) override {
      co_return calls::LookReply();
    }
    reactor::Task<Status> make_void(layout::ServerId /*host*/, calls::VoidRequest /*request*/) override {
      co_return Status(ErrorCode::internal, "there is nothing to make void");
    }
    reactor::Task<Status> record(layout::ServerId /*host*/, calls::VerdictRequest request) override {
      last = request.final_counter;
      co_return Status();
    }
    int fences = 0;
    std::optional<std::uint32_t> last;
  };
  struct Runner {
    static reactor::Task<void> run(Decider* decider, UndecidedSlot slot,
                                   std::optional<Result<std::uint32_t>>* result) {
      result->emplace(co_await decider->decide(std::move(slot)));
    }
  };
  const auto decide = [](Quiet& hosts, UndecidedSlot slot) {
    reactor::testing::ManualExecutor executor;
    reactor::Gate gate;
    Decider decider(hosts);
    std::optional<Result<std::uint32_t>> result;
    executor.spawn(gate, Runner::run(&decider, std::move(slot), &result));
    executor.run_ready();
    REQUIRE(result.has_value());
    REQUIRE(result->ok());
    return **result;
  };
  Quiet left;
  CHECK(decide(left, {.slot = kSlot, .published = 7, .server_count = 2, .hosts = {1}}) == 7);
  CHECK(left.fences == 0);
  CHECK(left.last == 7);
  Quiet unused;
  CHECK(decide(unused, {.slot = kSlot, .owner = "o", .published = 3, .server_count = 2}) == 3);
  CHECK(unused.fences == 2);
  CHECK_FALSE(unused.last);
}

}  // namespace namdb::memory
