#include "common/metrics/metrics_server.h"

#include <string_view>
#include <utility>

namespace namdb::metrics {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";
// When the process is out of descriptors.
constexpr std::uint64_t kAcceptAgain_ns = 100 * kMillisecond_ns;

std::string response(std::string_view status, std::string_view type, std::string_view body, bool with_body) {
  std::string text = "HTTP/1.1 ";
  text.append(status)
      .append("\r\nContent-Type: ")
      .append(type)
      .append("\r\nContent-Length: ")
      .append(std::to_string(body.size()))
      .append("\r\nConnection: close\r\n\r\n");
  if (with_body) text.append(body);
  return text;
}

// The next word of the request's first line.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

std::string answer_to(std::string_view head, const std::function<std::string()>& page) {
  constexpr std::string_view kText = "text/plain; charset=utf-8";
  std::string_view line = head.substr(0, head.find("\r\n"));
  const std::string_view method = take_word(line);
  const std::string_view target = take_word(line);
  const std::string_view path = target.substr(0, target.find('?'));
  if (!line.starts_with("HTTP/1.")) return response("400 Bad Request", kText, "not HTTP/1\n", true);
  const bool wants_body = method != "HEAD";
  if (method != "GET" && method != "HEAD")
    return response("405 Method Not Allowed", kText, "GET /metrics or GET /health\n", true);
  if (path == "/metrics")
    return response("200 OK", "text/plain; version=0.0.4; charset=utf-8", page(), wants_body);
  if (path == "/health") return response("200 OK", kText, "ok\n", wants_body);
  return response("404 Not Found", kText, "the pages are /metrics and /health\n", wants_body);
}

}  // namespace

struct MetricsServer::Client {
  explicit Client(reactor::Executor& executor) : done(executor) {}
  std::unique_ptr<reactor::ByteStream> stream;
  reactor::Event done;
  bool answered = false;
};

MetricsServer::MetricsServer(reactor::Executor& executor, std::unique_ptr<reactor::StreamListener> listener,
                             std::function<std::string()> page, MetricsServerOptions options)
    : executor_(executor),
      listener_(std::move(listener)),
      page_(std::move(page)),
      options_(options),
      closing_(executor) {}

MetricsServer::~MetricsServer() = default;

reactor::Task<void> MetricsServer::serve() {
  while (!closed_) {
    auto stream = co_await listener_->accept();
    if (closed_) break;
    if (!stream.ok()) {
      if (stream.status().code() == ErrorCode::connection_failure) break;
      co_await closing_.wait_until(executor_.now_ns() + kAcceptAgain_ns);
      continue;
    }
    if (clients_.size() == options_.max_clients) continue;  // the stream's end closes it
    auto client = std::make_shared<Client>(executor_);
    clients_.insert(client.get());
    client->stream = std::move(*stream);
    executor_.spawn(gate_, end_in_time(client));
    executor_.spawn(gate_, answer(client));
  }
  co_await gate_.close();
}

void MetricsServer::close() {
  closed_ = true;
  listener_->close();
  closing_.notify_all();
  for (Client* const client : clients_) client->done.notify_all();
}

// Closes the stream behind the answer, when the time is over, or when the server closes: answer() ends then.
reactor::Task<void> MetricsServer::end_in_time(std::shared_ptr<Client> client) {
  const std::uint64_t deadline_ns = executor_.now_ns() + options_.request_timeout_ns;
  if (!client->answered && !closed_) co_await client->done.wait_until(deadline_ns);
  client->stream->close();
}

reactor::Task<void> MetricsServer::answer(std::shared_ptr<Client> client) {
  reactor::ByteStream& stream = *client->stream;
  std::string request;
  std::size_t end = std::string::npos;
  while (end == std::string::npos && request.size() < options_.max_request_bytes) {
    char buffer[1024];
    const Result<std::size_t> read = co_await stream.read_some(buffer, sizeof buffer);
    if (!read.ok() || *read == 0) break;
    request.append(buffer, *read);
    end = request.find(kEndOfHead);
  }
  if (end != std::string::npos) {
    stream.write(answer_to(std::string_view(request).substr(0, end), page_));
    (void)co_await stream.drain();
    stream.shutdown_write();
  }
  client->answered = true;
  client->done.notify_all();
  clients_.erase(client.get());
}

}  // namespace namdb::metrics
