// The database that statements and connections of fuzz targets meet: the test engine, on a clock of turns.
#pragma once

#include "compute/procedure/registry.h"
#include "compute/sql/testing/fake_engine.h"
#include "tools/fuzz/executor.h"

namespace namdb::fuzz {

struct Scene {
  SteppedExecutor executor;
  sql::testing::FakeEngine engine{executor};
  procedure::ProcedureRegistry procedures;
};

}  // namespace namdb::fuzz
