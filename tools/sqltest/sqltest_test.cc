// Every file of the corpus, on the test engine.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/sqltest/corpus.h"
#include "tools/sqltest/session_client.h"

namespace namdb::sqltest {
namespace {

std::vector<std::filesystem::path> corpus_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(NAMDB_SQLTEST_CORPUS)) {
    if (entry.path().extension() == ".sqltest") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

TEST_CASE("every statement of the corpus is answered as expected", "[sqltest]") {
  const auto files = corpus_files();
  REQUIRE_FALSE(files.empty());
  for (const auto& file : files) {
    DYNAMIC_SECTION(file.filename().string()) {
      std::ifstream input(file);
      std::stringstream text;
      text << input.rdbuf();
      const auto cases = parse_corpus(text.str());
      REQUIRE(cases.ok());
      SessionDatabase database;
      for (const std::string& failure : run_corpus(*cases, [&] { return database.open(); })) {
        FAIL_CHECK(file.filename().string() << " " << failure);
      }
      CHECK(database.engine().open_transactions() == 0);
    }
  }
}

TEST_CASE("a corpus file with a mistake is refused with its line", "[sqltest]") {
  CHECK(parse_corpus("---- ok").status().message().find("line 1") != std::string::npos);
  CHECK(parse_corpus("SELECT 1\n---- maybe").status().message().find("line 2") != std::string::npos);
  CHECK(parse_corpus("\nSELECT 1").status().message().find("line 2") != std::string::npos);
  CHECK(parse_corpus("SELECT 1\n---- error 42").status().message().find("line 2") != std::string::npos);
}

}  // namespace namdb::sqltest
