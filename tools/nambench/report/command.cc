#include "tools/nambench/report/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace namdb::nambench {

int fail(const Status& status) {
  std::fprintf(stderr, "nambench: %s\n", status.message().c_str());
  if (!status.hint().empty()) std::fprintf(stderr, "  %s\n", status.hint().c_str());
  switch (status.code()) {
    case ErrorCode::invalid_parameter_value:
      return kUsage;
    case ErrorCode::connection_failure:
    case ErrorCode::configuration:
      return kEnvironment;
    default:
      return kFailed;
  }
}

void add_common(CLI::App& command, Common& common) {
  command.add_flag("--json", common.json, "Print one JSON object instead of tables");
  command.add_flag("--quiet", common.quiet, "No progress on standard error");
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace namdb::nambench
