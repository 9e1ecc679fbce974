#include "common/layout/bucket.h"

#include "common/base/checksum.h"

namespace namdb::layout {
namespace {

std::uint64_t bucket_checksum(const Bucket& bucket, GlobalAddress address) {
  const std::span bytes = std::as_bytes(std::span(&bucket, 1));
  return checksum64(bytes.subspan(kBucketBody_offset, offsetof(Bucket, checksum) - kBucketBody_offset),
                    address.value);
}

}  // namespace

bool Bucket::certified(GlobalAddress address) const {
  return checksum == bucket_checksum(*this, address);
}

void Bucket::seal(GlobalAddress address) {
  checksum = bucket_checksum(*this, address);
}

Bucket Bucket::forward(std::uint32_t table, std::uint32_t generation, std::uint64_t base_offset) {
  Bucket bucket{};
  bucket.table = table;
  bucket.generation = generation;
  bucket.next_offset = base_offset | kForward;
  return bucket;
}

std::uint64_t hash_key(std::uint32_t table, std::span<const std::byte> key) {
  const std::uint64_t hash = checksum64(key, table);
  return hash != 0 ? hash : 1;
}

}  // namespace namdb::layout
