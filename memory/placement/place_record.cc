#include "memory/placement/place_record.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/crc32c.h"
#include "common/calls/fields.h"

namespace namdb::memory {
namespace {

constexpr std::uint32_t kPlaceMagic = 0x43'41'4c'50;  // "PLAC"
constexpr std::uint32_t kPlaceFormat = 1;
constexpr std::size_t kPlaceHead_bytes = 12;  // magic, length, checksum over what follows
constexpr std::string_view kPlaceName = "/place";
constexpr std::string_view kNewPlaceName = "/place.new";

std::uint32_t checksum_of_place(std::string_view body) {
  return crc32c(std::as_bytes(std::span(body.data(), body.size())));
}

Status damaged_place(const char* what) {
  return Status(ErrorCode::corrupt_data, std::string("it is damaged: ") + what,
                "restore the file from a backup of the folder");
}

}  // namespace

std::string write_place_record(const PlaceRecord& record) {
  std::string body;
  calls::put(body, kPlaceFormat);
  calls::put(body, static_cast<std::uint8_t>(record.state));
  calls::put(body, record.database_id);
  calls::put(body, record.server_id);
  calls::put(body, record.claim);
  calls::put(body, record.position);
  calls::put_key(body, record.from);
  calls::put_key(body, record.address);
  body += record.configuration.encode();
  std::string file;
  calls::put(file, kPlaceMagic);
  calls::put(file, static_cast<std::uint32_t>(body.size()));
  calls::put(file, checksum_of_place(body));
  return file + body;
}

Result<PlaceRecord> read_place_record(std::span<const std::byte> file) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  calls::Fields head(bytes.substr(0, kPlaceHead_bytes));
  const auto magic = head.take<std::uint32_t>();
  const auto length = head.take<std::uint32_t>();
  const auto checksum = head.take<std::uint32_t>();
  if (!head.sound() || magic != kPlaceMagic) return damaged_place("its beginning");
  if (length < sizeof kPlaceFormat || length > bytes.size() - kPlaceHead_bytes)
    return damaged_place("its length");
  const std::string_view body = bytes.substr(kPlaceHead_bytes, length);
  if (checksum_of_place(body) != checksum) return damaged_place("its checksum");
  calls::Fields fields(body);
  const auto format = fields.take<std::uint32_t>();
  if (format > kPlaceFormat) {
    return Status(ErrorCode::configuration,
                  "its format is " + std::to_string(format) + ", and this program knows " +
                      std::to_string(kPlaceFormat),
                  "use the version that wrote it, or a later one");
  }
  PlaceRecord record;
  record.state = fields.take_kind(PlaceState::follows);
  record.database_id = fields.take<std::uint64_t>();
  record.server_id = fields.take<std::uint16_t>();
  record.claim = fields.take<std::uint64_t>();
  record.position = fields.take<std::uint64_t>();
  record.from = fields.take_key();
  record.address = fields.take_key();
  if (!fields.sound()) return damaged_place("its fields");
  const std::size_t taken = write_place_record(record).size() - kPlaceHead_bytes;
  const std::size_t nothing = placement::Configuration().encode().size();
  const auto configuration = placement::Configuration::decode(body.substr(taken - nothing));
  if (!configuration || record.server_id >= configuration->regions())
    return damaged_place("its configuration");
  record.configuration = *configuration;
  return record;
}

