// Two-sided stages: reads are checked behind the locks, and a record that is locked by its name is read
// behind its lock.
#include <algorithm>

#include "common/calls/batch_calls.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

using calls::BatchOperation;

// Sees the stages that run as calls.
class StageMutant : public Mutant {
 protected:
  std::vector<BatchOperation> stage(std::size_t server, std::uint16_t method, std::string_view request) {
    if (method != calls::kBatchCallMethod) return {};
    const memory::Region& region = cluster().memory(server).server->region();
    auto operations =
        calls::decode_batch(request, {region.bytes(), region.limit_bytes()}, fabric::kMaxCall_bytes);
    return operations ? std::move(*operations) : std::vector<BatchOperation>();
  }
};

// The words that are read behind locks in one call are of the time before these.
class CheckedBeforeLocks final : public StageMutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    const std::vector<BatchOperation> operations = stage(server, method, request);
    std::string checks;
    std::string others;
    for (const BatchOperation& operation : operations)
      calls::append(is_check(operation) ? checks : others, operation);
    if (checks.empty() || others.empty()) co_return co_await inner->on_call(peer, method, request, *reply);
    std::string checked;
    std::string done;
    Status status = co_await inner->on_call(peer, method, checks, checked);
    co_await cluster().memory(server).node->sleep_for(kBetween_ns);
    if (status.ok()) status = co_await inner->on_call(peer, method, others, done);
    if (!status.ok()) co_return status;
    std::string_view rest[] = {done, checked};
    for (const BatchOperation& operation : operations) {
      std::string_view& from = rest[is_check(operation) ? 1 : 0];
      *reply += from.substr(0, operation.reply_bytes());
      from.remove_prefix(operation.reply_bytes());
    }
    co_return status;
  }

 private:
  static constexpr std::uint64_t kBetween_ns = 2 * kMicrosecond_ns;
  static bool is_check(const BatchOperation& operation) {
    return operation.kind == BatchOperation::Kind::read && operation.length_bytes == 8;
  }
};

// A record that is locked by its name is answered with what stood there before.
class ReadBeforeNamedLock final : public StageMutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    const std::vector<BatchOperation> operations = stage(server, method, request);
    std::string reads;
    for (BatchOperation operation : operations) {
      if (operation.kind != BatchOperation::Kind::lock) continue;
      operation.kind = BatchOperation::Kind::read;
      calls::append(reads, operation);
    }
    if (reads.empty()) co_return co_await inner->on_call(peer, method, request, *reply);
    std::string before;
    Status status = co_await inner->on_call(peer, method, reads, before);
    co_await cluster().memory(server).node->sleep_for(kBetween_ns);
    if (status.ok()) status = co_await inner->on_call(peer, method, request, *reply);
    if (!status.ok()) co_return status;
    std::size_t at = 0;
    std::size_t read_at = 0;
    for (const BatchOperation& operation : operations) {
      if (operation.kind == BatchOperation::Kind::lock) {
        // All but the header word.
        reply->replace(at + 8, operation.length_bytes - 8, before, read_at + 8, operation.length_bytes - 8);
        read_at += operation.length_bytes;
      }
      at += operation.reply_bytes();
    }
    co_return status;
  }

 private:
  static constexpr std::uint64_t kBetween_ns = 2 * kMicrosecond_ns;
};

std::function<void(Scenario&)> two_sided_under(const char* protocol, std::uint64_t memory_servers) {
  return [protocol, memory_servers](Scenario& scenario) {
    scenario.cluster.memory.protocol = protocol;
    scenario.cluster.memory.stages = layout::StageCode::two_sided();
    scenario.resize({.memory_servers = memory_servers});
  };
}

}  // namespace

std::vector<MutantCase> stage_mutants() {
  return {
      {"what was read is checked before the locks of the same call", "memory/calls/batch_call.cc",
       Emphasis::snapshots, 1, "write skew", make_mutant<CheckedBeforeLocks>, nullptr,
       two_sided_under("occ", 1)},
      {"a record that is locked by its name is read before the lock", "memory/calls/batch_call.cc",
       Emphasis::snapshots, 9, "lost update", make_mutant<ReadBeforeNamedLock>, nullptr,
       two_sided_under("nowait", 1)},
  };
}

}  // namespace namdb::sim
