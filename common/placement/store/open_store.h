// The configuration store that a process is told of: file:FOLDER, or etcd://HOST:PORT[,HOST:PORT...]/NAME.
#pragma once

#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/placement/configuration_store.h"
#include "common/placement/store/blocking_store.h"
#include "common/placement/store/https.h"
#include "common/reactor/reactor.h"

namespace namdb::placement {

struct StoreOptions {
  std::string location;
  // With etcd.
  TlsFiles tls;
  std::string user_file;
};

// Nothing is opened or asked yet. Error configuration: the options are wrong.
Result<std::unique_ptr<BlockingStore>> make_store(const StoreOptions& options);
// The same on a thread of its own, which it has from now on. The reactor outlives it.
Result<std::unique_ptr<ConfigurationStore>> open_store(reactor::Reactor& reactor,
                                                       const StoreOptions& options);

}  // namespace namdb::placement
