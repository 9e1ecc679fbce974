#include "common/placement/store/https.h"

#include <curl/curl.h>

#include <memory>
#include <mutex>

#include "common/base/check.h"

namespace namdb::placement {
namespace {

constexpr std::size_t kMaxAnswer_bytes = 16U << 20;

struct EndHandle {
  void operator()(CURL* handle) const { ::curl_easy_cleanup(handle); }
};
struct EndList {
  void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};
using Handle = std::unique_ptr<CURL, EndHandle>;
using List = std::unique_ptr<curl_slist, EndList>;

std::size_t keep_body(char* bytes, std::size_t one, std::size_t count, void* body) {
  std::string& kept = *static_cast<std::string*>(body);
  if (kept.size() + one * count > kMaxAnswer_bytes) return 0;  // ends the transfer
  kept.append(bytes, one * count);
  return one * count;
}

int look_whether_to_stop(void* stopping, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(stopping)->load() ? 1 : 0;
}

void add_header(List& list, const std::string& line) {
  curl_slist* const longer = ::curl_slist_append(list.get(), line.c_str());
  NAMDB_CHECK(longer != nullptr);
  static_cast<void>(list.release());
  list.reset(longer);
}

void set_tls(CURL* handle, const TlsFiles& tls) {
  ::curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  ::curl_easy_setopt(handle, CURLOPT_CAINFO, tls.authority.c_str());
  ::curl_easy_setopt(handle, CURLOPT_CAPATH, nullptr);
  if (tls.certificate.empty()) return;
  ::curl_easy_setopt(handle, CURLOPT_SSLCERT, tls.certificate.c_str());
  ::curl_easy_setopt(handle, CURLOPT_SSLKEY, tls.key.c_str());
}

// The request cannot have come to the server.
bool before_sending(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
      return true;
    default:
      return false;
  }
}

bool certificates_do_not_fit(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM ||
         code == CURLE_SSL_CACERT_BADFILE;
}

}  // namespace

HttpAnswer post(const HttpRequest& request, const TlsFiles& tls, const std::atomic<bool>& stopping) {
  static std::once_flag once;
  std::call_once(once, [] { NAMDB_CHECK(::curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); });
  const Handle handle(::curl_easy_init());
  NAMDB_CHECK(handle != nullptr);
  CURL* const curl = handle.get();
  HttpAnswer answer;
  char error[CURL_ERROR_SIZE] = {};
  List headers;
  add_header(headers, "Content-Type: application/json");
  add_header(headers, "Expect:");
  if (!request.authorization.empty()) add_header(headers, "Authorization: " + request.authorization);
  const std::string url = (tls.authority.empty() ? "http://" : "https://") + request.endpoint + request.path;
  ::curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, tls.authority.empty() ? "http" : "https");
  ::curl_easy_setopt(curl, CURLOPT_PROXY, "");
  ::curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
  ::curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
  ::curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.patience_ms));
  ::curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  ::curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  ::curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
  ::curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_body);
  ::curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
  ::curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  ::curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_whether_to_stop);
  ::curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &stopping);
  ::curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
  if (!tls.authority.empty()) set_tls(curl, tls);
  const CURLcode code = ::curl_easy_perform(curl);
  if (code != CURLE_OK) {
    answer.error = error[0] != '\0' ? error : ::curl_easy_strerror(code);
    answer.sent = !before_sending(code);
    answer.refuses = certificates_do_not_fit(code);
    return answer;
  }
  long status = 0;
  ::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return answer;
}

}  // namespace namdb::placement
