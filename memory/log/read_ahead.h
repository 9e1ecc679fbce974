// Sequential reading of several files, one behind the other, in windows: while the caller works on one
// window, the disk fills the next ones. A read elsewhere is made when the caller asks for it, and the reader
// goes on ahead from there.
//
// One caller at a time. Nothing is under way behind settle(); the object, the files and the disk stay until
// then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/log/disk.h"

namespace namdb::memory {

class ReadAhead {
 public:
  static constexpr std::size_t kWindows = 4;

  // Windows have that length, or end with the file.
  ReadAhead(Disk& disk, std::uint64_t window_bytes)
      : disk_(disk), window_bytes_(window_bytes), arrived_(disk.executor()) {}
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Files of one length, each of which is read from `first_offset` on. Nothing is under way.
  void set_files(std::vector<DiskFile*> files, std::uint64_t first_offset, std::uint64_t file_bytes);
  // Whole pages within one file. The bytes stay until the next call.
  reactor::Task<Result<std::span<const std::byte>>> read(std::size_t file, std::uint64_t offset,
                                                         std::uint64_t length_bytes);
  // Resumes when no read is under way.
  reactor::Task<void> settle();

 private:
  struct Window {
    PageBuffer bytes;
    std::size_t file = 0;
    std::uint64_t begin = 0;
    std::uint64_t length_bytes = 0;  // 0: it is free
    bool reading = false;
    Status status;

    std::uint64_t end() const { return begin + length_bytes; }
    bool holds(std::size_t in_file, std::uint64_t offset) const {
      return length_bytes != 0 && file == in_file && offset >= begin && offset < end();
    }
    std::span<const std::byte> from(std::uint64_t offset, std::uint64_t part_bytes) const {
      return bytes.span().subspan(offset - begin, part_bytes);
    }
  };

  // The current one, and those that follow it in the files.
  Window& window(std::size_t behind) { return windows_[(current_ + behind) % kWindows]; }
  void start(Window& into, std::size_t file, std::uint64_t begin);
  // Free windows read what follows.
  void start_ahead();
  reactor::Task<void> fill(Window* filled, DiskFile* file, std::uint64_t begin, std::span<std::byte> into);
  reactor::Task<Status> wait_for(Window* wanted);
  // The current window holds the offset then.
  reactor::Task<Status> move_to(std::size_t file, std::uint64_t offset);

  Disk& disk_;
  std::uint64_t window_bytes_;
  std::vector<DiskFile*> files_;
  std::uint64_t first_offset_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::array<Window, kWindows> windows_;
  std::size_t current_ = 0;
  PageBuffer joined_;  // for what spans windows
  reactor::Event arrived_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory
