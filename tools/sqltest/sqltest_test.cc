// Every file of the corpus, on the test engine.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/layout/long_value.h"
#include "compute/api/long_value_tables.h"
#include "tools/sqltest/corpus.h"
#include "tools/sqltest/testing/session_client.h"

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

// The parts of long values (docs/internals/long-values.md): those that rows have, and those that are there.
struct LongValueParts {
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> wanted;
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> there;
};

reactor::Task<void> count_parts(sql::testing::FakeEngine& engine, LongValueParts& parts) {
  const auto session = engine.open_session();
  const auto transaction = engine.begin(*session);
  std::map<std::uint32_t, std::size_t> part_bytes;
  const std::vector<storage::TableRef> tables = engine.cached_tables();
  for (const storage::TableRef& table : tables) {
    if (storage::keeps_long_values(table->name))
      part_bytes[table->id] = table->schema.columns().back().length_bytes;
  }
  for (const storage::TableRef& table : tables) {
    const auto scan = transaction->scan(table);
    std::vector<layout::Row> rows;
    do {
      const Status status = co_await scan->next(rows);
      REQUIRE(status.ok());
      for (const layout::Row& row : rows) {
        if (part_bytes.contains(table->id)) ++parts.there[{table->id, std::string(row.view().text(0))}];
        for (std::uint32_t column = 0; column < table->schema.columns().size(); ++column) {
          if (!layout::is_long(row.view(), column)) continue;
          const auto place = layout::unpack_long_value_place(layout::long_value_place(row.view(), column));
          REQUIRE(part_bytes.contains(place.table));
          const std::size_t each = part_bytes[place.table];
          parts.wanted[{place.table, std::string(place.id_bytes())}] +=
              (place.length_bytes + each - 1) / each;
        }
      }
    } while (!rows.empty());
  }
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
      // No value lost its parts, and none are left over.
      LongValueParts parts;
      reactor::testing::ManualExecutor executor;
      reactor::Gate gate;
      executor.spawn(gate, count_parts(database.engine(), parts));
      executor.run_until([&gate] { return gate.count() == 0; });
      CHECK(parts.wanted == parts.there);
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
