// A workload from a file: one of those that there are, with other numbers.
//
//   {"workload": "register", "size": {"keys": 4, "clients": 5}, "write_probability": 0.8, "absent_keys": 2}
#pragma once

#include <string>

#include "tools/namsim/scenario/scenario.h"

namespace namdb::sim {

struct WorkloadFile {
  std::string workload;
  Size size;
  WorkloadOptions options;  // without keys, which is of the size

  // Error configuration: the file's name, the field and its fault. A field that is not given has the value
  // that the seed draws.
  static Result<WorkloadFile> parse(const std::string& json, const std::string& file);
  static Result<WorkloadFile> read(const std::string& file);
  // Takes over what the file gives.
  void apply(Scenario& scenario) const;

 private:
  std::string json_;
};

}  // namespace namdb::sim
