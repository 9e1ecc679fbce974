#include "compute/procedure/library.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

namespace namdb::procedure {
namespace {

const std::string kLibrary = NAMDB_TEST_PROCEDURES;

}  // namespace

TEST_CASE("a library adds its procedures, once", "[library]") {
  ProcedureRegistry registry;
  REQUIRE(load_library(kLibrary, registry).ok());
  REQUIRE(registry.find("transfer") != nullptr);
  CHECK(registry.find("transfer")->parameters.size() == 3);
  CHECK(registry.find("nosuch") == nullptr);
  const Status again = load_library(kLibrary, registry);
  CHECK(again.code() == ErrorCode::configuration);
  CHECK(again.message().find("defined twice") != std::string::npos);
}

TEST_CASE("a file that is no procedure library is refused with its path and the reason", "[library]") {
  ProcedureRegistry registry;
  const auto refused = [&](const std::string& path) {
    const Status status = load_library(path, registry);
    CHECK(status.code() == ErrorCode::configuration);
    CHECK(status.message().find(path) != std::string::npos);
    return status.message();
  };
  CHECK(refused("/no/such/library.so").find("no such file") != std::string::npos);
  CHECK(refused("libc.so.6").find("no such file") != std::string::npos);
  const std::filesystem::path text = std::filesystem::temp_directory_path() / "namdb_library_test.txt";
  std::ofstream(text) << "no library";
  refused(text.string());
  std::filesystem::remove(text);
  CHECK(refused(NAMDB_OTHER_LIBRARY).find("namdb_procedure_abi_version") != std::string::npos);
  CHECK(registry.all().empty());
}

TEST_CASE("definitions that cannot be used are not added", "[library]") {
  ProcedureRegistry registry;
  registry.add({.name = "empty", .parameters = {}, .results = {}, .tables = {}, .run = nullptr});
  CHECK(registry.take_status().code() == ErrorCode::configuration);
  CHECK(registry.take_status().ok());
  CHECK(registry.all().empty());
}

}  // namespace namdb::procedure
