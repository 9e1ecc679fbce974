#include "tools/support/workload/workload_definitions.h"

#include <utility>

#include "workloads/procedures.h"

namespace namdb::support {
namespace {

class Collector : public procedure::Registry {
 public:
  void add(procedure::Definition definition) override {
    std::string name = definition.name;
    definitions.emplace(std::move(name), std::move(definition));
  }
  Definitions definitions;
};

}  // namespace

const Definitions& workload_definitions() {
  static const Definitions kDefinitions = [] {
    Collector collector;
    workloads::register_all(collector);
    return std::move(collector.definitions);
  }();
  return kDefinitions;
}

}  // namespace namdb::support
