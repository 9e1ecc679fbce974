#include "memory/log/testing/fault_disk.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace namdb::memory::testing {
namespace {

// Empty where the path is a folder's or file's at the top.
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace

class FaultDisk::File final : public DiskFile {
 public:
  File(FaultDisk& disk, std::shared_ptr<Node> node)
      : disk_(disk), node_(std::move(node)), process_(disk.process_) {}

  std::uint64_t length_bytes() const override { return node_->now.size(); }

  reactor::Task<Status> read(std::uint64_t offset, std::span<std::byte> into) override {
    check(offset, into.size());
    co_await disk_.take_time();
    if (offset + into.size() > node_->now.size()) co_return Status(ErrorCode::corrupt_data, "cut short");
    std::copy_n(node_->now.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    disk_.read_bytes_ += into.size();
    co_return Status();
  }

  reactor::Task<Status> write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    check(offset, bytes.size());
    NAMDB_CHECK(offset + bytes.size() <= node_->now.size());
    Status status = disk_.step();
    if (!status.ok()) co_return status;
    if (disk_.writes_refused_) co_return Status(kDiskFull, "no space left on device");
    const std::uint64_t early = disk_.random_.below(4);
    for (std::uint64_t at = 0; at < bytes.size(); at += kSector_bytes) {
      if (early == 0 || (early == 1 && disk_.random_.chance(0.5)))
        arrive(offset + at, bytes.subspan(at, kSector_bytes));
    }
    co_await disk_.take_time();
    if (process_ != disk_.process_) co_return Status(kDiskFailed, "of an earlier process");
    for (std::uint64_t at = 0; at < bytes.size(); at += kSector_bytes)
      arrive(offset + at, bytes.subspan(at, kSector_bytes));
    co_return Status();
  }

  reactor::Task<Status> write_durably(std::uint64_t offset, std::span<const std::byte> bytes) override {
    Status status = co_await write(offset, bytes);
    if (!status.ok()) co_return status;
    const std::uint64_t first = offset / kSector_bytes;
    const std::uint64_t last = (offset + bytes.size() - 1) / kSector_bytes;
    co_return co_await keep(first, last);
  }

  reactor::Task<Status> sync() override { co_return co_await keep(0, ~std::uint64_t{0}); }

 private:
  void check(std::uint64_t offset, std::uint64_t length_bytes) const {
    NAMDB_CHECK(offset % kDiskPage_bytes == 0 && length_bytes % kDiskPage_bytes == 0);
  }
  void arrive(std::uint64_t offset, std::span<const std::byte> sector) {
    std::ranges::copy(sector, node_->now.begin() + static_cast<std::ptrdiff_t>(offset));
    node_->dirty.insert(offset / kSector_bytes);
  }
  // Makes sectors durable. Where it fails they count as clean and are not.
  reactor::Task<Status> keep(std::uint64_t first, std::uint64_t last) {
    const Status status = disk_.step();
    if (!status.ok() && disk_.stopped()) co_return status;
    co_await disk_.take_time();
    if (process_ != disk_.process_) co_return Status(kDiskFailed, "of an earlier process");
    for (auto i = node_->dirty.lower_bound(first); i != node_->dirty.end() && *i <= last;) {
      const auto at = static_cast<std::ptrdiff_t>(*i * kSector_bytes);
      if (status.ok()) std::copy_n(node_->now.begin() + at, kSector_bytes, node_->durable.begin() + at);
      i = node_->dirty.erase(i);
    }
    node_->length_durable = node_->length_durable || status.ok();
    co_return status;
  }

