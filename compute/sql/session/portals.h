// The portals of a session, by their names, with the cursors among them. Portals that have ended stay until
// they are swept: the statement that ends them may run in one. Belongs to its session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "compute/sql/execute/portal.h"

namespace namdb::sql {

// The most bytes in one session of its portals' parameters and its cursors' texts.
inline constexpr std::size_t kMaxPortal_bytes = 64 << 20;

class Portals {
 public:
  using Named = std::map<std::string, Portal, std::less<>>;

  Portal& unnamed() { return unnamed_; }
  const Portal& unnamed() const { return unnamed_; }
  Named& named() { return named_; }
  const Named& named() const { return named_; }

  // Null: there is none of that name that can be used. Empty: the unnamed one.
  Portal* find(std::string_view name);
  const Portal* find(std::string_view name) const;
  // One that cannot be used yet. out_of_memory: there are too many. `running` stays; may be null.
  Result<Portal*> make(std::string_view name, const Portal* running);
  void close(std::string_view name);
  // Forgets portals that have ended. `running` stays.
  void sweep(const Portal* running);

  // Whether the session may have so many bytes more in named portals.
  bool has_room(std::size_t size_bytes) const { return size_bytes <= kMaxPortal_bytes - bytes_; }
  // From now on the named portal counts for so many bytes.
  void count(Portal& portal, std::size_t size_bytes);
  // The number of the next one, and of the last one.
  std::uint64_t next_number() { return ++made_; }
  std::uint64_t last_number() const { return made_; }
  // Ends the portals that were made later.
  void end_later(std::uint64_t number);
  // After a commit: of cursors WITH HOLD.
  void mark_held();

 private:
  Portal unnamed_;
  Named named_;
  std::size_t bytes_ = 0;
  std::uint64_t made_ = 0;
};

}  // namespace namdb::sql
