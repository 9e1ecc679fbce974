#include "tools/namctl/doctor_findings.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

constexpr int kKernelMajor = 6;
constexpr int kKernelMinor = 1;
constexpr std::uint64_t kGoodDescriptors = 4096;
constexpr std::uint64_t kGoodLocked_bytes = 64U << 20;
constexpr std::uint64_t kGoodDisk_bytes = 8ULL << 30;
constexpr double kGoodOffset_s = 1;
constexpr double kGoodShare = 0.1;

double gibibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1U << 30);
}

class Findings {
 public:
  explicit Findings(std::string subject) : subject_(std::move(subject)) {}
  void ok(std::string text) { add(Severity::ok, std::move(text), {}); }
  void note(std::string text, std::string cure) { add(Severity::note, std::move(text), std::move(cure)); }
  void warn(std::string text, std::string cure) { add(Severity::warning, std::move(text), std::move(cure)); }
  void fail(std::string text, std::string cure) { add(Severity::failure, std::move(text), std::move(cure)); }
  void about(std::string subject) { subject_ = std::move(subject); }
  std::vector<Finding> take() { return std::move(all_); }
  std::size_t count() const { return all_.size(); }

 private:
  void add(Severity severity, std::string text, std::string cure) {
    all_.push_back({severity, subject_, std::move(text), std::move(cure)});
  }
  std::string subject_;
  std::vector<Finding> all_;
};

bool old_kernel(const std::string& release) {
  char* rest = nullptr;
  const long major = std::strtol(release.c_str(), &rest, 10);
  const long minor = *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;
  return std::pair(major, minor) < std::pair<long, long>(kKernelMajor, kKernelMinor);
}

void judge_kernel(Findings& findings, const MachineFacts& machine) {
  findings.about("kernel");
  if (!machine.io_uring.ok()) {
    findings.fail(machine.io_uring.message(), machine.io_uring.hint());
  } else if (old_kernel(machine.kernel)) {
    findings.warn("Linux " + machine.kernel + " is older than 6.1, with which namdb is tested",
                  "install a newer kernel");
  } else {
    findings.ok("Linux " + machine.kernel + ", io_uring is there");
  }
}

void judge_limits(Findings& findings, const MachineFacts& machine) {
  findings.about("limits");
  if (machine.descriptors < kGoodDescriptors) {
    findings.warn(text("a process may have %llu descriptors open, one for each client",
                       static_cast<unsigned long long>(machine.descriptors)),
                  "ulimit -n 65536, or LimitNOFILE=65536 in the unit");
  } else {
    findings.ok(text("descriptors: %llu", static_cast<unsigned long long>(machine.descriptors)));
  }
  if (machine.rdma_devices != 0 && machine.locked_limit_bytes < kGoodLocked_bytes) {
    findings.warn(text("a process may lock %.1f MiB; over RDMA a memory server locks its region",
                       mebibytes(machine.locked_limit_bytes)),
                  "ulimit -l unlimited, or LimitMEMLOCK=infinity in the unit");
  }
}

void judge_memory(Findings& findings, const MachineFacts& machine) {
  findings.about("memory");
  const std::uint64_t region_bytes = std::min<std::uint64_t>(machine.memory_bytes / 4, 4ULL << 30);
  if (machine.available_bytes < region_bytes) {
    findings.warn(
        text("%.1f of %.1f GiB are available, less than the default region of %.1f GiB",
             gibibytes(machine.available_bytes), gibibytes(machine.memory_bytes), gibibytes(region_bytes)),
        "end other programs, or give nam-memoryd --region-bytes less");
  } else {
    findings.ok(text("%.1f of %.1f GiB are available", gibibytes(machine.available_bytes),
                     gibibytes(machine.memory_bytes)));
  }
  constexpr std::uint64_t kHugePage_bytes = 2U << 20;
  const std::uint64_t wanted = region_bytes / kHugePage_bytes;
  if (machine.free_huge_pages < wanted) {
    findings.note(
        text("%llu huge pages of 2 MiB are free; a region of %.1f GiB takes %llu, and ordinary pages "
             "are slower",
             static_cast<unsigned long long>(machine.free_huge_pages), gibibytes(region_bytes),
             static_cast<unsigned long long>(wanted)),
        text("sysctl vm.nr_hugepages=%llu", static_cast<unsigned long long>(wanted)));
  } else {
    findings.ok(
        text("%llu huge pages of 2 MiB are free", static_cast<unsigned long long>(machine.free_huge_pages)));
  }
}

