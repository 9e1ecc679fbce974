#include "compute/procedure/piece_watch.h"

#include <span>

namespace namdb::procedure {
namespace {

void add_tables(std::span<const std::string> names, std::set<std::string>& tables) {
  for (const std::string& name : names) tables.insert(name.substr(0, name.find('.')));
}

Status undeclared(const Chopping& declared, const char* does, const std::string& table) {
  return Status(ErrorCode::internal, "procedure \"" + declared.procedure + "\" " + does + " table \"" +
                                         table + "\", and none of its pieces is declared to");
}

}  // namespace

Status PieceWatch::check(const Chopping& declared) const {
  std::set<std::string> written;
  for (const Piece& piece : declared.pieces) {
    add_tables(piece.writes, written);
    add_tables(piece.commutes, written);
  }
  // A piece that writes to a table may read there.
  std::set<std::string> read = written;
  for (const Piece& piece : declared.pieces) add_tables(piece.reads, read);
  for (const std::string& table : written_) {
    if (!written.contains(table)) return undeclared(declared, "writes to", table);
  }
  for (const std::string& table : read_) {
    if (!read.contains(table)) return undeclared(declared, "reads", table);
  }
  return {};
}

reactor::Task<Status> PieceWatch::find(storage::TableRef table, storage::IndexRef index,
                                       txn::IndexRange range, std::vector<txn::RowId>& rows) {
  Status status = co_await watched_.find(table, std::move(index), std::move(range), rows);
  for (const txn::RowId row : rows) note(row, table);
  co_return status;
}

reactor::Task<Status> PieceWatch::find_each(storage::TableRef table, storage::IndexRef index,
                                            std::vector<txn::IndexRange> ranges, txn::RowUse use,
                                            std::vector<std::vector<txn::RowId>>& rows) {
  Status status = co_await watched_.find_each(table, std::move(index), std::move(ranges), use, rows);
  for (const std::vector<txn::RowId>& some : rows) {
    for (const txn::RowId row : some) note(row, table);
  }
  co_return status;
}

}  // namespace namdb::procedure
