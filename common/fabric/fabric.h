// The fabric: one-sided operations and calls between a compute worker and memory servers. THE contract.
//
// A Channel connects one worker (one executor, one thread) with one memory server. It takes Batches of
// one-sided operations on the server's region, and two-sided Calls. Code above may rely on this, and on
// nothing more:
//
//  1. Atomicity. Only an aligned 8-byte word. The words of one READ are fetched, and the words of one WRITE
//     land, in any order, with anything in between.
//  2. Order within a channel. WRITEs take effect in posting order; a READ sees every earlier WRITE, CAS and
//     FETCH-ADD; CAS and FETCH-ADD are ordered among themselves. Nothing else: READs are not ordered among
//     themselves; a later WRITE, CAS or FETCH-ADD may overtake an earlier READ; a WRITE may overtake an
//     earlier CAS or FETCH-ADD. `fence` on an operation makes it wait for all earlier READs and atomics of
//     the channel (on verbs: a round trip). Between channels there is no order.
//  3. Completion of a batch means that all of its operations have taken effect on the memory server. An error
//     means unknown: each may have happened, or may still happen until the old channel is drained (7).
//  4. Atomics are atomic among themselves on one transport. They are not atomic against WRITEs, against the
//     memory server's CPU, or against another transport, unless atomics_with_cpu(). So a word that is CASed
//     is WRITTEN only by the transaction that holds it as a lock, and the memory server changes it only by
//     CAS through the loopback channel of the same transport. Where no peer CASes (ServerFabric::
//     peers_swap_nothing) that channel swaps by the CPU.
//  5. A call sees the operations that completed before it was posted. Nothing else is ordered between calls
//     and one-sided operations, nor between calls: each is handled as its own task.
//  6. Local buffers, Batch and Call objects given to post() belong to the channel until their completion or
//     the channel's destruction. There is no cancellation.
//  7. A channel that fails stays failed: every later post completes with an error. The server reports a peer
//     as disconnected only after it destroyed the channel and executed or dropped everything that it had
//     received; dropped WRITEs are a suffix of the channel's WRITEs.
//  8. An operation that is misaligned or reaches beyond the region does no harm: its batch completes with an
//     error and the channel has failed. A call that is too long completes with limit_exceeded.
//  9. A region may grow, in place, up to a limit that it has from the start (ServerFabric::grow). Clients
//     need not be told: a client that learned, however indirectly, of memory that grow() added may post an
//     operation on it. READs of memory that may still be added find zeros, as in memory that was never used;
//     other operations there are those of 8.
//
// Two seams: Channel::post (a virtual call per batch) on the client, Service on the server. Everything here
// belongs to the thread of the executor it was made with.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "common/fabric/counters.h"
#include "common/fabric/local_pool.h"
#include "common/fabric/operation.h"
#include "common/reactor/executor.h"
#include "common/reactor/pooled_allocator.h"
#include "common/reactor/task.h"

namespace namdb::fabric {

class Facts;

inline constexpr std::uint32_t kMaxOperation_bytes = 1U << 20;
// Requests and replies of calls, each.
inline constexpr std::uint32_t kMaxCall_bytes = 1U << 20;

class Completion;

// For decorators: hears of a completion before its waiter does, and may turn its status into an error.
class CompletionObserver {
 public:
  virtual void on_completion(Completion& completion, Status& status) = 0;

 protected:
  ~CompletionObserver() = default;
};

// Base of batches and calls. Completes once, and resumes at most one waiter, through its executor.
class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  ~Completion() { NAMDB_CHECK(!pending_); }

  bool pending() const { return pending_; }
  // Valid once completed. An error means that the outcome of each operation is unknown.
  const Status& status() const { return status_; }

  auto done() {
    struct Awaiter {
      Completion* completion;
      bool await_ready() const noexcept { return !completion->pending_; }
      void await_suspend(std::coroutine_handle<> handle) const { completion->waiter_ = handle; }
      const Status& await_resume() const { return completion->status_; }
    };
    return Awaiter{this};
  }

  // For transports.
  void begin() {
    NAMDB_CHECK(!pending_);
    pending_ = true;
    status_ = Status();
  }
  // The object may be destroyed by its waiter any time after this call.
  void complete(reactor::Executor& executor, Status status) {
    NAMDB_CHECK(pending_);
    if (observer_ != nullptr) [[unlikely]]
      std::exchange(observer_, nullptr)->on_completion(*this, status);
    pending_ = false;
    status_ = std::move(status);
    if (waiter_) executor.schedule(std::exchange(waiter_, nullptr));
  }
  // For one completion. Returns the observer before, which the new one has to tell.
  CompletionObserver* observe(CompletionObserver* observer) { return std::exchange(observer_, observer); }

 private:
  bool pending_ = false;
  Status status_;
  std::coroutine_handle<> waiter_;
  CompletionObserver* observer_ = nullptr;
};

// Operations that are posted together (one doorbell) and awaited together. Reusable after completion:
// clear() keeps the capacity.
class Batch : public Completion {
 public:
  // `offset` and `length_bytes` are multiples of 8. `local` stays valid and untouched until completion.
  void read(std::uint64_t offset, std::byte* local, std::uint32_t length_bytes, bool fence = false) {
    operations_.emplace_back(OperationKind::read, fence, length_bytes, offset, local, 0, 0);
  }
  void write(std::uint64_t offset, const std::byte* local, std::uint32_t length_bytes, bool fence = false) {
    operations_.emplace_back(OperationKind::write, fence, length_bytes, offset, const_cast<std::byte*>(local),
                             0, 0);
  }
  // The word that was there before is stored at `old_value` (8 bytes, registered): swapped if it is
  // `expected`.
  void compare_and_swap(std::uint64_t offset, std::uint64_t expected, std::uint64_t desired,
                        std::byte* old_value, bool fence = false) {
    operations_.emplace_back(OperationKind::compare_and_swap, fence, 8, offset, old_value, desired, expected);
  }
  void fetch_add(std::uint64_t offset, std::uint64_t addend, std::byte* old_value, bool fence = false) {
    operations_.emplace_back(OperationKind::fetch_add, fence, 8, offset, old_value, addend, 0);
  }

