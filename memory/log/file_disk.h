// The operating system's disk, through a reactor's io_uring: direct I/O where the file system has it. Only
// list() blocks the thread.
//
// A durable write is one request with RWF_DSYNC where the device writes through its cache (FUA) or has none.
// Elsewhere the kernel would end that request by a flush of the cache in a worker that is bound to one core.
// While another program computes on that core the worker waits, for a tick of 4 ms, say. So there a durable
// write is a write and an fdatasync, whose worker runs on any core.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/reactor/reactor.h"
#include "memory/log/disk.h"

namespace namdb::memory {

class FileDisk final : public Disk {
 public:
  enum class Access : std::uint8_t { read_write, read_only };

  enum class DurableWrites : std::uint8_t { as_device_says, one_request, write_and_sync };

  // The reactor outlives the disk and its files.
  explicit FileDisk(reactor::Reactor& reactor, Access access = Access::read_write,
                    DurableWrites durable_writes = DurableWrites::as_device_says)
      : reactor_(reactor), access_(access), durable_writes_(durable_writes) {}

  reactor::Executor& executor() override { return reactor_; }
  reactor::Task<Result<std::vector<std::string>>> list(std::string folder) override;
  reactor::Task<Result<std::unique_ptr<DiskFile>>> create(std::string path,
                                                          std::uint64_t length_bytes) override;
  reactor::Task<Result<std::unique_ptr<DiskFile>>> open(std::string path) override;
  reactor::Task<Status> rename(std::string from, std::string to) override;
  reactor::Task<Status> remove(std::string path) override;
  reactor::Task<Status> make_folder(std::string path) override;
  reactor::Task<Status> sync_folder(std::string path) override;

 private:
  // A descriptor, or a negated error number. Without direct I/O where the file system has none.
  reactor::Task<int> open_file(std::string path, int flags);
  // Whether files on that device are written durably in one request.
  bool in_one_request(dev_t device);

  reactor::Reactor& reactor_;
  Access access_;
  DurableWrites durable_writes_;
  std::map<dev_t, bool> writes_through_;
};

}  // namespace namdb::memory
