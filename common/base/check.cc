#include "common/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace namdb {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "namdb: internal error: check failed at %s:%d: %s\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace namdb