  std::span<const Operation> operations() const { return operations_; }
  void assign(std::span<const Operation> operations) {
    NAMDB_CHECK(!pending());
    operations_.assign(operations.begin(), operations.end());
  }
  bool empty() const { return operations_.empty(); }
  void clear() {
    NAMDB_CHECK(!pending());
    operations_.clear();
  }

 private:
  reactor::PooledVector<Operation> operations_;
};

// A two-sided call. `method` and the bytes are the business of the layers above. Both byte strings are at
// most kMaxCall_bytes. After an ok completion `reply` holds the handler's bytes; a handler's own error
// arrives as the completion's status with the handler's code and message and leaves the channel usable.
class Call : public Completion {
 public:
  std::uint16_t method = 0;
  std::string request;
  std::string reply;
};

class Channel {
 public:
  explicit Channel(reactor::Executor& executor) : executor_(executor) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  // Completes what is pending with an error first.
  virtual ~Channel() = default;

  // Neither suspends. The batch may be complete on return (shm). An empty batch completes at once.
  void post(Batch& batch) {
    counters_.count(batch.operations());
    do_post(batch);
  }
  void post(Call& call) {
    ++counters_.calls;
    counters_.call_bytes += call.request.size();
    do_post(call);
  }

  // True if CAS and FETCH-ADD are atomic against the memory server's own 8-byte atomics.
  virtual bool atomics_with_cpu() const = 0;
  virtual bool failed() const = 0;
  // The other end is taken for gone: the channel fails, and what is pending completes with an error soon, as
  // when the connection is lost (3, 7). Not for a loopback channel.
  virtual void give_up(Status reason);
  // Where local buffers for this channel come from.
  virtual LocalPool& pool() = 0;

  const OperationCounters& counters() const { return counters_; }
  // For people: the counters, and the transport's facts about the connection (facts.h).
  virtual void describe(Facts& facts) const;
  reactor::Executor& executor() { return executor_; }

 protected:
  virtual void do_post(Batch& batch) = 0;
  virtual void do_post(Call& call) = 0;
  OperationCounters counters_;

 private:
  reactor::Executor& executor_;
};

// The client side of a transport, one for each worker: owns the worker's registered buffers.
class ClientFabric {
 public:
  virtual ~ClientFabric() = default;
  virtual std::string_view name() const = 0;
  virtual LocalPool& pool() = 0;
  // `address`: unix:PATH, HOST:PORT, or sim:NAME. `hello` goes to Service::on_connect; its answer is stored
  // in `welcome` (may be null). The channel must be destroyed before this object.
  virtual reactor::Task<Result<std::unique_ptr<Channel>>> connect(std::string address, std::string hello,
                                                                  std::string* welcome) = 0;
};

// Names a channel at the server; never reused while the process lives, whatever its transport.
using PeerId = std::uint64_t;
// The next one, from 1; for transports of real processes. Any thread.
PeerId next_peer_id();

// The owner of the region, which accepts peers and handles their calls. All methods run on the server's
// executor.
class Service {
 public:
  virtual ~Service() = default;
  // A peer that passed the transport's authentication wants a channel: the bytes for its `welcome`, or an
  // error that refuses it. `hello` is outside input.
  virtual Result<std::string> on_connect(PeerId peer, std::string_view hello) = 0;
  // `request` lives until the task ends; it is outside input. Calls of one peer run concurrently.
  virtual reactor::Task<Status> on_call(PeerId peer, std::uint16_t method, std::string_view request,
                                        std::string& reply) = 0;
  // The peer's channel is destroyed and drained (contract 7): nothing of it will reach the region any more.
  virtual void on_disconnect(PeerId peer) = 0;
};

// The server side of a transport.
class ServerFabric {
 public:
  virtual ~ServerFabric() = default;
  virtual std::string_view name() const = 0;
  // Starts to accept. Once.
  virtual reactor::Task<Status> listen(std::string address) = 0;
  // Destroys and drains the peer's channel; on_disconnect has been called when this returns. For a peer
  // process over shm that means SIGKILL and its pidfd's report. An unknown peer is already fenced.
  // It waits for the peer's calls that run: a call's handler must not await it for its own peer.
  virtual reactor::Task<void> fence(PeerId peer) = 0;
  // The memory server's own channel to its region, in the transport's atomicity domain (contract 4).
  virtual Channel& loopback() = 0;
  // No peer will post a CAS or FETCH-ADD: loopback() executes its operations by the CPU, whatever atomics the
  // transport has. Once, before anything is posted there.
  virtual void peers_swap_nothing() {}
  // The region has this length from now on (contract 9): a multiple of 8, no less than before, no more than
  // the capacity that the transport was made with. The new bytes are allocated and zero. Called only if that
  // capacity exceeds the first length.
  virtual void grow(std::size_t length_bytes) = 0;
  // For people (facts.h).
  virtual void describe(Facts& facts) const;
  // Fences all peers, stops to accept. Awaited before destruction.
  virtual reactor::Task<void> close() = 0;
};

}  // namespace namdb::fabric
