// SAVEPOINT, RELEASE and ROLLBACK TO: parts of a block that can be undone alone.
#include <algorithm>
#include <string>
#include <string_view>

#include "compute/sql/session/session.h"

namespace namdb::sql {
namespace {

Status only_in_blocks(std::string_view command) {
  return Status(ErrorCode::no_active_transaction,
                std::string(command) + " can only be used in transaction blocks");
}

}  // namespace

Status Session::make_savepoint(const std::string& name) {
  if (state_ != State::block) return only_in_blocks("SAVEPOINT");
  ensure_transaction();
  savepoints_.push_back({name, transaction_->savepoint(), settings_, block_read_only_, block_.created.size(),
                         block_.dropped, temporary_.dropped_gone(), portals_.last_number(),
                         deferred_.modes()});
  return {};
}

std::vector<Savepoint>::iterator Session::find_savepoint(const std::string& name) {
  // Of several with one name the last one counts.
  const auto found = std::find_if(savepoints_.rbegin(), savepoints_.rend(),
                                  [&name](const Savepoint& savepoint) { return savepoint.name == name; });
  return found == savepoints_.rend() ? savepoints_.end() : std::prev(found.base());
}

Status Session::release_savepoint(const std::string& name) {
  if (state_ != State::block) return only_in_blocks("RELEASE SAVEPOINT");
  const auto found = find_savepoint(name);
  if (found == savepoints_.end())
    return Status(ErrorCode::undefined_savepoint, "savepoint \"" + name + "\" does not exist");
  savepoints_.erase(found, savepoints_.end());
  return {};
}

reactor::Task<Status> Session::rollback_to_savepoint(std::string name, ResultSink& sink) {
  if (state_ != State::block && state_ != State::failed) co_return only_in_blocks("ROLLBACK TO SAVEPOINT");
  const auto found = find_savepoint(name);
  if (found == savepoints_.end())
    co_return Status(ErrorCode::undefined_savepoint, "savepoint \"" + name + "\" does not exist");
  if (transaction_ != nullptr) {
    // After a conflict there is nothing left to go on with.
    if (Status status = transaction_->rollback_to(found->mark); !status.ok()) co_return status;
  }
  // Those that were there stay where they are: none of the rows that are left to them is undone.
  portals_.end_later(found->portals);
  if (!block_.dropped.empty()) types_.forget();
  block_.exchange_drops(found->dropped);
  Status status = co_await undo_created(found->created, sink);
  temporary_.restore_gone(found->dropped_gone);
  if (!status.ok()) co_return status;
  const Settings before = settings_;
  settings_ = found->settings;
  if (identity_in_block_) rights_.apply_identity();
  block_read_only_ = found->read_only;
  deferred_.modes() = found->deferred;
  for (const std::string_view reported : Settings::reported_names()) {
    if (before.get(reported) != settings_.get(reported))
      sink.setting_changed(reported, *settings_.get(reported));
  }
  savepoints_.erase(std::next(found), savepoints_.end());
  state_ = State::block;
  co_return Status();
}

}  // namespace namdb::sql
