#include "memory/process/database_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "common/base/crc32c.h"
#include "common/base/hex.h"

namespace namdb::memory {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTitle = "namdb database folder\n";
constexpr std::string_view kChecksum = "checksum = ";
constexpr std::size_t kMaxIdentity_bytes = 4096;

std::uint32_t checksum_of(std::string_view text) {
  return crc32c(std::as_bytes(std::span(text.data(), text.size())));
}

Status cannot_use(const char* what, const fs::path& path, int error_number) {
  const bool read_only = error_number == EROFS || error_number == EACCES || error_number == EPERM;
  return Status(
      ErrorCode::configuration,
      std::string("cannot ") + what + " " + path.string() + ": " + std::strerror(error_number),
      read_only ? "a database folder must be writable: mount it so, or give it to the daemon's user" : "");
}

// Takes "NAME = VALUE\n" off the front.
bool take_line(std::string_view& text, std::string_view name, std::string_view& value) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  if (end == std::string_view::npos || !line.starts_with(name) ||
      !line.substr(name.size()).starts_with(" = "))
    return false;
  value = line.substr(name.size() + 3);
  text.remove_prefix(end + 1);
  return true;
}

template <typename Number>
bool take_number(std::string_view& text, std::string_view name, int base, Number& number) {
  std::string_view value;
  if (!take_line(text, name, value)) return false;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number, base);
  return error == std::errc() && end == value.data() + value.size();
}

Status damaged(std::string_view field) {
  return Status(ErrorCode::corrupt_data, "its field " + std::string(field) + " is damaged",
                "restore the file from a backup of the folder");
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

std::string write_folder_identity(const FolderIdentity& identity) {
  std::string text(kTitle);
  text += "format = " + std::to_string(identity.format) + "\n";
  text += "database = " + in_hex(identity.database_id, 16) + "\n";
  text += "server = " + std::to_string(identity.server_id) + "\n";
  text += std::string("state = ") + (identity.complete ? "complete" : "creating") + "\n";
  text += "written_by = " + identity.written_by + "\n";
  return text + std::string(kChecksum) + in_hex(checksum_of(text), 8) + "\n";
}

Result<FolderIdentity> read_folder_identity(std::string_view text) {
  std::string_view rest = text;
  FolderIdentity identity;
  if (!rest.starts_with(kTitle)) return damaged("title");
  rest.remove_prefix(kTitle.size());
  if (!take_number(rest, "format", 10, identity.format)) return damaged("format");
  if (identity.format > kFolderFormat) {
    // The rest may look otherwise; its writer's name does not.
    const std::size_t at = rest.find("written_by = ");
    std::string writer;
    if (at != std::string_view::npos) writer = rest.substr(at + 13, rest.find('\n', at) - at - 13);
    return Status(ErrorCode::configuration,
                  "its field format is " + std::to_string(identity.format) + ", and this program knows " +
                      std::to_string(kFolderFormat) +
                      (writer.empty() ? "" : "; namdb " + writer + " wrote it"),
                  "use that version or a later one");
  }
  if (!take_number(rest, "database", 16, identity.database_id) || identity.database_id == 0)
    return damaged("database");
  if (!take_number(rest, "server", 10, identity.server_id)) return damaged("server");
  std::string_view state;
  if (!take_line(rest, "state", state) || (state != "complete" && state != "creating"))
    return damaged("state");
  identity.complete = state == "complete";
  std::string_view writer;
  if (!take_line(rest, "written_by", writer)) return damaged("written_by");
  identity.written_by = writer;
  if (write_folder_identity(identity) != text) return damaged("checksum");
  return identity;
}

Result<std::unique_ptr<DatabaseFolder>> DatabaseFolder::open(fs::path path, const Wanted& wanted) {
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) return cannot_use("use", path, errno);
  const fs::path file = path / "identity";
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
  }
  if (!status.ok()) return status;
  return folder;
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
  const fs::path file = path_ / "identity";
  if (Status status = write_whole_file(temporary, write_folder_identity(identity_)); !status.ok())
    return status;
  if (::rename(temporary.c_str(), file.c_str()) != 0) return cannot_use("write", file, errno);
  return sync_path(path_, O_RDONLY | O_DIRECTORY);
}

}  // namespace namdb::memory
