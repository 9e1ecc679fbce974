#include "compute/sql/session/prepared_statements.h"

#include <utility>

namespace namdb::sql {

std::shared_ptr<PreparedStatement> PreparedStatements::find(std::string_view name) const {
  if (name.empty()) return unnamed_;
  const auto found = named_.find(name);
  return found == named_.end() ? nullptr : found->second;
}

Status PreparedStatements::keep(std::string name, std::shared_ptr<PreparedStatement> prepared,
                                std::int64_t now_us) {
  if (!name.empty() && named_.contains(name)) {
    return Status(ErrorCode::duplicate_prepared_statement,
                  "prepared statement \"" + name + "\" already exists");
  }
  prepared->prepared_us = now_us;
  prepared->memory = MemoryShare(client_memory_);
  if (Status status = prepared->memory.resize(prepared->size_bytes() + name.size()); !status.ok())
    return status;
  prepared->session_bytes = prepared->memory.bytes() + prepared->plan->memory.bytes();
  if (name.empty()) {
    unnamed_ = std::move(prepared);
  } else if (named_.size() >= kMaxPrepared) {
    return Status(ErrorCode::out_of_memory,
                  "a session can have at most " + std::to_string(kMaxPrepared) + " prepared statements",
                  "close those that are no longer needed");
  } else if (prepared->session_bytes > kMaxPrepared_bytes - bytes_) {
    return Status(ErrorCode::out_of_memory,
                  "a session's prepared statements can take at most " + std::to_string(kMaxPrepared_bytes) +
                      " bytes of memory",
                  "close those that are no longer needed");
  } else {
    bytes_ += prepared->session_bytes;
    named_.emplace(std::move(name), std::move(prepared));
  }
  return {};
}

void PreparedStatements::close(std::string_view name) {
  if (name.empty()) {
    unnamed_.reset();
  } else if (const auto found = named_.find(name); found != named_.end()) {
    bytes_ -= found->second->session_bytes;
    named_.erase(found);
  }
}

void PreparedStatements::close_all() {
  named_.clear();
  bytes_ = 0;
}

std::vector<PreparedObject> PreparedStatements::objects() const {
  std::vector<PreparedObject> objects;
  for (const auto& [name, prepared] : named_) {
    objects.push_back({name, prepared->text, prepared->prepared_us, prepared->plan->parameters,
                       prepared->within, prepared->runs});
  }
  return objects;
}

}  // namespace namdb::sql
