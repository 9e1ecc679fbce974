// The disk as the log and the checkpoints see it: files of pages, folders, and when either is durable.
// FileDisk (file_disk.h) is the operating system's; tests and simulations have one with faults
// (testing/fault_disk.h).
//
// Durable means: still there after the power was lost. Completed writes are only read back until then. An
// error of write_durably() or sync() leaves the bytes unknown for ever: a later sync() may succeed and
// prove nothing, because the operating system counts the lost pages as clean. Callers therefore never try
// again.
//
// Offsets, lengths and addresses of buffers are multiples of kDiskPage_bytes, as direct I/O wants them
// (PageBuffer). All belongs to one executor's thread. Several operations may be under way at once, also on
// one file; buffers stay until their operation has returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::memory {

inline constexpr std::uint64_t kDiskPage_bytes = 4096;

inline constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + kDiskPage_bytes - 1) / kDiskPage_bytes * kDiskPage_bytes;
}

// No room: on the disk, or below the bound that the options set. Nothing was lost; clients are told 53100.
inline constexpr ErrorCode kDiskFull = ErrorCode::disk_full;
// Any other refusal of the operating system.
inline constexpr ErrorCode kDiskFailed = ErrorCode::io_error;

// Zeroed memory that direct I/O can use.
class PageBuffer {
 public:
  PageBuffer() = default;
  explicit PageBuffer(std::uint64_t length_bytes);
  std::byte* data() const { return bytes_.get(); }
  std::uint64_t size() const { return length_bytes_; }
  std::span<std::byte> span() const { return {data(), length_bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::unique_ptr<std::byte[], Free> bytes_;
  std::uint64_t length_bytes_ = 0;
};

class DiskFile {
 public:
  virtual ~DiskFile() = default;
  // As it was when the file was created or opened.
  virtual std::uint64_t length_bytes() const = 0;
  // All of `into`, which ends within the file.
  virtual reactor::Task<Status> read(std::uint64_t offset, std::span<std::byte> into) = 0;
  // Not durable before sync().
  virtual reactor::Task<Status> write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Durable when it returns. Before that, or after a loss of power, each sector of 512 bytes may be old,
  // new or torn.
  virtual reactor::Task<Status> write_durably(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Makes all completed writes durable, and earlier writes that were only read back after a restart, too.
  virtual reactor::Task<Status> sync() = 0;
};

class Disk {
 public:
  virtual ~Disk() = default;
  // The executor that the disk and its files belong to.
  virtual reactor::Executor& executor() = 0;
  // The names of what is in the folder, in ascending order.
  virtual reactor::Task<Result<std::vector<std::string>>> list(std::string folder) = 0;
  // A file of that length with all its space allocated, reading as zeros; one of that name is replaced. The
  // name is durable after sync_folder(), length and bytes after sync().
  virtual reactor::Task<Result<std::unique_ptr<DiskFile>>> create(std::string path,
                                                                  std::uint64_t length_bytes) = 0;
  virtual reactor::Task<Result<std::unique_ptr<DiskFile>>> open(std::string path) = 0;
  // Replaces a file of the new name. Open files stay what they are.
  virtual reactor::Task<Status> rename(std::string from, std::string to) = 0;
  virtual reactor::Task<Status> remove(std::string path) = 0;
  // Durable when it returns. Not an error if it is there.
  virtual reactor::Task<Status> make_folder(std::string path) = 0;
  // Creations, renames and removals in the folder are durable.
  virtual reactor::Task<Status> sync_folder(std::string path) = 0;
};

}  // namespace namdb::memory
