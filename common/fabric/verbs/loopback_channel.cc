#include "common/fabric/verbs/loopback_channel.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/fabric/verbs/device_choice.h"
#include "common/fabric/verbs/operations.h"

namespace namdb::fabric::verbs {
LoopbackChannel::LoopbackChannel(reactor::Reactor& reactor, ServedRegion& served)
    : Channel(reactor),
      reactor_(reactor),
      served_(served),
      pool_([this](std::byte* base, std::size_t length_bytes) {
        chunks_.push_back({base, length_bytes});
        if (device_ != nullptr) static_cast<void>(device_->register_local(base, length_bytes));
      }) {}

LoopbackChannel::~LoopbackChannel() {
  close(Status(ErrorCode::connection_failure, "the channel is closed"));
}

Status LoopbackChannel::open(Device& device, std::uint8_t port, const ibv_gid& gid, std::uint32_t region_key,
                             std::uint32_t send_queue_depth) {
  // It needs this memory in all likelihood. If there is no room for it, the start fails instead of an
  // operation.
  if (chunks_.empty()) LocalBuffer first(pool_, 64);
  for (const Chunk& chunk : chunks_) {
    if (Status status = device.register_local(chunk.base, chunk.length_bytes); !status.ok()) return status;
  }
  device_ = &device;
  requester_.reset(new Endpoint(device, *this));
  responder_.reset(new Endpoint(device, *this));
  if (Status status = requester_->create(send_queue_depth); !status.ok()) return status;
  if (Status status = responder_->create(1); !status.ok()) return status;
  if (Status status = connect(*requester_, *responder_, port, gid); !status.ok()) return status;
  if (Status status = connect(*responder_, *requester_, port, gid); !status.ok()) return status;
  requester_->set_remote_key(region_key);
  requester_->start();
  for (Batch* batch : std::exchange(waiting_, {})) submit(*batch);
  return Status();
}

Status LoopbackChannel::connect(Endpoint& from, Endpoint& to, std::uint8_t port, const ibv_gid& gid) {
  ibv_port_attr port_attributes{};
  if (ibv_query_port(device_->context(), port, &port_attributes) != 0) {
    return Status(ErrorCode::configuration,
                  "the RDMA device " + device_->name() + " does not describe its port");
  }
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port;
  attributes.qp_access_flags =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  Status status =
      from.modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (!status.ok()) return status;

  attributes = {};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = port_attributes.active_mtu;
  attributes.dest_qp_num = to.number();
  attributes.max_dest_rd_atomic =
      static_cast<std::uint8_t>(std::min(device_->attributes().max_qp_rd_atom, 16));
  attributes.min_rnr_timer = 12;
  attributes.ah_attr.port_num = port;
  if (port_attributes.link_layer == IBV_LINK_LAYER_ETHERNET) {
    const std::optional<std::uint32_t> index = gid_index_of(device_->context(), port, gid);
    if (!index) {
      return Status(ErrorCode::configuration, "the RDMA device " + device_->name() +
                                                  " has no RoCE v2 address for port " + std::to_string(port));
    }
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.grh.dgid = gid;
    attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(*index);
    attributes.ah_attr.grh.hop_limit = 64;
  } else {
    attributes.ah_attr.dlid = port_attributes.lid;
  }
  status = from.modify(attributes, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (!status.ok()) return status;

  attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 14;
  attributes.retry_cnt = 7;
  attributes.rnr_retry = 7;
  attributes.max_rd_atomic = static_cast<std::uint8_t>(
      std::min({device_->attributes().max_qp_init_rd_atom, device_->attributes().max_qp_rd_atom, 16}));
  return from.modify(attributes, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

void LoopbackChannel::do_post(Batch& batch) {
  batch.begin();
  if (failed()) return batch.complete(executor(), failure_);
  if (batch.empty()) return batch.complete(executor(), Status());
  if (requester_ == nullptr) return waiting_.push_back(&batch);
  submit(batch);
}

void LoopbackChannel::submit(Batch& batch) {
  Status refused = refuse_operations(batch.operations(), *device_);
  // Its own error is the end of the memory server, a device without room is not.
  NAMDB_CHECK(refused.ok() || refused.code() == ErrorCode::limit_exceeded);
  if (!refused.ok()) return batch.complete(executor(), std::move(refused));
  requester_->post(batch);
}

void LoopbackChannel::on_broken(Status status) {
  spdlog::critical("verbs fabric: the memory server does not reach its own region: {}", status.message());
  if (failure_.ok()) failure_ = std::move(status);
  if (!std::exchange(finish_scheduled_, true)) reactor_.flush_soon(*this);
}

void LoopbackChannel::end_of_turn() {
  finish_scheduled_ = false;
  requester_->destroy(failure_);
  responder_->destroy(failure_);
}

void LoopbackChannel::close(Status status) {
  if (failure_.ok()) failure_ = std::move(status);
  if (std::exchange(finish_scheduled_, false)) reactor_.cancel_flush(*this);
  if (requester_ != nullptr) requester_->destroy(failure_);
  if (responder_ != nullptr) responder_->destroy(failure_);
  requester_.reset();
  responder_.reset();
  device_ = nullptr;
  for (Batch* batch : std::exchange(waiting_, {})) batch->complete(executor(), failure_);
}

}  // namespace namdb::fabric::verbs
