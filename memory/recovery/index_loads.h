// Keys of indexes that cross servers while the memory servers open after a restart: an index is split into
// parts by its own keys, a table by its primary keys. Each server sends its rows' keys to the servers with
// the index parts (common/calls/index_load_calls.h), at least a last request for every index and server. It
// writes the pages of its own part when all others have sent their last request.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/calls/index_load_calls.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/recovery/key_runs.h"

namespace namdb::memory {

// Keys that come in from the other servers, in one round of an opening: an opening that failed somewhere
// begins another, and keys that were under way then are refused.
class IndexLoads {
 public:
  IndexLoads(reactor::Executor& executor, std::uint16_t server_id, std::uint16_t server_count,
             std::uint64_t round = 0)
      : server_id_(server_id), server_count_(server_count), round_(round), changed_(executor) {}

  std::uint64_t round() const { return round_; }

  // INDEX_LOAD: outside input. Errors protocol_violation; corrupt_data where a request is missing;
  // cannot_connect_now where it is another round's.
  Status receive(std::string_view request);
  // Resumes when all other servers have sent their last keys of the index. Error cannot_connect_now after
  // stop().
  reactor::Task<Status> complete(std::uint32_t index);
  void stop();
  // The keys that came for the index. They stay until forget().
  std::vector<const KeyRuns*> runs(std::uint32_t index) const;
  void forget(std::uint32_t index) { incoming_.erase(index); }

 private:
  struct Incoming {
    std::uint32_t next = 0;  // the number of the sender's next request
    bool last = false;
    KeyRuns keys;
  };
  bool is_complete(std::uint32_t index) const;

  std::uint16_t server_id_;
  std::uint16_t server_count_;
  std::uint64_t round_;
  bool stopped_ = false;
  std::map<std::uint32_t, std::map<std::uint16_t, Incoming>> incoming_;  // by index and sender
  reactor::Event changed_;
};

// The requests with which one server's keys of an index go to another, in order.
class IndexLoadRequests {
 public:
  // `keys` are finished and stay.
  IndexLoadRequests(std::uint32_t index, std::uint16_t sender, std::uint64_t round, const KeyRuns& keys)
      : index_(index), sender_(sender), round_(round), keys_({&keys}) {}

  // nullopt behind the last.
  std::optional<std::string> next();

 private:
  std::uint32_t index_;
  std::uint16_t sender_;
  std::uint64_t round_;
  KeyMerge keys_;
  std::uint32_t number_ = 0;
  bool sent_last_ = false;
};

}  // namespace namdb::memory
