// Lists for the isolation checker: a row holds numbers joined by commas; clients read some of them and append
// to some, now and then twice, and look at what they wrote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/namsim/workloads/row_workload.h"

namespace namdb::sim {

// "4,9" and back; an error for any other text.
std::string list_text(const std::vector<history::Version>& list);
Result<std::vector<history::Version>> parse_list(std::string_view text);

layout::Schema list_schema();

class AppendWorkload : public RowWorkload {
 public:
  using RowWorkload::RowWorkload;
  // Characters of a list; full lists are only read.
  static constexpr std::uint32_t kList_bytes = 240;

 protected:
  layout::Schema schema() const override;
  Status fill(layout::RowWriter row) const override;
  Result<history::Operation> read(std::uint64_t key, layout::RowView row) const override;
  Status write(txn::Transaction& transaction, const Reads& reads, std::size_t record) override;
};

}  // namespace namdb::sim
