#include "tools/namctl/backup_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "memory/log/folder_identity.h"
#include "memory/log/log_format.h"
#include "memory/log/manifest.h"

namespace namdb::namctl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece_bytes = 4U << 20;

Status cannot(const char* what, const fs::path& path, int error_number) {
  return Status(ErrorCode::configuration,
                std::string("cannot ") + what + " " + path.string() + ": " + std::strerror(error_number));
}

class File {
 public:
  File(fs::path path, int flags)
      : path_(std::move(path)), descriptor_(::open(path_.c_str(), flags | O_CLOEXEC, 0600)) {
    if (descriptor_ < 0) status_ = cannot("open", path_, errno);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  const Status& status() const { return status_; }
  // 0 at the end of the file.
  Result<std::size_t> read(std::vector<std::byte>& into) {
    const ssize_t length = ::read(descriptor_, into.data(), into.size());
    if (length < 0) return cannot("read", path_, errno);
    return static_cast<std::size_t>(length);
  }
  Status write(const std::byte* bytes, std::size_t length) {
    while (length != 0) {
      const ssize_t written = ::write(descriptor_, bytes, length);
      if (written < 0) return cannot("write", path_, errno);
      bytes += written;
      length -= static_cast<std::size_t>(written);
    }
    return Status();
  }
  Status sync() { return ::fsync(descriptor_) == 0 ? Status() : cannot("sync", path_, errno); }

 private:
  fs::path path_;
  int descriptor_;
  Status status_;
};

// Bytes from `limit` on are zero in the copy, which is as long as the file.
Status copy_file(const fs::path& from, const fs::path& to, std::uint64_t limit,
                 const CopyProgress& progress) {
  File source(from, O_RDONLY);
  if (!source.status().ok()) return source.status();
  File copy(to, O_WRONLY | O_CREAT | O_EXCL);
  if (!copy.status().ok()) return copy.status();
  std::vector<std::byte> piece(kPiece_bytes);
  for (std::uint64_t done = 0; true;) {
    const auto length = source.read(piece);
    if (!length.ok()) return length.status();
    if (*length == 0) break;
    const std::uint64_t kept = std::min<std::uint64_t>(*length, limit > done ? limit - done : 0);
    std::fill(piece.begin() + static_cast<std::ptrdiff_t>(kept),
              piece.begin() + static_cast<std::ptrdiff_t>(*length), std::byte{});
    Status status = copy.write(piece.data(), *length);
    if (status.ok()) status = progress(*length);
    if (!status.ok()) return status;
    done += *length;
  }
  return copy.sync();
}

Status make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directory(path, error);
  if (!error) fs::permissions(path, fs::perms::owner_all, error);
  return error ? cannot("create", path, error.value()) : Status();
}

Status sync_folder(const fs::path& path) {
  File folder(path, O_RDONLY | O_DIRECTORY);
  return folder.status().ok() ? folder.sync() : folder.status();
}

// How many bytes of a file of the database's folders belong to the backup; nullopt: it is not copied.
std::optional<std::uint64_t> wanted_bytes(const std::string& name, LogPlace end) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  if (memory::manifest_generation(name) || memory::parse_chunk_name(name)) return kAll;
  const auto segment = memory::segment_number(name);
  if (!segment || *segment > end.segment) return std::nullopt;
  return *segment == end.segment ? end.offset : kAll;
}

Status copy_folder(const fs::path& from, const fs::path& to, LogPlace end, const CopyProgress& progress) {
  Status status = make_folder(to);
  if (!status.ok()) return status;
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(from, error), last; !error && entry != last; entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) return cannot("read", from, error.value());
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const auto limit = wanted_bytes(name, end);
    if (!limit) continue;
    status = copy_file(from / name, to / name, *limit, progress);
    if (!status.ok()) return status;
  }
  return sync_folder(to);
}

}  // namespace

Status copy_database(const fs::path& from, const fs::path& to, LogPlace end, const CopyProgress& progress) {
  Status status = make_folder(to);
  if (status.ok()) status = copy_folder(from / "checkpoint", to / "checkpoint", end, progress);
  if (status.ok()) status = copy_folder(from / "log", to / "log", end, progress);
  if (status.ok())
    status = copy_file(from / memory::kIdentityName, to / memory::kIdentityName, ~std::uint64_t{0}, progress);
  if (status.ok()) status = sync_folder(to);
  return status;
}

}  // namespace namdb::namctl
