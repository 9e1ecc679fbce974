// Workers that share a queue pair, on a real device. The contract's guarantees are the conformance suite's;
// this is about who pays for what. See test_peers.h.
#include <semaphore>

#include "common/fabric/verbs/communicator.h"
#include "common/fabric/verbs/shared_client.h"
#include "common/fabric/verbs/testing/test_peers.h"

namespace namdb::fabric::verbs {
namespace shared_test {

// Workers of one process, all on this thread, and a channel each.
class Workers {
 public:
  Workers(const std::string& address, std::size_t count) : reactor_(make_reactor()) {
    auto communicator = Communicator::start(options_with_key(7));
    REQUIRE(communicator.ok());
    communicator_ = std::move(*communicator);
    for (std::size_t i = 0; i < count; ++i) {
      fabrics_.push_back(make_shared_client_fabric(*reactor_, communicator_));
      REQUIRE(reactor_->run_until(connect(this, address)).ok());
    }
  }

  Channel& channel(std::size_t worker) { return *channels_[worker]; }
  void drop(std::size_t worker) { channels_[worker].reset(); }
  Communicator& communicator() { return *communicator_; }
  // Whether a WRITE of the word, counted from the region's beginning, succeeds.
  bool write(std::size_t worker, std::size_t word, std::uint64_t value) {
    return reactor_->run_until(write_word(this, worker, word, value));
  }
  bool answers(std::size_t worker) {
    bool ok = false;
    reactor_->run_until(echo(channels_[worker].get(), &ok));
    return ok;
  }
  // A call that the server answers only at its end.
  void wait_for_ever(std::size_t worker) { reactor_->run_until(post_never(this, worker)); }
  // How a call ends that the server answers only at its end, when a batch that is posted in the same turn may
  // not be.
  Status call_beside_a_refused_batch(std::size_t worker) {
    return reactor_->run_until(post_refused(this, worker));
  }
  // Lets all channels post in one turn; returns the number of doorbells.
  std::uint64_t doorbells_of_a_turn() { return reactor_->run_until(count_doorbells(this)); }

 private:
  static Task<Status> connect(Workers* self, std::string address) {
    Result<std::unique_ptr<Channel>> channel =
        co_await self->fabrics_.back()->connect(address, "hello", nullptr);
    if (!channel.ok()) co_return channel.status();
    self->channels_.push_back(std::move(*channel));
    co_return Status();
  }
  static Task<bool> write_word(Workers* self, std::size_t worker, std::size_t word, std::uint64_t value) {
    Channel& channel = *self->channels_[worker];
    LocalBuffer buffer(channel.pool(), 64);
    buffer.word() = value;
    Batch batch;
    batch.write(8 * word, buffer.data(), 8);
    channel.post(batch);
    const Status& status = co_await batch.done();
    co_return status.ok();
  }
  static Task<void> post_never(Workers* self, std::size_t worker) {
    self->waiting_.method = kNever;
    self->channels_[worker]->post(self->waiting_);
    co_await self->reactor_->yield();
  }
  static Task<Status> post_refused(Workers* self, std::size_t worker) {
    Channel& channel = *self->channels_[worker];
    self->waiting_.method = kNever;
    channel.post(self->waiting_);
    LocalBuffer buffer(channel.pool(), 64);
    Batch batch;
    batch.read(std::uint64_t{1} << 40, buffer.data(), 8);
    channel.post(batch);
    co_await batch.done();
    co_return co_await self->waiting_.done();
  }
  static Task<std::uint64_t> count_doorbells(Workers* self) {
    const std::uint64_t before = doorbells(*self->communicator_);
    std::vector<LocalBuffer> buffers;
    std::vector<Batch> batches(self->channels_.size());
    for (std::size_t i = 0; i < batches.size(); ++i) {
      buffers.emplace_back(self->channels_[i]->pool(), 64);
      batches[i].read(0, buffers[i].data(), 64);
    }
    // The communicator sees them together: it has emptied its mailbox when it begins to wait.
    std::binary_semaphore waits(0);
    std::binary_semaphore posted(0);
    self->communicator_->mailbox().post([&waits, &posted] {
      waits.release();
      posted.acquire();
    });
    waits.acquire();
    for (std::size_t i = 0; i < batches.size(); ++i) self->channels_[i]->post(batches[i]);
    co_await self->reactor_->yield();  // until they were handed over
    posted.release();
    for (Batch& batch : batches) co_await batch.done();
    co_return doorbells(*self->communicator_) - before;
  }
  static std::uint64_t doorbells(Communicator& communicator) {
    std::uint64_t count = 0;
    std::binary_semaphore counted(0);
    communicator.mailbox().post([&] {
      count = communicator.fabric().totals().doorbells;
      counted.release();
    });
    counted.acquire();
    return count;
  }

