// BATCH_CALL (common/calls/batch_calls.h): does the operations of a two-sided stage, in order, through
// the loopback channel: in the atomicity domain of compute servers' one-sided operations. Error
// protocol_violation, and nothing was done, or an entry cannot be installed and nothing behind it was done;
// corrupt_data where an entry's items do not fit; connection_failure when the loopback channel has failed.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "common/calls/batch_calls.h"
#include "common/layout/age.h"
#include "common/layout/journal.h"
#include "common/layout/protocol.h"
#include "common/layout/record.h"
#include "common/layout/record_trailer.h"
#include "common/layout/words.h"
#include "memory/apply/applier.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {
namespace {

using calls::BatchOperation;
using layout::HeaderWord;

bool is_lock(const BatchOperation& operation) {
  return operation.kind == BatchOperation::Kind::lock;
}

// In front of its reply: the word that a lock's CAS found.
std::size_t found_bytes(const BatchOperation& operation) {
  return is_lock(operation) ? 8 : 0;
}

// Of those that use local memory.
std::size_t local_bytes(const BatchOperation& operation) {
  if (operation.kind == BatchOperation::Kind::write) return operation.length_bytes;
  return found_bytes(operation) + operation.reply_bytes();
}

// Not in one batch with others.
bool by_itself(const BatchOperation& operation) {
  return operation.kind == BatchOperation::Kind::install || is_lock(operation);
}

// `place`: for what is read, or the bytes to be written.
void add(fabric::Batch& batch, const BatchOperation& operation, std::uint64_t region_bytes,
         std::byte* place) {
  const bool there = operation.offset < region_bytes;  // if not, it finds zero
  switch (operation.kind) {
    case BatchOperation::Kind::write:
      std::memcpy(place, operation.bytes.data(), operation.length_bytes);
      return batch.write(operation.offset, place, operation.length_bytes);
    case BatchOperation::Kind::compare_and_swap:
      if (there)
        return batch.compare_and_swap(operation.offset, operation.expected, operation.desired, place);
      break;
    case BatchOperation::Kind::fenced_read:
      if (there) return batch.compare_and_swap(operation.offset, layout::kNoLease, layout::kNoLease, place);
      break;
    case BatchOperation::Kind::read:
    case BatchOperation::Kind::install:
    case BatchOperation::Kind::lock:
    case BatchOperation::Kind::lock_another:
      break;
  }
  batch.read(operation.offset, place, operation.length_bytes);
}

// The header word from which that record can be locked; 0: it cannot. `bytes` were READ there, at the
// record's header word. Memory that is the record's now stays so as long as the caller's transaction runs,
// which looked for it: it is used for something else only when all transactions that could know of it have
// ended.
HeaderWord unlocked(const ServerState& server, const BatchOperation& operation, const std::byte* bytes) {
  const TablePointer table = server.tables.find(static_cast<std::uint32_t>(operation.expected >> 32));
  if (!table || !table->records.used(operation.offset)) return {};
  const layout::RecordLayout& shape = table->shape.record;
  if (operation.length_bytes < shape.current_bytes()) return {};
  const std::span<const std::byte> body(bytes + 8, shape.body_bytes());
  if (!layout::certify_body(body, server.region->address(operation.offset))) return {};
  const layout::BodyHeader version = layout::decode_body_header(body.data());
  const std::uint64_t incarnation = operation.expected >> 16 & 0xffff;
  const bool meant = version.table == table->shape.id &&
                     ((version.incarnation ^ incarnation) & operation.expected & 0xffff) == 0;
  const HeaderWord header(layout::load_word(bytes));
  if (!meant || header != version.header_word()) return {};
  // Where transactions wait for records (WAITDIE), the younger leave it to the oldest that waits.
  const layout::ProtocolTraits* const protocol = layout::find_protocol(server.options.protocol);
  const std::size_t waiter_at = layout::waiter_offset(shape);
  if (protocol != nullptr && protocol->locks_rows && operation.length_bytes >= waiter_at + 8) {
    const layout::Stamp waiter = HeaderWord(layout::load_word(bytes + waiter_at)).stamp();
    if (!waiter.none() && layout::older(waiter, HeaderWord(operation.desired).stamp())) return {};
  }
  return header;
}

// Of each the word that it found, and its reply, go to `place`, one behind the other. The bytes are READ
// behind the CASes: of a time when the record is locked.
reactor::Task<Status> lock_records(Caller caller, std::span<const BatchOperation> locks, std::byte* place) {
  const ServerState& server = caller.server;
  fabric::Channel& loopback = server.server_fabric->loopback();
  fabric::Batch batch;
  std::byte* at = place;
  for (const BatchOperation& lock : locks) {
    batch.read(lock.offset, at + 8, lock.length_bytes);
    at += local_bytes(lock);
  }
  loopback.post(batch);
  Status status = co_await batch.done();
  if (!status.ok()) co_return status;
  batch.clear();
  std::vector<HeaderWord> expected;
  at = place;
  for (const BatchOperation& lock : locks) {
    const HeaderWord from = expected.emplace_back(unlocked(server, lock, at + 8));
    if (from.value() != 0) batch.compare_and_swap(lock.offset, from.value(), lock.desired, at);
    at += local_bytes(lock);
  }
  at = place;
  for (const BatchOperation& lock : locks) {
    batch.read(lock.offset, at + 8, lock.length_bytes);
    at += local_bytes(lock);
  }
  loopback.post(batch);
  status = co_await batch.done();
  for (std::size_t i = 0; i < locks.size(); ++i) {
    const bool locked = expected[i].value() != 0 && layout::load_word(place) == expected[i].value();
    const HeaderWord seen(layout::load_word(place + 8));
    // Where there is no record, anything may stand there.
    const HeaderWord unmarked(seen.stamp(), seen.deleted(), seen.locked());
    layout::store_word(place + 8, (locked ? expected[i].with_moved() : unmarked).value());
    place += local_bytes(locks[i]);
  }
  co_return status;
}

// The entry that stands there, if the caller owns its slot's journal, and it is durable where there is a log.
// Its spans point into `bytes`.
std::optional<layout::JournalEntry> entry_of(const Caller& caller, const BatchOperation& operation,
                                             std::vector<std::byte>& bytes) {
  const ServerState& server = caller.server;
  bytes.resize(operation.length_bytes);
  server.region->read(operation.offset, bytes);
  const auto place = layout::journal_entry_place(bytes, server.options.server_id);
  const JournalStream* const stream = place ? server.journals.find(place->slot) : nullptr;
  if (stream == nullptr || stream->owner() != caller.id) return std::nullopt;
  const Block& ring = stream->ring();
  if (operation.offset != ring.offset + place->position % ring.bytes) return std::nullopt;
  auto entry = layout::read_journal_entry(bytes, *place);
  if (!entry || entry->room || !stream->broken().ok()) return std::nullopt;
  if (server.journals.logged() && entry->end() > stream->durable()) return std::nullopt;
  return entry;
}

// It is complete, and so the commit cannot be undone: its owner asks for this once all other parts are.
// If the owner dies from here on, the decider's verdict is to install it all the same.
reactor::Task<Status> install(Caller caller, const BatchOperation* operation) {
  const ServerState& server = caller.server;
  std::vector<std::byte> bytes;
  const auto entry = entry_of(caller, *operation, bytes);
  if (!entry) co_return Status(ErrorCode::protocol_violation, "no journal entry of the caller stands there");
  const Applier applier(*server.region, server.tables);
  co_return co_await applier.roll_forward(*entry, server.server_fabric->loopback());
}

}  // namespace

