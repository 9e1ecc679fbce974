// RegionKeys: the memory server's region as its device knows it, and the key by which each peer reaches it.
// Every peer has a key of its own, which is taken back when the peer goes or is fenced:
//
//   windows        a memory window of type 2 over the one registration of the region: costs the device next
//                  to nothing, and serves on the peer's own queue pair only
//   registrations  a registration of the region for each peer, for devices without such windows: costs the
//                  device a translation table each, and serves on every queue pair until it is taken back
//
// Reactor's thread.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "common/base/error.h"
#include "common/fabric/verbs/options.h"

namespace namdb::fabric::verbs {

class Device;
class Endpoint;

// One peer's. Its destruction takes it back: the device refuses whatever names the key from then on.
class PeerKey {
 public:
  PeerKey(ibv_mw* window, ibv_mr* registration, std::uint32_t key)
      : window_(window), registration_(registration), key_(key) {}
  PeerKey(const PeerKey&) = delete;
  PeerKey& operator=(const PeerKey&) = delete;
  ~PeerKey();
  std::uint32_t key() const { return key_; }

 private:
  ibv_mw* window_;  // or
  ibv_mr* registration_;
  std::uint32_t key_;
};

class RegionKeys {
 public:
  RegionKeys() = default;
  RegionKeys(const RegionKeys&) = delete;
  RegionKeys& operator=(const RegionKeys&) = delete;
  // No peer's key is left.
  ~RegionKeys();

  // Registers the memory, at addresses from 0. The device outlives this object. Errors (configuration).
  Status open(Device& device, std::byte* base, std::size_t length_bytes, RegionKeyKind kind);
  // The peer's, valid before whatever is sent on its endpoint next. Errors (limit_exceeded): the device has
  // no more.
  Result<std::unique_ptr<PeerKey>> make(Endpoint& endpoint);
  // The memory server's own; no peer gets it.
  std::uint32_t own_key() const { return registration_->rkey; }
  std::string_view kind_name() const;

 private:
  Device* device_ = nullptr;
  std::byte* base_ = nullptr;
  std::size_t length_bytes_ = 0;
  bool windows_ = false;
  ibv_mr* registration_ = nullptr;
};

}  // namespace namdb::fabric::verbs