  std::unique_ptr<reactor::Reactor> reactor_;
  std::shared_ptr<Communicator> communicator_;
  Call waiting_;
  std::vector<std::unique_ptr<ClientFabric>> fabrics_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

TEST_CASE("workers that share have one queue pair, and are peers of their own") {
  Server server;
  const std::uint64_t own = server.facts()["device_queue_pairs"];
  {
    Workers workers(server.address(), 5);
    REQUIRE(server.facts()["device_queue_pairs"] == own + 1);
    REQUIRE(server.facts()["peers"] == 5);
    for (std::size_t i = 0; i < 5; ++i) REQUIRE(workers.write(i, i, 100 + i));
    for (std::size_t i = 0; i < 5; ++i) REQUIRE(server.word(i) == 100 + i);
    workers.drop(0);
    workers.drop(3);
    REQUIRE(workers.answers(4));
    while (server.disconnected() != 2) {
    }
    REQUIRE(server.facts()["device_queue_pairs"] == own + 1);
    REQUIRE(workers.write(1, 0, 7));
  }
  while (server.disconnected() != 5) {
  }
  REQUIRE(server.facts()["device_queue_pairs"] == own);
}

TEST_CASE("operations that a worker may not post cost the others nothing") {
  Server server;
  Workers workers(server.address(), 2);
  REQUIRE(!workers.write(0, kRegion_bytes / 8, 1));
  REQUIRE(workers.channel(0).failed());
  REQUIRE(!workers.write(0, 0, 1));
  while (server.disconnected() != 1) {
  }
  REQUIRE(workers.write(1, 0, 2));
  REQUIRE(workers.answers(1));
  REQUIRE(server.word(0) == 2);
}

TEST_CASE("a call fails with the batch beside it that may not be posted, and its channel can go") {
  Server server;
  Workers workers(server.address(), 2);
  CHECK(!workers.call_beside_a_refused_batch(0).ok());
  workers.drop(0);
  REQUIRE(workers.answers(1));
}

TEST_CASE("a worker that is fenced leaves the queue pair to the others") {
  Server server;
  Workers workers(server.address(), 3);
  server.fence_last_peer();
  REQUIRE(server.disconnected() == 1);
  REQUIRE(!workers.write(2, 0, 1));
  REQUIRE(workers.channel(2).failed());
  REQUIRE(server.word(0) == 0);
  REQUIRE(workers.write(0, 0, 2));
  REQUIRE(workers.answers(1));
}

TEST_CASE("a process that does not let go of a fenced worker's queue pair loses it") {
  Server server;
  std::binary_semaphore paused(0);  // outlives the thread that it pauses
  Workers workers(server.address(), 2);
  workers.communicator().mailbox().post([&paused] { paused.acquire(); });
  server.fence_last_peer();
  REQUIRE(server.disconnected() == 2);
  paused.release();
  REQUIRE(!workers.write(0, 0, 1));
  REQUIRE(!workers.write(1, 0, 1));
  REQUIRE(server.word(0) == 0);
  require_service(server);
}

TEST_CASE("a call that still runs does not hold up the end of another worker on its queue pair") {
  Server server;
  std::binary_semaphore paused(0);  // outlives the thread that it pauses
  Workers workers(server.address(), 2);
  workers.wait_for_ever(0);
  REQUIRE(workers.answers(0));  // so the call before it has arrived
  workers.communicator().mailbox().post([&paused] { paused.acquire(); });
  server.fence_last_peer();
  REQUIRE(server.disconnected() == 1);
  paused.release();
}

TEST_CASE("operations that all workers post in a turn leave with one doorbell") {
  Server server;
  Workers workers(server.address(), 4);
  REQUIRE(workers.doorbells_of_a_turn() == 1);
}

}  // namespace shared_test
}  // namespace namdb::fabric::verbs