reactor::Task<Status> batch_call(Call call) {
  ServerState& server = call.caller.server;
  const Region& region = *server.region;
  fabric::Channel& loopback = server.server_fabric->loopback();
  const auto operations =
      calls::decode_batch(call.request, {region.bytes(), region.limit_bytes()}, fabric::kMaxCall_bytes);
  if (!operations) co_return Status(ErrorCode::protocol_violation, "a batch that cannot be read");
  std::size_t all_bytes = 0;
  for (const BatchOperation& operation : *operations) all_bytes += local_bytes(operation);
  fabric::LocalBuffer local;
  if (all_bytes != 0) local = fabric::LocalBuffer(loopback.pool(), all_bytes);
  fabric::Batch batch;
  std::byte* place = local.data();
  for (auto operation = operations->begin(); operation != operations->end();) {
    for (; operation != operations->end() && !by_itself(*operation); ++operation) {
      add(batch, *operation, region.bytes(), place);
      place += local_bytes(*operation);
    }
    if (!batch.empty()) {
      loopback.post(batch);
      const Status& status = co_await batch.done();
      server.journals.stage_ended();
      if (!status.ok()) co_return status;
      batch.clear();
    }
    if (operation == operations->end()) break;
    Status status;
    if (operation->kind == BatchOperation::Kind::install) {
      status = co_await install(call.caller, &*operation++);
    } else {
      const auto end = std::find_if_not(operation, operations->end(), is_lock);
      const std::span<const BatchOperation> locks(operation, end);
      status = co_await lock_records(call.caller, locks, place);
      for (; operation != end; ++operation) place += local_bytes(*operation);
    }
    if (!status.ok()) co_return status;
  }
  place = local.data();
  for (const BatchOperation& operation : *operations) {
    call.reply.append(reinterpret_cast<const char*>(place + found_bytes(operation)), operation.reply_bytes());
    place += local_bytes(operation);
  }
  co_return Status();
}

}  // namespace namdb::memory::handlers
