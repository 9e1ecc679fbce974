#include "tools/support/report/run_recorder.h"

#include <algorithm>

#include "common/base/checksum.h"
#include "common/base/clock.h"
#include "tools/support/report/text_table.h"

namespace namdb::support {
namespace {

std::uint64_t chain(std::uint64_t hash, std::span<const std::byte> bytes) {
  return checksum64(bytes, hash);
}
std::uint64_t chain(std::uint64_t hash, std::string_view text) {
  return chain(hash, std::as_bytes(std::span(text.data(), text.size())));
}
std::uint64_t chain(std::uint64_t hash, std::uint64_t word) {
  return chain(hash, std::as_bytes(std::span(&word, 1)));
}
std::uint64_t chain(std::uint64_t hash, const procedure::Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return chain(hash, static_cast<std::uint64_t>(*integer));
  }
  if (const auto* text = std::get_if<std::string>(&value)) return chain(hash, std::string_view(*text));
  if (const auto* real = std::get_if<double>(&value)) return chain(hash, std::as_bytes(std::span(real, 1)));
  return chain(hash, std::string_view());
}

// Procedures put the row's number into their messages: those are one reason, not thousands.
std::string reason_of(const RunRecorder::Outcome& outcome) {
  std::string reason = std::string(outcome.sqlstate) + ' ';
  for (const char character : outcome.message) {
    const bool digit = character >= '0' && character <= '9';
    if (!digit) {
      reason += character;
    } else if (reason.back() != 'N') {
      reason += 'N';
    }
  }
  return reason;
}

}  // namespace

RunRecorder::RunRecorder(const workloads::Workload& workload, const RunLength& length)
    : workload_(workload), length_(length) {
  for (const workloads::TransactionType& type : workload.transactions()) {
    TypeReport& report = report_.types.emplace_back();
    report.name = type.name;
    report.procedure = type.procedure;
  }
}

void RunRecorder::start(std::uint64_t now_ns) {
  const bool counted = length_.transactions_per_client > 0;
  const auto seconds_ns = [](double seconds) { return static_cast<std::uint64_t>(seconds * kSecond_ns); };
  begin_ns_ = now_ns;
  shown_ns_ = now_ns;
  measure_ns_ = now_ns + (counted ? 0 : seconds_ns(length_.warmup_seconds));
  end_ns_ = counted ? ~std::uint64_t{0} : measure_ns_ + seconds_ns(length_.seconds);
}

void RunRecorder::record(const workloads::Call& call, const Outcome& outcome, std::uint64_t start_ns,
                         std::uint64_t end_ns, ClientHash& hash) {
  hash.requests = chain(hash.requests, call.type);
  hash.results = chain(hash.results, call.type);
  for (const procedure::Value& value : call.arguments) {
    hash.requests = chain(hash.requests, value);
    hash.results = chain(hash.results, value);
  }
  hash.results = chain(hash.results, outcome.sqlstate);
  for (const procedure::Value& value : outcome.results) hash.results = chain(hash.results, value);

  const bool committed = outcome.sqlstate.empty();
  const bool aborted = outcome.sqlstate == "P0001" || outcome.sqlstate == "40001";
  ++finished_;
  const std::size_t second = (end_ns - begin_ns_) / kSecond_ns;
  if (second >= timeline_.size()) timeline_.resize(second + 1);
  ++(committed ? timeline_[second].committed
     : aborted ? timeline_[second].aborted
               : timeline_[second].failed);
  if (committed) change_ += workload_.call_change(call, outcome.results);
  if (aborted) ++aborted_;
  if (!committed && !aborted) ++failed_;
  if (outcome.sqlstate == "40003" || outcome.sqlstate.substr(0, 2) == "08") ++unknown_;
  if (end_ns < measure_ns_ || end_ns > end_ns_) return;
  TypeReport& type = report_.types[call.type];
  type.latency.record(end_ns - start_ns);
  ++(committed ? type.committed : aborted ? type.aborted : type.failed);
  if (!committed) ++report_.reasons[reason_of(outcome)];
}

std::string RunRecorder::progress_line(std::uint64_t now_ns) {
  const double seconds = static_cast<double>(now_ns - shown_ns_) / 1e9;
  const double rate = seconds > 0 ? static_cast<double>(finished_ - shown_finished_) / seconds : 0;
  shown_ns_ = now_ns;
  shown_finished_ = finished_;
  return std::string(workload_.name()) + ": " + decimal(static_cast<double>(now_ns - begin_ns_) / 1e9, 1) +
         " s, " + decimal(rate, 0) + " transactions/s, " + std::to_string(aborted_) + " aborted, " +
         std::to_string(failed_) + " failed" + (now_ns < measure_ns_ ? " (warming up)" : "");
}

RunReport RunRecorder::report(std::uint64_t now_ns, std::span<const ClientHash> hashes) const {
  RunReport report = report_;
  for (std::size_t i = report.types.size(); i-- > 0;) {
    if (workload_.transactions()[i].weight <= 0)
      report.types.erase(report.types.begin() + static_cast<std::ptrdiff_t>(i));
  }
  report.timeline = timeline_;
  report.begin_ns = begin_ns_;
  report.workload = workload_.name();
  report.population = workload_.population();
  report.warmup_seconds = static_cast<double>(measure_ns_ - begin_ns_) / 1e9;
  report.seconds =
      static_cast<double>(std::max(std::min(now_ns, end_ns_), measure_ns_ + 1) - measure_ns_) / 1e9;
  for (const ClientHash& hash : hashes) {
    report.request_hash += hash.requests;
    report.result_hash += hash.results;
  }
  return report;
}

}  // namespace namdb::support
