// All procedures that this compute server can CALL, by name. Filled at start, by loaded libraries and by the
// composition root; after that it is only read, from any thread.
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
  // A definition that cannot be used (no name, no function, a name that is taken) is not added; status()
  // tells of the first one.
  void add(Definition definition) override;

  // Null when there is none of that name.
  std::shared_ptr<const Definition> find(std::string_view name) const;
  const std::map<std::string, std::shared_ptr<const Definition>, std::less<>>& all() const {
    return definitions_;
  }

  // Ok until a definition was refused; forgets the refusal.
  Status take_status() { return std::exchange(status_, Status()); }

 private:
  std::map<std::string, std::shared_ptr<const Definition>, std::less<>> definitions_;
  Status status_;
};

}  // namespace namdb::procedure
