#include <array>
#include <cstdio>
#include <string>

#include "memory/opening/durable_database.h"

namespace namdb::memory {
namespace {

std::string count_of(std::uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

std::string in_mebibytes(std::uint64_t bytes) {
  return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB";
}

std::string Opened::text() const {
  if (created) return "a new database was created";
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f s", static_cast<double>(duration_ns) / 1e9);
  return "opened " + count_of(tables, "table", "tables") + " with " + count_of(rows, "row", "rows") +
         " from a checkpoint of " + in_mebibytes(checkpoint_bytes) + " and " + in_mebibytes(log_bytes) +
         " of log in " + seconds.data();
}

control::OpeningStatus Opened::message() const {
  control::OpeningStatus message;
  message.set_created(created);
  message.set_generation(generation);
  message.set_checkpoint_bytes(checkpoint_bytes);
  message.set_damaged_chunks(damaged_chunks);
  message.set_log_bytes(log_bytes);
  message.set_entries(entries);
  message.set_tables(tables);
  message.set_indexes(indexes);
  message.set_rows(rows);
  message.set_duration_ns(duration_ns);
  for (const std::string& line : lost) message.add_lost(line);
  return message;
}

}  // namespace namdb::memory
