// Entries of indexes: no worker calls an entry dead while a commit that adds it may still run.
#include "common/calls/index_calls.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

// Memory servers are not told which changes go ahead of their locks.
class AheadForgotten final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t /*server*/, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    if (method != calls::kIndexWriteMethod) co_return co_await inner->on_call(peer, method, request, *reply);
    const auto changes = calls::decode_index_changes(request);
    std::string altered;
    for (std::size_t i = 0; i < changes->size(); ++i) {
      calls::IndexChange change = (*changes)[i];
      change.ahead = false;
      append(altered, change);
    }
    co_return co_await inner->on_call(peer, method, altered, *reply);
  }
};

}  // namespace

std::vector<MutantCase> index_mutants() {
  return {
      {"others look at an entry whose commit may not have its locks", "memory/index/doubts.cc",
       IndexTrouble::none, 33, "entries for", make_mutant<AheadForgotten>},
  };
}

}  // namespace namdb::sim
