// The pieces that libraries have declared (chopping.h), by procedure.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/procedure/chopping.h"

namespace namdb::procedure {

class DeclaredPieces final : public Choppings {
 public:
  void add(Chopping chopping) override { all_.push_back(std::move(chopping)); }
  const std::vector<Chopping>& all() const { return all_; }
  // Null: none are declared for that procedure.
  const Chopping* find(std::string_view procedure) const {
    const auto found = std::ranges::find(all_, procedure, &Chopping::procedure);
    return found == all_.end() ? nullptr : &*found;
  }

 private:
  std::vector<Chopping> all_;
};

}  // namespace namdb::procedure
