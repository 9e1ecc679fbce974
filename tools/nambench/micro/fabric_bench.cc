#include "tools/nambench/micro/fabric_bench.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "common/base/random.h"
#include "common/fabric/fabric.h"
#include "common/reactor/reactor.h"
#include "tools/nambench/micro/fabric_shm_reads.h"
#include "tools/nambench/micro/uring_echo.h"
#include "tools/support/servers/server_thread.h"
#include "tools/support/servers/transports.h"

namespace namdb::nambench {
namespace {

constexpr std::uint32_t kRead_bytes = 64;
constexpr std::uint32_t kOutstanding = 64;

void fill(std::span<std::byte> region, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t offset = 0; offset < region.size(); offset += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(region.data() + offset, &word, 8);
  }
}

std::vector<std::uint64_t> random_offsets(std::uint64_t count, std::uint64_t region_bytes,
                                          std::uint64_t seed) {
  Random random(seed + 1);
  std::vector<std::uint64_t> offsets(count);
  for (std::uint64_t& offset : offsets) offset = random.below(region_bytes / kRead_bytes) * kRead_bytes;
  return offsets;
}

std::uint64_t first_word(const std::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, 8);
  return word;
}

// The sum that reading the first word at every place must give.
std::uint64_t sum_of_words(std::span<const std::byte> region, std::span<const std::uint64_t> offsets) {
  std::uint64_t sum = 0;
  for (const std::uint64_t offset : offsets) sum += first_word(region.data() + offset);
  return sum;
}

struct Reading {
  std::uint64_t hash = 0;
  Status status;
};

using Channels = std::span<const std::unique_ptr<fabric::Channel>>;

// One READ after the other, over the channel that its place decides.
reactor::Task<void> read_in_turn(Channels channels, std::span<const std::uint64_t> offsets,
                                 Reading& reading) {
  const fabric::LocalBuffer buffer(channels.front()->pool(), kRead_bytes);
  fabric::Batch batch;
  for (const std::uint64_t offset : offsets) {
    batch.clear();
    batch.read(offset, buffer.data(), kRead_bytes);
    channels[offset / kRead_bytes % channels.size()]->post(batch);
    const Status& status = co_await batch.done();
    if (!status.ok()) {
      reading.status = status;
      co_return;
    }
    reading.hash += first_word(buffer.data());
  }
}

// Many single READs under way at once, each followed by the next as soon as it is there.
reactor::Task<void> read_side_by_side(reactor::Reactor& reactor, Channels channels,
                                      std::span<const std::uint64_t> offsets, Reading& reading) {
  reactor::Gate gate;
  const std::size_t share = (offsets.size() + kOutstanding - 1) / kOutstanding;
  for (std::size_t i = 0; i < offsets.size(); i += share) {
    const std::span<const std::uint64_t> part = offsets.subspan(i, std::min(share, offsets.size() - i));
    reactor.spawn(gate, read_in_turn(channels, part, reading));
  }
  co_await gate.close();
}

