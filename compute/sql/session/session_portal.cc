// Portals: binding parameters to prepared statements.
#include <absl/cleanup/cleanup.h>

#include <utility>

#include "compute/sql/session/session.h"
#include "compute/sql/session/statement_kind.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

// Shorter parameters, which most are, count as a part of the session.
constexpr std::size_t kShortParameters_bytes = 16 << 10;

Status check_format_count(std::size_t formats, std::size_t count, std::string_view what) {
  if (formats <= 1 || formats == count) return {};
  return Status(ErrorCode::protocol_violation, "bind message has " + std::to_string(formats) + " " +
                                                   std::string(what) + " formats but " +
                                                   std::to_string(count) + " " + std::string(what) + "s");
}

Result<std::int16_t> format_of(std::span<const std::int16_t> formats, std::size_t index) {
  if (formats.empty()) return std::int16_t{0};
  const std::int16_t format = formats.size() == 1 ? formats[0] : formats[index];
  if (format != 0 && format != 1)
    return Status(ErrorCode::invalid_parameter_value, "unsupported format code: " + std::to_string(format));
  return format;
}

}  // namespace

Status Session::no_portal(std::string_view name) const {
  if (state_ == State::failed) return only_end_of_block();
  return Status(ErrorCode::undefined_portal, "portal \"" + std::string(name) + "\" does not exist");
}

Status Session::bind(const BindRequest& request) {
  const std::shared_ptr<PreparedStatement> prepared = prepared_.find(request.statement);
  if (prepared == nullptr) {
    return Status(ErrorCode::undefined_prepared_statement,
                  request.statement.empty()
                      ? "unnamed prepared statement does not exist"
                      : "prepared statement \"" + std::string(request.statement) + "\" does not exist");
  }
  const Plan& plan = *prepared->plan;
  if (Status status = check_allowed(plan); !status.ok()) return status;
  // Parameters may name its time: 'now'.
  if (state_ == State::idle) clock_.start(facts_, engine_.executor().now_ns());
  if (request.parameters.size() != plan.parameters.size()) {
    return Status(ErrorCode::protocol_violation,
                  "bind message supplies " + std::to_string(request.parameters.size()) +
                      " parameters, but prepared statement \"" + std::string(request.statement) +
                      "\" requires " + std::to_string(plan.parameters.size()));
  }
  Status formats =
      check_format_count(request.parameter_formats.size(), request.parameters.size(), "parameter");
  if (formats.ok() && !plan.columns.empty())
    formats = check_format_count(request.result_formats.size(), plan.columns.size(), "result column");
  if (!formats.ok()) return formats;
  if (!request.portal.empty() && find_portal(request.portal) != nullptr) {
    return Status(ErrorCode::duplicate_portal,
                  "cursor \"" + std::string(request.portal) + "\" already exists");
  }
  const Result<Portal*> made = portals_.make(request.portal, nullptr);
  if (!made.ok()) return made.status();
  Portal* const portal = *made;
  std::size_t bytes = 0;
  for (const auto& value : request.parameters) bytes += value ? value->size() : 0;
  if (!request.portal.empty()) {
    portals_.count(*portal, 0);
    const std::size_t size_bytes = bytes + request.parameters.size() * sizeof(Datum);
    if (!portals_.has_room(size_bytes)) {
      close_portal(request.portal);
      return Status(ErrorCode::out_of_memory, "the parameters of a session's portals can have at most " +
                                                  std::to_string(kMaxPortal_bytes) + " bytes");
    }
    portals_.count(*portal, size_bytes);
  }
  portal->reset();
  portal->storage.clear();
  absl::Cleanup close = [&] { close_portal(request.portal); };
  if (bytes > kShortParameters_bytes) {
    portal->memory = MemoryShare(environment_.client_memory);
    if (Status status = portal->memory.resize(bytes); !status.ok()) return status;
  }
  portal->parameters.resize(request.parameters.size());
  portal->storage.reserve(bytes);  // so that borrowed bytes stay where they are
  Status status;
  for (std::size_t i = 0; i < request.parameters.size() && status.ok(); ++i) {
    portal->parameters[i] = Datum();
    if (!request.parameters[i]) continue;
    const Result<std::int16_t> format = format_of(request.parameter_formats, i);
    if (!format.ok()) {
      status = format.status();
      break;
    }
    const std::size_t begin = portal->storage.size();
    portal->storage += *request.parameters[i];
    const std::string_view value(portal->storage.data() + begin, portal->storage.size() - begin);
    const TypeId type = plan.parameters[i].id;
    Datum& parameter = portal->parameters[i];
    status = *format == 0 ? parse_text(value, type, facts_.time(), portal->arrays, parameter)
                          : parse_binary(value, type, portal->arrays, parameter);
  }
  if (const std::size_t array_bytes = portal->arrays.allocated_bytes();
      status.ok() && array_bytes > kShortParameters_bytes) {
    if (portal->memory.bytes() == 0) portal->memory = MemoryShare(environment_.client_memory);
    status = portal->memory.resize(bytes + array_bytes);
  }
  portal->result_formats.assign(plan.columns.size(), 0);
  for (std::size_t i = 0; i < plan.columns.size() && status.ok(); ++i) {
    const Result<std::int16_t> format = format_of(request.result_formats, i);
    if (format.ok()) {
      portal->result_formats[i] = *format;
    } else {
      status = format.status();
    }
  }
  if (!status.ok()) return status;
  std::move(close).Cancel();
  portal->prepared = prepared;
  portal->plan = prepared->plan;
  portal->number = portals_.next_number();
  portal->as_cursor.declared_us = facts_.statement_us;
  portal->valid = true;
  ++prepared->runs;
  return {};
}

}  // namespace namdb::sql
