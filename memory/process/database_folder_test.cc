// Whose a data folder is, and whether it is whole: each wrong folder is refused by name.
#include "memory/process/database_folder.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>

#include "common/base/random.h"

namespace namdb::memory {
namespace database_folder_test {

namespace fs = std::filesystem;

constexpr std::uint64_t kDatabase = 0x0123'4567'89ab'cdef;

struct TestFolder {
  TestFolder() {
    char name[] = "/tmp/namdb-folder-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  static DatabaseFolder::Wanted wanted(std::uint16_t server = 2) {
    return {.new_database_id = kDatabase, .server_id = server, .version = "1.2"};
  }
  void write(const std::string& file, const std::string& text) const { std::ofstream(path / file) << text; }
  // A folder whose database was created.
  void create() const {
    const auto folder = DatabaseFolder::open(path, wanted());
    REQUIRE(folder.ok());
    REQUIRE((*folder)->is_new());
    write("log/0", "a segment");
    write("checkpoint/1", "a manifest");
    REQUIRE((*folder)->created().ok());
  }
  Status refusal(const DatabaseFolder::Wanted& by = wanted()) const {
    return DatabaseFolder::open(path, by).status();
  }
  fs::path path;
};

bool says(const Status& status, const std::string& part) {
  INFO(status.to_string());
  return !status.ok() && status.to_string().find(part) != std::string::npos;
}

TEST_CASE("a folder is created once and keeps its database", "[database_folder]") {
  const TestFolder folder;
  folder.create();
  auto wanted = TestFolder::wanted();
  wanted.new_database_id = 77;
  wanted.version = "9.9";
  for (int i = 0; i < 2; ++i) {
    const auto again = DatabaseFolder::open(folder.path, wanted);
    REQUIRE(again.ok());
    CHECK_FALSE((*again)->is_new());
    CHECK((*again)->identity() == FolderIdentity{kFolderFormat, kDatabase, 2, true, "1.2"});
    CHECK(fs::exists((*again)->log() / "0"));
    wanted.database_id = kDatabase;
  }
}

TEST_CASE("a creation that was cut off begins anew, whatever it had made", "[database_folder]") {
  const TestFolder folder;
  REQUIRE(DatabaseFolder::open(folder.path, TestFolder::wanted()).ok());
  folder.write("log/0", "half a segment");
  const auto again = DatabaseFolder::open(folder.path, TestFolder::wanted());
  REQUIRE(again.ok());
  CHECK((*again)->is_new());
  CHECK(fs::is_empty((*again)->log()));
  CHECK((*again)->identity().database_id == kDatabase);
}

TEST_CASE("another server's, another database's and an incomplete folder are refused by name",
          "[database_folder]") {
  const TestFolder folder;
  folder.create();
  CHECK(says(folder.refusal(TestFolder::wanted(1)), "belongs to memory server 2, not 1"));
  auto other = TestFolder::wanted();
  other.database_id = 5;
  CHECK(says(folder.refusal(other), "belongs to database 0123456789abcdef, not 0000000000000005"));
  CHECK(folder.refusal(other).code() == ErrorCode::configuration);
  for (const std::string part : {"log", "checkpoint"}) {
    fs::rename(folder.path / part, folder.path / "away");
    CHECK(says(folder.refusal(), part + " is missing or empty"));
    fs::create_directory(folder.path / part);
    CHECK(says(folder.refusal(), part + " is missing or empty"));
    fs::remove(folder.path / part);
    fs::rename(folder.path / "away", folder.path / part);
  }
  fs::rename(folder.path / "identity", folder.path / "away");
  CHECK(says(folder.refusal(), "identity is missing, beside a log"));
  fs::rename(folder.path / "away", folder.path / "identity");
  CHECK(DatabaseFolder::open(folder.path, TestFolder::wanted()).ok());
}

TEST_CASE("a folder that is not there or not writable is refused", "[database_folder]") {
  const TestFolder folder;
  CHECK(says(DatabaseFolder::open(folder.path / "no", TestFolder::wanted()).status(), "cannot use"));
  if (::geteuid() == 0) return;  // root may write everywhere
  folder.create();
  fs::permissions(folder.path, fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(says(folder.refusal(), "must be writable"));
  fs::permissions(folder.path, fs::perms::owner_all);
}

TEST_CASE("an identity of a newer format names its writer, and damage names a field", "[database_folder]") {
  const FolderIdentity identity{kFolderFormat, kDatabase, 2, true, "1.2"};
  const std::string text = write_folder_identity(identity);
  const auto read = read_folder_identity(text);
  REQUIRE(read.ok());
  CHECK(*read == identity);
  FolderIdentity newer = identity;
  newer.format = kFolderFormat + 1;
  newer.written_by = "7.0";
  const Status refused = read_folder_identity(write_folder_identity(newer)).status();
  CHECK(refused.code() == ErrorCode::configuration);
  CHECK(says(refused, "field format is 3, and this program knows 2; namdb 7.0 wrote it"));
  CHECK(says(read_folder_identity("").status(), "field title"));
  for (std::size_t length = 0; length < text.size(); ++length) {
    INFO("of length " << length);
    REQUIRE(says(read_folder_identity(text.substr(0, length)).status(), "is damaged"));
  }
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    damaged[random.below(text.size())] ^= static_cast<char>(1U << random.below(8));
    const auto result = read_folder_identity(damaged);
    INFO(damaged);
    REQUIRE_FALSE(result.ok());
  }
  const TestFolder folder;
  folder.create();
  FolderIdentity older = identity;
  older.format = 1;
  folder.write("identity", write_folder_identity(older));
  REQUIRE(DatabaseFolder::open(folder.path, TestFolder::wanted()).ok());
  CHECK((*DatabaseFolder::open(folder.path, TestFolder::wanted()))->identity().format == kFolderFormat);
  folder.write("identity", text.substr(0, 60));
  CHECK(says(folder.refusal(), "identity: its field"));
}

}  // namespace database_folder_test
}  // namespace namdb::memory
