#include "compute/sql/session/portals.h"

#include <iterator>
#include <string>

#include "compute/sql/session/prepared_statements.h"

namespace namdb::sql {

Portal* Portals::find(std::string_view name) {
  if (name.empty()) return unnamed_.valid ? &unnamed_ : nullptr;
  const auto found = named_.find(name);
  return found == named_.end() || !found->second.valid ? nullptr : &found->second;
}

const Portal* Portals::find(std::string_view name) const {
  if (name.empty()) return unnamed_.valid ? &unnamed_ : nullptr;
  const auto found = named_.find(name);
  return found == named_.end() || !found->second.valid ? nullptr : &found->second;
}

Result<Portal*> Portals::make(std::string_view name, const Portal* running) {
  if (name.empty()) return &unnamed_;
  if (named_.size() >= kMaxPrepared) sweep(running);
  if (named_.size() >= kMaxPrepared)
    return Status(ErrorCode::out_of_memory,
                  "a session can have at most " + std::to_string(kMaxPrepared) + " portals",
                  "close those that are no longer needed");
  return &named_[std::string(name)];
}

void Portals::close(std::string_view name) {
  if (name.empty()) {
    unnamed_.reset();
  } else if (const auto found = named_.find(name); found != named_.end()) {
    bytes_ -= found->second.size_bytes;
    named_.erase(found);
  }
}

void Portals::sweep(const Portal* running) {
  for (auto portal = named_.begin(); portal != named_.end();) {
    const bool stays = portal->second.valid || &portal->second == running;
    if (!stays) bytes_ -= portal->second.size_bytes;
    portal = stays ? std::next(portal) : named_.erase(portal);
  }
}

void Portals::count(Portal& portal, std::size_t size_bytes) {
  bytes_ = bytes_ - portal.size_bytes + size_bytes;
  portal.size_bytes = size_bytes;
}

void Portals::end_later(std::uint64_t number) {
  for (auto& [name, portal] : named_) {
    if (portal.number > number) portal.end();
  }
  if (unnamed_.number > number) unnamed_.end();
}

void Portals::mark_held() {
  for (auto& [name, portal] : named_) {
    if (portal.as_cursor.holds && portal.valid && !portal.failed) portal.as_cursor.held = true;
  }
}

}  // namespace namdb::sql
