#include "memory/log/checkpoint_store.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace namdb::memory {
namespace {

constexpr std::size_t kKept = 2;
constexpr std::size_t kSyncedAtOnce = 64;  // files
constexpr std::string_view kNewManifest = "manifest.new";

reactor::Task<Result<PageBuffer>> load_file(Disk& disk, std::string path) {
  Result<std::unique_ptr<DiskFile>> file = co_await disk.open(path);
  if (!file.ok()) co_return file.status();
  const std::uint64_t length = (*file)->length_bytes();
  if (length == 0 || length % kDiskPage_bytes != 0)
    co_return Status(ErrorCode::corrupt_data, path + " is cut short");
  PageBuffer bytes(length);
  Status status = co_await (*file)->read(0, bytes.span());
  if (!status.ok()) co_return status;
  co_return std::move(bytes);
}

}  // namespace

reactor::Task<Result<Manifest>> load_manifest(Disk& disk, std::string path) {
  const Result<PageBuffer> file = co_await load_file(disk, path);
  if (!file.ok()) co_return file.status();
  co_return read_manifest(path, file.value().span());
}

reactor::Task<Result<std::vector<std::byte>>> load_chunk(Disk& disk, std::string folder, std::uint64_t log_id,
                                                         ChunkRef ref) {
  const std::string path = folder + "/" + chunk_name(ref.key, ref.generation);
  const Result<PageBuffer> file = co_await load_file(disk, path);
  if (!file.ok()) co_return file.status();
  const auto payload = read_chunk(log_id, ref, file.value().span());
  if (!payload) co_return Status(ErrorCode::corrupt_data, "the chunk " + path + " is damaged");
  co_return std::vector<std::byte>(payload->begin(), payload->end());
}

reactor::Task<Result<std::unique_ptr<CheckpointStore>>> CheckpointStore::open(Disk& disk, std::string folder,
                                                                              LogIdentity identity) {
  Status status = co_await disk.make_folder(folder);
  if (!status.ok()) co_return status;
  // A manifest that a killed process has renamed into its place counts from now on.
  status = co_await disk.sync_folder(folder);
  if (!status.ok()) co_return status;
  const Result<std::vector<std::string>> names = co_await disk.list(folder);
  if (!names.ok()) co_return names.status();
  std::unique_ptr<CheckpointStore> store(new CheckpointStore(disk, folder, identity));
  std::vector<std::uint64_t> generations;
  for (const std::string& name : names.value()) {
    const auto generation = manifest_generation(name);
    if (generation) generations.push_back(*generation);
    if (const auto chunk = parse_chunk_name(name))
      store->generation_ = std::max(store->generation_, chunk->generation);
  }
  std::ranges::sort(generations);
  if (!generations.empty()) store->generation_ = std::max(store->generation_, generations.back());
  // An older generation may be there still: its removal was not durable.
  if (generations.size() > kKept)
    generations.erase(generations.begin(), generations.end() - static_cast<std::ptrdiff_t>(kKept));
  Status damage;
  for (const std::uint64_t generation : generations) {
    const std::string path = folder + "/" + manifest_name(generation);
    Result<Manifest> manifest = co_await load_manifest(disk, path);
    if (!manifest.ok() && manifest.status().code() == ErrorCode::corrupt_data) {
      damage = manifest.status();
      continue;
    }
    if (!manifest.ok()) co_return manifest.status();
    if (manifest->identity != identity || manifest->generation != generation) {
      co_return Status(ErrorCode::configuration, path + " belongs to another log than the one beside it",
                       "log and checkpoint of one server stay together");
    }
    store->kept_.push_back(std::move(*manifest));
  }
  if (store->kept_.empty() && !damage.ok()) co_return damage;
  co_return std::move(store);
}

reactor::Task<Result<CheckpointStore::Chunk>> CheckpointStore::read(std::uint64_t key) {
  NAMDB_CHECK(!kept_.empty() && kept_.back().find(key) != nullptr);
  Status first;
  for (std::size_t i = kept_.size(); i-- > 0;) {
    const ChunkRef* ref = kept_[i].find(key);
    const bool older = i + 1 < kept_.size();
    if (ref == nullptr) co_return Chunk{std::nullopt, kept_[i].redo_from, older};
    Result<std::vector<std::byte>> bytes = co_await load_chunk(disk_, folder_, identity_.log_id, *ref);
    if (bytes.ok()) co_return Chunk{std::move(*bytes), kept_[i].redo_from, older};
    if (first.ok()) first = bytes.status();
  }
  co_return first;
}

