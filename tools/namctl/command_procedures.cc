#include "tools/namctl/command_procedures.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compute/procedure/declared_pieces.h"
#include "compute/procedure/library.h"
#include "tools/namctl/chopping_view.h"
#include "tools/namctl/dev_settings.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

std::vector<std::string> libraries_of(const ProceduresFlags& flags) {
  if (!flags.libraries.empty()) return flags.libraries;
  return {workloads_library().string()};
}

int fail(const Output& output, const Status& status, int exit_code) {
  report_error(output, status);
  return exit_code;
}

int list(const Output& output, const procedure::ProcedureRegistry& registry) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& [name, definition] : registry.all()) {
    std::string parameters;
    for (const procedure::Parameter& each : definition->parameters)
      parameters += (parameters.empty() ? "" : ", ") + each.name;
    output.line(name + "(" + parameters + ")");
    all.push_back({{"procedure", name}, {"tables", definition->tables}});
  }
  output.document({{"procedures", std::move(all)}});
  return kExitOk;
}

Status write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (file) return {};
  return Status(ErrorCode::configuration, "cannot write " + path);
}

}  // namespace

int run_procedures(const ProceduresFlags& flags, bool json) {
  const Output output(json);
  procedure::ProcedureRegistry registry;
  procedure::DeclaredPieces choppings;
  for (const std::string& library : libraries_of(flags)) {
    Status status = load_library(library, registry);
    if (status.ok()) status = load_pieces(library, choppings);
    if (!status.ok()) return fail(output, status, kExitEnvironment);
  }
  if (!flags.chopping) return list(output, registry);
  for (const procedure::Chopping& chopping : choppings.all()) {
    if (registry.find(chopping.procedure) != nullptr) continue;
    return fail(output,
                Status(ErrorCode::undefined_object,
                       "there are pieces of procedure \"" + chopping.procedure + "\", which is not there"),
                kExitUsage);
  }
  const auto graph = procedure::chop(choppings.all(),
                                     {.commutativity = !flags.traditional, .reordering = !flags.traditional});
  if (!graph.ok()) return fail(output, graph.status(), kExitUsage);
  for (const std::string& line : to_lines(*graph)) output.line(line);
  if (!flags.svg.empty()) {
    if (Status status = write_file(flags.svg, to_svg(*graph)); !status.ok())
      return fail(output, status, kExitEnvironment);
  }
  output.document(to_json(*graph));
  return kExitOk;
}

}  // namespace namdb::namctl
