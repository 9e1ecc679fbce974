// The fuzz targets: functions that take any bytes. They end the process if the bytes make the code violate a
// rule. The sanitizers, the checks of the code, and the checks of the target find such violations. The
// library knows nothing of libFuzzer, so that a test can run kept inputs through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::fuzz {

using Bytes = std::span<const std::uint8_t>;

struct Target {
  std::string_view name;  // of its folder of seeds, too
  void (*run)(Bytes input);
  std::vector<std::string> (*inputs)() = nullptr;  // to begin with, beside those of the folder; null: none
};

// All targets, by name.
std::span<const Target> targets();
// Null: there is none of that name.
const Target* find_target(std::string_view name);

// --- each says in its file what an input is ---
void run_authentication(Bytes input);
void run_calls(Bytes input);
void run_config(Bytes input);
void run_copy(Bytes input);
void run_descriptors(Bytes input);
void run_frames(Bytes input);
void run_journal(Bytes input);
void run_log(Bytes input);
void run_statements(Bytes input);
void run_values(Bytes input);
void run_wire(Bytes input);
// --- and some have inputs ---
std::vector<std::string> authentication_inputs();
std::vector<std::string> call_inputs();
std::vector<std::string> descriptor_inputs();
std::vector<std::string> frame_inputs();
std::vector<std::string> journal_inputs();
std::vector<std::string> log_inputs();
std::vector<std::string> value_inputs();
std::vector<std::string> wire_inputs();

// Reads all of them, as those that take them do.
void read_all(std::span<const std::byte> bytes);
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace namdb::fuzz