void CheckpointStore::begin() {
  begun_ = true;
  generation_ = std::max(generation_, place_number_ << kGenerationCount_bits) + 1;
  chunks_.clear();
  not_synced_.clear();
  if (kept_.empty()) return;
  for (const ChunkRef& chunk : kept_.back().chunks) chunks_.emplace(chunk.key, chunk);
}

reactor::Task<Result<std::unique_ptr<DiskFile>>> CheckpointStore::write_file(std::string path,
                                                                             const PageBuffer* bytes) {
  Result<std::unique_ptr<DiskFile>> file = co_await disk_.create(path, bytes->size());
  if (!file.ok()) co_return file.status();
  const std::span<const std::byte> all = bytes->span();
  const Status status = co_await (*file)->write(0, all);
  if (!status.ok()) co_return status;
  co_return std::move(file);
}

reactor::Task<Status> CheckpointStore::sync_chunks() {
  const std::vector<std::unique_ptr<DiskFile>> files = std::exchange(not_synced_, {});
  for (const std::unique_ptr<DiskFile>& file : files) {
    Status status = co_await file->sync();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> CheckpointStore::put(std::uint64_t key, std::span<const std::byte> bytes) {
  NAMDB_CHECK(begun_);
  ChunkRef ref{key, generation_, bytes.size(), 0};
  const PageBuffer file = write_chunk(identity_.log_id, ref, bytes);
  const std::string path = folder_ + "/" + chunk_name(key, generation_);
  Result<std::unique_ptr<DiskFile>> written = co_await write_file(path, &file);
  if (!written.ok()) co_return written.status();
  chunks_.insert_or_assign(key, ref);
  not_synced_.push_back(std::move(*written));
  if (not_synced_.size() < kSyncedAtOnce) co_return Status();
  co_return co_await sync_chunks();
}

reactor::Task<Status> CheckpointStore::commit(LogPosition redo_from, std::vector<std::byte> state) {
  NAMDB_CHECK(begun_);
  // The chunks and their names are durable before a manifest names them.
  if (Status status = co_await sync_chunks(); !status.ok()) co_return status;
  if (Status status = co_await disk_.sync_folder(folder_); !status.ok()) co_return status;
  Manifest manifest;
  manifest.identity = identity_;
  manifest.generation = generation_;
  manifest.redo_from = redo_from;
  for (const auto& [key, chunk] : chunks_) manifest.chunks.push_back(chunk);
  manifest.state = std::move(state);
  const PageBuffer file = write_manifest(manifest);
  const std::string made = folder_ + "/" + std::string(kNewManifest);
  Result<std::unique_ptr<DiskFile>> written = co_await write_file(made, &file);
  if (!written.ok()) co_return written.status();
  if (Status status = co_await (*written)->sync(); !status.ok()) co_return status;
  const std::string path = folder_ + "/" + manifest_name(generation_);
  if (Status status = co_await disk_.rename(made, path); !status.ok()) co_return status;
  if (Status status = co_await disk_.sync_folder(folder_); !status.ok()) co_return status;
  begun_ = false;
  kept_.push_back(std::move(manifest));
  if (kept_.size() > kKept) kept_.erase(kept_.begin());
  co_return co_await remove_unnamed();
}

reactor::Task<Status> CheckpointStore::abandon() {
  begun_ = false;
  chunks_.clear();
  not_synced_.clear();
  co_return co_await remove_unnamed();
}

// A damaged manifest goes as well: those that are kept do not need it.
reactor::Task<Status> CheckpointStore::remove_unnamed() {
  const Result<std::vector<std::string>> names = co_await disk_.list(folder_);
  if (!names.ok()) co_return names.status();
  for (const std::string& name : names.value()) {
    bool named = false;
    const auto generation = manifest_generation(name);
    const auto chunk = parse_chunk_name(name);
    if (!generation && !chunk && name != kNewManifest) continue;
    for (const Manifest& manifest : kept_) {
      const ChunkRef* ref = chunk ? manifest.find(chunk->key) : nullptr;
      named = named || (generation && manifest.generation == *generation) ||
              (ref != nullptr && ref->generation == chunk->generation);
    }
    if (named) continue;
    const std::string path = folder_ + "/" + name;
    Status status = co_await disk_.remove(path);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace namdb::memory
