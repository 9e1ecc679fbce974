// The data of COPY TO: rows as text, csv or PostgreSQL's binary form.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compute/sql/copy/copy_options.h"
#include "compute/sql/value/datum.h"
#include "compute/sql/value/time_zone.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

class CopyWriter {
 public:
  CopyWriter(CopyOptions options, std::vector<Type> types, absl::TimeZone zone)
      : options_(std::move(options)), types_(std::move(types)), zone_(zone) {}

  // All append to `out`. The head of the data: of text with a header, the names; of binary, the
  // signature.
  void begin(std::string& out, std::span<const std::string> names);
  void row(std::string& out, std::span<const Datum> values);
  void end(std::string& out) const;

 private:
  void append_field(std::string& out, std::string_view text, bool is_only) const;

  CopyOptions options_;
  std::vector<Type> types_;
  absl::TimeZone zone_;
  std::string scratch_;
};

}  // namespace namdb::sql
