// nambench's micro-benchmarks as commands.
#pragma once

#include "tools/nambench/micro/disk_bench.h"
#include "tools/nambench/micro/fabric_bench.h"
#include "tools/nambench/micro/hash_bench.h"
#include "tools/nambench/micro/oracle_bench.h"
#include "tools/nambench/report/command.h"

namespace namdb::nambench {

class DiskCommand : public Command {
 public:
  explicit DiskCommand(CLI::App& app);
  int run() override;

 private:
  DiskBenchOptions options_;
};

class FabricCommand : public Command {
 public:
  explicit FabricCommand(CLI::App& app);
  int run() override;

 private:
  FabricBenchOptions options_;
  std::uint64_t region_mib_ = 256;
};

class HashCommand : public Command {
 public:
  explicit HashCommand(CLI::App& app);
  int run() override;

 private:
  HashBenchOptions options_;
};

class OracleCommand : public Command {
 public:
  explicit OracleCommand(CLI::App& app);
  int run() override;

 private:
  OracleBenchOptions options_;
};

}  // namespace namdb::nambench
