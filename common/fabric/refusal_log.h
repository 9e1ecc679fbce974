// The lines of a server's log about refused connections. The first refusal of an address is logged at once;
// after that each address gets at most a line a second, with the number of refusals that the line stands for.
// So a stranger that connects again and again costs no more log than one that connects once a second.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::fabric {

class RefusalLog {
 public:
  using LogLine = std::function<void(const std::string&)>;

  RefusalLog(reactor::Executor& executor, LogLine log);

  // `peer` is HOST:PORT, of which the host counts, or anything else by which peers are told apart.
  void refuse(const std::string& peer, const std::string& reason);
  // Says what is left to say. Nothing is refused after it.
  reactor::Task<void> close();

 private:
  struct Address {
    std::uint64_t quiet_until_ns;
    std::uint64_t left_out = 0;
    std::string last_reason;
  };

  reactor::Task<void> tell_later();
  // Logs the refusals of addresses whose second is over; with `all`, of all addresses.
  void tell(bool all);

  reactor::Executor& executor_;
  LogLine log_;
  std::map<std::string, Address> addresses_;
  bool telling_ = false;
  reactor::Gate gate_;
  reactor::Event closing_;
};

}  // namespace namdb::fabric
