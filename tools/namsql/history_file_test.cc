#include "tools/namsql/history_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

namespace namdb::namsql::history_file_test {
namespace {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "namsql-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("entries come back as they were, in a file for its owner only", "[history]") {
  const Folder folder;
  const std::string path = folder.file("a/b/history");
  HistoryFile history(path);
  CHECK(history.load().empty());
  const std::vector<std::string> entries = {"SELECT 1;", "SELECT 'a\\n'\n  FROM t; -- ü", "\\d"};
  for (const std::string& entry : entries) history.append(entry);
  history.append("CREATE USER ada PASSWORD 'secret';");
  history.append("  alter role ada\n  password 'secret';");
  history.append("/* x */ ALTER ROLE ada PASSWORD 'secret';");
  history.append("BEGIN; Alter User ada Password 'secret';");
  history.append("-- x\nCREATE GROUP staff PASSWORD 'secret';");
  CHECK(HistoryFile(path).load() == entries);
  struct stat facts{};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
}

TEST_CASE("the newest entries are kept", "[history]") {
  const Folder folder;
  HistoryFile history(folder.file("history"), 3);
  for (int i = 0; i < 7; ++i) history.append(std::to_string(i));
  CHECK(history.load() == std::vector<std::string>{"4", "5", "6"});
  history.append("7");
  CHECK(history.load() == std::vector<std::string>{"5", "6", "7"});
}

TEST_CASE("without a place there is no history", "[history]") {
  HistoryFile history("");
  history.append("SELECT 1;");
  CHECK(history.load().empty());
  HistoryFile elsewhere("/proc/nowhere/history");
  elsewhere.append("SELECT 1;");
  CHECK(elsewhere.load().empty());
}

}  // namespace namdb::namsql::history_file_test