reactor::Task<void> connect(fabric::ClientFabric& client, std::string address,
                            std::unique_ptr<fabric::Channel>& channel, Status& status) {
  std::string hello;
  Result<std::unique_ptr<fabric::Channel>> result = co_await client.connect(address, hello, nullptr);
  if (result.ok()) {
    channel = std::move(result).value();
  } else {
    status = result.status();
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double rate(std::uint64_t operations, std::uint64_t duration_ns) {
  return static_cast<double>(operations) * 1e3 / static_cast<double>(std::max<std::uint64_t>(duration_ns, 1));
}

// With a key of this process' own. All queue pairs together have as much in flight as a device's completion
// queue may hold.
fabric::verbs::VerbsOptions verbs_options(std::uint32_t channels) {
  fabric::verbs::VerbsOptions options;
  NAMDB_CHECK(::getrandom(&options.key.emplace().bytes, sizeof options.key->bytes, 0) ==
              static_cast<ssize_t>(sizeof options.key->bytes));
  options.send_queue_depth = std::clamp<std::uint32_t>(16'384 / channels, 16, options.send_queue_depth);
  return options;
}

// A server on its thread, and channels to it on this one.
class Bench {
 public:
  static Result<std::unique_ptr<Bench>> open(const std::string& transport, const FabricBenchOptions& options,
                                             std::uint32_t channels = 1,
                                             const fabric::tcp::TcpOptions& tcp = {}) {
    auto bench = std::make_unique<Bench>();
    const fabric::verbs::VerbsOptions verbs = verbs_options(channels);
    auto server = support::ServerThread::start({.transport = transport,
                                                .region_bytes = options.region_bytes,
                                                .memory_server = std::nullopt,
                                                .tcp = tcp,
                                                .verbs_host = options.verbs_host,
                                                .verbs = verbs});
    if (!server.ok()) return server.status();
    bench->server_ = std::move(server).value();
    fill(bench->region(), options.seed);
    auto reactor = reactor::Reactor::create();
    if (!reactor.ok()) return reactor.status();
    bench->reactor_ = std::move(reactor).value();
    const fabric::TransportRegistry registry = support::transports(*bench->reactor_, tcp, verbs);
    bench->client_ = registry.find(transport).value()->make_client();
    while (bench->channels_.size() != channels) {
      Status status;
      std::unique_ptr<fabric::Channel> channel;
      bench->reactor_->run_until(connect(*bench->client_, bench->server_->address(), channel, status));
      if (!status.ok()) return status;
      bench->channels_.push_back(std::move(channel));
    }
    return bench;
  }

  std::span<std::byte> region() const { return server_->region(); }
  std::uint64_t time(reactor::Task<void> task) {
    const std::uint64_t begin_ns = support::steady_now_ns();
    reactor_->run_until(std::move(task));
    return support::steady_now_ns() - begin_ns;
  }
  Channels channels() const { return channels_; }
  reactor::Reactor& reactor() { return *reactor_; }

 private:
  std::unique_ptr<support::ServerThread> server_;
  std::unique_ptr<reactor::Reactor> reactor_;
  std::unique_ptr<fabric::ClientFabric> client_;
  std::vector<std::unique_ptr<fabric::Channel>> channels_;
};

Status wrong_bytes() {
  return Status(ErrorCode::corrupt_data, "the fabric read other bytes than are in the region");
}

void show(support::Progress& progress, const std::string& line) {
  const std::uint64_t now_ns = support::steady_now_ns();
  if (progress.due(now_ns)) progress.show(now_ns, line);
}

Result<FabricReport> bench_shm(const FabricBenchOptions& options) {
  FabricReadOptions reads;
  reads.region_bytes = options.region_bytes;
  reads.length_bytes = kRead_bytes;
  reads.reads = options.shm_operations;
  reads.repetitions = static_cast<int>(options.repetitions);
  reads.seed = options.seed;
  const Result<FabricReadResult> result = measure_shm_reads(reads);
  if (!result.ok()) return result.status();
  const auto named = [](const char* name, double each_ns) { return Rate{name, 1e3 / each_ns}; };
  return FabricReport{"shm",
                      named("plain copies", result.value().plain_ns),
                      {named("READs one at a time", result.value().single_ns),
                       named("READs in batches of 16", result.value().batched_ns)},
                      result.value().hash};
}

Result<FabricReport> bench_tcp(const FabricBenchOptions& options, support::Progress& progress) {
  fabric::tcp::TcpOptions plain;
  fabric::tcp::TcpOptions encrypted;
  encrypted.key.emplace().bytes.fill(7);
  encrypted.encryption = fabric::tcp::Encryption::required;
  std::vector<std::unique_ptr<Bench>> benches;
  for (const fabric::tcp::TcpOptions& tcp : {plain, encrypted}) {
    auto bench = Bench::open("tcp", options, 1, tcp);
    if (!bench.ok()) return bench.status();
    benches.push_back(std::move(bench).value());
  }
  const std::vector<std::uint64_t> offsets =
      random_offsets(options.tcp_operations, options.region_bytes, options.seed);
  FabricReport report{
      "tcp", {"io_uring echo, 64 under way"}, {{"READs, 64 under way"}, {"encrypted, 64 under way"}}};
  std::vector<double> echo_rates;
  std::vector<std::vector<double>> read_rates(benches.size());
  report.hash = sum_of_words(benches.front()->region(), offsets);
  EchoOptions echo;
  echo.outstanding = kOutstanding;
  echo.messages = options.tcp_operations;
  for (std::uint32_t round = 0; round <= options.repetitions; ++round) {
    const Result<std::uint64_t> echo_ns = run_echo(echo);
    if (!echo_ns.ok()) return echo_ns.status();
    if (round > 0) echo_rates.push_back(rate(echo.messages, echo_ns.value()));
    for (std::size_t i = 0; i < benches.size(); ++i) {
      Bench& bench = *benches[i];
      Reading reading;
      const std::uint64_t duration_ns =
          bench.time(read_side_by_side(bench.reactor(), bench.channels(), offsets, reading));
      if (!reading.status.ok()) return reading.status;
      if (reading.hash != report.hash) return wrong_bytes();
      if (round > 0) read_rates[i].push_back(rate(offsets.size(), duration_ns));
    }
    show(progress, "tcp: " + std::to_string(round) + " of " + std::to_string(options.repetitions));
  }
  report.baseline.median = median(std::move(echo_rates));
  for (std::size_t i = 0; i < benches.size(); ++i) report.rates[i].median = median(std::move(read_rates[i]));
  return report;
}

Result<FabricReport> bench_verbs(const FabricBenchOptions& options, support::Progress& progress) {
  std::uint32_t most = 1;
  for (const std::uint32_t nodes : options.nodes) most = std::max(most, nodes);
  auto bench = Bench::open("verbs", options, most);
  if (!bench.ok()) return bench.status();
  const std::vector<std::uint64_t> offsets =
      random_offsets(options.verbs_operations, options.region_bytes, options.seed);
  FabricReport report{"verbs", {"READs, 64 under way"}, {}};
  report.hash = sum_of_words(bench.value()->region(), offsets);
  std::vector<std::uint32_t> counts = {1};
  for (const std::uint32_t nodes : options.nodes) {
    counts.push_back(nodes);
    report.rates.push_back({"as one of " + std::to_string(nodes) + " nodes"});
  }
  std::vector<std::vector<double>> rates(counts.size());
  for (std::uint32_t round = 0; round <= options.repetitions; ++round) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      Reading reading;
      const Channels channels = bench.value()->channels().first(counts[i]);
      const std::uint64_t duration_ns =
          bench.value()->time(read_side_by_side(bench.value()->reactor(), channels, offsets, reading));
      if (!reading.status.ok()) return reading.status;
      if (reading.hash != report.hash) return wrong_bytes();
      if (round > 0) rates[i].push_back(rate(offsets.size(), duration_ns));
    }
    show(progress, "verbs: " + std::to_string(round) + " of " + std::to_string(options.repetitions));
  }
  report.baseline.median = median(std::move(rates[0]));
  for (std::size_t i = 1; i < counts.size(); ++i) report.rates[i - 1].median = median(std::move(rates[i]));
  return report;
}

}  // namespace

Result<std::vector<FabricReport>> fabric_bench(const FabricBenchOptions& options,
                                               support::Progress& progress) {
  std::vector<FabricReport> reports;
  for (const std::string& transport : options.transports) {
    Result<FabricReport> report = transport == "tcp"     ? bench_tcp(options, progress)
                                  : transport == "verbs" ? bench_verbs(options, progress)
                                                         : bench_shm(options);
    if (!report.ok()) return report.status();
    reports.push_back(std::move(report).value());
  }
  return reports;
}

}  // namespace namdb::nambench
