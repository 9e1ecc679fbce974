// A scene with tables of all types, an index, a sequence, views, functions, procedures, foreign keys, and
// roles. An input finds it as it was made, whatever inputs came before.
#pragma once

#include "tools/fuzz/scene.h"

namespace namdb::fuzz {

// For one input. No task runs in it any more when the input is done.
Scene& untouched_scene();

}  // namespace namdb::fuzz
