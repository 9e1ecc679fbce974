#include "memory/process/database_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "common/base/hex.h"

namespace namdb::memory {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxIdentity_bytes = 4096;

Status cannot_use(const char* what, const fs::path& path, int error_number) {
  const bool read_only = error_number == EROFS || error_number == EACCES || error_number == EPERM;
  return Status(
      ErrorCode::configuration,
      std::string("cannot ") + what + " " + path.string() + ": " + std::strerror(error_number),
      read_only ? "a database folder must be writable: mount it so, or give it to the daemon's user" : "");
}

Status sync_path(const fs::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) return cannot_use("open", path, errno);
  const int result = ::fsync(descriptor);
  const int error_number = errno;
  ::close(descriptor);
  return result == 0 ? Status() : cannot_use("sync", path, error_number);
}

Status write_whole_file(const fs::path& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return cannot_use("write", path, errno);
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  const int error_number = written < 0 ? errno : ENOSPC;
  ::close(descriptor);
  if (written != static_cast<ssize_t>(text.size())) return cannot_use("write", path, error_number);
  return sync_path(path, O_RDONLY);
}

// nullopt: there is no such file.
Result<std::optional<std::string>> read_whole_file(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) return std::optional<std::string>();
  if (descriptor < 0) return cannot_use("read", path, errno);
  std::array<char, kMaxIdentity_bytes> bytes{};
  const ssize_t length = ::read(descriptor, bytes.data(), bytes.size());
  const int error_number = errno;
  ::close(descriptor);
  if (length < 0) return cannot_use("read", path, error_number);
  return std::optional<std::string>(std::in_place, bytes.data(), static_cast<std::size_t>(length));
}

// False also for a folder that is not there.
bool has_files(const fs::path& folder) {
  std::error_code ignored;
  return fs::directory_iterator(folder, ignored) != fs::directory_iterator();
}

}  // namespace

bool DatabaseFolder::exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path / kIdentityName, ignored);
}

bool DatabaseFolder::is_unfinished(const fs::path& path) {
  const auto text = read_whole_file(path / kIdentityName);
  if (!text.ok() || !text.value()) return false;
  const Result<FolderIdentity> identity = read_folder_identity(*text.value());
  return identity.ok() && !identity->complete;
}

Result<std::unique_ptr<DatabaseFolder>> DatabaseFolder::open(fs::path path, const Wanted& wanted) {
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) return cannot_use("use", path, errno);
  const fs::path file = path / kIdentityName;
  const auto text = read_whole_file(file);
  if (!text.ok()) return text.status();
  FolderIdentity identity;
  if (*text) {
    const auto read = read_folder_identity(**text);
    if (!read.ok())
      return Status(read.status().code(), file.string() + ": " + read.status().message(),
                    read.status().hint());
    identity = *read;
  } else {
    if (has_files(path / "log") || has_files(path / "checkpoint"))
      return Status(
          ErrorCode::configuration, file.string() + " is missing, beside a log or a checkpoint",
          "restore it from a backup of the folder; or move log and checkpoint away to create a new database");
    identity.database_id = wanted.database_id.value_or(wanted.new_database_id);
    identity.server_id = wanted.server_id;
  }
  const std::string whose = path.string() + " belongs to ";
  if (wanted.database_id && identity.database_id != *wanted.database_id)
    return Status(
        ErrorCode::configuration,
        whose + "database " + in_hex(identity.database_id, 16) + ", not " + in_hex(*wanted.database_id, 16),
        "choose the --data of that database");
  if (identity.server_id != wanted.server_id)
    return Status(
        ErrorCode::configuration,
        whose + "memory server " + std::to_string(identity.server_id) + ", not " +
            std::to_string(wanted.server_id),
        "choose the --data of that server, or start with --server-id " + std::to_string(identity.server_id));
  std::unique_ptr<DatabaseFolder> folder(new DatabaseFolder(std::move(path), std::move(identity)));
  Status status;
  if (folder->is_new()) {
    folder->identity_.written_by = wanted.version;
    status = folder->begin_creation();
  } else {
    status = folder->check_parts();
    // Programs that know the older format only must not open it any more.
    if (status.ok() && folder->identity_.format < kFolderFormat) {
      folder->identity_.format = kFolderFormat;
      status = folder->write_identity();
    }
  }
  if (!status.ok()) return status;
  return folder;
}

Status DatabaseFolder::adopt(fs::path path, FolderIdentity identity) {
  DatabaseFolder folder(std::move(path), std::move(identity));
  if (Status status = folder.check_parts(); !status.ok()) return status;
  return folder.created();
}

Status DatabaseFolder::begin_creation() {
  Status status = write_identity();
  if (!status.ok()) return status;
  for (const fs::path& part : {log(), checkpoint()}) {
    // Of a creation that was cut off. A folder of that name may be there for other reasons.
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(part, error))
      fs::remove_all(entry.path(), error);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return cannot_use("create", part, errno);
    status = sync_path(part, O_RDONLY | O_DIRECTORY);
    if (!status.ok()) return status;
  }
  return sync_path(path_, O_RDONLY | O_DIRECTORY);
}

Status DatabaseFolder::check_parts() const {
  for (const fs::path& part : {log(), checkpoint()}) {
    if (has_files(part)) continue;
    return Status(ErrorCode::configuration,
                  part.string() + " is missing or empty, and the folder's database was created completely",
                  "restore it from a backup of the folder; nothing of the database can be read without it");
  }
  return Status();
}

Status DatabaseFolder::created() {
  identity_.complete = true;
  return write_identity();
}

Status DatabaseFolder::write_identity() const {
  const fs::path temporary = path_ / "identity.new";
  const fs::path file = path_ / kIdentityName;
  if (Status status = write_whole_file(temporary, write_folder_identity(identity_)); !status.ok())
    return status;
  if (::rename(temporary.c_str(), file.c_str()) != 0) return cannot_use("write", file, errno);
  return sync_path(path_, O_RDONLY | O_DIRECTORY);
}

}  // namespace namdb::memory
