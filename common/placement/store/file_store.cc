#include "common/placement/store/file_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "common/placement/store/stored_text.h"

namespace namdb::placement {
namespace {

constexpr std::chrono::milliseconds kLockPause{1};
constexpr std::size_t kMaxFile_bytes = 64U << 20;
constexpr std::string_view kFirstLine = "namdb configuration, revision ";

class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// It does not mend itself.
bool refuses(int error_number) {
  switch (error_number) {
    case ENOENT:
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return true;
    default:
      return false;
  }
}

// Nullopt behind an error, which is in errno; EFBIG: too long for a file of the store.
std::optional<std::string> read_all(int descriptor) {
  std::string text;
  char piece[16384];
  while (true) {
    const ssize_t length = ::read(descriptor, piece, sizeof piece);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return std::nullopt;
    if (length == 0) return text;
    text.append(piece, static_cast<std::size_t>(length));
    if (text.size() > kMaxFile_bytes) {
      errno = EFBIG;
      return std::nullopt;
    }
  }
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t length = ::write(descriptor, text.data(), text.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

// Takes the first line off. Nullopt: there is none.
std::optional<std::uint64_t> take_revision(std::string_view& text) {
  if (!text.starts_with(kFirstLine)) return std::nullopt;
  text.remove_prefix(kFirstLine.size());
  std::uint64_t revision = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || revision == 0 || !text.starts_with('\n')) return std::nullopt;
  return revision;
}

}  // namespace

Status FileStore::failed(const std::string& what, const std::string& path, int error_number) const {
  return Status(refuses(error_number) ? ErrorCode::configuration : ErrorCode::connection_failure,
                "the configuration store cannot " + what + " " + path + ": " + std::strerror(error_number));
}

Result<int> FileStore::lock() {
  if (::mkdir(folder_.c_str(), 0700) == 0) {
    const Status status = sync_folder(std::filesystem::path(folder_).parent_path().string());
    if (!status.ok()) return status;
  } else if (errno != EEXIST) {
    return failed("make", folder_, errno);
  }
  const std::string path = folder_ + "/lock";
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return failed("open", path, errno);
  const auto deadline = std::chrono::steady_clock::now() + lock_patience_;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    const int error_number = errno;
    const bool late = stopping() || std::chrono::steady_clock::now() >= deadline;
    if ((error_number == EWOULDBLOCK || error_number == EINTR) && !late) {
      std::this_thread::sleep_for(kLockPause);
      continue;
    }
    ::close(descriptor);
    if (error_number != EWOULDBLOCK) return failed("lock", path, error_number);
    return Status(ErrorCode::connection_failure,
                  "the configuration store cannot lock " + path + ": another process holds it");
  }
  return descriptor;
}

Status FileStore::sync_folder(const std::string& path) {
  const OpenFile folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return failed("open", path, errno);
  return ::fsync(folder.get()) == 0 ? Status() : failed("sync", path, errno);
}

Result<ConfigurationStore::Stored> FileStore::read_locked() {
  const std::string path = folder_ + "/configuration";
  // A killed process may have renamed it, and not synced.
  const Status synced = sync_folder(folder_);
  if (!synced.ok()) return synced;
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) return ConfigurationStore::Stored();
  if (file.get() < 0) return failed("open", path, errno);
  const auto text = read_all(file.get());
  if (!text) return failed("read", path, errno);
  std::string_view rest = *text;
  const auto revision = take_revision(rest);
  auto configuration =
      revision ? read_stored(rest)
               : Result<Configuration>(ErrorCode::configuration, "it is no configuration of namdb");
  if (configuration.ok()) return ConfigurationStore::Stored{*revision, std::move(*configuration)};
  const Status& status = configuration.status();
  return Status(status.code(), path + ": " + status.message(), status.hint());
}

Status FileStore::write_locked(const std::string& text) {
  const std::string made = folder_ + "/configuration.new";
  const std::string path = folder_ + "/configuration";
  {
    const OpenFile file(::open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (file.get() < 0) return failed("make", made, errno);
    if (!write_all(file.get(), text)) return failed("write", made, errno);
    if (::fsync(file.get()) != 0) return failed("sync", made, errno);
  }
  if (::rename(made.c_str(), path.c_str()) != 0) return failed("replace", path, errno);
  return sync_folder(folder_);
}

Result<ConfigurationStore::Stored> FileStore::read() {
  const Result<int> locked = lock();
  if (!locked.ok()) return locked.status();
  const OpenFile held(*locked);
  return read_locked();
}

Result<bool> FileStore::replace(std::uint64_t revision, const Configuration& next) {
  const Result<int> locked = lock();
  if (!locked.ok()) return locked.status();
  const OpenFile held(*locked);
  const auto stored = read_locked();
  if (!stored.ok()) return stored.status();
  if (stored.value().revision != revision) return false;
  const auto text = write_stored(next);
  if (!text.ok()) return text.status();
  const Status status =
      write_locked(std::string(kFirstLine) + std::to_string(revision + 1) + "\n" + text.value());
  if (!status.ok()) return status;
  return true;
}

}  // namespace namdb::placement
