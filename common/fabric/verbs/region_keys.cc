#include "common/fabric/verbs/region_keys.h"

#include <cerrno>
#include <cstring>
#include <string>

#include "common/base/check.h"
#include "common/fabric/verbs/device.h"
#include "common/fabric/verbs/endpoint.h"

namespace namdb::fabric::verbs {

PeerKey::~PeerKey() {
  if (window_ != nullptr) NAMDB_CHECK(ibv_dealloc_mw(window_) == 0);
  if (registration_ != nullptr) NAMDB_CHECK(ibv_dereg_mr(registration_) == 0);
}

RegionKeys::~RegionKeys() {
  if (registration_ != nullptr) ibv_dereg_mr(registration_);
}

Status RegionKeys::open(Device& device, std::byte* base, std::size_t length_bytes, RegionKeyKind kind) {
  device_ = &device;
  base_ = base;
  length_bytes_ = length_bytes;
  constexpr unsigned kType2 = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  const bool has_windows =
      (device.attributes().device_cap_flags & kType2) != 0 && device.attributes().max_mw > 0;
  if (kind == RegionKeyKind::windows && !has_windows) {
    return Status(ErrorCode::configuration,
                  "the RDMA device " + device.name() + " has no memory windows of type 2",
                  "--rdma-region-keys registrations needs none");
  }
  windows_ = has_windows && kind != RegionKeyKind::registrations;
  Result<ibv_mr*> registration = device.register_remote(base, length_bytes, windows_);
  if (!registration.ok()) return registration.status();
  registration_ = *registration;
  return Status();
}

Result<std::unique_ptr<PeerKey>> RegionKeys::make(Endpoint& endpoint) {
  if (!windows_) {
    Result<ibv_mr*> registration = device_->register_remote(base_, length_bytes_, false);
    if (!registration.ok()) {
      return Status(ErrorCode::limit_exceeded, registration.status().message(),
                    std::string(registration.status().hint()));
    }
    return std::make_unique<PeerKey>(nullptr, *registration, (*registration)->rkey);
  }
  ibv_mw* window = ibv_alloc_mw(device_->domain(), IBV_MW_TYPE_2);
  if (window == nullptr) {
    return Status(ErrorCode::limit_exceeded,
                  "the RDMA device " + device_->name() + " has no memory window: " + std::strerror(errno));
  }
  const std::uint32_t key = ibv_inc_rkey(window->rkey);
  endpoint.bind(*window, key, *registration_, length_bytes_);
  return std::make_unique<PeerKey>(window, nullptr, key);
}

std::string_view RegionKeys::kind_name() const {
  return windows_ ? "windows" : "registrations";
}

}  // namespace namdb::fabric::verbs
