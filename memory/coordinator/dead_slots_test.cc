// Dead slots until they are closed, with memory servers that do not answer, or not yet.
#include "memory/coordinator/dead_slots.h"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "common/reactor/testing/manual_executor.h"
#include "memory/coordinator/catalog.h"
#include "memory/coordinator/outcomes.h"
#include "memory/region/visibility.h"
#include "memory/testing/test_cluster.h"
#include "memory/testing/test_control_log.h"

namespace namdb::memory {
namespace {

constexpr fabric::PeerId kOwner = 7;

// Hosts that have no journals.
class Hosts final : public DeciderHosts {
 public:
  explicit Hosts(reactor::Executor& executor) : go_on(executor) {}

  reactor::Task<Status> fence(layout::ServerId server, std::string compute_id) override {
    fences.push_back({server, compute_id});
    ++rounds_of[compute_id];
    while (held.contains(compute_id)) co_await go_on.wait();
    if (down.contains(server)) co_return Status(ErrorCode::connection_failure, why);
    co_return Status();
  }
  reactor::Task<Result<calls::LookReply>> look(layout::ServerId host,
                                               calls::LookRequest /*request*/) override {
    calls::LookReply reply;
    reply.through = through;
    if (!down.contains(host)) co_return reply;
    co_return Status(ErrorCode::connection_failure, why);
  }
  reactor::Task<Status> make_void(layout::ServerId /*host*/, calls::VoidRequest /*request*/) override {
    co_return Status(ErrorCode::internal, "there is nothing to make void");
  }
  reactor::Task<Status> record(layout::ServerId /*host*/, calls::VerdictRequest request) override {
    told = request.final_counter;
    co_return Status();
  }

  std::set<layout::ServerId> down;
  std::set<std::string> held;  // owners whose fences do not end
  std::string why = "nobody is there";
  std::uint32_t through = 0;
  std::vector<std::pair<layout::ServerId, std::string>> fences;
  std::map<std::string, int> rounds_of;
  std::optional<std::uint32_t> told;
  reactor::Event go_on;
};

struct Subject {
  explicit Subject(layout::VectorSpread spread = layout::VectorSpread::whole) : memory((4U << 20) / 8) {
    options.server_count = 2;
    options.timestamp_vector = spread;
    options.max_slots_per_peer = 1000;
    options.vector_capacity = 1000;
    options.notice = [this](const std::string& line) { notices.push_back(line); };
    region = std::move(*Region::create(std::as_writable_bytes(std::span(memory)), options, 1));
    slots = std::make_unique<Slots>(*region, options, copies);
    catalog = std::make_unique<Catalog>(*region, options);
    control = std::make_unique<ControlChanges>(executor, options, *catalog, *slots);
    dead_slots = std::make_unique<DeadSlots>(
        executor, options,
        DeadSlots::Duties{*slots, *control, hosts,
                          [this](std::uint32_t slot, std::uint64_t position, std::uint32_t counter) {
                            return place(slot, position, counter);
                          },
                          [this](std::uint32_t slot, Verdicts verdicts) {
                            ++closed;
                            outcomes.closed(slot, std::move(verdicts), executor.now_ns());
                          }});
    executor.spawn(gate, dead_slots->run());
    executor.run_ready();
  }
  ~Subject() {
    hosts.held.clear();
    hosts.go_on.notify_all();
    dead_slots->stop();
    executor.run_ready();
  }
  reactor::Task<Result<std::uint32_t>> place(std::uint32_t slot, std::uint64_t /*position*/,
                                             std::uint32_t counter) {
    if (place_fails) co_return Status(ErrorCode::connection_failure, "nobody is there");
    std::uint32_t& word = placed[slot];
    word = std::max(word, counter);
    co_return word;
  }
  // A slot of an owner of its own.
  std::uint32_t lease(const std::string& owner) { return (*slots->lease(kOwner, owner, owner))->id; }
  void owner_dies() {
    slots->disconnected(kOwner);
    dead_slots->wake();
    executor.run_ready();
  }
  void pass(std::uint64_t duration_ns) {
    executor.advance(duration_ns);
    executor.run_ready();
  }
  SlotState state(std::uint32_t slot) const { return slots->find(slot)->state; }

