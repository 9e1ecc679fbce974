// The operating system's disk, through a reactor's io_uring: direct I/O where the file system has it,
// durable writes by RWF_DSYNC. Only list() blocks the thread.
#pragma once

#include <cstdint>
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

  // The reactor outlives the disk and its files.
  explicit FileDisk(reactor::Reactor& reactor, Access access = Access::read_write)
      : reactor_(reactor), access_(access) {}

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

  reactor::Reactor& reactor_;
  Access access_;
};

}  // namespace namdb::memory