reactor::Task<Result<std::optional<PlaceRecord>>> PlaceKeeper::load(Disk& disk, std::string folder) {
  // A file that a killed process has renamed into its place counts from now on.
  Status status = co_await disk.sync_folder(folder);
  if (!status.ok()) co_return status;
  const auto names = co_await disk.list(folder);
  if (!names.ok()) co_return names.status();
  if (!std::ranges::binary_search(*names, std::string(kPlaceName.substr(1))))
    co_return std::optional<PlaceRecord>();
  const std::string path = folder + std::string(kPlaceName);
  auto file = co_await disk.open(path);
  if (!file.ok()) co_return file.status();
  const std::uint64_t length = (*file)->length_bytes();
  if (length == 0 || length % kDiskPage_bytes != 0)
    co_return Status(ErrorCode::corrupt_data, path + " is cut short");
  const PageBuffer bytes(length);
  status = co_await (*file)->read(0, bytes.span());
  if (!status.ok()) co_return status;
  auto record = read_place_record(bytes.span());
  if (record.ok()) co_return std::optional<PlaceRecord>(std::move(*record));
  co_return Status(record.status().code(), path + ": " + record.status().message(), record.status().hint());
}

reactor::Task<Result<std::unique_ptr<PlaceKeeper>>> PlaceKeeper::open(Disk& disk, std::string folder,
                                                                      std::uint16_t server_id,
                                                                      std::uint32_t server_count,
                                                                      bool waits) {
  auto found = co_await load(disk, folder);
  if (!found.ok()) co_return found.status();
  PlaceRecord record;
  record.server_id = server_id;
  record.configuration = placement::Configuration(server_count);
  if (*found) record = std::move(**found);
  if (record.server_id != server_id || record.configuration.regions() != server_count) {
    co_return Status(ErrorCode::configuration,
                     folder + " belongs to memory server " + std::to_string(record.server_id) + " of " +
                         std::to_string(record.configuration.regions()),
                     "choose the --data of this server, or its --server-id and --server-count");
  }
  auto keeper = std::make_unique<PlaceKeeper>(disk.executor(), disk, std::move(folder), record);
  if (!*found && waits) {
    record.state = PlaceState::vacant;
    const Status status = co_await keeper->store(std::move(record));
    if (!status.ok()) co_return status;
  }
  co_return std::move(keeper);
}

PlaceKeeper::PlaceKeeper(reactor::Executor& executor, Disk& disk, std::string folder, PlaceRecord record)
    : disk_(disk), folder_(std::move(folder)), record_(std::move(record)), written_(executor) {}

reactor::Task<Status> PlaceKeeper::take_by_force() {
  PlaceRecord record = record_;
  if (record.state != PlaceState::whole) {
    co_return Status(ErrorCode::object_not_in_prerequisite_state,
                     folder_ + " has no whole copy of a region that is claimed");
  }
  record.state = PlaceState::here;
  const std::uint64_t number = record.configuration.place(record.server_id).number + 1;
  record.configuration.set(record.server_id, {number, record.address});
  co_return co_await store(std::move(record));
}

reactor::Task<Status> PlaceKeeper::store(PlaceRecord record) {
  while (writing_) co_await written_.wait();
  writing_ = true;
  record_ = std::move(record);
  std::string bytes = write_place_record(record_);
  Status status = co_await write(std::move(bytes));
  writing_ = false;
  written_.notify_all();
  co_return status;
}

reactor::Task<Status> PlaceKeeper::learn(placement::Configuration places) {
  while (writing_) co_await written_.wait();
  PlaceRecord record = record_;
  if (!record.configuration.learn(places)) co_return Status();
  co_return co_await store(std::move(record));
}

reactor::Task<Status> PlaceKeeper::write(std::string bytes) {
  const PageBuffer pages(whole_pages(bytes.size()));
  std::memcpy(pages.data(), bytes.data(), bytes.size());
  const std::string made = folder_ + std::string(kNewPlaceName);
  const std::string path = folder_ + std::string(kPlaceName);
  auto file = co_await disk_.create(made, pages.size());
  if (!file.ok()) co_return file.status();
  if (Status status = co_await (*file)->write(0, pages.span()); !status.ok()) co_return status;
  if (Status status = co_await (*file)->sync(); !status.ok()) co_return status;
  if (Status status = co_await disk_.rename(made, path); !status.ok()) co_return status;
  co_return co_await disk_.sync_folder(folder_);
}

}  // namespace namdb::memory
