#include "tools/namctl/doctor_findings.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "proto/control.pb.h"

namespace namdb::namctl {
namespace {

MachineFacts good_machine() {
  MachineFacts machine;
  machine.kernel = "6.1.0-18-amd64";
  machine.memory_bytes = 64ULL << 30;
  machine.available_bytes = 60ULL << 30;
  machine.free_huge_pages = 4096;
  machine.locked_limit_bytes = ~0ULL;
  machine.descriptors = 65536;
  machine.clock_is_synchronised = true;
  machine.rdma_devices = 1;
  machine.disk = "/var/lib/namdb";
  machine.disk_free_bytes = 100ULL << 30;
  machine.key_file = "/etc/namdb/cluster.key";
  machine.key_fingerprint = "0123456789abcdef";
  return machine;
}

MemoryView good_memory_server(std::uint32_t number) {
  MemoryView view{"10.0.0." + std::to_string(number) + ":7400", {}, {}};
  view.reply.set_server_id(number);
  view.reply.set_version("1.0");
  view.reply.set_durability("flushed");
  view.reply.set_protocol("si");
  view.reply.set_region_bytes(1000);
  view.reply.set_limit_bytes(1000);
  view.reply.set_free_bytes(500);
  view.reply.mutable_disk()->set_limit_bytes(1000);
  return view;
}

ComputeView good_compute_server() {
  ComputeView view;
  view.address = "10.0.0.1:5433";
  view.version = "1.0";
  return view;
}

std::vector<Finding> of_cluster(ClusterView view, std::optional<double> offset_s = 0.0) {
  return judge_cluster(view, "1.0", std::vector(view.compute.size(), offset_s));
}

// The only finding that is worse than ok.
Finding only(std::vector<Finding> findings) {
  std::erase_if(findings, [](const Finding& finding) { return finding.severity == Severity::ok; });
  REQUIRE(findings.size() == 1);
  return findings.front();
}

bool all_well(const std::vector<Finding>& findings) {
  return std::ranges::all_of(findings,
                             [](const Finding& finding) { return finding.severity == Severity::ok; });
}

}  // namespace

TEST_CASE("a region with fewer copies than wanted is a warning", "[doctor]") {
  ClusterView view;
  view.copies = 2;
  view.memory = {good_memory_server(0)};
  view.memory[0].copies = {"10.0.0.9:7400"};
  CHECK(all_well(of_cluster(view)));
  view.memory[0].copies.clear();
  CHECK(only(of_cluster(view)).text == "its region has 1 of 2 hosts");
}

TEST_CASE("a machine and a cluster as they should be have no finding", "[doctor]") {
  CHECK(all_well(judge_machine(good_machine())));
  ClusterView view;
  view.memory = {good_memory_server(0), good_memory_server(1)};
  view.compute = {good_compute_server()};
  CHECK(all_well(of_cluster(view)));
}

TEST_CASE("each fault of a machine is one finding, with its cure", "[doctor]") {
  struct Case {
    void (*spoil)(MachineFacts&);
    Severity severity;
    const char* subject;
    const char* cure;
  };
  const Case cases[] = {
      {[](MachineFacts& m) { m.io_uring = Status(ErrorCode::configuration, "no io_uring", "sysctl it"); },
       Severity::failure, "kernel", "sysctl it"},
      {[](MachineFacts& m) { m.kernel = "5.10.0"; }, Severity::warning, "kernel", "newer kernel"},
      {[](MachineFacts& m) { m.descriptors = 1024; }, Severity::warning, "limits", "ulimit -n"},
      {[](MachineFacts& m) { m.locked_limit_bytes = 8 << 20; }, Severity::warning, "limits", "ulimit -l"},
      {[](MachineFacts& m) { m.available_bytes = 1 << 30; }, Severity::warning, "memory", "--region-bytes"},
      {[](MachineFacts& m) { m.free_huge_pages = 100; }, Severity::note, "memory", "vm.nr_hugepages=2048"},
      {[](MachineFacts& m) { m.clock_is_synchronised = false; }, Severity::warning, "clock", "set-ntp"},
      {[](MachineFacts& m) { m.clock_is_synchronised.reset(); }, Severity::note, "clock", "timedatectl"},
      {[](MachineFacts& m) { m.disk_is_memory = true; }, Severity::warning, "disk", "--data"},
      {[](MachineFacts& m) { m.disk_free_bytes = 1 << 30; }, Severity::warning, "disk", "--log-bytes"},
      {[](MachineFacts& m) { m.key = Status(ErrorCode::configuration, "mode 0644", "chmod 0600"); },
       Severity::failure, "key", "chmod 0600"},
  };
  for (const Case& fault : cases) {
    MachineFacts machine = good_machine();
    fault.spoil(machine);
    const Finding finding = only(judge_machine(machine));
    CHECK(finding.severity == fault.severity);
    CHECK(finding.subject == fault.subject);
    CHECK(finding.cure.find(fault.cure) != std::string::npos);
  }
}

TEST_CASE("kernels are compared by number", "[doctor]") {
  MachineFacts machine = good_machine();
  machine.kernel = "6.10.3";
  CHECK(all_well(judge_machine(machine)));
  machine.kernel = "6.0.9";
  CHECK(only(judge_machine(machine)).subject == "kernel");
}

TEST_CASE("each fault of a memory server is one finding", "[doctor]") {
  struct Case {
    void (*spoil)(MemoryView&);
    Severity severity;
    const char* word;
  };
  const Case cases[] = {
      {[](MemoryView& v) { v.status = Status(ErrorCode::connection_failure, "refused"); }, Severity::failure,
       "refused"},
      {[](MemoryView& v) { v.reply.set_version("0.9"); }, Severity::warning, "version 0.9"},
      {[](MemoryView& v) { v.reply.set_free_bytes(50); }, Severity::warning, "region"},
      {[](MemoryView& v) { v.reply.mutable_disk()->set_full(true); }, Severity::failure, "refused"},
      {[](MemoryView& v) { v.reply.mutable_disk()->set_used_bytes(900); }, Severity::warning, "log"},
      {[](MemoryView& v) { v.reply.mutable_disk()->mutable_checkpoint()->set_error("disk full"); },
       Severity::warning, "disk full"},
      {[](MemoryView& v) { v.reply.mutable_disk()->mutable_checkpoint()->add_stuck(); }, Severity::warning,
       "half-installed"},
      {[](MemoryView& v) { v.reply.set_durability("memory"); }, Severity::note, "memory"},
      {[](MemoryView& v) { v.reply.mutable_opening()->add_lost("12 bytes"); }, Severity::failure, "12 bytes"},
      {[](MemoryView& v) { v.reply.mutable_opening()->set_damaged_chunks(1); }, Severity::warning, "damaged"},
      {[](MemoryView& v) { v.reply.set_entries_refused(1); }, Severity::failure, "cannot be"},
      {[](MemoryView& v) { v.reply.set_slots_dead(2); }, Severity::warning, "2 slots"},
  };
  for (const Case& fault : cases) {
    ClusterView view;
    view.memory = {good_memory_server(0)};
    fault.spoil(view.memory[0]);
    const Finding finding = only(of_cluster(view));
    INFO(finding.text);
    CHECK(finding.severity == fault.severity);
    CHECK(finding.text.find(fault.word) != std::string::npos);
    CHECK(finding.subject == "memory server 10.0.0.0:7400");
  }
}

TEST_CASE("a region that may still grow is not short of room", "[doctor]") {
  ClusterView view;
  view.memory = {good_memory_server(0)};
  view.memory[0].reply.set_free_bytes(50);
  view.memory[0].reply.set_limit_bytes(2000);
  CHECK(all_well(of_cluster(view)));
}

TEST_CASE("memory servers that do not fit together are found", "[doctor]") {
  ClusterView view;
  view.memory = {good_memory_server(0), good_memory_server(1)};
  view.memory[1].reply.set_protocol("occ");
  CHECK(only(of_cluster(view)).text == "they differ in protocol: occ, si");
  view.memory[1] = good_memory_server(0);
  CHECK(only(of_cluster(view)).text.starts_with("two of them have the number 0"));
}

TEST_CASE("each fault of a compute server is one finding", "[doctor]") {
  ClusterView view;
  view.compute = {good_compute_server()};
  CHECK(only(of_cluster(view, -2.5)).text == "its clock is 2.5 s behind this machine's");
  CHECK(all_well(of_cluster(view, std::nullopt)));
  view.compute[0].statistics["block"]["aborts_corrupt_data"] = 3;
  CHECK(only(of_cluster(view)).text == "3 reads have met damage");
  view.compute[0] = good_compute_server();
  view.compute[0].error = "connection refused";
  CHECK(only(of_cluster(view)).severity == Severity::failure);
  view.compute[0] = good_compute_server();
  view.compute[0].version = "2.0";
  CHECK(only(of_cluster(view)).severity == Severity::warning);
}

}  // namespace namdb::namctl
