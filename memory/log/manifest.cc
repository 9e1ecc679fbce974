#include "memory/log/manifest.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "common/base/check.h"
#include "common/base/checksum.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t kManifestMagic = 0x4e4d414e;  // "NMAN"
constexpr std::uint64_t kChunkMagic = 0x4e43484b;     // "NCHK"
constexpr std::uint64_t kManifestHeader_bytes = 72;
constexpr std::uint64_t kChunkRef_bytes = 32;

constexpr std::string_view kManifestPrefix = "manifest-";
constexpr std::string_view kChunkPrefix = "chunk-";

}  // namespace

const ChunkRef* Manifest::find(std::uint64_t key) const {
  const auto found = std::ranges::lower_bound(chunks, key, {}, &ChunkRef::key);
  return found != chunks.end() && found->key == key ? &*found : nullptr;
}

PageBuffer write_manifest(const Manifest& manifest) {
  const std::uint64_t used =
      kManifestHeader_bytes + manifest.chunks.size() * kChunkRef_bytes + manifest.state.size();
  PageBuffer file(whole_pages(used));
  std::byte* at = file.data();
  put_word(at + 8, kManifestMagic << 32 | kCheckpointFormatVersion);
  put_word(at + 16, manifest.identity.log_id);
  put_word(at + 24, manifest.identity.owner.database_id);
  put_word(at + 32, manifest.identity.owner.server_id);
  put_word(at + 40, manifest.generation);
  put_word(at + 48, manifest.redo_from);
  put_word(at + 56, manifest.chunks.size());
  put_word(at + 64, manifest.state.size());
  at += kManifestHeader_bytes;
  for (const ChunkRef& chunk : manifest.chunks) {
    put_word(at, chunk.key);
    put_word(at + 8, chunk.generation);
    put_word(at + 16, chunk.payload_bytes);
    put_word(at + 24, chunk.checksum);
    at += kChunkRef_bytes;
  }
  if (!manifest.state.empty()) std::memcpy(at, manifest.state.data(), manifest.state.size());
  put_word(file.data(), checksum64(file.span().subspan(8, used - 8), kManifestMagic));
  return file;
}

Result<Manifest> read_manifest(const std::string& path, std::span<const std::byte> file) {
  const Status damaged(ErrorCode::corrupt_data, "the manifest " + path + " is damaged");
  if (file.size() < kDiskPage_bytes) return damaged;
  const std::byte* at = file.data();
  const std::uint64_t kind = get_word(at + 8);
  const std::uint64_t count = get_word(at + 56);
  const std::uint64_t state_bytes = get_word(at + 64);
  const std::uint64_t most = file.size() - kManifestHeader_bytes;
  if (kind >> 32 != kManifestMagic || count > most / kChunkRef_bytes ||
      state_bytes > most - count * kChunkRef_bytes)
    return damaged;
  const std::uint64_t used = kManifestHeader_bytes + count * kChunkRef_bytes + state_bytes;
  if (checksum64(file.subspan(8, used - 8), kManifestMagic) != get_word(at)) return damaged;
  if (static_cast<std::uint32_t>(kind) != kCheckpointFormatVersion) {
    return Status(ErrorCode::configuration,
                  path + " has format " + std::to_string(static_cast<std::uint32_t>(kind)) +
                      " of checkpoints, and this program knows " + std::to_string(kCheckpointFormatVersion),
                  "use the program that wrote it");
  }
  Manifest manifest;
  manifest.identity.log_id = get_word(at + 16);
  manifest.identity.owner.database_id = get_word(at + 24);
  manifest.identity.owner.server_id = static_cast<std::uint16_t>(get_word(at + 32));
  manifest.generation = get_word(at + 40);
  manifest.redo_from = get_word(at + 48);
  at += kManifestHeader_bytes;
  for (std::uint64_t i = 0; i < count; ++i, at += kChunkRef_bytes) {
    manifest.chunks.push_back({get_word(at), get_word(at + 8), get_word(at + 16), get_word(at + 24)});
    if (manifest.chunks.back().payload_bytes > kMaxChunk_bytes) return damaged;
  }
  manifest.state.assign(at, at + state_bytes);
  return manifest;
}

PageBuffer write_chunk(std::uint64_t log_id, ChunkRef& ref, std::span<const std::byte> payload) {
  NAMDB_CHECK(payload.size() == ref.payload_bytes && payload.size() <= kMaxChunk_bytes);
  PageBuffer file(whole_pages(kChunkHeader_bytes + payload.size()));
  std::byte* const at = file.data();
  put_word(at + 8, kChunkMagic << 32 | kCheckpointFormatVersion);
  put_word(at + 16, log_id);
  put_word(at + 24, ref.key);
  put_word(at + 32, ref.generation);
  put_word(at + 40, ref.payload_bytes);
  if (!payload.empty()) std::memcpy(at + kChunkHeader_bytes, payload.data(), payload.size());
  ref.checksum = checksum64(file.span().subspan(8, kChunkHeader_bytes - 8 + payload.size()), kChunkMagic);
  put_word(at, ref.checksum);
  return file;
}

std::optional<std::span<const std::byte>> read_chunk(std::uint64_t log_id, const ChunkRef& ref,
                                                     std::span<const std::byte> file) {
  if (file.size() < kChunkHeader_bytes + ref.payload_bytes) return std::nullopt;
  const std::byte* const at = file.data();
  const auto covered = file.subspan(8, kChunkHeader_bytes - 8 + ref.payload_bytes);
  if (get_word(at + 16) != log_id || get_word(at + 24) != ref.key || get_word(at + 32) != ref.generation ||
      get_word(at + 40) != ref.payload_bytes || get_word(at) != ref.checksum ||
      checksum64(covered, kChunkMagic) != ref.checksum)
    return std::nullopt;
  return file.subspan(kChunkHeader_bytes, ref.payload_bytes);
}

std::string generation_text(std::uint64_t generation) {
  const std::uint64_t place = generation >> kGenerationCount_bits;
  const std::uint64_t count = generation & ((std::uint64_t{1} << kGenerationCount_bits) - 1);
  return (place == 0 ? "" : std::to_string(place) + ".") + std::to_string(count);
}

LogPosition oldest_redo(std::span<const Manifest> generations) {
  if (generations.empty()) return 0;
  return std::ranges::min_element(generations, {}, &Manifest::redo_from)->redo_from;
}

std::string manifest_name(std::uint64_t generation) {
  return std::string(kManifestPrefix) + hexadecimal(generation);
}

std::optional<std::uint64_t> manifest_generation(const std::string& name) {
  if (!name.starts_with(kManifestPrefix)) return std::nullopt;
  return from_hexadecimal(std::string_view(name).substr(kManifestPrefix.size()));
}

std::string chunk_name(std::uint64_t key, std::uint64_t generation) {
  return std::string(kChunkPrefix) + hexadecimal(key) + "-" + hexadecimal(generation);
}

std::optional<ChunkName> parse_chunk_name(const std::string& name) {
  const std::string_view rest = std::string_view(name).substr(std::min(name.size(), kChunkPrefix.size()));
  if (!name.starts_with(kChunkPrefix) || rest.size() != 33 || rest[16] != '-') return std::nullopt;
  const auto key = from_hexadecimal(rest.substr(0, 16));
  const auto generation = from_hexadecimal(rest.substr(17));
  if (!key || !generation) return std::nullopt;
  return ChunkName{*key, *generation};
}

}  // namespace namdb::memory
