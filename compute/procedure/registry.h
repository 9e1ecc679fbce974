// All procedures that this compute server can CALL, by name. Filled at start, by loaded libraries and by the
// composition root; afterwards it is only read, by any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "compute/procedure/procedure.h"

namespace namdb::procedure {

class ProcedureRegistry final : public Registry {
 public:
  // A definition that cannot be used (no name, no function, a name that is taken) is not added; take_status()
  // reports the first one.
  void add(Definition definition) override;

  // Null when no procedure has that name.
  std::shared_ptr<const Definition> find(std::string_view name) const;
  const std::map<std::string, std::shared_ptr<const Definition>, std::less<>>& all() const {
    return definitions_;
  }

  // The error of the first definition that was refused since the last call; ok if there was none.
  Status take_status() { return std::exchange(status_, Status()); }

 private:
  std::map<std::string, std::shared_ptr<const Definition>, std::less<>> definitions_;
  Status status_;
};

}  // namespace namdb::procedure
