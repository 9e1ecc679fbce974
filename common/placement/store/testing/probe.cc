// Calls at a configuration store, for tests of backends:
//   namdb_store_probe LOCATION [ca=FILE] [certificate=FILE] [key=FILE] [user=FILE]
// and commands on its input, each answered by one line:
//   read                             read REVISION NUMBER ADDRESS (of region 0), or `read 0`
//   replace REVISION NUMBER ADDRESS  changed, or unchanged
//   add COUNT                        raises region 0's number so many times, against others: added COUNT
// An error is `CODE: message`.
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/crash_handler.h"
#include "common/placement/store/open_store.h"

namespace namdb::placement {
namespace {

constexpr std::uint64_t kProbedDatabase = 0xc0ffee;

std::string told(const Status& status) {
  return std::string(status.info().name) + ": " + status.message();
}

Configuration probed(std::uint64_t number, std::string address) {
  Configuration configuration(1);
  configuration.set_database_id(kProbedDatabase);
  configuration.set(0, Place{number, std::move(address)});
  return configuration;
}

std::string do_read(BlockingStore& store) {
  const auto stored = store.read();
  if (!stored.ok()) return told(stored.status());
  if (stored.value().revision == 0) return "read 0";
  const Place& place = stored.value().configuration.place(0);
  return "read " + std::to_string(stored.value().revision) + " " + std::to_string(place.number) + " " +
         place.address;
}

std::string do_replace(BlockingStore& store, std::uint64_t revision, std::uint64_t number,
                       std::string address) {
  const auto changed = store.replace(revision, probed(number, std::move(address)));
  if (!changed.ok()) return told(changed.status());
  return changed.value() ? "changed" : "unchanged";
}

std::string do_add(BlockingStore& store, std::uint64_t count) {
  for (std::uint64_t added = 0; added < count;) {
    const auto stored = store.read();
    if (!stored.ok()) return told(stored.status());
    const std::uint64_t before =
        stored.value().revision == 0 ? 0 : stored.value().configuration.place(0).number;
    const auto changed = store.replace(stored.value().revision, probed(before + 1, "adder"));
    if (!changed.ok()) return told(changed.status());
    if (changed.value()) ++added;
  }
  return "added " + std::to_string(count);
}

std::string answer(BlockingStore& store, const std::string& line) {
  std::istringstream words(line);
  std::string command;
  std::string address;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  words >> command >> first >> second >> address;
  if (command == "read") return do_read(store);
  if (command == "replace") return do_replace(store, first, second, std::move(address));
  if (command == "add") return do_add(store, first);
  return "unknown command";
}

int probe(int argc, char** argv) {
  StoreOptions options;
  if (argc > 1) options.location = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::string value(word.substr(equals + 1));
    if (name == "ca") options.tls.authority = value;
    if (name == "certificate") options.tls.certificate = value;
    if (name == "key") options.tls.key = value;
    if (name == "user") options.user_file = value;
  }
  auto store = make_store(options);
  if (!store.ok()) {
    std::cerr << told(store.status()) << "\n";
    return 2;
  }
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(**store, line) << std::endl;
  return 0;
}

}  // namespace
}  // namespace namdb::placement

int main(int argc, char** argv) {
  namdb::install_crash_handler(argv[0]);
  return namdb::placement::probe(argc, argv);
}
