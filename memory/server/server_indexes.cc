// The calls of MemoryServer about secondary indexes.
#include "common/calls/index_calls.h"
#include "memory/calls/handle.h"
#include "memory/server/server.h"

namespace namdb::memory {

using calls::handle;
using calls::unknown_method;

Status MemoryServer::dispatch_indexes(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                                      std::string& reply) {
  switch (method) {
    case layout::kIndexSettleMethod: {
      Status status = indexes_.settle(request);
      collector_.wake();
      return status;
    }
    case layout::kIndexDoubtsMethod:
      return indexes_.take_doubts(request, reply);
    case layout::kIndexSeekMethod:
      return indexes_.seek(request, reply);
    case control::PREPARE_INDEX:
      return handle<control::PrepareIndexRequest, control::PrepareIndexReply>(
          method, request, reply, [&](const auto& in, auto&) { return indexes_.prepare(peer, in); });
    case control::BUILT_INDEX:
      return handle<control::BuiltIndexRequest, control::BuiltIndexReply>(
          method, request, reply, [&](const auto& in, auto&) { return indexes_.built(peer, in.index()); });
    case control::DISCARD_INDEX:
      return handle<control::DiscardIndexRequest, control::DiscardIndexReply>(
          method, request, reply, [&](const auto& in, auto&) {
            if (!indexes_.known(in.index()) && !tables_.has_hash_index(in.index())) {
              return Status(ErrorCode::undefined_object,
                            "this memory server has no index " + std::to_string(in.index()));
            }
            discard(in.index());
            return Status();
          });
    default:
      return unknown_method(method);
  }
}

Status MemoryServer::dispatch_index_catalog(fabric::PeerId peer, std::uint16_t method,
                                            std::string_view request, std::string& reply) {
  switch (method) {
    case control::BEGIN_CREATE_INDEX:
      return handle<control::BeginCreateIndexRequest, control::BeginCreateIndexReply>(
          method, request, reply, [&](const auto& in, auto& out) {
            auto begun = catalog_->begin_index(peer, in.index());
            if (begun.ok()) *out.mutable_index() = std::move(*begun);
            return begun.ok() ? Status() : begun.status();
          });
    case control::ADVANCE_INDEX:
      return handle<control::AdvanceIndexRequest, control::AdvanceIndexReply>(
          method, request, reply, [&](const auto& in, auto& out) {
            const auto version = catalog_->advance_index(peer, in);
            if (version.ok()) out.set_catalog_version(*version);
            return version.ok() ? Status() : version.status();
          });
    case control::DROP_INDEX:
      return handle<control::DropIndexRequest, control::DropIndexReply>(
          method, request, reply, [&](const auto& in, auto& out) {
            const auto index = catalog_->drop_index(in.name());
            if (!index.ok()) return index.status();
            out.set_index(*index);
            return Status();
          });
    default:
      return unknown_method(method);
  }
}

}  // namespace namdb::memory
