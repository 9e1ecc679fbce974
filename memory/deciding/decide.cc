// The journal of a slot whose owner is fenced here is a stream of memory/journals/journals.h. Its parts of
// commits are installed by memory/apply/applier.h.
#include "memory/deciding/decide.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memory/apply/applier.h"
#include "memory/journals/verdict_records.h"
#include "memory/state/opening_service.h"

namespace namdb::memory {
namespace {

Status owner_is_there(std::uint32_t slot) {
  return Status(ErrorCode::protocol_violation,
                "the owner of slot " + std::to_string(slot) + " is not fenced on this memory server");
}

Status no_part(std::uint32_t slot, std::uint32_t counter) {
  return Status(ErrorCode::corrupt_data, "this memory server has no part of commit " +
                                             std::to_string(counter) + " of slot " + std::to_string(slot));
}

// The counters without those for which that is recorded already. Error corrupt_data where the opposite is.
Result<std::vector<std::uint32_t>> not_yet(const JournalStream& stream,
                                           const std::vector<std::uint32_t>& counters, Verdict verdict) {
  std::vector<std::uint32_t> rest;
  for (const std::uint32_t counter : counters) {
    const auto known = stream.verdicts().find(counter);
    if (known == stream.verdicts().end()) {
      rest.push_back(counter);
    } else if (known->second != verdict) {
      return Status(ErrorCode::corrupt_data, "commit " + std::to_string(counter) + " of slot " +
                                                 std::to_string(stream.slot()) +
                                                 " has the other verdict on this memory server");
    }
  }
  return rest;
}

// Records that and takes note of it.
reactor::Task<Status> record_verdicts(ServerState* server, std::uint32_t slot,
                                      std::vector<std::uint32_t> counters, Verdict verdict) {
  if (counters.empty()) co_return Status();
  const std::vector<std::byte> bytes = counters_record(slot, counters);
  const RecordKind kind = verdict == Verdict::voided ? RecordKind::voided : RecordKind::verdict;
  Status status = co_await server->journals.record(kind, bytes);
  if (!status.ok()) co_return status;
  for (const std::uint32_t counter : counters) server->journals.decide(slot, counter, verdict);
  co_return Status();
}

bool all_decided(const JournalStream& stream) {
  return std::ranges::all_of(stream.entries(),
                             [&stream](const KeptEntry& entry) { return stream.decided(entry); });
}

std::optional<EntryCopy> copy_of(const JournalStream& stream, std::uint32_t counter) {
  const auto kept = std::ranges::find_if(
      stream.entries(), [counter](const KeptEntry& entry) { return entry.stamp.counter == counter; });
  return kept == stream.entries().end() ? std::nullopt : stream.read_again(*kept);
}

// Installs this server's part of the commit.
reactor::Task<Status> install_part(ServerState* server, std::uint32_t slot, std::uint32_t counter) {
  const JournalStream* const stream = server->journals.find(slot);
  if (stream == nullptr) co_return no_part(slot, counter);
  const std::optional<EntryCopy> copy = copy_of(*stream, counter);
  if (!copy) co_return no_part(slot, counter);
  const Applier applier(*server->region, server->tables);
  co_return co_await applier.roll_forward(copy->entry, server->server_fabric->loopback());
}

// Its journal is in the log only, from before this process.
bool is_restored(const ServerState& server, std::uint32_t slot) {
  return server.opening_service != nullptr && server.opening_service->restored(slot);
}

}  // namespace

reactor::Task<Status> fence_here(ServerState* server, std::string compute_id) {
  server->start_fence(compute_id);
  while (!server->peers.of(compute_id).empty()) {
    if (server->stopping) co_return Status(ErrorCode::admin_shutdown, "the memory server is shutting down");
    co_await server->fenced.wait();
  }
  co_return Status();
}

Status unreadable_reply(layout::ServerId server) {
  return Status(ErrorCode::protocol_violation,
                "memory server " + std::to_string(server) + " sent a reply that cannot be read");
}

reactor::Task<Result<calls::LookReply>> look_here(ServerState* server, std::uint32_t slot) {
  if (is_restored(*server, slot)) co_return co_await server->opening_service->look(slot);
  Journals& journals = server->journals;
  calls::LookReply reply;
  const JournalStream* stream = journals.find(slot);
  if (stream != nullptr) {
    if (!stream->abandoned()) co_return owner_is_there(slot);
    Status status = co_await journals.read_rest(slot);
    if (!status.ok()) co_return status;
    stream = journals.find(slot);
  }
  if (stream != nullptr) {
    reply.through = stream->through();
    for (const auto& [counter, verdict] : stream->verdicts())
      (verdict == Verdict::voided ? reply.voids : reply.commits).push_back(counter);
    for (const KeptEntry& entry : stream->entries()) {
      if (entry.stamp.counter > reply.through)
        reply.entries.push_back(
            {entry.stamp.counter, entry.configuration, {entry.regions.begin(), entry.regions.end()}});
    }
    std::ranges::sort(reply.entries, {}, &calls::SeenEntry::counter);
  } else if (const auto ended = journals.ended(slot)) {
    reply.through = ended->through;
    if (ended->decided) reply.final_counter = ended->through;
  }
  co_return reply;
}

reactor::Task<Status> make_void_here(ServerState* server, calls::VoidRequest request) {
  if (is_restored(*server, request.slot)) {
    co_return co_await server->opening_service->record(request.slot, std::move(request.counters),
                                                       Verdict::voided);
  }
  const JournalStream* const stream = server->journals.find(request.slot);
  if (stream == nullptr) co_return no_part(request.slot, request.counters.front());
  if (!stream->abandoned()) co_return owner_is_there(request.slot);
  auto counters = not_yet(*stream, request.counters, Verdict::voided);
  if (!counters.ok()) co_return counters.status();
  co_return co_await record_verdicts(server, request.slot, std::move(*counters), Verdict::voided);
}

reactor::Task<Status> record_here(ServerState* server, calls::VerdictRequest request) {
  const std::uint32_t slot = request.slot;
  if (is_restored(*server, slot)) {
    OpeningService& restored = *server->opening_service;
    Status status = co_await restored.record(slot, std::move(request.commits), Verdict::committed);
    if (!status.ok() || !request.final_counter || !is_restored(*server, slot)) co_return status;
    co_return co_await restored.close(slot, *request.final_counter);
  }
  if (const JournalStream* const stream = server->journals.find(slot)) {
    if (!stream->abandoned()) co_return owner_is_there(slot);
    auto commits = not_yet(*stream, request.commits, Verdict::committed);
    if (!commits.ok()) co_return commits.status();
    for (const std::uint32_t counter : *commits) {
      Status status = co_await install_part(server, slot, counter);
      if (!status.ok()) co_return status;
    }
    Status status = co_await record_verdicts(server, slot, std::move(*commits), Verdict::committed);
    if (!status.ok()) co_return status;
  } else if (!request.commits.empty() && !server->journals.ended(slot)) {
    co_return no_part(slot, request.commits.front());
  }
  if (!request.final_counter) co_return Status();
  // The final counter says of every entry up to it that it is finished.
  const JournalStream* const stream = server->journals.find(slot);
  if (stream != nullptr && !all_decided(*stream)) {
    co_return Status(ErrorCode::protocol_violation,
                     "slot " + std::to_string(slot) + " has an undecided entry on this memory server");
  }
  co_return co_await server->journals.close_decided(slot, *request.final_counter);
}

reactor::Task<Status> ClusterHosts::call(layout::ServerId server, std::uint16_t method, std::string request) {
  const auto reply = co_await server_.links.call(server, method, std::move(request));
  co_return reply.ok() ? Status() : reply.status();
}

reactor::Task<Status> ClusterHosts::fence(layout::ServerId server, std::string compute_id) {
  if (!here(server)) {
    control::FenceRequest request;
    request.set_compute_id(std::move(compute_id));
    co_return co_await call(server, control::FENCE, request.SerializeAsString());
  }
  co_return co_await fence_here(&server_, std::move(compute_id));
}

reactor::Task<Result<calls::LookReply>> ClusterHosts::look(layout::ServerId host,
                                                           calls::LookRequest request) {
  if (here(host)) co_return co_await look_here(&server_, request.slot);
  auto reply = co_await server_.links.call(host, calls::kLookMethod, calls::encode(request));
  if (!reply.ok()) co_return reply.status();
  auto seen = calls::decode_look_reply(*reply);
  if (!seen) co_return unreadable_reply(host);
  co_return std::move(*seen);
}

reactor::Task<Status> ClusterHosts::make_void(layout::ServerId host, calls::VoidRequest request) {
  if (here(host)) co_return co_await make_void_here(&server_, std::move(request));
  co_return co_await call(host, calls::kVoidMethod, calls::encode(request));
}

reactor::Task<Status> ClusterHosts::record(layout::ServerId host, calls::VerdictRequest request) {
  if (here(host)) co_return co_await record_here(&server_, std::move(request));
  co_return co_await call(host, calls::kVerdictMethod, calls::encode(request));
}

reactor::Task<Result<std::uint32_t>> ClusterHosts::place(std::uint32_t slot, std::uint64_t position,
                                                         std::uint32_t counter) {
  control::PlaceSlotRequest request;
  request.set_slot(slot);
  request.set_vector_position(position);
  request.set_counter(counter);
  const layout::ServerId server = server_.options.vector_parts().place(position).server;
  const auto bytes = co_await server_.links.call(server, control::PLACE_SLOT, request.SerializeAsString());
  if (!bytes.ok()) co_return bytes.status();
  control::PlaceSlotReply reply;
  if (!reply.ParseFromString(*bytes)) co_return unreadable_reply(server);
  co_return reply.counter();
}

}  // namespace namdb::memory
