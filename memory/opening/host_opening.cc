#include "memory/opening/host_opening.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/check.h"
#include "common/base/hex.h"
#include "common/calls/index_load_calls.h"
#include "memory/journals/journal_record.h"
#include "memory/journals/verdict_records.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t kShutdownLook_ns = 100 * kMillisecond_ns;  // for a shutdown

Status no_round() {
  return Status(ErrorCode::cannot_connect_now, "the memory servers open in another round");
}

reactor::Task<Status> send_load(Links* links, layout::ServerId server, std::string request) {
  const auto reply = co_await links->call(server, calls::kIndexLoadMethod, std::move(request));
  co_return reply.ok() ? Status() : reply.status();
}

}  // namespace

Status opening_ends() {
  return Status(ErrorCode::admin_shutdown, "the memory server was told to end while it opened");
}

SendIndexLoad send_by_links(Links& links) {
  return [&links](layout::ServerId server, std::string request) {
    return send_load(&links, server, std::move(request));
  };
}

// Counts a call that is under way: close() waits for it.
class HostOpening::UnderWay {
 public:
  explicit UnderWay(HostOpening& host) : host_(host) { ++host_.calls_; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  ~UnderWay() {
    --host_.calls_;
    host_.changed_.notify_all();
  }

 private:
  HostOpening& host_;
};

HostOpening::HostOpening(ServerState& server, std::uint64_t database_id, UnopenedDatabase& database,
                         LogReplay& replay)
    : server_(server),
      database_id_(database_id),
      database_(&database),
      replay_(&replay),
      changed_(server.executor) {}

reactor::Task<Status> HostOpening::await_served() {
  while (!served_ && failure_.ok()) {
    if (server_.shutdown || server_.stopping) co_return opening_ends();
    co_await changed_.wait_until(server_.executor.now_ns() + kShutdownLook_ns);
  }
  co_return failure_;
}

reactor::Task<void> HostOpening::close() {
  closing_ = true;
  if (loads_) loads_->stop();
  changed_.notify_all();
  while (calls_ != 0) co_await changed_.wait();
  // The server may outlive this.
  server_.index_loads = nullptr;
}

Status HostOpening::check_round(std::uint64_t round) const {
  if (closing_) return opening_ends();
  if (!failure_.ok()) return failure_;
  return round == round_ && round != 0 ? Status() : no_round();
}

Status HostOpening::refuse(Status why) {
  if (served_ || why.ok()) return why;
  switch (why.code()) {
    case ErrorCode::cannot_connect_now:
    case ErrorCode::connection_failure:
    case ErrorCode::admin_shutdown:
    case ErrorCode::fenced:
      return why;
    default:
      break;
  }
  if (failure_.ok()) failure_ = why;
  changed_.notify_all();
  return why;
}

// --- rounds ---

reactor::Task<Status> HostOpening::gather(const control::GatherRequest* request,
                                          control::GatherReply* reply) {
  const UnderWay under_way(*this);
  if (closing_) co_return opening_ends();
  if (request->database_id() != database_id_) {
    co_return refuse(Status(ErrorCode::configuration,
                            "the data folder of memory server " + std::to_string(server_.options.server_id) +
                                " belongs to database " + in_hex(database_id_, 16) +
                                ", that of memory server 0 to " + in_hex(request->database_id(), 16),
                            "choose the --data folders of one database"));
  }
  // Calls overtake each other.
  if (request->coordinator() == coordinator_ && request->sequence() <= sequence_) co_return no_round();
  round_ = request->round();
  coordinator_ = request->coordinator();
  sequence_ = request->sequence();
  co_return co_await gather_here(request, reply);
}

reactor::Task<Status> HostOpening::gather_here(const control::GatherRequest* request,
                                               control::GatherReply* reply) {
  const std::uint64_t round = request->round();
  derived_ = false;
  if (loads_) loads_->stop();
  // Nothing of workers that joined without the servers which have restarted concerns those.
  std::set<std::uint32_t> restarted;
  if (served_) restarted.insert(request->restarted().begin(), request->restarted().end());
  Status status = co_await server_.dismiss_workers(kPatience_ns, std::move(restarted));
  if (!status.ok()) co_return status;
  while (deriving_ && !closing_) co_await changed_.wait();
  catalog_.Clear();
  status = check_round(round);
  if (!status.ok()) co_return status;
  server_.index_loads = nullptr;
  loads_ = std::make_unique<IndexLoads>(server_.executor, server_.options.server_id,
                                        server_.options.server_count, round);
  server_.index_loads = loads_.get();
  reply->set_epoch(server_.region->map().epoch);
  reply->set_was_open(served_);
  const auto decided = [request, reply](std::uint32_t slot) {
    if (slot >= request->first_slot() && slot < request->end_slot()) reply->add_decided(slot);
  };
  for (const auto& [slot, stream] : server_.journals.all()) {
    if (stream->abandoned()) reply->add_slots(slot);
  }
  for (const auto& [slot, ended] : server_.journals.all_ended()) {
    if (ended.decided) decided(slot);
  }
  if (replay_ == nullptr) co_return Status();
  status = co_await database_->confirm_log();
  if (!status.ok()) co_return status;
  status = check_round(round);
  if (!status.ok() || replay_ == nullptr) co_return status;
  for (const auto& [slot, journal] : replay_->journals()) {
    if (!journal.ended) reply->add_slots(slot);
    if (journal.decided) decided(slot);
  }
  reply->set_lost_log(database_->lost_log());
  co_return Status();
}

reactor::Task<Status> HostOpening::derive(const control::DeriveRequest* request,
                                          control::DeriveReply* reply) {
  const UnderWay under_way(*this);
  Status status = check_round(request->round());
  if (!status.ok()) co_return status;
  if (deriving_ || !loads_) co_return no_round();
  catalog_.mutable_tables()->MergeFrom(request->tables());
  catalog_.mutable_indexes()->MergeFrom(request->indexes());
  if (request->more()) co_return Status();
  *catalog_.mutable_opening() = request->opening();
  deriving_ = true;
  status = co_await derive_here(&catalog_, reply);
  catalog_.Clear();
  deriving_ = false;
  changed_.notify_all();
  if (status.ok()) status = check_round(request->round());
  if (status.ok()) derived_ = true;
  co_return refuse(std::move(status));
}

reactor::Task<Status> HostOpening::derive_here(const control::DeriveRequest* request,
                                               control::DeriveReply* reply) {
  if (served_) {
    Status status = co_await send_keys(request);
    if (!status.ok()) co_return status;
    const Recovery recovery = beside_transactions();
    reply->set_largest_timestamp(co_await largest_timestamp(recovery, server_.tables));
  } else {
    for (const auto& [slot, journal] : replay_->journals()) {
      if (!journal.ended)
        co_return Status(ErrorCode::cannot_connect_now, "slot " + std::to_string(slot) + " is not decided");
    }
    Status status = co_await database_->derive(request, loads_.get());
    if (!status.ok()) co_return status;
    reply->set_largest_timestamp(database_->largest_timestamp());
  }
  // Server 0 places the words of its slots anew.
  const layout::VectorParts parts = server_.options.vector_parts();
  if (server_.options.server_id != 0 && parts.has(server_.options.server_id))
    server_.region->shorten_vector(0);
  for (const auto& [id, table] : server_.tables.all()) {
    if (!table->ready || table->discarded) continue;
    control::DeriveReply::TablePlace& place = *reply->add_tables();
    place.set_id(id);
    place.set_bucket_base(table->main.array.base_offset);
    place.set_doublings(table->doublings());
  }
  co_return Status();
}

Recovery HostOpening::beside_transactions() {
  return {server_.executor, *server_.region, server_.options, progress_, nullptr, true};
}

reactor::Task<Status> HostOpening::send_keys(const control::DeriveRequest* request) {
  const Recovery recovery = beside_transactions();
  OpeningServers opening;
  for (const std::uint32_t server : request->opening()) opening.insert(static_cast<layout::ServerId>(server));
  std::vector<control::IndexDescriptor> indexes(request->indexes().begin(), request->indexes().end());
  co_return co_await rebuild_indexes(recovery, server_.tables, server_.indexes, std::move(indexes), *loads_,
                                     send_by_links(server_.links), std::move(opening));
}

reactor::Task<Status> HostOpening::serve(const control::ServeRequest* request) {
  const UnderWay under_way(*this);
  Status status = check_round(request->round());
  if (!status.ok()) co_return status;
  if (!derived_) co_return no_round();
  if (!served_) {
    if (request->timestamp() != 0) raise_timestamp_floors(*server_.region, request->timestamp());
    for (const auto& [slot, journal] : replay_->journals())
      server_.journals.restore_ended(slot, {journal.through, journal.decided});
    database_ = nullptr;
    replay_ = nullptr;
    served_ = true;
    server_.opening = false;
  }
  server_.index_loads = nullptr;
  server_.identity.become({request->epochs().begin(), request->epochs().end()});
  server_.admits_workers = true;
  server_.admits_without.clear();
  changed_.notify_all();
  co_return Status();
}

// --- journals of before ---

const LogReplay::SlotJournal* HostOpening::find(std::uint32_t slot) const {
  return replay_ == nullptr ? nullptr : replay_->find(slot);
}

bool HostOpening::restored(std::uint32_t slot) const {
  return find(slot) != nullptr;
}

reactor::Task<Result<calls::LookReply>> HostOpening::look(std::uint32_t slot) {
  const UnderWay under_way(*this);
  if (!closing_ && database_ != nullptr) {
    const Status status = co_await database_->confirm_log();
    if (!status.ok()) co_return status;
  }
  if (closing_ || find(slot) == nullptr) co_return opening_ends();
  const LogReplay::SlotJournal& journal = *find(slot);
  calls::LookReply reply;
  reply.through = journal.through;
  if (journal.ended) {
    if (journal.decided) reply.final_counter = journal.through;
    co_return reply;
  }
  reply.voids.assign(journal.voided.begin(), journal.voided.end());
  reply.commits.assign(journal.committed.begin(), journal.committed.end());
  for (const auto& [counter, bytes] : journal.undecided) {
    const auto record = read_journal_record(bytes, server_.options.server_id);
    NAMDB_CHECK(record.has_value());  // it was read before
    reply.entries.push_back(
        {counter, record->entry.configuration, {record->entry.regions.begin(), record->entry.regions.end()}});
  }
  co_return reply;
}

reactor::Task<Status> HostOpening::record(std::uint32_t slot, std::vector<std::uint32_t> counters,
                                          Verdict verdict) {
  const UnderWay under_way(*this);
  if (closing_ || find(slot) == nullptr) co_return opening_ends();
  const bool committed = verdict == Verdict::committed;
  const LogReplay::SlotJournal& journal = *find(slot);
  std::vector<std::uint32_t> rest;
  for (const std::uint32_t counter : counters) {
    const bool opposite = (committed ? journal.voided : journal.committed).contains(counter);
    const bool missing = committed && !journal.committed.contains(counter) && counter > journal.through &&
                         !journal.undecided.contains(counter);
    if (opposite || missing) {
      co_return Status(ErrorCode::corrupt_data,
                       "commit " + std::to_string(counter) + " of slot " + std::to_string(slot) +
                           (opposite ? " has the other verdict" : " has no part") + " on this memory server");
    }
    if (!(committed ? journal.committed : journal.voided).contains(counter)) rest.push_back(counter);
  }
  if (rest.empty()) co_return Status();
  const std::vector<std::byte> bytes = counters_record(slot, rest);
  Status status =
      co_await server_.journals.record(committed ? RecordKind::verdict : RecordKind::voided, bytes);
  if (!status.ok() || find(slot) == nullptr) co_return status;
  co_return refuse(replay_->decide(slot, rest, committed));
}

reactor::Task<Status> HostOpening::close(std::uint32_t slot, std::uint32_t final_counter) {
  const UnderWay under_way(*this);
  if (closing_ || find(slot) == nullptr) co_return opening_ends();
  const LogReplay::SlotJournal& journal = *find(slot);
  if (journal.ended) co_return Status();
  const std::uint32_t through = std::max(journal.through, final_counter);
  // Entries that are left are commits: those that were undone are void here. This server knew before it
  // ended, from the owner, that they were finished, and the log does not say so.
  if (!journal.undecided.empty() && journal.undecided.rbegin()->first > through) {
    co_return Status(ErrorCode::protocol_violation,
                     "slot " + std::to_string(slot) + " has an undecided entry on this memory server");
  }
  const std::array<std::byte, 8> bytes = end_record(slot, through);
  Status status = co_await server_.journals.record(RecordKind::closed, bytes);
  if (!status.ok() || find(slot) == nullptr) co_return status;
  co_return refuse(replay_->end(slot, through));
}

}  // namespace namdb::memory
