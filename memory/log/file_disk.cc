#include "memory/log/file_disk.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include "common/base/check.h"
#include "common/reactor/system_error.h"

namespace namdb::memory {
namespace {

// Of one request: more would only lie in the kernel's queue.
constexpr std::uint64_t kMostAtOnce_bytes = 4U << 20;

Status failed(const char* what, const std::string& path, int error_number) {
  const ErrorCode code = error_number == ENOSPC || error_number == EDQUOT ? kDiskFull : kDiskFailed;
  return reactor::system_error(code, std::string("cannot ") + what + " " + path, error_number);
}

// By sysfs, which describes the cache of a whole disk and not of its partitions. False where it says nothing.
bool writes_through(dev_t device) {
  const std::string base =
      "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
  for (const char* queue : {"/queue/", "/../queue/"}) {
    std::string cache;
    std::string fua;
    std::getline(std::ifstream(base + queue + "write_cache"), cache);
    std::getline(std::ifstream(base + queue + "fua"), fua);
    if (!cache.empty()) return cache == "write through" || fua == "1";
  }
  return false;
}

class OpenFile final : public DiskFile {
 public:
  OpenFile(reactor::Reactor& reactor, std::string path, int descriptor, std::uint64_t length_bytes,
           bool one_request)
      : reactor_(reactor),
        path_(std::move(path)),
        descriptor_(descriptor),
        length_bytes_(length_bytes),
        one_request_(one_request) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() override { ::close(descriptor_); }

  std::uint64_t length_bytes() const override { return length_bytes_; }

  reactor::Task<Status> read(std::uint64_t offset, std::span<std::byte> into) override {
    while (!into.empty()) {
      const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(into.size(), kMostAtOnce_bytes));
      const int result = co_await reactor_.read(descriptor_, into.data(), length, offset);
      if (result == -EINTR || result == -EAGAIN) continue;
      if (result < 0) co_return failed("read", path_, -result);
      if (result == 0) co_return Status(ErrorCode::corrupt_data, path_ + " is cut short");
      offset += static_cast<std::uint64_t>(result);
      into = into.subspan(static_cast<std::size_t>(result));
    }
    co_return Status();
  }

  reactor::Task<Status> write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return write_all(offset, bytes, 0);
  }
  reactor::Task<Status> write_durably(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return one_request_ ? write_all(offset, bytes, RWF_DSYNC) : write_and_sync(offset, bytes);
  }

  reactor::Task<Status> sync() override { return sync_file(/*data_only=*/false); }

 private:
  reactor::Task<Status> sync_file(bool data_only) {
    const int result = co_await reactor_.fsync(descriptor_, data_only);
    if (result < 0) co_return failed("sync", path_, -result);
    co_return Status();
  }

  reactor::Task<Status> write_and_sync(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (Status status = co_await write_all(offset, bytes, 0); !status.ok()) co_return status;
    co_return co_await sync_file(/*data_only=*/true);
  }

  // Goes on behind a part that the kernel has written. Nothing that it refused is tried again.
  reactor::Task<Status> write_all(std::uint64_t offset, std::span<const std::byte> bytes,
                                  std::uint32_t flags) {
    while (!bytes.empty()) {
      const auto length =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes.size(), kMostAtOnce_bytes));
      const reactor::IoFields fields{IORING_OP_WRITE, descriptor_, bytes.data(), length, offset, flags};
      reactor::IoOperation operation(reactor_, reactor_, fields);
      const int result = co_await operation;
      if (result < 0) co_return failed("write", path_, -result);
      if (result == 0) co_return failed("write", path_, EIO);
      offset += static_cast<std::uint64_t>(result);
      bytes = bytes.subspan(static_cast<std::size_t>(result));
    }
    co_return Status();
  }

  reactor::Reactor& reactor_;
  std::string path_;
  int descriptor_;
  std::uint64_t length_bytes_;
  bool one_request_;
};

}  // namespace

reactor::Task<Result<std::vector<std::string>>> FileDisk::list(std::string folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
    names.push_back(i->path().filename().string());
  if (error) co_return failed("read", folder, error.value());
  std::ranges::sort(names);
  co_return std::move(names);
}

bool FileDisk::in_one_request(dev_t device) {
  if (durable_writes_ != DurableWrites::as_device_says) return durable_writes_ == DurableWrites::one_request;
  const auto known = writes_through_.find(device);
  if (known != writes_through_.end()) return known->second;
  return writes_through_.emplace(device, writes_through(device)).first->second;
}

