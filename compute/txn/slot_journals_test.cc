// Rings of a slot on its hosts: opened once, flushed for many, given up where a host answers nonsense.
#include "compute/txn/slot_journals.h"

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "common/calls/journal_calls.h"
#include "compute/testing/test_worker.h"

namespace namdb::txn {
namespace {

using protocol::testing::kJournal_bytes;
using protocol::testing::kJournal_offset;
using protocol::testing::TestWorker;

struct JournalScene {
  JournalScene()
      : worker({.servers = 2}), changed(worker.executor), journals(worker.cluster, through, changed) {
    journals.begin(protocol::testing::kOwnSlot);
    worker.fabric.handle(calls::kOpenJournalMethod, [this](std::string_view, std::string& bytes) {
      ++opened;
      if (open_status.ok())
        bytes = calls::encode(calls::OpenJournalReply{kJournal_offset, kJournal_bytes, 0});
      return open_status;
    });
    worker.fabric.handle(calls::kFlushMethod, [this](std::string_view request, std::string& bytes) {
      flushed.push_back(*calls::decode_flush(request));
      bytes = calls::encode(answer(flushed.back()));
      return Status();
    });
  }
  ~JournalScene() { worker.run(journals.drain()); }

  void open() { REQUIRE(worker.run(journals.open({0, 1})).ok()); }
  // An entry of that length on host 0; its end.
  std::uint64_t log(std::uint64_t bytes) {
    const HostBytes part{0, bytes};
    REQUIRE(journals.take_credit({&part, 1}));
    const JournalPlace place = journals.place(++counter, part, static_cast<std::uint32_t>(bytes));
    return place.entry.position + bytes;
  }
  static calls::FlushReply all_durable(const calls::FlushRequest& request) {
    return {request.position, request.through == 0 ? 0 : request.position, false};
  }

  TestWorker worker;
  std::uint32_t through = 0;
  reactor::Event changed;
  SlotJournals journals;
  Status open_status;
  std::function<calls::FlushReply(const calls::FlushRequest&)> answer = all_durable;
  int opened = 0;
  std::uint32_t counter = 0;
  std::vector<calls::FlushRequest> flushed;
};

reactor::Task<void> open_at(SlotJournals* journals, std::vector<layout::ServerId> hosts, int* done) {
  const Status status = co_await journals->open(std::move(hosts));
  if (status.ok()) ++*done;
}

}  // namespace

TEST_CASE("a ring is opened once on each host, however many commits ask for it at once", "[slot_journals]") {
  JournalScene scene;
  int done = 0;
  reactor::Gate gate;
  for (int i = 0; i < 3; ++i) scene.worker.executor.spawn(gate, open_at(&scene.journals, {0, 1}, &done));
  scene.worker.executor.run_until([&] { return gate.count() == 0; });
  CHECK(done == 3);
  CHECK(scene.opened == 2);
  CHECK(scene.journals.open_at(1));
}

TEST_CASE("a commit opens its own rings while another's open, and misses none of them", "[slot_journals]") {
  JournalScene scene;
  for (layout::ServerId host = 0; host < 2; ++host) scene.worker.fabric.hold_calls(host);
  int done = 0;
  reactor::Gate gate;
  scene.worker.executor.spawn(gate, open_at(&scene.journals, {0}, &done));
  scene.worker.executor.spawn(gate, open_at(&scene.journals, {0, 1}, &done));
  for (layout::ServerId host = 0; host < 2; ++host) {
    scene.worker.executor.run_ready();
    scene.worker.fabric.answer_calls(host);
  }
  scene.worker.executor.run_ready();
  CHECK(done == 2);
  CHECK(scene.opened == 2);
}

TEST_CASE("a ring that was refused is asked for again", "[slot_journals]") {
  JournalScene scene;
  scene.open_status = Status(ErrorCode::out_of_memory, "full");
  CHECK(scene.worker.run(scene.journals.open({0, 1})).code() == ErrorCode::out_of_memory);
  CHECK_FALSE(scene.journals.open_at(0));
  scene.open_status = Status();
  scene.open();
}

TEST_CASE("entries that are logged while a FLUSH is under way share the next one", "[slot_journals]") {
  JournalScene scene;
  scene.open();
  std::uint64_t end = 0;
  for (int i = 0; i < 10; ++i) {
    end = scene.log(128);
    scene.journals.flush(0, end, scene.worker.counters);
  }
  REQUIRE(scene.worker.run(scene.journals.await_durable({0, end})).ok());
  REQUIRE(scene.flushed.size() == 2);
  CHECK(scene.flushed[0].position == 128);
  CHECK(scene.flushed[1].position == end);
  CHECK(scene.worker.counters.calls == 1);
}

TEST_CASE("a host is told what is finished when its ring is half full, and once more only for more",
          "[slot_journals]") {
  JournalScene scene;
  scene.open();
  for (std::uint64_t used = 0; used <= kJournal_bytes / 2; used += 4096) {
    CHECK(scene.flushed.empty());
    scene.log(4096);
    scene.through = scene.counter;
  }
  scene.log(4096);
  CHECK(scene.flushed.size() == 1);
  scene.worker.executor.advance(kMillisecond_ns);
  scene.worker.run(scene.journals.tell_finished(0));
  scene.log(4096);
  CHECK(scene.flushed.size() <= 2);
}

TEST_CASE("a host whose answer to a FLUSH cannot be is given up", "[slot_journals]") {
  JournalScene scene;
  scene.open();
  const std::uint64_t end = scene.log(128);
  scene.answer = [](const calls::FlushRequest& request) {
    return calls::FlushReply{request.position + 64, 0, false};
  };
  scene.journals.flush(0, end, scene.worker.counters);
  CHECK(scene.worker.run(scene.journals.await_durable({0, end})).code() == ErrorCode::connection_failure);
  CHECK(scene.worker.cluster.failed());
  scene.worker.fabric.forgive();
}

TEST_CASE("an entry that a host never finds ends in the loss of the host, after E", "[slot_journals]") {
  JournalScene scene;
  scene.open();
  const std::uint64_t end = scene.log(128);
  scene.answer = [&scene](const calls::FlushRequest&) {
    scene.worker.executor.advance(kMillisecond_ns);
    return calls::FlushReply{0, 0, false};
  };
  scene.journals.flush(0, end, scene.worker.counters);
  CHECK(scene.worker.run(scene.journals.await_durable({0, end})).code() == ErrorCode::connection_failure);
  CHECK(scene.flushed.size() >= scene.worker.options.max_transaction_ns / kMillisecond_ns);
  scene.worker.fabric.forgive();
}

}  // namespace namdb::txn