  reactor::testing::ManualExecutor executor;
  Options options = testing::small_options();
  std::vector<std::uint64_t> memory;
  std::vector<std::string> notices;
  std::unique_ptr<Region> region;
  CopiedVisibility copies;
  std::unique_ptr<Slots> slots;
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<ControlChanges> control;
  Hosts hosts{executor};
  int closed = 0;
  Outcomes outcomes;
  bool place_fails = false;
  std::map<std::uint32_t, std::uint32_t> placed;
  std::unique_ptr<DeadSlots> dead_slots;
  reactor::Gate gate;
};

reactor::Task<void> open_control(ControlChanges* control, ControlLog* log, std::optional<Status>* opened) {
  control::ControlState state;
  opened->emplace(co_await control->open(std::move(state), 9, *log));
}

}  // namespace

TEST_CASE("a slot that dies is decided at every memory server, shown in the vector, and closed",
          "[dead_slots]") {
  Subject subject;
  const std::uint32_t slot = subject.lease("owner");
  subject.hosts.through = 3;
  subject.owner_dies();
  REQUIRE(subject.state(slot) == SlotState::closed);
  CHECK(subject.slots->find(slot)->final_counter == 3);
  CHECK(subject.slots->shown(*subject.slots->find(slot)) == 3);
  CHECK(subject.slots->published({slot, 3}));
  CHECK_FALSE(subject.slots->published({slot, 4}));
  CHECK(subject.hosts.fences ==
        std::vector<std::pair<layout::ServerId, std::string>>{{0, "owner"}, {1, "owner"}});
  CHECK(subject.hosts.told == 3);
  CHECK(subject.closed == 1);
  CHECK(subject.outcomes.of({slot, 3}, false, 0) == CommitOutcome::committed);
  CHECK(subject.outcomes.of({slot, 4}, false, 0) == CommitOutcome::undone);
  CHECK(subject.slots->decided_count() == 1);
  CHECK(subject.notices.empty());
}

TEST_CASE("a slot waits for a memory server, at pauses that grow, and is reported once for each reason",
          "[dead_slots]") {
  Subject subject;
  const std::uint32_t slot = subject.lease("owner");
  subject.hosts.down = {1};
  subject.owner_dies();
  int rounds = 0;
  for (int i = 0; i < 10'000; ++i) {
    subject.pass(kMillisecond_ns);
    rounds = subject.hosts.rounds_of["owner"] / 2;
  }
  CHECK(subject.state(slot) == SlotState::dead);
  CHECK(rounds > 10);  // 1, 2, 4 ... 512 ms, then each second
  CHECK(rounds < 25);
  REQUIRE(subject.notices.size() == 1);
  CHECK(subject.notices[0].find("slot " + std::to_string(slot) + " waits for memory server 1") !=
        std::string::npos);
  subject.hosts.why = "it refuses";
  subject.pass(kSecond_ns);
  subject.pass(kSecond_ns);
  CHECK(subject.notices.size() == 2);
  // The host is back, and no slot waits for the end of a pause.
  subject.hosts.down.clear();
  subject.dead_slots->wake();
  subject.executor.run_ready();
  CHECK(subject.state(slot) == SlotState::closed);
  CHECK(subject.notices.size() == 2);
}

TEST_CASE("a slot that waits holds up no other, and one that is woken during its round has another at once",
          "[dead_slots]") {
  Subject subject;
  const std::uint32_t first = subject.lease("first");
  subject.hosts.held = {"first"};
  subject.hosts.down = {1};
  subject.owner_dies();
  const std::uint32_t second = subject.lease("second");
  subject.hosts.down.clear();
  subject.owner_dies();
  CHECK(subject.state(second) == SlotState::closed);
  CHECK(subject.state(first) == SlotState::dead);
  subject.hosts.down = {1};
  subject.dead_slots->wake();
  subject.hosts.held.clear();
  subject.hosts.go_on.notify_all();
  subject.executor.run_ready();
  CHECK(subject.hosts.rounds_of["first"] == 4);  // two servers, two rounds, and time stood still
  CHECK(subject.state(first) == SlotState::dead);
}

TEST_CASE("so many slots are decided at once and no more, and all are closed", "[dead_slots]") {
  Subject subject;
  constexpr std::uint32_t kSlots = 2 * DeadSlots::kAtOnce + 10;
  std::vector<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    slots.push_back(subject.lease("owner " + std::to_string(i)));
    subject.hosts.held.insert("owner " + std::to_string(i));
  }
  subject.owner_dies();
  CHECK(subject.hosts.fences.size() == DeadSlots::kAtOnce);
  subject.hosts.held.clear();
  subject.hosts.go_on.notify_all();
  subject.executor.run_ready();
  for (const std::uint32_t slot : slots) CHECK(subject.state(slot) == SlotState::closed);
  CHECK(subject.closed == static_cast<int>(kSlots));
}

TEST_CASE("where the vector is partitioned, another server shows the final counter before the slot is closed",
          "[dead_slots]") {
  Subject subject(layout::VectorSpread::partitioned);
  const std::uint32_t here = subject.lease("here");
  const std::uint32_t there = subject.lease("there");
  subject.hosts.through = 4;
  subject.placed[there] = 6;  // two aborted commits behind the last one
  subject.place_fails = true;
  subject.owner_dies();
  CHECK(subject.state(here) == SlotState::closed);
  CHECK(subject.state(there) == SlotState::dead);
  subject.place_fails = false;
  subject.pass(kSecond_ns);
  REQUIRE(subject.state(there) == SlotState::closed);
  CHECK(subject.slots->find(there)->final_counter == 6);
  CHECK_FALSE(subject.placed.contains(here));
}

TEST_CASE("the end of a slot is logged", "[dead_slots]") {
  Subject subject;
  testing::TestControlLog log(subject.executor);
  std::optional<Status> opened;
  reactor::Gate gate;
  subject.executor.spawn(gate, open_control(subject.control.get(), &log, &opened));
  subject.executor.run_ready();
  REQUIRE(opened->ok());
  const std::uint32_t slot = subject.lease("owner");
  subject.hosts.through = 2;
  subject.owner_dies();
  REQUIRE(subject.state(slot) == SlotState::closed);
  REQUIRE(subject.control->state().closed().slots_size() == 1);
  CHECK(subject.control->state().closed().slots(0) == slot);
  CHECK(subject.control->state().closed().final_counters(0) == 2);
  CHECK(log.durable == log.records.size());
}

}  // namespace namdb::memory
