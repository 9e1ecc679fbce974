// A comparison as a folder: report.md with its tables, the pictures that it shows, and report.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/base/error.h"
#include "tools/nambench/comparison/compare_plan.h"

namespace namdb::nambench {

struct Picture {
  std::string file;
  std::string svg;
};

struct CompareReport {
  std::string markdown;
  std::vector<Picture> pictures;
};

// The report on a plan whose trials have been run. `preface`: how they were run, for people.
CompareReport compare_report(const ComparePlan& plan, const std::string& preface);
nlohmann::ordered_json to_json(const ComparePlan& plan);

// Creates the folder if it is not there. Error configuration: it cannot be written.
Status prepare_folder(const std::string& folder);
Status write_file(const std::string& folder, const std::string& file, const std::string& text);

}  // namespace namdb::nambench
