#include "common/fabric/sim/connection.h"

#include <algorithm>
#include <cstring>

#include "common/fabric/region_words.h"
#include "common/fabric/sim/graveyard.h"

namespace namdb::fabric::sim {
namespace {

// Lists from which members leave in any order; a member knows its slot.
template <typename T>
void add_member(std::vector<T*>& members, T& member) {
  member.slot = members.size();
  members.push_back(&member);
}

template <typename T>
void remove_member(std::vector<T*>& members, T& member) {
  members[member.slot] = members.back();
  members[member.slot]->slot = member.slot;
  members.pop_back();
}

Status connection_lost(const Connection& connection, std::string_view what) {
  return {ErrorCode::connection_failure,
          "simulated connection " + std::to_string(connection.peer()) + ' ' + std::string(what)};
}

}  // namespace

Connection::Connection(Network& network, SimNode& client, ServedNode& server, PeerId peer, bool loopback)
    : network_(network), scheduler_(network.scheduler()), client_(client), server_(&server), peer_(peer) {
  notice_.connection = this;
  drained_.connection = this;
  request_ = scheduler_.options().request;
  reply_ = scheduler_.options().reply;
  if (!loopback && scheduler_.options().link_factor > 1) {
    factor_ = scheduler_.random().between(1, scheduler_.options().link_factor);
  }
}

Status Connection::validate(const Operation& operation) const {
  const bool atomic = operation.kind != OperationKind::read && operation.kind != OperationKind::write;
  const std::uint64_t length_bytes = operation.length_bytes;
  const bool reads = operation.kind == OperationKind::read;
  const std::uint64_t region_bytes = server_ == nullptr ? 0
                                     : reads            ? server_->capacity_bytes()  // zeros behind the end
                                                        : server_->region().size();
  if (operation.remote_offset % 8 != 0 || length_bytes % 8 != 0 || length_bytes == 0 ||
      length_bytes > kMaxOperation_bytes || (atomic && length_bytes != 8)) {
    return {ErrorCode::internal, "misaligned one-sided operation"};
  }
  if (operation.remote_offset > region_bytes || length_bytes > region_bytes - operation.remote_offset) {
    return {ErrorCode::internal, "one-sided operation outside of the region"};
  }
  return {};
}

OperationEvent& Connection::plan(const Operation& operation, BatchEvent& batch) {
  Random& random = scheduler_.random();
  const SimOptions& options = scheduler_.options();
  OperationEvent& event = network_.operations.take();
  event.connection = this;
  event.batch = &batch;
  event.operation = operation;
  event.sequence = sequence_++;
  event.step = 0;
  event.steps = 1;
  event.gap_ns = random.between(1, options.tear_gap_ns);
  if (options.long_tear > 0 && random.chance(options.long_tear))
    event.gap_ns = random.between(1, options.long_tear_gap_ns);
  event.late = event.dropped = event.detached = event.stale = false;

  std::uint64_t start_ns = scheduler_.now_ns() + draw_request_ns();
  if (operation.fence) start_ns = std::max({start_ns, reads_end_ns_ + 1, atomics_end_ns_ + 1});
  switch (operation.kind) {
    case OperationKind::read:
      start_ns = std::max({start_ns, writes_end_ns_ + 1, atomics_end_ns_ + 1});
      event.late = options.late_landing > 0 && random.chance(options.late_landing);
      break;
    case OperationKind::write:
      start_ns = std::max(start_ns, writes_end_ns_ + 1);
      break;
    case OperationKind::compare_and_swap:
    case OperationKind::fetch_add:
      start_ns = std::max(start_ns, atomics_end_ns_ + 1);
      event.late = options.late_landing > 0 && random.chance(options.late_landing);
      if (!options.atomics_with_cpu && random.chance(options.split_atomics)) event.steps = 2;
      break;
  }
  const std::uint32_t words = operation.length_bytes / 8;
  if (words > 1 && options.tear_steps > 1) {
    event.steps = static_cast<std::uint32_t>(random.between(1, std::min(options.tear_steps, words)));
    event.tear_seed = random.next();
  }
  event.steps_allowed = event.steps;
  event.end_ns = start_ns + (event.steps - 1) * event.gap_ns;
  switch (operation.kind) {
    case OperationKind::read:
      reads_end_ns_ = std::max(reads_end_ns_, event.end_ns);
      break;
    case OperationKind::write:
      writes_end_ns_ = event.end_ns;
      break;
    case OperationKind::compare_and_swap:
    case OperationKind::fetch_add:
      atomics_end_ns_ = event.end_ns;
      break;
  }
  if (operation.kind != OperationKind::write) {  // what comes back into the local buffer
    if (event.late) event.words.resize(words);
    if (options.scribble > 0 && random.chance(options.scribble)) {
      std::memset(operation.local, static_cast<int>(0x80 | (event.sequence & 0x7f)), operation.length_bytes);
    }
  }
  add_member(in_flight_, event);
  scheduler_.schedule(start_ns, event);
  return event;
}

void Connection::post(Batch& batch) {
  batch.begin();
  BatchEvent& event = network_.batches.take();
  event.connection = this;
  event.batch = &batch;
  event.broken = event.fired = false;
  add_member(batches_, event);
  const bool usable = client_.alive() && !client_failed_;
  if (state_ == State::open && usable) {
    const double cut_probability = scheduler_.options().cut_probability;
    const bool cut_now = cut_probability > 0 && scheduler_.random().chance(cut_probability);
    event.broken = cut_now && scheduler_.random().chance(0.5);  // before anything of it left, or after
    std::uint64_t end_ns = scheduler_.now_ns();
    if (!event.broken) {
      for (const Operation& operation : batch.operations()) {
        if (Status status = validate(operation); !status.ok()) {
          event.broken = true;
          cut(std::move(status));
          break;
        }
        end_ns = std::max(end_ns, plan(operation, event).end_ns);
      }
    }
    event.completion_ns = end_ns + 2 + draw_reply_ns();
    scheduler_.schedule(event.completion_ns, event);
    if (cut_now) cut(connection_lost(*this, "was cut"));
    return;
  }
  // Posted on what is broken already: an error when the client notices, or soon if it did.
  event.broken = true;
  event.completion_ns = scheduler_.now_ns() + 1;
  scheduler_.schedule(event.completion_ns, event);
}

void Connection::post(Call& call) {
  call.begin();
  CallEvent& event = network_.calls.take();
  event.connection = this;
  event.call = &call;
  event.phase = CallEvent::Phase::request;
  event.method = call.method;
  event.request = call.request;
  event.reply.clear();
  event.status = Status();
  event.dropped = state_ != State::open || !client_.alive();
  event.fired = false;
  event.arrive_ns = scheduler_.now_ns() + 1 + draw_request_ns();
  if (!event.dropped && event.request.size() > kMaxCall_bytes) {
    event.status = Status(ErrorCode::limit_exceeded, "the request of a call is too long");
    event.phase = CallEvent::Phase::reply;
  }
  add_member(calls_, event);
  scheduler_.schedule(event.arrive_ns, event);
}

void OperationEvent::fire() {
  Connection& link = *connection;
  Network& network = link.network_;
  const auto release = [&] {
    if (words.capacity() > 4096) std::vector<std::uint64_t>().swap(words);
    network.operations.give_back(*this);
  };
  if (dropped) return release();
  Scheduler& scheduler = link.scheduler_;
  scheduler.trace(operation.remote_offset * 8 + static_cast<std::uint64_t>(operation.kind));
  if (step == steps) {  // what a READ or an atomic brings back lands late
    if (!detached) std::memcpy(operation.local, words.data(), operation.length_bytes);
    remove_member(link.in_flight_, *this);
    return release();
  }
  std::byte* const region = link.server_->region().data() + operation.remote_offset;
  const std::uint32_t count = operation.length_bytes / 8;
  const auto moves_now = [&](std::uint32_t word) {
    if (steps == 1) return true;
    std::uint64_t hash = (tear_seed + word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
    return hash % steps == step;
  };
  switch (operation.kind) {
    case OperationKind::read: {
      std::byte* const destination = late ? reinterpret_cast<std::byte*>(words.data()) : operation.local;
      for (std::uint32_t i = 0; i < count; ++i) {
        if (moves_now(i)) copy_from_region(destination + 8 * i, region + 8 * i, 8);
      }
      break;
    }
    case OperationKind::write: {
      const std::byte* const source = detached ? reinterpret_cast<std::byte*>(words.data()) : operation.local;
      for (std::uint32_t i = 0; i < count; ++i) {
        if (moves_now(i)) copy_to_region(region + 8 * i, source + 8 * i, 8);
      }
      break;
    }
    case OperationKind::compare_and_swap:
    case OperationKind::fetch_add: {
      if (step == 0 || stale) old_value = region_word(region).load(std::memory_order_relaxed);
      if (step + 1 < steps) {
        network.split_atomics.push_back(this);
        break;
      }
      std::erase(network.split_atomics, this);
      if (operation.kind == OperationKind::fetch_add) {
        region_word(region).store(old_value + operation.operand, std::memory_order_relaxed);
      } else if (old_value == operation.expected) {
        region_word(region).store(operation.operand, std::memory_order_relaxed);
      }
      for (OperationEvent* other : network.split_atomics) {
        if (other->connection->server_ == link.server_ &&
            other->operation.remote_offset == operation.remote_offset) {
          other->stale = true;
        }
      }
      if (late) {
        words[0] = old_value;
      } else if (!detached) {
        std::memcpy(operation.local, &old_value, 8);
      }
      break;
    }
  }
  if (++step < steps_allowed) {
    scheduler.schedule(scheduler.now_ns() + gap_ns, *this);
  } else if (late && !detached) {
    scheduler.schedule(batch->completion_ns - 1, *this);
  } else {
    remove_member(link.in_flight_, *this);
    release();
  }
}

void BatchEvent::fire() {
  Connection& link = *connection;
  if (batch != nullptr) {
    // A broken batch completes with fail_pending(), when the client notices, unless it did already.
    fired = true;
    if (!link.client_.alive() || (broken && !link.client_failed_)) return;
    link.scheduler_.trace(0x100000000 + link.peer_);
    remove_member(link.batches_, *this);
    std::exchange(batch, nullptr)->complete(link.client_, broken ? link.failure_ : Status());
  }
  link.network_.batches.give_back(*this);
}

void CallEvent::fire() {
  Connection& link = *connection;
  if (phase == Phase::request && !dropped) {
    if (link.server_ != nullptr) return link.server_->arrive(*this);
    dropped = true;
  }
  if (call != nullptr) {
    fired = true;
    if (!link.client_.alive() || (dropped && !link.client_failed_)) return;
    link.scheduler_.trace(0x200000000 + link.peer_);
    remove_member(link.calls_, *this);
    call->reply = std::move(reply);
    std::exchange(call, nullptr)->complete(link.client_, dropped ? link.failure_ : std::move(status));
  }
  link.network_.calls.give_back(*this);
}

void Connection::NoticeEvent::fire() {
  if (connection->client_.alive()) connection->fail_pending();
}

void Connection::DrainedEvent::fire() {
  if (connection->server_ != nullptr) connection->server_->drained(*connection);
}

void Connection::cut_in_flight(bool server_gone, std::uint64_t& last_effect_ns) {
  Random& random = scheduler_.random();
  constexpr double kDrop[] = {0, 0.1, 0.5, 1};
  const double drop = kDrop[random.below(4)];
  std::sort(in_flight_.begin(), in_flight_.end(),
            [](const OperationEvent* a, const OperationEvent* b) { return a->sequence < b->sequence; });
  bool writes_dropped = server_gone;
  bool atomics_dropped = server_gone;
  for (OperationEvent* event : in_flight_) {
    const Operation& operation = event->operation;
    if (event->step == event->steps) {  // has happened, but what it brings back will not land
      event->dropped = event->detached = event->batch->broken = true;
      continue;
    }
    const bool behind_dropped = operation.fence && atomics_dropped;
    bool dropped = false;
    if (operation.kind == OperationKind::read) {
      dropped = true;
    } else if (operation.kind == OperationKind::write) {
      if (writes_dropped) {
        dropped = true;
      } else if (behind_dropped || random.chance(drop)) {
        writes_dropped = true;
        const std::uint32_t left = event->steps - event->step;
        dropped = behind_dropped || left < 2 || !random.chance(scheduler_.options().partial_write);
        // Some of its words land: those of a part of the steps that are left.
        if (!dropped)
          event->steps_allowed = static_cast<std::uint32_t>(event->step + random.between(1, left - 1));
      }
    } else {
      dropped = atomics_dropped || behind_dropped || random.chance(drop);
      atomics_dropped = dropped;
    }
    event->dropped = dropped;
    event->detached = true;
    // An operation that is carried out in part has not completed either.
    const bool whole = !dropped && event->steps_allowed == event->steps;
    if (!whole || operation.kind != OperationKind::write) event->batch->broken = true;
    if (dropped) {
      std::erase(network_.split_atomics, event);
      continue;
    }
    last_effect_ns = std::max(last_effect_ns, event->end_ns);
    if (operation.kind == OperationKind::write) {
      event->words.resize(operation.length_bytes / 8);
      std::memcpy(event->words.data(), operation.local, operation.length_bytes);
    }
  }
  std::erase_if(in_flight_, [](const OperationEvent* event) { return event->dropped; });
  for (std::size_t i = 0; i < in_flight_.size(); ++i) in_flight_[i]->slot = i;
}

void Connection::cut(Status reason) {
  end(std::move(reason), false);
}

void Connection::end(Status reason, bool server_gone) {
  if (state_ != State::open) return;
  state_ = State::cut;
  failure_ = std::move(reason);
  scheduler_.trace(0x300000000 + peer_);
  Random& random = scheduler_.random();
  std::uint64_t last_effect_ns = scheduler_.now_ns();
  cut_in_flight(server_gone, last_effect_ns);
  for (CallEvent* event : calls_) {
    if (event->phase != CallEvent::Phase::request || event->dropped) continue;
    event->dropped = random.chance(0.5);
    if (!event->dropped) last_effect_ns = std::max(last_effect_ns, event->arrive_ns);
  }
  if (server_gone) {
    server_ = nullptr;
  } else {
    scheduler_.schedule(last_effect_ns + 1 + scheduler_.options().notice.draw(random), drained_);
  }
  scheduler_.schedule(scheduler_.now_ns() + 1 + scheduler_.options().notice.draw(random), notice_);
}

void Connection::fail_pending() {
  client_failed_ = true;
  while (!batches_.empty()) {
    BatchEvent& event = *batches_.back();
    batches_.pop_back();
    std::exchange(event.batch, nullptr)->complete(client_, failure_);
    if (event.fired) network_.batches.give_back(event);
  }
  while (!calls_.empty()) {
    CallEvent& event = *calls_.back();
    calls_.pop_back();
    std::exchange(event.call, nullptr)->complete(client_, failure_);
    if (event.fired) network_.calls.give_back(event);
  }
}

void Connection::detach_client() {
  cut(connection_lost(*this, "was closed"));
  fail_pending();
}

void Connection::reply_later(CallEvent& call) {
  call.phase = CallEvent::Phase::reply;
  scheduler_.schedule(scheduler_.now_ns() + 1 + draw_reply_ns(), call);
}

void Connection::finish() {
  NAMDB_CHECK(in_flight_.empty());
  state_ = State::drained;
  server_ = nullptr;
}

void Connection::refuse() {
  client_failed_ = true;
  finish();
}

void Connection::server_died() {
  end(connection_lost(*this, "lost its server"), true);
  if (server_ == nullptr) return;
  // It was cut before, and some of it was still to happen.
  std::uint64_t ignored = 0;
  cut_in_flight(true, ignored);
  server_ = nullptr;
}

void Connection::abandon_client() {
  for (const BatchEvent* event : batches_) bury_pointer(event->batch);
  for (const CallEvent* event : calls_) bury_pointer(event->call);
  cut(connection_lost(*this, "lost its client"));
}

}  // namespace namdb::fabric::sim
