#include "memory/recovery/index_loads.h"

#include "common/fabric/fabric.h"

namespace namdb::memory {
namespace {

// A call can carry twice as much.
constexpr std::size_t kRequest_bytes = fabric::kMaxCall_bytes / 2;

}  // namespace

Status IndexLoads::receive(std::string_view request) {
  const auto load = calls::decode_index_load(request);
  if (!load || load->index == 0 || load->sender >= server_count_ || load->sender == server_id_)
    return Status(ErrorCode::protocol_violation, "keys of an index that cannot be read");
  if (load->round != round_)
    return Status(ErrorCode::cannot_connect_now, "the memory servers open in another round than these keys'");
  Incoming& incoming = incoming_[load->index][load->sender];
  if (load->number < incoming.next) return Status();
  if (load->number > incoming.next || incoming.last)
    return Status(ErrorCode::corrupt_data, "memory server " + std::to_string(load->sender) +
                                               " has sent keys of index " + std::to_string(load->index) +
                                               " out of order");
  for (const std::string_view key : load->keys) incoming.keys.add(key);
  ++incoming.next;
  incoming.last = load->last;
  if (!load->last) return Status();
  incoming.keys.finish();
  changed_.notify_all();
  return Status();
}

bool IndexLoads::is_complete(std::uint32_t index) const {
  if (server_count_ == 1) return true;
  const auto found = incoming_.find(index);
  if (found == incoming_.end() || found->second.size() + 1 < server_count_) return false;
  for (const auto& [sender, incoming] : found->second) {
    if (!incoming.last) return false;
  }
  return true;
}

reactor::Task<Status> IndexLoads::complete(std::uint32_t index) {
  while (!is_complete(index)) {
    if (stopped_)
      co_return Status(ErrorCode::cannot_connect_now, "the opening of the memory servers begins anew");
    co_await changed_.wait();
  }
  co_return Status();
}

void IndexLoads::stop() {
  stopped_ = true;
  changed_.notify_all();
}

std::vector<const KeyRuns*> IndexLoads::runs(std::uint32_t index) const {
  std::vector<const KeyRuns*> runs;
  const auto found = incoming_.find(index);
  if (found == incoming_.end()) return runs;
  for (const auto& [sender, incoming] : found->second) runs.push_back(&incoming.keys);
  return runs;
}

std::optional<std::string> IndexLoadRequests::next() {
  if (sent_last_) return std::nullopt;
  calls::IndexLoad load{index_, sender_, number_++, false, {}, round_};
  for (std::size_t bytes = 0; !keys_.done() && bytes < kRequest_bytes; keys_.next()) {
    bytes += keys_.key().size() + sizeof(std::uint16_t);
    load.keys.push_back(keys_.key());
  }
  load.last = sent_last_ = keys_.done();
  return encode(load);
}

}  // namespace namdb::memory
