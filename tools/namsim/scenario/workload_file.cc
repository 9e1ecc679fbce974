#include "tools/namsim/scenario/workload_file.h"

#include "tools/namsim/scenario/json_fields.h"

namespace namdb::sim {
namespace {

// Reads into `workload`, whose values are those that hold where the file says nothing.
Status take(const nlohmann::json& json, const std::string& file, WorkloadFile& workload) {
  JsonFields fields(json, file);
  fields.text("workload", workload.workload);
  if (!is_workload(workload.workload)) fields.fail("workload", "must be one of " + workload_names());
  if (fields.has("size")) {
    JsonFields sizes(json["size"], file + ": size");
    for (const Size::Field& field : Size::fields())
      sizes.number(field.name, workload.size.*field.value, field.smallest, field.largest);
    const Status status = sizes.finish();
    if (!status.ok()) return status;
  }
  WorkloadOptions& options = workload.options;
  const bool registers = workload.workload == "register";
  fields.number("absent_keys", options.absent_keys, 0, registers ? 1000 : 0);
  fields.number("fewest_keys", options.fewest_keys, 1, 1000);
  fields.number("keys_per_transaction", options.keys_per_transaction, 1, 1000);
  fields.number("most_writes", options.most_writes, 0, 1000);
  fields.probability("write_probability", options.write_probability);
  fields.probability("long_reader_probability", options.long_reader_probability);
  fields.number("pause_ns", options.pause_ns, 0, kSecond_ns);
  if (options.fewest_keys > options.keys_per_transaction)
    fields.fail("fewest_keys", "exceeds keys_per_transaction");
  return fields.finish();
}

}  // namespace

Result<WorkloadFile> WorkloadFile::parse(const std::string& text, const std::string& file) {
  const auto json = parse_json(text, file);
  if (!json.ok()) return json.status();
  WorkloadFile workload;
  const Status status = take(*json, file, workload);
  if (!status.ok()) return status;
  workload.json_ = text;
  return workload;
}

Result<WorkloadFile> WorkloadFile::read(const std::string& file) {
  const Result<std::string> text = read_text_file(file);
  if (!text.ok()) return text.status();
  return parse(*text, file);
}

void WorkloadFile::apply(Scenario& scenario) const {
  WorkloadFile drawn;
  drawn.options = scenario.workload_options;
  const Status status = take(nlohmann::json::parse(json_), "", drawn);
  NAMDB_CHECK(status.ok());  // as before
  scenario.workload_options = drawn.options;
  scenario.resize(drawn.size);
}

}  // namespace namdb::sim
