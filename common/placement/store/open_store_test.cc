#include "common/placement/store/open_store.h"

#include <catch2/catch.hpp>

namespace namdb::placement {
namespace open_store_test {

std::string name_of_store(const std::string& location, TlsFiles tls = {}, std::string user_file = {}) {
  StoreOptions options;
  options.location = location;
  options.tls = std::move(tls);
  options.user_file = std::move(user_file);
  const auto store = make_store(options);
  if (store.ok()) return store.value()->name();
  CHECK(store.status().code() == ErrorCode::configuration);
  return "refused: " + store.status().message();
}

bool is_refused(const std::string& location, TlsFiles tls = {}, std::string user_file = {}) {
  return name_of_store(location, std::move(tls), std::move(user_file)).starts_with("refused: ");
}

TEST_CASE("a store is a folder or a name in etcd", "[placement]") {
  CHECK(name_of_store("file:/a/b/") == "file:/a/b");
  CHECK(name_of_store("file:/a/../b") == "file:/b");
  CHECK(name_of_store("file:/") == "file:/");
  CHECK(name_of_store("etcd://e0:2379/bank") == "etcd://e0:2379/bank");
  CHECK(name_of_store("etcd://e0:2379,[::1]:1/b.a-n_k", {"ca", "certificate", "key"}, "user") ==
        "etcd://e0:2379,[::1]:1/b.a-n_k");
}

TEST_CASE("other stores are refused", "[placement]") {
  for (const char* location :
       {"", "file:", "/a/b", "etcd:/e0:2379/bank", "http://e0:2379/bank", "etcd://e0:2379", "etcd://e0:2379/",
        "etcd://e0/bank", "etcd:///bank", "etcd://:2379/bank", "etcd://e0:/bank", "etcd://e0:2379,/bank",
        "etcd://e0:2379/bank/x", "etcd://e0:2379/b nk", "etcd://user@e0:2379/bank", "etcd://e0:x/bank"}) {
    INFO(location);
    CHECK(is_refused(location));
  }
  CHECK(is_refused("etcd://e0:2379/bank", {"ca", "certificate", ""}));
  CHECK(is_refused("etcd://e0:2379/bank", {"ca", "", "key"}));
  CHECK(is_refused("etcd://e0:2379/bank", {"", "certificate", "key"}));
  CHECK(is_refused("file:/a", {"ca", "", ""}));
  CHECK(is_refused("file:/a", {}, "user"));
}

}  // namespace open_store_test
}  // namespace namdb::placement