void judge_rest_of_machine(Findings& findings, const MachineFacts& machine) {
  findings.about("clock");
  if (!machine.clock_is_synchronised) {
    findings.note("it is not known whether the clock follows others", "timedatectl");
  } else if (!*machine.clock_is_synchronised) {
    findings.warn("the clock is not synchronised: now() differs between machines",
                  "run chrony or systemd-timesyncd: timedatectl set-ntp true");
  } else {
    findings.ok("the clock is synchronised");
  }
  findings.about("disk");
  if (machine.disk_is_memory) {
    findings.warn(
        machine.disk + " is in memory: data there does not survive the machine, whatever --durability",
        "give --data a folder on a disk");
  } else if (machine.disk_free_bytes < kGoodDisk_bytes) {
    findings.warn(
        text("%.1f GiB are free at %s; a log takes 4 GiB by default, and checkpoints as much as the data",
             gibibytes(machine.disk_free_bytes), machine.disk.c_str()),
        "make room, or give nam-memoryd --log-bytes less");
  } else {
    findings.ok(text("%.1f GiB are free at %s", gibibytes(machine.disk_free_bytes), machine.disk.c_str()));
  }
  findings.about("RDMA");
  if (machine.rdma_devices == 0)
    findings.note("no RDMA devices: --fabric verbs is not for this machine", "");
  else
    findings.ok(text("%zu RDMA devices", machine.rdma_devices));
  if (machine.key_file.empty()) return;
  findings.about("key");
  if (!machine.key.ok())
    findings.fail(machine.key.message(), machine.key.hint());
  else
    findings.ok(machine.key_file + " has the key " + machine.key_fingerprint +
                ", to be the same on all machines");
}

// --- the cluster ---

void judge_disk(Findings& findings, const control::DiskStatus& disk) {
  if (disk.full()) {
    findings.fail("the log is full: commits are refused",
                  "make room on the disk or raise --log-bytes, then namctl checkpoint --fast");
  } else if (static_cast<double>(disk.used_bytes()) >
             (1 - 2 * kGoodShare) * static_cast<double>(disk.limit_bytes())) {
    findings.warn(
        text("the log takes %.1f of %.1f MiB", mebibytes(disk.used_bytes()), mebibytes(disk.limit_bytes())),
        "namctl status names what keeps it back; or raise --log-bytes");
  }
  if (!disk.checkpoint().error().empty()) {
    findings.warn("the last checkpoint was abandoned: " + disk.checkpoint().error(),
                  "make room on the disk, then namctl checkpoint");
  }
  if (disk.checkpoint().stuck_size() != 0) {
    findings.warn("half-installed records keep the log back: namctl status names them",
                  "start the memory servers that are away");
  }
}

void judge_memory_server(Findings& findings, const MemoryView& server, const std::string& version,
                         std::uint32_t wanted_copies) {
  findings.about("memory server " + server.address);
  if (!server.status.ok()) {
    findings.fail("it does not answer: " + server.status.message(),
                  server.status.hint().empty() ? "start it, or look at its log" : server.status.hint());
    return;
  }
  const std::size_t before = findings.count();
  const control::StatusReply& reply = server.reply;
  if (reply.version() != version)
    findings.warn("it is version " + reply.version() + ", and this namctl " + version,
                  "update the older one");
  // The region may grow up to its limit.
  const auto left = static_cast<double>(reply.free_bytes() + reply.limit_bytes() - reply.region_bytes());
  if (left < kGoodShare * static_cast<double>(reply.limit_bytes())) {
    findings.warn(
        text("%.1f of %.1f MiB of its region are left", left / (1U << 20), mebibytes(reply.limit_bytes())),
        "namctl memory shows where it is; raise --region-limit, or delete rows");
  }
  if (reply.has_disk()) judge_disk(findings, reply.disk());
  if (reply.durability() == "memory") {
    findings.note("durability is memory: its data ends with its process",
                  "--durability flushed for a new database");
  }
  if (reply.opening().lost_size() != 0) {
    findings.fail("it was opened without a part of its data: " + reply.opening().lost(0),
                  "restore a backup if that part is needed");
  }
  if (reply.opening().damaged_chunks() != 0) {
    findings.warn("chunks of its newest checkpoint were damaged when it started; nothing is lost",
                  "check its disk, and namctl verify its backups");
  }
  if (reply.entries_refused() != 0) {
    findings.fail("compute servers wrote journal entries that cannot be; its log names them",
                  "check these compute servers' machines");
  }
  if (reply.slots_dead() != 0) {
    findings.warn(text("%llu slots of dead compute servers are not decided",
                       static_cast<unsigned long long>(reply.slots_dead())),
                  "start the memory servers that are away");
  }
  if (server.copies.size() + 1 < wanted_copies) {
    findings.warn(
        text("its region has %zu of %u hosts", server.copies.size() + 1, wanted_copies),
        "namctl memory list shows hosts; start those that are away, or nam-memoryd --join on others");
  }
  if (findings.count() == before) findings.ok("well, version " + reply.version());
}

