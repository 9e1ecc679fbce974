#include "memory/placement/region_host.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/fabric/fabric.h"
#include "memory/log/manifest.h"

namespace namdb::memory {
namespace {

using placement::Configuration;
using placement::Part;

// Of one answer.
constexpr std::size_t kMostFiles = 256;
constexpr std::uint32_t kMostRead_bytes = fabric::kMaxCall_bytes / 2;

std::string folder_of(const PlaceKeeper& keeper, Part part) {
  return keeper.folder() + "/" + std::string(placement::name_of(part));
}

// Files that belong to a copy.
bool is_copied(Part part, const std::string& name) {
  if (part == Part::log) return segment_number(name).has_value();
  return manifest_generation(name).has_value() || parse_chunk_name(name).has_value();
}

Status not_yet() {
  return Status(ErrorCode::cannot_connect_now, "the memory server gives its region up");
}

}  // namespace

RegionHost::RegionHost(ServerState& server, Disk& disk, Log& log, PlaceKeeper& keeper,
                       std::function<void(const Status&)> on_failure)
    : server_(server),
      disk_(disk),
      log_(log),
      keeper_(keeper),
      on_failure_(std::move(on_failure)),
      learned_(server.executor) {}

RegionHost::~RegionHost() = default;

void RegionHost::start() {
  server_.departure = this;
  server_.links.on_learned([this] { learned_.notify_all(); });
  server_.executor.spawn(gate_, keep_places());
}

reactor::Task<void> RegionHost::close() {
  server_.departure = nullptr;
  server_.links.on_learned({});
  auto all_ended = gate_.close();
  learned_.notify_all();
  co_await all_ended;
}

reactor::Task<Status> RegionHost::files(placement::FilesRequest request, std::string* reply) {
  const Log::Pause end = log_.end();
  placement::FilesReply found;
  found.database_id = keeper_.record().database_id;
  found.server_id = server_.options.server_id;
  found.position = end.position;
  found.segment = end.segment;
  found.offset = end.offset;
  const std::string folder = folder_of(keeper_, request.part);
  const auto names = co_await disk_.list(folder);
  if (!names.ok()) co_return names.status();
  for (const std::string& name : *names) {
    if (name <= request.after || !is_copied(request.part, name)) continue;
    if (found.files.size() == kMostFiles) {
      found.more = true;
      break;
    }
    const std::string path = folder + "/" + name;
    const auto file = co_await disk_.open(path);
    if (!file.ok()) co_return file.status();
    found.files.push_back({name, (*file)->length_bytes()});
  }
  *reply = encode(found);
  co_return Status();
}

reactor::Task<Status> RegionHost::read_file(placement::ReadFileRequest request, std::string* reply) {
  if (!is_copied(request.part, request.name) || request.length_bytes > kMostRead_bytes)
    co_return Status(ErrorCode::protocol_violation,
                     "no file of the database, or more than one call may have");
  const std::string path = folder_of(keeper_, request.part) + "/" + request.name;
  const auto file = co_await disk_.open(path);
  if (!file.ok()) co_return file.status();
  const std::uint64_t length = (*file)->length_bytes();
  if (request.offset > length || request.length_bytes > length - request.offset)
    co_return Status(ErrorCode::protocol_violation, path + " is not so long");
  const PageBuffer bytes(request.length_bytes);
  Status status = co_await (*file)->read(request.offset, bytes.span());
  if (!status.ok()) co_return status;
  reply->assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  co_return Status();
}

reactor::Task<Status> RegionHost::hand_over(placement::HandOverRequest request) {
  if (server_.has_store) {
    co_return Status(ErrorCode::object_not_in_prerequisite_state,
                     "the configuration store decides where regions are",
                     "add a copy at the other host, and drain this one");
  }
  if (claimed_ == request.claim) co_return not_yet();
  if (claimed_ != 0 || refused_.contains(request.claim)) {
    co_return Status(ErrorCode::object_not_in_prerequisite_state, "the region is not given up by this claim");
  }
  gate_.enter();
  Status status = co_await depart(std::move(request));
  gate_.leave(server_.executor);
  co_return status;
}

reactor::Task<Status> RegionHost::depart(placement::HandOverRequest request) {
  const std::string where = "the region of memory server " + std::to_string(server_.options.server_id) +
                            " is at " + request.address;
  Status status = gate_.closing() ? Status(ErrorCode::object_not_in_prerequisite_state, "it is shut down")
                                  : log_.end_here(request.position,
                                                  Status(ErrorCode::cannot_connect_now, where + " now"));
  if (!status.ok()) {
    refused_.insert(request.claim);
    co_return status.code() == ErrorCode::object_not_in_prerequisite_state
        ? status
        : Status(ErrorCode::object_not_in_prerequisite_state, status.message());
  }
  claimed_ = request.claim;
  // From here on a log that has ended does not mean a failure of the disk.
  server_.departed = where;
  PlaceRecord record = keeper_.record();
  record.state = PlaceState::departed;
  record.claim = request.claim;
  const std::uint64_t number = record.configuration.place(server_.options.server_id).number + 1;
  record.configuration.set(server_.options.server_id, {number, request.address});
  status = co_await keeper_.store(std::move(record));
  if (!status.ok()) {
    server_.departed.clear();
    if (on_failure_) on_failure_(status);
    co_return status;
  }
  server_.links.learn_places(keeper_.record().configuration);
  server_.notice(where + " now; this memory server gives it up");
  server_.request_shutdown();
  co_return not_yet();
}

reactor::Task<void> RegionHost::keep_places() {
  while (!gate_.closing()) {
    PlaceRecord record = keeper_.record();
    Configuration known = server_.links.configuration();
    const layout::ServerId own = server_.options.server_id;
    known.set(own, record.configuration.place(own));
    if (claimed_ == 0 && server_.departed.empty() && record.configuration.learn(known)) {
      const Status status = co_await keeper_.learn(std::move(known));
      if (!status.ok() && on_failure_) on_failure_(status);
      continue;
    }
    co_await learned_.wait();
  }
}

}  // namespace namdb::memory
