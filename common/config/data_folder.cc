#include "common/config/data_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace namdb::config {
namespace {

Status cannot(const std::string& what, const std::filesystem::path& path, int error_number) {
  return Status(ErrorCode::configuration,
                "cannot " + what + " " + path.string() + ": " + std::strerror(error_number));
}

}  // namespace

Result<std::unique_ptr<DataFolder>> DataFolder::open(const std::filesystem::path& path,
                                                     const std::string& daemon) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(path, error);
  if (error) return cannot("create", path, error.value());
  if (made && ::chmod(path.c_str(), 0700) != 0) return cannot("own", path, errno);
  for (const char* name : {"run", "log", "data"}) {
    const std::filesystem::path folder = path / name;
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return cannot("create", folder, errno);
  }
  // Every process that reaches the sockets in it can map the region.
  if (::chmod((path / "run").c_str(), 0700) != 0) return cannot("own", path / "run", errno);

  const std::filesystem::path lock_path = path / "run" / (daemon + ".lock");
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return cannot("write", lock_path, errno);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    char text[32] = {};
    const ssize_t length = ::read(lock, text, sizeof text - 1);
    std::string owner(text, length > 0 ? static_cast<std::size_t>(length) : 0);
    while (!owner.empty() && owner.back() == '\n') owner.pop_back();
    ::close(lock);
    return Status(ErrorCode::configuration,
                  "another " + daemon + (owner.empty() ? std::string() : " (process " + owner + ")") +
                      " uses " + path.string(),
                  "stop it, or choose another --data");
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock, 0) != 0 ||
      ::write(lock, pid.data(), pid.size()) != static_cast<ssize_t>(pid.size())) {
    const int error_number = errno;
    ::close(lock);
    return cannot("write", lock_path, error_number);
  }
  return std::unique_ptr<DataFolder>(new DataFolder(path, lock));
}

DataFolder::~DataFolder() {
  // The file stays: removing it could remove the lock of the next daemon.
  ::close(lock_);
}

}  // namespace namdb::config
