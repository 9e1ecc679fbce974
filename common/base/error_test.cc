#include "common/base/error.h"

#include <catch2/catch.hpp>
#include <set>

namespace namdb {

TEST_CASE("every row of the error table is found by its code and by its name", "[error]") {
  std::set<std::string_view> names;
  for (const ErrorInfo& info : error_table()) {
    CHECK(info.sqlstate.size() == 5);
    CHECK(&error_info(info.code) == &info);
    CHECK(error_code_from_name(info.name) == info.code);
    CHECK(names.insert(info.name).second);
  }
  CHECK_FALSE(error_code_from_name("no such reason").has_value());
}

TEST_CASE("a status keeps its code, message and hint when it is copied", "[error]") {
  const Status status(ErrorCode::duplicate_key, "key 1 exists", "use another");
  const Status copy = status;
  CHECK(copy.code() == ErrorCode::duplicate_key);
  CHECK(copy.to_string() == "duplicate_key: key 1 exists (use another)");
  CHECK(Status().ok());
  CHECK(Result<int>(3).value() == 3);
  CHECK_FALSE(Result<int>(copy).ok());
}

}  // namespace namdb