// Settings that all memory servers must share, and each server's number once.
void judge_agreement(Findings& findings, const std::vector<MemoryView>& servers) {
  findings.about("memory servers");
  std::map<std::string, std::set<std::string>> settings;
  std::map<std::uint32_t, std::vector<std::string>> by_number;
  std::size_t answering = 0;
  for (const MemoryView& server : servers) {
    if (!server.status.ok()) continue;
    ++answering;
    const control::StatusReply& reply = server.reply;
    by_number[reply.server_id()].push_back(server.address);
    settings["version"].insert(reply.version());
    settings["protocol"].insert(reply.protocol());
    settings["stages"].insert(reply.stages());
    settings["preset"].insert(reply.preset());
    settings["durability"].insert(reply.durability());
    settings["timestamp-vector"].insert(reply.timestamp_vector());
    settings["read-locks"].insert(reply.shared_read_locks() ? "shared" : "none");
  }
  if (answering < 2) return;
  const std::size_t before = findings.count();
  for (const auto& [name, values] : settings) {
    if (values.size() < 2) continue;
    std::string all;
    for (const std::string& value : values)
      all += (all.empty() ? "" : ", ") + (value.empty() ? "none" : value);
    findings.fail("they differ in " + name + ": " + all, "start all of them with the same");
  }
  for (const auto& [number, addresses] : by_number) {
    if (addresses.size() > 1)
      findings.fail(
          "two of them have the number " + std::to_string(number) + ": " + addresses[0] + ", " + addresses[1],
          "give each its own --server-id");
  }
  if (findings.count() == before) findings.ok("they agree in their settings");
}

void judge_compute_server(Findings& findings, const ComputeView& server, const std::string& version,
                          std::optional<double> offset_s) {
  findings.about("compute server " + server.address);
  if (!server.error.empty()) {
    findings.fail("it does not answer: " + server.error, "start it, or look at its log");
    return;
  }
  const std::size_t before = findings.count();
  if (server.version != version)
    findings.warn("it is version " + server.version + ", and this namctl " + version, "update the older one");
  if (offset_s && std::abs(*offset_s) > kGoodOffset_s) {
    findings.warn(text("its clock is %.1f s %s this machine's", std::abs(*offset_s),
                       *offset_s > 0 ? "ahead of" : "behind"),
                  "timedatectl set-ntp true on both");
  }
  if (server.damaged_reads() != 0) {
    findings.fail(text("%llu reads have met damage", static_cast<unsigned long long>(server.damaged_reads())),
                  "the errors name table and place; check that memory server's machine");
  }
  if (server.total("client_refusals") != 0) {
    findings.warn("it has refused statements for want of memory for clients", "raise --client-memory-bytes");
  }
  if (findings.count() == before) findings.ok("well, version " + server.version);
}

}  // namespace

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::ok:
      return "ok";
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::failure:
      return "FAILURE";
  }
  return "";
}

std::vector<Finding> judge_machine(const MachineFacts& machine) {
  Findings findings("");
  judge_kernel(findings, machine);
  judge_limits(findings, machine);
  judge_memory(findings, machine);
  judge_rest_of_machine(findings, machine);
  return findings.take();
}

std::vector<Finding> judge_cluster(const ClusterView& view, const std::string& version,
                                   const std::vector<std::optional<double>>& clock_offsets_s) {
  Findings findings("");
  for (const MemoryView& server : view.memory) judge_memory_server(findings, server, version, view.copies);
  judge_agreement(findings, view.memory);
  for (std::size_t i = 0; i < view.compute.size(); ++i)
    judge_compute_server(findings, view.compute[i], version, clock_offsets_s[i]);
  return findings.take();
}

}  // namespace namdb::namctl
