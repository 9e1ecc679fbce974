#include "tools/nambench/micro/fabric_shm_reads.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "common/fabric/shm/client.h"
#include "common/fabric/shm/server.h"
#include "tools/nambench/report/median.h"

namespace namdb::nambench {
namespace {

using fabric::Batch;
using fabric::Channel;
using fabric::LocalBuffer;
using reactor::Task;

constexpr std::size_t kBatch = 16;

class NoService final : public fabric::Service {
 public:
  Result<std::string> on_connect(fabric::PeerId, std::string_view) override { return std::string(); }
  Task<Status> on_call(fabric::PeerId, std::uint16_t, std::string_view, std::string&) override {
    co_return Status();
  }
  void on_disconnect(fabric::PeerId) override {}
};

// Memory that the server and its client map, and the directory of their socket.
class Place {
 public:
  explicit Place(std::size_t region_bytes) : region_bytes_(region_bytes) {
    char path[] = "/tmp/nambench-XXXXXX";
    if (::mkdtemp(path) != nullptr) directory_ = path;
    descriptor_ = ::memfd_create("nambench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor_ < 0 || ::ftruncate(descriptor_, static_cast<off_t>(region_bytes)) != 0) return;
    void* base = ::mmap(nullptr, region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (base != MAP_FAILED) base_ = static_cast<std::byte*>(base);
  }
  ~Place() {
    if (base_ != nullptr) ::munmap(base_, region_bytes_);
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!directory_.empty()) ::rmdir(directory_.c_str());
  }
  bool ok() const { return base_ != nullptr && !directory_.empty(); }
  std::byte* base() const { return base_; }
  fabric::ServerRegion region() const { return {base_, region_bytes_, region_bytes_, descriptor_}; }
  std::string address() const { return "unix:" + directory_ + "/memory.sock"; }

 private:
  std::size_t region_bytes_;
  std::string directory_;
  int descriptor_ = -1;
  std::byte* base_ = nullptr;
};

// Where to read: the same sequence for all ways, cheap enough not to show.
class Places {
 public:
  explicit Places(const FabricReadOptions& options)
      : state_(options.seed),
        lines_(options.region_bytes / options.length_bytes),
        length_(options.length_bytes) {}
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(state_) * lines_) >> 64) * length_;
  }

 private:
  std::uint64_t state_;
  std::uint64_t lines_;
  std::uint64_t length_;
};

// Looks at one word of each copy, so that none can be left out.
std::uint64_t mix(std::uint64_t hash, const std::byte* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return (hash ^ word) * 0x9e3779b97f4a7c15ULL;
}

std::uint64_t read_plain(const std::byte* region, const FabricReadOptions& options) {
  std::vector<std::byte> buffer(kBatch * options.length_bytes);
  Places places(options);
  std::uint64_t hash = 0;
  for (std::uint64_t i = 0; i < options.reads; i += kBatch) {
    for (std::size_t j = 0; j < kBatch; ++j) {
      std::memcpy(buffer.data() + j * options.length_bytes, region + places.next(), options.length_bytes);
    }
    for (std::size_t j = 0; j < kBatch; ++j) hash = mix(hash, buffer.data() + j * options.length_bytes);
  }
  return hash;
}

Task<void> read_through(Channel* channel, FabricReadOptions options, std::size_t batch_size,
                        std::uint64_t* hash) {
  LocalBuffer buffer(channel->pool(), kBatch * options.length_bytes);
  Places places(options);
  Batch batch;
  *hash = 0;
  for (std::uint64_t i = 0; i < options.reads; i += kBatch) {
    for (std::size_t j = 0; j < kBatch; ++j) {
      batch.read(places.next(), buffer.data() + j * options.length_bytes, options.length_bytes);
      if (batch.operations().size() < batch_size) continue;
      channel->post(batch);
      co_await batch.done();
      batch.clear();
    }
    for (std::size_t j = 0; j < kBatch; ++j) *hash = mix(*hash, buffer.data() + j * options.length_bytes);
  }
}

double nanoseconds_of(const std::function<void()>& function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

struct Samples {
  std::vector<double> plain;
  std::vector<double> single;
  std::vector<double> batched;
};

Status measure(reactor::Reactor& reactor, Channel* channel, const std::byte* region,
               const FabricReadOptions& options, FabricReadResult& result) {
  Samples samples;
  for (int i = 0; i <= options.repetitions; ++i) {
    std::uint64_t plain_hash = 0;
    std::uint64_t single_hash = 0;
    std::uint64_t batched_hash = 0;
    const double plain = nanoseconds_of([&] { plain_hash = read_plain(region, options); });
    const double single =
        nanoseconds_of([&] { reactor.run_until(read_through(channel, options, 1, &single_hash)); });
    const double batched =
        nanoseconds_of([&] { reactor.run_until(read_through(channel, options, kBatch, &batched_hash)); });
    if (plain_hash != single_hash || plain_hash != batched_hash) {
      return Status(ErrorCode::corrupt_data, "READs and plain copies of the same bytes differ");
    }
    result.hash = plain_hash;
    if (i == 0) continue;  // brings the pages in
    const auto reads = static_cast<double>(options.reads);
    samples.plain.push_back(plain / reads);
    samples.single.push_back(single / reads);
    samples.batched.push_back(batched / reads);
  }
  result.plain_ns = upper_median(samples.plain);
  result.single_ns = upper_median(samples.single);
  result.batched_ns = upper_median(samples.batched);
  return {};
}

}  // namespace

Result<FabricReadResult> measure_shm_reads(const FabricReadOptions& asked) {
  FabricReadOptions options = asked;
  options.reads = std::max<std::uint64_t>(options.reads / kBatch, 1) * kBatch;
  if (options.length_bytes == 0 || options.length_bytes % 8 != 0 ||
      options.region_bytes < options.length_bytes ||
      options.length_bytes > fabric::kMaxOperation_bytes / kBatch || options.repetitions < 1) {
    return Status(ErrorCode::invalid_parameter_value,
                  "the length of a READ is a multiple of 8 and fits the region");
  }
  Place place(options.region_bytes);
  if (!place.ok())
    return Status(ErrorCode::configuration, "cannot make the memory and socket of the measurement");
  auto words = reinterpret_cast<std::uint64_t*>(place.base());
  for (std::size_t i = 0; i < options.region_bytes / 8; ++i) words[i] = i * 0x9e3779b97f4a7c15ULL;

  auto reactor = reactor::Reactor::create();
  if (!reactor.ok()) return reactor.status();
  NoService service;
  fabric::shm::ShmServerFabric server(**reactor, place.region(), service);
  FabricReadResult result;
  Status status = (*reactor)->run_until(server.listen(place.address()));
  if (status.ok()) {
    fabric::shm::ShmClientFabric client(**reactor);
    auto channel = (*reactor)->run_until(client.connect(place.address(), "", nullptr));
    status = channel.status();
    if (status.ok()) status = measure(**reactor, channel->get(), place.base(), options, result);
  }
  (*reactor)->run_until(server.close());
  if (!status.ok()) return status;
  return result;
}

}  // namespace namdb::nambench