reactor::Task<int> FileDisk::open_file(std::string path, int flags) {
  constexpr std::uint32_t kMode = 0600;
  const auto direct = static_cast<std::uint32_t>(flags | O_CLOEXEC | O_DIRECT);
  const reactor::IoFields fields{IORING_OP_OPENAT, AT_FDCWD, path.c_str(), kMode, 0, direct};
  reactor::IoOperation operation(reactor_, reactor_, fields);
  const int descriptor = co_await operation;
  if (descriptor != -EINVAL) co_return descriptor;
  const auto buffered = static_cast<std::uint32_t>(flags | O_CLOEXEC);
  const reactor::IoFields again{IORING_OP_OPENAT, AT_FDCWD, path.c_str(), kMode, 0, buffered};
  reactor::IoOperation second(reactor_, reactor_, again);
  const int result = co_await second;
  co_return result;
}

reactor::Task<Result<std::unique_ptr<DiskFile>>> FileDisk::create(std::string path,
                                                                  std::uint64_t length_bytes) {
  NAMDB_CHECK(length_bytes != 0 && length_bytes % kDiskPage_bytes == 0);
  const int descriptor = co_await open_file(path, O_RDWR | O_CREAT | O_TRUNC);
  if (descriptor < 0) co_return failed("create", path, -descriptor);
  struct stat facts{};
  const bool one_request = ::fstat(descriptor, &facts) == 0 && in_one_request(facts.st_dev);
  std::unique_ptr<DiskFile> file =
      std::make_unique<OpenFile>(reactor_, path, descriptor, length_bytes, one_request);
  // Of this operation the address is the length, and the length the mode.
  const reactor::IoFields fields{
      IORING_OP_FALLOCATE, descriptor, reinterpret_cast<const void*>(length_bytes), 0, 0, 0};
  reactor::IoOperation allocation(reactor_, reactor_, fields);
  const int result = co_await allocation;
  if (result == -EOPNOTSUPP) {
    if (::ftruncate(descriptor, static_cast<off_t>(length_bytes)) != 0)
      co_return failed("lengthen", path, errno);
  } else if (result < 0) {
    co_return failed("allocate", path, -result);
  }
  co_return std::move(file);
}

reactor::Task<Result<std::unique_ptr<DiskFile>>> FileDisk::open(std::string path) {
  const int descriptor = co_await open_file(path, access_ == Access::read_only ? O_RDONLY : O_RDWR);
  if (descriptor < 0) co_return failed("open", path, -descriptor);
  struct stat facts{};
  const bool known = ::fstat(descriptor, &facts) == 0;
  const auto length = known ? static_cast<std::uint64_t>(facts.st_size) : 0;
  const bool one_request = known && in_one_request(facts.st_dev);
  std::unique_ptr<DiskFile> file =
      std::make_unique<OpenFile>(reactor_, path, descriptor, length, one_request);
  co_return std::move(file);
}

reactor::Task<Status> FileDisk::rename(std::string from, std::string to) {
  const auto folder = static_cast<std::uint32_t>(AT_FDCWD);
  const auto target = reinterpret_cast<std::uint64_t>(to.c_str());
  const reactor::IoFields fields{IORING_OP_RENAMEAT, AT_FDCWD, from.c_str(), folder, target, 0};
  reactor::IoOperation operation(reactor_, reactor_, fields);
  const int result = co_await operation;
  if (result < 0) co_return failed("rename", from, -result);
  co_return Status();
}

reactor::Task<Status> FileDisk::remove(std::string path) {
  const reactor::IoFields fields{IORING_OP_UNLINKAT, AT_FDCWD, path.c_str(), 0, 0, 0};
  reactor::IoOperation operation(reactor_, reactor_, fields);
  const int result = co_await operation;
  if (result < 0) co_return failed("remove", path, -result);
  co_return Status();
}

reactor::Task<Status> FileDisk::make_folder(std::string path) {
  constexpr std::uint32_t kMode = 0700;
  const reactor::IoFields fields{IORING_OP_MKDIRAT, AT_FDCWD, path.c_str(), kMode, 0, 0};
  reactor::IoOperation operation(reactor_, reactor_, fields);
  const int result = co_await operation;
  if (result == -EEXIST) co_return Status();
  if (result < 0) co_return failed("create", path, -result);
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string above = parent.empty() ? "." : parent;
  co_return co_await sync_folder(above);
}

reactor::Task<Status> FileDisk::sync_folder(std::string path) {
  constexpr auto kFlags = static_cast<std::uint32_t>(O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const reactor::IoFields fields{IORING_OP_OPENAT, AT_FDCWD, path.c_str(), 0, 0, kFlags};
  reactor::IoOperation operation(reactor_, reactor_, fields);
  const int descriptor = co_await operation;
  if (descriptor < 0) co_return failed("open", path, -descriptor);
  const int result = co_await reactor_.fsync(descriptor, false);
  ::close(descriptor);
  if (result < 0) co_return failed("sync", path, -result);
  co_return Status();
}

}  // namespace namdb::memory
