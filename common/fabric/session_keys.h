// The keys of an encrypted connection. Both sides make an X25519 key for the connection alone. From the
// secret that the two keys agree on, from the cluster key, and from all bytes that were sent in the clear
// they derive a secret for each direction (HKDF-SHA256). So a cluster key that is stolen later opens no
// recording from before. All primitives are OpenSSL's.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include "common/base/error.h"
#include "common/fabric/cluster_key.h"

struct evp_pkey_st;

namespace namdb::fabric {

// Wiped when it goes.
struct Secret {
  std::array<unsigned char, 32> bytes{};

  Secret() = default;
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();
  bool operator==(const Secret&) const = default;
};

// The public half of a connection's key.
inline constexpr std::size_t kShare_bytes = 32;
using Share = std::array<unsigned char, kShare_bytes>;

class EphemeralKey {
 public:
  EphemeralKey();
  ~EphemeralKey();
  EphemeralKey(const EphemeralKey&) = delete;
  EphemeralKey& operator=(const EphemeralKey&) = delete;

  const Share& share() const { return share_; }
  // The secret that both sides come to. Error protocol_violation: a share that leads to the same secret with
  // every key, as no honest peer has one.
  Result<Secret> agree(const Share& other) const;

 private:
  evp_pkey_st* key_;
  Share share_{};
};

// The secrets of the first key of each direction, named by the sender.
struct SessionSecrets {
  Secret client;
  Secret server;
};

// `transcript`: all that both sides sent before, in one order; a change on the way leads to other secrets.
SessionSecrets derive_secrets(const ClusterKey& key, const Secret& agreed, std::string_view transport,
                              std::string_view transcript);

// A direction's secret after this one; it does not lead back.
Secret next_secret(const Secret& secret);

// For AES-128-GCM. The nonce of a record is `nonce`, its last bytes xor the record's number.
struct RecordKey {
  std::array<unsigned char, 16> key{};
  std::array<unsigned char, 12> nonce{};
  ~RecordKey();
};
RecordKey record_key(const Secret& secret);

}  // namespace namdb::fabric
