#include "memory/placement/copy_folder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "memory/log/checkpoint_store.h"
#include "memory/log/log_reader.h"

namespace namdb::memory {
namespace {

constexpr std::size_t kKeptGenerations = 2;
constexpr std::string_view kNewManifestName = "/manifest.new";

reactor::Task<Status> remove_all(Disk* disk, std::string folder) {
  Status status = co_await disk->make_folder(folder);
  if (!status.ok()) co_return status;
  const auto names = co_await disk->list(folder);
  if (!names.ok()) co_return names.status();
  for (const std::string& name : *names) {
    const std::string path = folder + "/" + name;
    status = co_await disk->remove(path);
    if (!status.ok()) co_return status;
  }
  co_return co_await disk->sync_folder(folder);
}

}  // namespace

LogOptions CopyFolder::log_options(std::uint64_t segment_bytes) const {
  LogOptions options;
  options.segment_bytes = segment_bytes;
  // The primary's bound counts, and the disk's.
  options.max_bytes = ~std::uint64_t{0} / 2;
  options.reserve_bytes = 0;
  return options;
}

reactor::Task<Status> CopyFolder::open(LogOwner owner) {
  if (Status status = co_await open_log(owner); !status.ok()) co_return status;
  if (Status status = co_await open_checkpoints(); !status.ok()) co_return status;
  if (kept_.empty() || !log_->segment_with(oldest_redo(kept_))) {
    co_return Status(ErrorCode::corrupt_data, "the copy in " + folder_ + " has no checkpoint with its log");
  }
  co_return Status();
}

reactor::Task<Status> CopyFolder::open_log(LogOwner owner) {
  LogReader reader(disk_, log_folder());
  Status status = co_await reader.open(0, owner);
  while (status.ok()) {
    const auto record = co_await reader.next();
    status = record.status();
    if (!status.ok() || !*record) break;
  }
  if (!status.ok()) {
    co_await reader.close();
    co_return status;
  }
  const std::uint64_t segment_bytes = reader.segment_bytes();
  LogEnd end = reader.take_end();
  auto log = co_await Log::resume(executor_, disk_, log_folder(), std::move(end), log_options(segment_bytes));
  if (!log.ok()) co_return log.status();
  log_ = std::move(*log);
  co_return Status();
}

reactor::Task<Status> CopyFolder::open_checkpoints() {
  const std::string folder = checkpoint_folder();
  if (Status status = co_await disk_.make_folder(folder); !status.ok()) co_return status;
  if (Status status = co_await disk_.sync_folder(folder); !status.ok()) co_return status;
  const auto names = co_await disk_.list(folder);
  if (!names.ok()) co_return names.status();
  kept_.clear();
  put_.clear();
  for (const std::string& name : *names) {
    if (!manifest_generation(name)) continue;
    const std::string path = folder + "/" + name;
    auto manifest = co_await load_manifest(disk_, path);
    if (!manifest.ok()) co_return manifest.status();
    if (manifest->identity != log_->identity())
      co_return Status(ErrorCode::corrupt_data, path + " belongs to another log than the one beside it");
    kept_.push_back(std::move(*manifest));
  }
  std::ranges::sort(kept_, {}, &Manifest::generation);
  if (kept_.size() > kKeptGenerations)
    kept_.erase(kept_.begin(), kept_.end() - static_cast<std::ptrdiff_t>(kKeptGenerations));
  co_return co_await remove_unnamed();
}

reactor::Task<Status> CopyFolder::clear() {
  co_await close();
  kept_.clear();
  put_.clear();
  if (Status status = co_await remove_all(&disk_, checkpoint_folder()); !status.ok()) co_return status;
  co_return co_await remove_all(&disk_, log_folder());
}

reactor::Task<void> CopyFolder::close() {
  if (log_ == nullptr) co_return;
  co_await log_->close();
  log_.reset();
}

reactor::Task<std::optional<LogEnd>> CopyFolder::end_log() {
  co_await log_->close();
  std::optional<LogEnd> end;
  if (log_->failure().ok()) end = log_->take_end();
  log_.reset();
  co_return std::move(end);
}

reactor::Task<Status> CopyFolder::begin_log(LogIdentity identity, std::uint64_t segment_bytes,
                                            LogTail begin) {
  auto log =
      co_await Log::create_copy(executor_, disk_, log_folder(), identity, begin, log_options(segment_bytes));
  if (!log.ok()) co_return log.status();
  log_ = std::move(*log);
  co_return Status();
}

reactor::Task<Status> CopyFolder::write(std::span<const char> blocks) {
  PageBuffer bytes(whole_pages(blocks.size()));
  std::memcpy(bytes.data(), blocks.data(), blocks.size());
  std::span<const std::byte> rest = bytes.span().first(blocks.size());
  while (!rest.empty()) {
    const LogTail next = log_->tail().next_block(log_->segment_bytes());
    const std::uint64_t place = next.segment * log_->segment_bytes() + next.offset;
    std::uint64_t length = 0;
    if (rest.size() >= kDiskPage_bytes)
      length = block_bytes_at(log_->identity().log_id, place, rest.first(kDiskPage_bytes), rest.size());
    if (length == 0) {
      co_return Status(ErrorCode::corrupt_data,
                       "the primary gave blocks that do not follow the copy in " + log_folder());
    }
    Status status = co_await log_->write_sealed(rest.first(length));
    if (!status.ok()) co_return status;
    rest = rest.subspan(length);
  }
  co_return Status();
}

// --- checkpoints ---

bool CopyFolder::has_chunk(const ChunkRef& chunk) const {
  if (std::ranges::find(put_, chunk) != put_.end()) return true;
  return std::ranges::any_of(kept_, [&chunk](const Manifest& manifest) {
    const ChunkRef* const found = manifest.find(chunk.key);
    return found != nullptr && *found == chunk;
  });
}

reactor::Task<Status> CopyFolder::put_chunk(std::uint64_t log_id, ChunkRef chunk, const PageBuffer* file) {
  const std::string name = chunk_name(chunk.key, chunk.generation);
  const std::string path = checkpoint_folder() + "/" + name;
  // A generation that is kept needs it.
  if (is_named(name)) {
    co_return Status(ErrorCode::corrupt_data, "the primary has another chunk under the name of " + path,
                     "drain this copy, empty its data folder, and add it again");
  }
  if (!read_chunk(log_id, chunk, file->span()))
    co_return Status(ErrorCode::corrupt_data, "the primary gave another chunk than " + path);
  auto made = co_await disk_.create(path, file->size());
  if (!made.ok()) co_return made.status();
  const std::span<const std::byte> bytes = file->span();
  if (Status status = co_await (*made)->write(0, bytes); !status.ok()) co_return status;
  if (Status status = co_await (*made)->sync(); !status.ok()) co_return status;
  put_.push_back(chunk);
  co_return Status();
}

reactor::Task<Status> CopyFolder::put_generation(Manifest manifest, const PageBuffer* file) {
  const std::string folder = checkpoint_folder();
  if (Status status = co_await disk_.sync_folder(folder); !status.ok()) co_return status;
  const std::string made_path = folder + std::string(kNewManifestName);
  const std::string path = folder + "/" + manifest_name(manifest.generation);
  auto made = co_await disk_.create(made_path, file->size());
  if (!made.ok()) co_return made.status();
  const std::span<const std::byte> bytes = file->span();
  if (Status status = co_await (*made)->write(0, bytes); !status.ok()) co_return status;
  if (Status status = co_await (*made)->sync(); !status.ok()) co_return status;
  if (Status status = co_await disk_.rename(made_path, path); !status.ok()) co_return status;
  if (Status status = co_await disk_.sync_folder(folder); !status.ok()) co_return status;
  kept_.push_back(std::move(manifest));
  if (kept_.size() > kKeptGenerations) kept_.erase(kept_.begin());
  put_.clear();
  co_return co_await remove_unnamed();
}

reactor::Task<Status> CopyFolder::trim_log() {
  if (kept_.empty() || log_ == nullptr) co_return Status();
  co_return co_await log_->reclaim(oldest_redo(kept_));
}

bool CopyFolder::is_named(const std::string& name) const {
  const auto generation = manifest_generation(name);
  const auto chunk = parse_chunk_name(name);
  return std::ranges::any_of(kept_, [&](const Manifest& manifest) {
    const ChunkRef* const found = chunk ? manifest.find(chunk->key) : nullptr;
    return (generation && manifest.generation == *generation) ||
           (found != nullptr && found->generation == chunk->generation);
  });
}

reactor::Task<Status> CopyFolder::remove_unnamed() {
  const std::string folder = checkpoint_folder();
  const auto names = co_await disk_.list(folder);
  if (!names.ok()) co_return names.status();
  for (const std::string& name : *names) {
    if (is_named(name)) continue;
    const std::string path = folder + "/" + name;
    Status status = co_await disk_.remove(path);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace namdb::memory
