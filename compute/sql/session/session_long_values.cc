// Long values that no row has any more.
#include <string>
#include <utility>
#include <vector>

#include "compute/sql/execute/long_value_rows.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

constexpr std::size_t kErasedAtOnce = 256;
constexpr std::uint32_t kEraseAttempts = 64;

}  // namespace

Task<Status> Session::erase_long_values(std::vector<std::string> places, ResultSink& sink) {
  for (std::size_t first = 0; first < places.size(); first += kErasedAtOnce) {
    for (std::uint32_t attempt = 1;; ++attempt) {
      const std::unique_ptr<txn::Transaction> eraser = begin();
      Portal scratch;
      Run run = make_run(eraser.get(), scratch, sink);
      for (std::size_t i = first; i < std::min(places.size(), first + kErasedAtOnce); ++i)
        run.long_values.note_gone(places[i]);
      Status status = co_await commit_long_values(&run);
      if (status.ok()) break;
      if (!status.info().retry || attempt == kEraseAttempts) co_return status;
      co_await engine_.backoff(attempt);
    }
  }
  co_return Status();
}

}  // namespace namdb::sql
