// A database folder from a backup: whole, or not there.
#include "memory/process/restore.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "memory/process/database_folder.h"

namespace namdb::memory {
namespace restore_test {

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
    std::string name = (fs::temp_directory_path() / "namdb-restore-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
    FolderIdentity identity;
    identity.database_id = 77;
    identity.complete = true;
    identity.written_by = "1.0";
    write(backup() / "identity", write_folder_identity(identity));
    write(backup() / "log" / "segment-0", "the log");
    write(backup() / "checkpoint" / "manifest-1", "the manifest");
    fs::create_directories(data());
  }
  ~Folders() { fs::remove_all(path); }
  fs::path backup() const { return path / "backup" / "memory-0"; }
  fs::path data() const { return path / "m0" / "data"; }
  Status restore() const { return restore_database(backup(), data()); }
  Result<std::unique_ptr<DatabaseFolder>> open() const {
    DatabaseFolder::Wanted wanted;
    wanted.new_database_id = 78;
    wanted.version = "1.0";
    return DatabaseFolder::open(data(), wanted);
  }

  fs::path path;
};

TEST_CASE("a restored folder is the backup's database", "[restore]") {
  const Folders folders;
  REQUIRE(folders.restore().ok());
  CHECK(read(folders.data() / "log" / "segment-0") == "the log");
  CHECK(read(folders.data() / "checkpoint" / "manifest-1") == "the manifest");
  const auto opened = folders.open();
  REQUIRE(opened.ok());
  CHECK_FALSE((*opened)->is_new());
  CHECK((*opened)->identity().database_id == 77);
}

TEST_CASE("a folder with a database is left as it is", "[restore]") {
  const Folders folders;
  write(folders.data() / "log" / "segment-0", "another log");
  SECTION("without an identity") {}
  SECTION("with one") {
    write(folders.data() / "identity", "another identity");
  }
  const Status status = folders.restore();
  CHECK(status.code() == ErrorCode::configuration);
  CHECK(status.message().find("has a database already") != std::string::npos);
  CHECK(read(folders.data() / "log" / "segment-0") == "another log");
}

TEST_CASE("a restore that was cut off is not opened, and the next one begins anew", "[restore]") {
  const Folders folders;
  write(folders.data() / "restoring", "from somewhere");
  write(folders.data() / "log" / "segment-0", "half a");
  write(folders.data() / "log" / "segment-1", "a segment that the backup does not have");
  CHECK_FALSE(folders.open().ok());
  REQUIRE(folders.restore().ok());
  CHECK(read(folders.data() / "log" / "segment-0") == "the log");
  CHECK_FALSE(fs::exists(folders.data() / "log" / "segment-1"));
  CHECK(folders.open().ok());
}

TEST_CASE("a folder that is no backup, or not a whole one, is refused", "[restore]") {
  const Folders folders;
  SECTION("nothing") {
    fs::remove_all(folders.backup());
  }
  SECTION("no identity: the backup was cut off") {
    fs::remove(folders.backup() / "identity");
  }
  SECTION("a damaged identity") {
    write(folders.backup() / "identity", "namdb database folder\n");
  }
  SECTION("no log") {
    fs::remove_all(folders.backup() / "log");
  }
  CHECK(folders.restore().code() == ErrorCode::configuration);
  CHECK_FALSE(fs::exists(folders.data() / "identity"));
  CHECK_FALSE(fs::exists(folders.data() / "restoring"));
}

}  // namespace restore_test
}  // namespace namdb::memory
