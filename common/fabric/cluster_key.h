// The cluster key: 32 secret bytes that every daemon of a cluster has. Each side of a new connection proves
// that it knows them by an HMAC-SHA256 over both sides' nonces; the key itself is never sent. On a connection
// that is not encrypted (session_keys.h) an attacker who can change packets in flight is not kept out.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace namdb::fabric {

struct ClusterKey {
  std::array<unsigned char, 32> bytes;
};

// A file of exactly 32 bytes that only its owner, this user or root, can read. Errors: configuration.
Result<ClusterKey> read_cluster_key(const std::string& path);

// The first 16 digits that `sha256sum FILE` prints: by them people see whether two machines have the same
// key, and learn nothing of it.
std::string fingerprint(const ClusterKey& key);

inline constexpr std::size_t kNonce_bytes = 32;
inline constexpr std::size_t kProof_bytes = 32;
using Nonce = std::array<unsigned char, kNonce_bytes>;
using Proof = std::array<unsigned char, kProof_bytes>;

Nonce make_nonce();
enum class ProofRole { client, server };
// The proof that the side in that role sends. It covers the role, so that it cannot be sent back to its
// maker, and the transport's name ("tcp"), so that it proves nothing on another transport.
Proof make_proof(const ClusterKey& key, std::string_view transport, ProofRole role, const Nonce& client,
                 const Nonce& server);
// The same for a connection that will be encrypted: over all bytes that both sides sent before.
Proof make_proof(const ClusterKey& key, std::string_view transport, ProofRole role,
                 std::string_view transcript);
// In constant time.
bool equal(const Proof& a, const Proof& b);

}  // namespace namdb::fabric
