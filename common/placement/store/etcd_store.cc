#include "common/placement/store/etcd_store.h"

#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/placement/store/stored_text.h"
#include "common/reactor/system_error.h"

namespace namdb::placement {
namespace {

using EtcdJson = nlohmann::json;

// Of gRPC, as etcd's gateway tells them.
constexpr std::int64_t kInvalidArgument = 3;
constexpr std::int64_t kResourceExhausted = 8;
constexpr std::int64_t kUnauthenticated = 16;
constexpr std::size_t kMaxUserFile_bytes = 4096;

std::string base64_of_text(std::string_view text) {
  return absl::Base64Escape({text.data(), text.size()});
}

// The gateway writes 64-bit numbers as text. 0: it is not there, which is how it writes 0.
std::uint64_t etcd_number(const EtcdJson& json, const char* key) {
  const auto found = json.find(key);
  std::uint64_t number = 0;
  if (found == json.end() || !found->is_string() || !absl::SimpleAtoi(found->get<std::string>(), &number))
    return 0;
  return number;
}

std::string etcd_text(const EtcdJson& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

struct Credentials {
  std::string user;
  std::string password;
};

Result<Credentials> read_credentials(const std::string& path) {
  const std::string what = "etcd's user in " + path;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return reactor::system_error(ErrorCode::configuration, what, errno);
  struct stat info{};
  std::string text(kMaxUserFile_bytes, '\0');
  const bool known = ::fstat(descriptor, &info) == 0;
  const ssize_t length = ::read(descriptor, text.data(), text.size());
  ::close(descriptor);
  if (!known || !S_ISREG(info.st_mode) || length < 0)
    return Status(ErrorCode::configuration, what + " cannot be read");
  if ((info.st_mode & 077) != 0 || (info.st_uid != ::geteuid() && info.st_uid != 0)) {
    return Status(ErrorCode::configuration, what + " can be read by others than its owner",
                  "chmod 0600 " + path);
  }
  text.resize(static_cast<std::size_t>(length));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == std::string::npos || text.find('\n') != std::string::npos)
    return Status(ErrorCode::configuration, what + " is not one line USER:PASSWORD");
  return Credentials{text.substr(0, colon), text.substr(colon + 1)};
}

EtcdJson range_of(const std::string& key) {
  return {{"key", base64_of_text(key)}};
}

}  // namespace

EtcdStore::EtcdStore(EtcdOptions options)
    : options_(std::move(options)), key_("/namdb/" + options_.name + "/configuration") {}

std::string EtcdStore::name() const {
  std::string text = "etcd://";
  for (const std::string& endpoint : options_.endpoints) {
    if (!text.ends_with('/')) text += ',';
    text += endpoint;
  }
  return text + "/" + options_.name;
}

EtcdStore::Verdict EtcdStore::verdict_of(const std::string& endpoint, HttpAnswer answer,
                                         Outcome* outcome) const {
  const auto fail = [&](ErrorCode code, const std::string& why) {
    outcome->status = Status(code, "etcd at " + endpoint + ": " + why);
    return code == ErrorCode::configuration ? Verdict::refused : Verdict::next;
  };
  if (answer.status == 0) {
    outcome->unsure = outcome->unsure || answer.sent;
    return fail(answer.refuses ? ErrorCode::configuration : ErrorCode::connection_failure, answer.error);
  }
  const EtcdJson json = EtcdJson::parse(answer.body, nullptr, false);
  if (answer.status == 200 && json.is_object()) {
    outcome->body = std::move(answer.body);
    return Verdict::answered;
  }
  if (!json.is_object() || answer.status == 200 || answer.status == 404) {
    return fail(ErrorCode::configuration,
                "status " + std::to_string(answer.status) + ", so it is no etcd, or older than 3.4");
  }
  std::string message = etcd_text(json, "message");
  if (message.empty()) message = etcd_text(json, "error");
  const auto code = json.find("code");
  const std::int64_t number = code != json.end() && code->is_number_integer() ? code->get<std::int64_t>() : 0;
  // The token has expired, or etcd started anew, or its users have changed.
  if (number == kUnauthenticated ||
      (number == kInvalidArgument && message.find("auth store is old") != std::string::npos)) {
    fail(ErrorCode::configuration, message);
    return Verdict::authenticate;
  }
  if (number == kResourceExhausted) return fail(ErrorCode::connection_failure, message);
  // It is not sure itself.
  if (answer.status >= 500) {
    outcome->unsure = true;
    return fail(ErrorCode::connection_failure, message);
  }
  return fail(ErrorCode::configuration, message);
}

EtcdStore::Verdict EtcdStore::authenticate(const std::string& endpoint, Outcome* outcome) {
  const auto credentials = read_credentials(options_.user_file);
  if (!credentials.ok()) {
    outcome->status = credentials.status();
    return Verdict::refused;
  }
  const EtcdJson body = {{"name", credentials.value().user}, {"password", credentials.value().password}};
  HttpRequest request;
  request.endpoint = endpoint;
  request.path = "/v3/auth/authenticate";
  request.body = body.dump(-1, ' ', false, EtcdJson::error_handler_t::replace);
  Outcome told;
  const Verdict verdict = verdict_of(endpoint, post(request, options_.tls, stopping()), &told);
  if (verdict != Verdict::answered) {
    outcome->status = told.status;
    return verdict == Verdict::authenticate ? Verdict::refused : verdict;
  }
  token_ = etcd_text(EtcdJson::parse(told.body, nullptr, false), "token");
  return Verdict::answered;
}

EtcdStore::Verdict EtcdStore::call_at(const std::string& endpoint, const std::string& path,
                                      const std::string& body, Outcome* outcome) {
  Verdict verdict = Verdict::authenticate;
  for (int attempt = 0; attempt < 2 && verdict == Verdict::authenticate; ++attempt) {
    if (!options_.user_file.empty() && token_.empty()) {
      const Verdict known = authenticate(endpoint, outcome);
      if (known != Verdict::answered) return known;
    }
    HttpRequest request;
    request.endpoint = endpoint;
    request.path = path;
    request.authorization = token_;
    request.body = body;
    verdict = verdict_of(endpoint, post(request, options_.tls, stopping()), outcome);
    if (verdict == Verdict::authenticate) token_.clear();
  }
  return verdict == Verdict::authenticate ? Verdict::refused : verdict;
}

EtcdStore::Outcome EtcdStore::call(const std::string& path, const std::string& body) {
  Outcome outcome;
  std::optional<Status> away;  // of one that may be there later
  for (std::size_t i = 0; i < options_.endpoints.size() && !stopping(); ++i) {
    const std::size_t asked = (preferred_ + i) % options_.endpoints.size();
    const Verdict verdict = call_at(options_.endpoints[asked], path, body, &outcome);
    if (verdict == Verdict::answered) {
      preferred_ = asked;
      outcome.status = Status();
      return outcome;
    }
    if (verdict == Verdict::next) away = outcome.status;
  }
  if (away) outcome.status = *away;
  if (outcome.status.ok()) outcome.status = Status(ErrorCode::connection_failure, name() + " was not asked");
  return outcome;
}

Result<ConfigurationStore::Stored> EtcdStore::read() {
  const Outcome outcome = call("/v3/kv/range", range_of(key_).dump());
  if (!outcome.status.ok()) return outcome.status;
  const EtcdJson json = EtcdJson::parse(outcome.body, nullptr, false);
  const auto pairs = json.find("kvs");
  if (pairs == json.end() || !pairs->is_array() || pairs->empty()) return ConfigurationStore::Stored();
  const EtcdJson& pair = pairs->front();
  const std::uint64_t revision = etcd_number(pair, "mod_revision");
  std::string text;
  if (revision == 0 || !absl::Base64Unescape(etcd_text(pair, "value"), &text))
    return Status(ErrorCode::configuration, name() + " has answered with something else than its value");
  auto configuration = read_stored(text);
  if (configuration.ok()) return ConfigurationStore::Stored{revision, std::move(*configuration)};
  const Status& status = configuration.status();
  return Status(status.code(), name() + ", key " + key_ + ": " + status.message(), status.hint());
}

Result<bool> EtcdStore::replace(std::uint64_t revision, const Configuration& next) {
  const auto text = write_stored(next);
  if (!text.ok()) return text.status();
  EtcdJson compare = {{"key", base64_of_text(key_)}, {"result", "EQUAL"}};
  compare["target"] = revision == 0 ? "CREATE" : "MOD";
  compare[revision == 0 ? "create_revision" : "mod_revision"] = std::to_string(revision);
  EtcdJson put = range_of(key_);
  put["value"] = base64_of_text(text.value());
  EtcdJson change;
  change["requestPut"] = std::move(put);
  EtcdJson body;
  body["compare"] = EtcdJson::array({std::move(compare)});
  body["success"] = EtcdJson::array({std::move(change)});
  const Outcome outcome = call("/v3/kv/txn", body.dump());
  if (!outcome.status.ok()) {
    // A refusal behind an endpoint that may have done it says nothing about that one.
    if (!outcome.unsure) return outcome.status;
    return Status(ErrorCode::connection_failure, outcome.status.message(), outcome.status.hint());
  }
  const EtcdJson json = EtcdJson::parse(outcome.body, nullptr, false);
  const auto succeeded = json.find("succeeded");
  if (succeeded != json.end() && succeeded->is_boolean() && succeeded->get<bool>()) return true;
  if (!outcome.unsure) return false;
  return Status(ErrorCode::connection_failure, name() + " has not said whether it made a change");
}

}  // namespace namdb::placement
