#include "common/fabric/verbs/receive_queue.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "common/base/check.h"
#include "common/fabric/huge_memory.h"

namespace namdb::fabric::verbs {

ReceiveQueue::~ReceiveQueue() {
  if (queue_ != nullptr) ibv_destroy_srq(queue_);
  for (const Chunk& chunk : chunks_) {
    if (chunk.region != nullptr) ibv_dereg_mr(chunk.region);
    unmap_memory(chunk.memory, chunk.length_bytes);
  }
}

Status ReceiveQueue::create(std::uint32_t count) {
  count_ = std::min(count, static_cast<std::uint32_t>(device_.attributes.max_srq_wr));
  if (Status status = add_buffers(count_); !status.ok()) return status;
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = count_;
  attributes.attr.max_sge = 1;
  queue_ = ibv_create_srq(device_.domain, &attributes);
  if (queue_ == nullptr) {
    return device_.refused("a shared receive queue of " + std::to_string(count_), errno);
  }
  post();
  limit_ = count_ / 4;
  arm();
  return Status();
}

Status ReceiveQueue::add_buffers(std::uint32_t count) {
  const std::size_t length_bytes = std::size_t{count} * kFragment_bytes;
  std::byte* memory = map_memory(length_bytes);
  constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* region = ibv_reg_mr(device_.domain, memory, length_bytes, kAccess);
  const int error = errno;
  const std::uint64_t chunk = chunks_.size();
  chunks_.push_back({memory, length_bytes, region});
  if (region == nullptr) return device_.refused("to register receive buffers", error);
  for (std::uint64_t i = 0; i < count; ++i) free_.push_back(chunk << 32 | i);
  return Status();
}

void ReceiveQueue::post() {
  if (free_.empty()) return;
  requests_.resize(free_.size());
  places_.resize(free_.size());
  for (std::size_t i = 0; i < free_.size(); ++i) {
    places_[i] = {reinterpret_cast<std::uint64_t>(place(free_[i])), kFragment_bytes,
                  chunks_[free_[i] >> 32].region->lkey};
    ibv_recv_wr& request = requests_[i];
    request.wr_id = kReceive | free_[i];
    request.sg_list = &places_[i];
    request.num_sge = 1;
    request.next = i + 1 == free_.size() ? nullptr : &requests_[i + 1];
  }
  ibv_recv_wr* first_refused = nullptr;
  const int error = ibv_post_srq_recv(queue_, requests_.data(), &first_refused);
  if (error == 0) return free_.clear();
  const auto posted = first_refused == nullptr ? 0 : first_refused - requests_.data();
  free_.erase(free_.begin(), free_.begin() + posted);
  spdlog::warn("verbs fabric: {} refuses receive buffers: {}", device_.name(), std::strerror(error));
}

void ReceiveQueue::arm() {
  received_ = 0;
  if (limit_ == 0) return;
  ibv_srq_attr attributes{};
  attributes.srq_limit = limit_;
  // A device that cannot tell is trusted not to lose any.
  if (ibv_modify_srq(queue_, &attributes, IBV_SRQ_LIMIT) != 0) limit_ = 0;
}

void ReceiveQueue::on_limit(std::size_t arriving) {
  if (limit_ == 0) return;
  // All were posted when it was armed, and fewer than the limit are now, or were a moment ago: the others
  // went to messages that were read since, to some that are arriving, or were lost.
  const std::uint32_t missing = count_ - limit_;
  if (received_ + arriving < missing) {
    spdlog::warn("verbs fabric: {} has lost receive buffers; {} more take their place", device_.name(),
                 missing);
    replaced_ += missing;
    const Status status = add_buffers(missing);
    if (!status.ok()) {
      spdlog::error("verbs fabric: {}", status.message());
      limit_ = 0;
    }
  }
  post();
  arm();  // if there are too few still, the device says so again
}

}  // namespace namdb::fabric::verbs
