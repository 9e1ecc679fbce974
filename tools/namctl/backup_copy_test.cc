// The files of a backup: both generations, the log up to its end, and the identity last.
#include "tools/namctl/backup_copy.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "memory/log/log_format.h"
#include "memory/log/manifest.h"

namespace namdb::namctl {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Folders {
  Folders() {
    std::string name = (fs::temp_directory_path() / "namctl-backup-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
    write(from() / "identity", "the identity");
    for (std::uint64_t number = 3; number < 6; ++number)
      write(from() / "log" / memory::segment_name(number), "segment " + std::to_string(number));
    write(from() / "log" / "segment.spare", "an old one");
    write(from() / "checkpoint" / memory::manifest_name(7), "the manifest");
    write(from() / "checkpoint" / memory::chunk_name(65536, 6), "a chunk");
    write(from() / "checkpoint" / "manifest.new", "half a manifest");
  }
  ~Folders() { fs::remove_all(path); }
  fs::path from() const { return path / "from"; }
  fs::path to() const { return path / "to"; }

  fs::path path;
};

Status go_on(std::uint64_t /*bytes*/) {
  return Status();
}

}  // namespace

TEST_CASE("a backup has both generations, and the log up to its end", "[backup]") {
  const Folders folders;
  REQUIRE(copy_database(folders.from(), folders.to(), {4, 3}, go_on).ok());
  CHECK(read(folders.to() / "identity") == "the identity");
  CHECK(read(folders.to() / "checkpoint" / memory::manifest_name(7)) == "the manifest");
  CHECK(read(folders.to() / "checkpoint" / memory::chunk_name(65536, 6)) == "a chunk");
  CHECK_FALSE(fs::exists(folders.to() / "checkpoint" / "manifest.new"));
  CHECK(read(folders.to() / "log" / memory::segment_name(3)) == "segment 3");
  // As long as the segment, and nothing behind the end.
  CHECK(read(folders.to() / "log" / memory::segment_name(4)) == std::string("seg") + std::string(6, '\0'));
  CHECK_FALSE(fs::exists(folders.to() / "log" / memory::segment_name(5)));
  CHECK_FALSE(fs::exists(folders.to() / "log" / "segment.spare"));
}

TEST_CASE("a backup that was cut off has no identity", "[backup]") {
  const Folders folders;
  int pieces = 3;
  const CopyProgress stop = [&pieces](std::uint64_t /*bytes*/) {
    return --pieces == 0 ? Status(ErrorCode::connection_failure, "the server is gone") : Status();
  };
  CHECK(copy_database(folders.from(), folders.to(), {4, 3}, stop).code() == ErrorCode::connection_failure);
  CHECK_FALSE(fs::exists(folders.to() / "identity"));
  CHECK_FALSE(copy_database(folders.path / "nowhere", folders.path / "new", {4, 3}, go_on).ok());
}

}  // namespace namdb::namctl
