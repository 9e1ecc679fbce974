#include "memory/process/restore.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "memory/process/database_folder.h"

namespace namdb::memory {
namespace {

namespace fs = std::filesystem;

constexpr const char* kParts[] = {"log", "checkpoint"};
constexpr const char kMark[] = "restoring";

Status cannot(const char* what, const fs::path& path, const std::string& reason) {
  return Status(ErrorCode::configuration,
                std::string("cannot ") + what + " " + path.string() + ": " + reason);
}

Status make_durable(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return cannot("open", path, std::strerror(errno));
  const int result = ::fsync(descriptor);
  const int error_number = errno;
  ::close(descriptor);
  return result == 0 ? Status() : cannot("sync", path, std::strerror(error_number));
}

bool any_file(const fs::path& folder) {
  std::error_code ignored;
  return fs::directory_iterator(folder, ignored) != fs::directory_iterator();
}

Status check_backup(const fs::path& backup) {
  std::ifstream file(backup / kIdentityName, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto identity = read_folder_identity(text);
  if (text.empty() || (identity.ok() && !identity->complete)) {
    return Status(ErrorCode::configuration, backup.string() + " has no backup of a memory server",
                  "name one of the folders memory-K that namctl backup has made");
  }
  if (!identity.ok())
    return Status(ErrorCode::configuration,
                  (backup / kIdentityName).string() + ": " + identity.status().message());
  for (const char* part : kParts) {
    if (!any_file(backup / part))
      return Status(ErrorCode::configuration, (backup / part).string() + " is missing or empty");
  }
  return Status();
}

Status copy_durably(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) return cannot("copy", from, error.message());
  return make_durable(to);
}

Status copy_part(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove_all(to, error);
  if (!error) fs::create_directory(to, error);
  if (!error) fs::permissions(to, fs::perms::owner_all, error);
  if (error) return cannot("create", to, error.message());
  for (fs::directory_iterator entry(from, error), last; !error && entry != last; entry.increment(error)) {
    Status status = copy_durably(entry->path(), to / entry->path().filename());
    if (!status.ok()) return status;
  }
  if (error) return cannot("read", from, error.message());
  return make_durable(to);
}

}  // namespace

Status restore_database(const fs::path& backup, const fs::path& folder) {
  Status status = check_backup(backup);
  if (!status.ok()) return status;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return cannot("create", folder, error.message());
  const bool begun = fs::exists(folder / kMark, error);
  if (DatabaseFolder::exists(folder) ||
      (!begun && (any_file(folder / "log") || any_file(folder / "checkpoint")))) {
    return Status(ErrorCode::configuration, folder.string() + " has a database already",
                  "start without --restore to open it; or move it away first");
  }
  std::ofstream mark(folder / kMark);
  mark << "from " << backup.string() << "\n";
  mark.close();
  if (!mark) return cannot("write", folder / kMark, std::strerror(errno));
  status = make_durable(folder);
  if (!status.ok()) return status;
  for (const char* part : kParts) {
    if (Status copied = copy_part(backup / part, folder / part); !copied.ok()) return copied;
  }
  // In one step: a folder has a whole identity, or none.
  const fs::path made = folder / "identity.new";
  if (Status copied = copy_durably(backup / kIdentityName, made); !copied.ok()) return copied;
  fs::rename(made, folder / kIdentityName, error);
  if (error) return cannot("rename", made, error.message());
  // The mark stays as long as a loss of power could take the identity away.
  status = make_durable(folder);
  if (!status.ok()) return status;
  fs::remove(folder / kMark, error);
  if (error) return cannot("remove", folder / kMark, error.message());
  return make_durable(folder);
}

}  // namespace namdb::memory
