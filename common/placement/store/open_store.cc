#include "common/placement/store/open_store.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "common/placement/store/etcd_store.h"
#include "common/placement/store/file_store.h"
#include "common/placement/store/threaded_store.h"

namespace namdb::placement {
namespace {

constexpr std::string_view kFile = "file:";
constexpr std::string_view kEtcd = "etcd://";
constexpr std::size_t kMaxName_bytes = 128;
constexpr std::string_view kNameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

Status wrong_store(const std::string& message) {
  return Status(ErrorCode::configuration, message);
}

bool is_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) return false;
  // Of a URL nothing else.
  return text.find_first_of("/@?#% ") == std::string_view::npos &&
         text.substr(colon + 1).find_first_not_of("0123456789") == std::string_view::npos;
}

Result<std::unique_ptr<BlockingStore>> make_etcd(std::string_view rest, const StoreOptions& options) {
  EtcdOptions etcd;
  const std::size_t slash = rest.find('/');
  std::string_view endpoints = rest.substr(0, slash);
  if (slash != std::string_view::npos) etcd.name = rest.substr(slash + 1);
  while (true) {
    const std::size_t comma = endpoints.find(',');
    const std::string_view endpoint = endpoints.substr(0, comma);
    if (!is_endpoint(endpoint))
      return wrong_store("etcd://HOST:PORT[,HOST:PORT...]/NAME has hosts with ports, not \"" +
                         std::string(endpoint) + "\"");
    etcd.endpoints.emplace_back(endpoint);
    if (comma == std::string_view::npos) break;
    endpoints.remove_prefix(comma + 1);
  }
  if (etcd.name.empty() || etcd.name.size() > kMaxName_bytes ||
      etcd.name.find_first_not_of(kNameBytes) != std::string::npos) {
    return wrong_store(
        "etcd://HOST:PORT[,HOST:PORT...]/NAME ends with the cluster's name: letters, digits, dots, hyphens "
        "and underscores");
  }
  if (options.tls.certificate.empty() != options.tls.key.empty())
    return wrong_store("a certificate for etcd and its key go together");
  if (options.tls.authority.empty() && !options.tls.certificate.empty())
    return wrong_store("a certificate for etcd needs the authority that etcd's own is from");
  etcd.tls = options.tls;
  etcd.user_file = options.user_file;
  return std::unique_ptr<BlockingStore>(std::make_unique<EtcdStore>(std::move(etcd)));
}

}  // namespace

Result<std::unique_ptr<BlockingStore>> make_store(const StoreOptions& options) {
  const std::string_view location = options.location;
  if (location.starts_with(kEtcd)) return make_etcd(location.substr(kEtcd.size()), options);
  if (!location.starts_with(kFile) || location.size() == kFile.size()) {
    return wrong_store(
        "a configuration store is file:FOLDER or etcd://HOST:PORT[,HOST:PORT...]/NAME, not \"" +
        options.location + "\"");
  }
  if (!options.tls.authority.empty() || !options.tls.certificate.empty() || !options.tls.key.empty() ||
      !options.user_file.empty())
    return wrong_store("certificates and users are for etcd, and the configuration store is a folder");
  std::string folder = std::filesystem::absolute(location.substr(kFile.size())).lexically_normal().string();
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return std::unique_ptr<BlockingStore>(std::make_unique<FileStore>(std::move(folder)));
}

Result<std::unique_ptr<ConfigurationStore>> open_store(reactor::Reactor& reactor,
                                                       const StoreOptions& options) {
  auto made = make_store(options);
  if (!made.ok()) return made.status();
  return std::unique_ptr<ConfigurationStore>(std::make_unique<ThreadedStore>(reactor, std::move(*made)));
}

}  // namespace namdb::placement
