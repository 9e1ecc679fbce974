// A configuration store in etcd: one key, by etcd's JSON gateway (/v3/kv). The value is text
// (stored_text.h), and its revision is the key's mod_revision, which no later value has again.
//
// Endpoints are asked in turn, each for a second at most, beginning with the one that answered last. If an
// endpoint may have made a change and did not answer, the change is sent to the next endpoint as well: both
// make it only at the same revision. If the next one refuses it, the first may or may not have made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/placement/store/blocking_store.h"
#include "common/placement/store/https.h"

namespace namdb::placement {

struct EtcdOptions {
  std::vector<std::string> endpoints;  // HOST:PORT
  std::string name;                    // the key is /namdb/NAME/configuration
  TlsFiles tls;
  std::string user_file;  // one line, USER:PASSWORD; empty: without
};

class EtcdStore final : public BlockingStore {
 public:
  explicit EtcdStore(EtcdOptions options);

  std::string name() const override;
  Result<ConfigurationStore::Stored> read() override;
  Result<bool> replace(std::uint64_t revision, const Configuration& next) override;

 private:
  // The outcome of one call, at all endpoints together.
  struct Outcome {
    std::string body;     // etcd's answer
    Status status;        // why there is none
    bool unsure = false;  // an endpoint before may have done it
  };
  enum class Verdict : std::uint8_t { answered, refused, next, authenticate };

  Outcome call(const std::string& path, const std::string& body);
  // At one endpoint. Everything but `answered` has an error in `outcome`.
  Verdict call_at(const std::string& endpoint, const std::string& path, const std::string& body,
                  Outcome* outcome);
  Verdict verdict_of(const std::string& endpoint, HttpAnswer answer, Outcome* outcome) const;
  Verdict authenticate(const std::string& endpoint, Outcome* outcome);

  EtcdOptions options_;
  std::string key_;
  std::size_t preferred_ = 0;
  std::string token_;
};

}  // namespace namdb::placement
