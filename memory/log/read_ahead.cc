#include "memory/log/read_ahead.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"

namespace namdb::memory {

void ReadAhead::set_files(std::vector<DiskFile*> files, std::uint64_t first_offset,
                          std::uint64_t file_bytes) {
  NAMDB_CHECK(gate_.count() == 0);
  files_ = std::move(files);
  first_offset_ = first_offset;
  file_bytes_ = file_bytes;
  for (Window& each : windows_) each.length_bytes = 0;
}

void ReadAhead::start(Window& into, std::size_t file, std::uint64_t begin) {
  into.file = file;
  into.begin = begin;
  into.length_bytes = std::min(window_bytes_, file_bytes_ - begin);
  if (into.bytes.size() < into.length_bytes) into.bytes = PageBuffer(into.length_bytes);
  into.reading = true;
  disk_.executor().spawn(gate_, fill(&into, files_[file], begin, into.bytes.span().first(into.length_bytes)));
}

void ReadAhead::start_ahead() {
  for (std::size_t i = 1; i < kWindows; ++i) {
    const Window& before = window(i - 1);
    Window& free = window(i);
    if (free.length_bytes != 0) continue;
    if (free.reading) return;
    if (before.end() < file_bytes_) {
      start(free, before.file, before.end());
    } else if (before.file + 1 < files_.size()) {
      start(free, before.file + 1, first_offset_);
    } else {
      return;
    }
  }
}

reactor::Task<void> ReadAhead::fill(Window* filled, DiskFile* file, std::uint64_t begin,
                                    std::span<std::byte> into) {
  filled->status = co_await file->read(begin, into);
  filled->reading = false;
  arrived_.notify_all();
}

reactor::Task<Status> ReadAhead::wait_for(Window* wanted) {
  while (wanted->reading) co_await arrived_.wait();
  co_return wanted->status;
}

reactor::Task<void> ReadAhead::settle() {
  for (Window& each : windows_) {
    while (each.reading) co_await arrived_.wait();
  }
}

reactor::Task<Status> ReadAhead::move_to(std::size_t file, std::uint64_t offset) {
  std::size_t steps = 0;
  while (steps < kWindows && !window(steps).holds(file, offset)) ++steps;
  if (steps == kWindows) co_await settle();
  for (std::size_t i = 0; i < steps; ++i) window(i).length_bytes = 0;
  if (steps == kWindows) {
    start(window(0), file, offset);
  } else {
    current_ = (current_ + steps) % kWindows;
  }
  start_ahead();
  Window* const current = &window(0);
  Status status = co_await wait_for(current);
  if (!status.ok()) current->length_bytes = 0;
  co_return status;
}

reactor::Task<Result<std::span<const std::byte>>> ReadAhead::read(std::size_t file, std::uint64_t offset,
                                                                  std::uint64_t length_bytes) {
  using Bytes = std::span<const std::byte>;
  NAMDB_CHECK(length_bytes != 0 && offset + length_bytes <= file_bytes_);
  Status status = co_await move_to(file, offset);
  if (!status.ok()) co_return status;
  std::uint64_t have = std::min(length_bytes, window(0).end() - offset);
  if (have == length_bytes) co_return Bytes(window(0).from(offset, have));
  if (joined_.size() < length_bytes) joined_ = PageBuffer(length_bytes);
  std::memcpy(joined_.data(), window(0).from(offset, have).data(), have);
  for (std::size_t i = 1; i < kWindows && have < length_bytes; ++i) {
    Window* const next = &window(i);
    if (!next->holds(file, offset + have)) break;
    status = co_await wait_for(next);
    if (!status.ok()) co_return status;
    const std::uint64_t part = std::min(length_bytes - have, next->end() - (offset + have));
    std::memcpy(joined_.data() + have, next->from(offset + have, part).data(), part);
    have += part;
  }
  if (have < length_bytes) {
    const std::span<std::byte> rest = joined_.span().subspan(have, length_bytes - have);
    status = co_await files_[file]->read(offset + have, rest);
    if (!status.ok()) co_return status;
  }
  co_return Bytes(joined_.span().first(length_bytes));
}

}  // namespace namdb::memory