  FaultDisk& disk_;
  std::shared_ptr<Node> node_;
  std::uint64_t process_;
};

reactor::Task<void> FaultDisk::take_time() {
  const std::uint64_t duration_ns =
      latency_min_ns_ + (latency_spread_ns_ == 0 ? 0 : random_.below(latency_spread_ns_));
  if (duration_ns == 0) {
    co_await executor_->yield();
  } else {
    co_await executor_->sleep_for(duration_ns);
  }
}

Status FaultDisk::step() {
  const std::uint64_t step = steps_++;
  stopped_ = step >= stop_at_;
  if (stopped_) return Status(kDiskFailed, "the disk is gone");
  if (step == fail_at_) return Status(kDiskFailed, "Input/output error");
  return Status();
}

void FaultDisk::flip_bit(const std::string& path, std::uint64_t bit) {
  const std::byte mask{static_cast<unsigned char>(1U << bit % 8)};
  names_.at(path)->now.at(bit / 8) ^= mask;
  names_.at(path)->durable.at(bit / 8) ^= mask;
}

void FaultDisk::overwrite(const std::string& path, std::uint64_t offset, std::span<const std::byte> bytes) {
  std::ranges::copy(bytes, names_.at(path)->now.begin() + static_cast<std::ptrdiff_t>(offset));
  std::ranges::copy(bytes, names_.at(path)->durable.begin() + static_cast<std::ptrdiff_t>(offset));
}

void FaultDisk::cut(const std::string& path, std::uint64_t length_bytes) {
  names_.at(path)->now.resize(length_bytes);
  names_.at(path)->durable.resize(length_bytes);
}

std::uint64_t FaultDisk::used_bytes() const {
  std::uint64_t used = 0;
  for (const auto& [path, node] : names_) used += node->now.size();
  return used;
}

std::unique_ptr<FaultDisk> FaultDisk::copy(std::uint64_t seed) const {
  auto result = std::make_unique<FaultDisk>(*executor_, seed);
  std::map<const Node*, std::shared_ptr<Node>> nodes;
  const auto copied = [&nodes](const std::shared_ptr<Node>& node) {
    if (node == nullptr) return node;
    std::shared_ptr<Node>& made = nodes[node.get()];
    if (made == nullptr) made = std::make_shared<Node>(*node);
    return made;
  };
  for (const auto& [path, node] : names_) result->names_[path] = copied(node);
  for (const auto& [path, node] : durable_names_) result->durable_names_[path] = copied(node);
  for (const FolderChange& change : changes_)
    result->changes_.push_back({change.folder, change.removed, change.added, copied(change.node)});
  result->folders_ = folders_;
  result->capacity_bytes_ = capacity_bytes_;
  return result;
}

void FaultDisk::apply(Names& names, const FolderChange& change) {
  if (!change.removed.empty()) names.erase(change.removed);
  if (!change.added.empty()) names[change.added] = change.node;
}

void FaultDisk::change(std::string removed, std::string added, std::shared_ptr<Node> node) {
  const std::string folder = folder_of(removed.empty() ? added : removed);
  changes_.push_back({folder, std::move(removed), std::move(added), std::move(node)});
  apply(names_, changes_.back());
}

void FaultDisk::settle(Node& node) {
  for (const std::uint64_t sector : node.dirty) {
    const auto at = static_cast<std::ptrdiff_t>(sector * kSector_bytes);
    const std::uint64_t fate = random_.below(3);
    if (fate == 0) continue;
    const std::uint64_t part = fate == 1 ? kSector_bytes : random_.below(kSector_bytes);
    const std::uint64_t begin = random_.chance(0.5) ? 0 : kSector_bytes - part;
    const auto from = at + static_cast<std::ptrdiff_t>(begin);
    std::copy_n(node.now.begin() + from, part, node.durable.begin() + from);
  }
  node.dirty.clear();
  if (!node.length_durable && random_.chance(0.5)) node.durable.clear();
  node.length_durable = true;
  node.now = node.durable;
}

void FaultDisk::lose_power() {
  std::map<std::string, bool> lost;  // folders whose later changes are gone
  for (const FolderChange& change : changes_) {
    bool& gone = lost[change.folder];
    gone = gone || random_.chance(0.4);
    if (!gone) apply(durable_names_, change);
  }
  names_ = durable_names_;
  std::set<Node*> settled;
  for (const auto& [path, node] : names_) {
    if (settled.insert(node.get()).second) settle(*node);
  }
}

void FaultDisk::restart(End end) {
  ++process_;
  if (end == End::power_lost) {
    lose_power();
    changes_.clear();
  }
  stop_at_ = fail_at_ = kNever;
  stopped_ = false;
  steps_ = 0;
}

reactor::Task<Result<std::vector<std::string>>> FaultDisk::list(std::string folder) {
  co_await take_time();
  std::set<std::string> names;
  for (const auto& [path, node] : names_) {
    if (folder_of(path) == folder) names.insert(path.substr(folder.size() + 1));
  }
  for (const std::string& path : folders_) {
    if (folder_of(path) == folder) names.insert(path.substr(folder.size() + 1));
  }
  co_return std::vector<std::string>(names.begin(), names.end());
}

reactor::Task<Result<std::unique_ptr<DiskFile>>> FaultDisk::create(std::string path,
                                                                   std::uint64_t length_bytes) {
  const Status status = step();
  if (!status.ok()) co_return status;
  co_await take_time();
  auto node = std::make_shared<Node>();
  // As the operating system does: the name is there, whether there is room or not.
  change(std::string(), path, node);
  if (used_bytes() + length_bytes > capacity_bytes_) co_return Status(kDiskFull, "no space left on device");
  node->now.resize(length_bytes);
  node->durable.resize(length_bytes);
  std::unique_ptr<DiskFile> file = std::make_unique<File>(*this, node);
  co_return std::move(file);
}

reactor::Task<Result<std::unique_ptr<DiskFile>>> FaultDisk::open(std::string path) {
  co_await take_time();
  const auto found = names_.find(path);
  if (found == names_.end()) co_return Status(kDiskFailed, "there is no " + path);
  std::unique_ptr<DiskFile> file = std::make_unique<File>(*this, found->second);
  co_return std::move(file);
}

reactor::Task<Status> FaultDisk::rename(std::string from, std::string to) {
  Status status = step();
  if (!status.ok()) co_return status;
  co_await take_time();
  const auto found = names_.find(from);
  if (found == names_.end()) co_return Status(kDiskFailed, "there is no " + from);
  const std::shared_ptr<Node> node = found->second;
  change(from, to, node);
  co_return Status();
}

reactor::Task<Status> FaultDisk::remove(std::string path) {
  Status status = step();
  if (!status.ok()) co_return status;
  co_await take_time();
  if (!names_.contains(path)) co_return Status(kDiskFailed, "there is no " + path);
  change(path, std::string(), nullptr);
  co_return Status();
}

reactor::Task<Status> FaultDisk::make_folder(std::string path) {
  co_await take_time();
  folders_.insert(path);
  co_return Status();
}

reactor::Task<Status> FaultDisk::sync_folder(std::string path) {
  const Status status = step();
  if (!status.ok() && stopped()) co_return status;
  co_await take_time();
  for (auto i = changes_.begin(); i != changes_.end();) {
    if (i->folder != path) {
      ++i;
      continue;
    }
    if (status.ok()) apply(durable_names_, *i);
    i = changes_.erase(i);
  }
  co_return status;
}

}  // namespace namdb::memory::testing
