// The table that ALTER TABLE makes of another one, step by step: a definition that begins as the old table's,
// and for each column of it an expression that gives the column's value in an existing row.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compute/sql/bind/bind_definition.h"
#include "compute/sql/bind/bind_statement.h"

namespace namdb::sql {

class TableDraft {
 public:
  // `binder` outlives this. Error table_is_altered: an index of the table is being built.
  static Result<TableDraft> of(StatementBinder& binder, storage::TableRef table);

  const storage::Table& table() const { return *table_; }
  Definition& definition() { return definition_; }
  // A column that clients see. Error undefined_column.
  Result<layout::Column*> column(std::string_view name);

  // Makes a place for the value of the column that the definition has got last: its default.
  Status add_value();
  // `cascades`: with what depends on it in other tables.
  Status drop_column(std::string_view name, bool cascades);
  // ALTER COLUMN TYPE: the old value is cast, unless USING says otherwise.
  Status set_type(const Json& column_definition, std::string_view name);
  // DROP EXPRESSION: the values of the generated column stay.
  Status drop_expression(std::string_view name);
  Status set_not_null(std::string_view name);
  Status drop_not_null(std::string_view name);
  // False: the table has no such constraint. `cascades`: with the foreign keys that depend on it.
  Result<bool> drop_constraint(std::string_view name, bool cascades);
  // VALIDATE CONSTRAINT; false: the table has no such constraint.
  bool validate_constraint(std::string_view name);
  // The objects that CASCADE has dropped.
  const std::vector<std::string>& cascaded() const { return cascaded_texts_; }
  bool has_constraint(std::string_view name) const;
  // After the definition has got a primary key.
  Status use_key();
  // Gives a column that is in no key and index the room of those that are; false: it has that.
  bool make_room(std::string_view name);
  Status rename_column(std::string_view name, std::string_view other);
  // A new column of an index, which goes when no index has it any more. Its name.
  std::string add_index_column(layout::Column column);
  void add_index(std::string name, std::vector<std::string> columns, std::vector<bool> descending,
                 bool unique, bool hash);
  // Rows must be copied, since they get another form, or must be checked.
  void replace_rows() { replaces_rows_ = true; }

  // The plan of the change.
  Result<AlterTablePlan> finish() &&;

 private:
  struct OtherIndex {
    std::string name;
    std::vector<std::string> columns;
    std::vector<bool> descending;
    bool unique = false;
    bool hash = false;
  };

  TableDraft(StatementBinder& binder, storage::TableRef table) : binder_(binder), table_(std::move(table)) {}
  Status read_indexes();
  // The value of a column that the old row has.
  ExprPtr old_value(std::string_view name) const;
  bool is_key_column(std::string_view name) const;
  void forget_row_id();
  void drop_key();
  // Takes what names the column out of the definition; true: the key did.
  bool drop_dependents(std::string_view name);
  Status drop_checks_of(std::string_view column);
  // The generated columns, or those of indexes, whose expressions read the column.
  Result<std::vector<std::string>> generated_of(std::string_view column, bool of_indexes) const;
  // Drops the generated columns and the indexes whose expressions read a column that is to be dropped.
  Status drop_generated_of(std::string_view column, bool cascades);
  Status check_no_generated(std::string_view column) const;
  // Drops those that no index has, and lets the others stand behind the columns that clients see.
  void arrange_index_columns();
  // Finds the foreign keys that reference all of these columns, or, if `any`, one of them: an error, or with
  // CASCADE they go. `what`: "column a of table t", which is to be dropped; `dependency`: they depend on it.
  Status drop_referencing(const std::vector<std::string>& columns, bool any, const std::string& what,
                          const std::string& dependency, bool cascades);
  // Error if a foreign key has the column, here or elsewhere.
  Status check_no_foreign_key(std::string_view column) const;
  std::vector<std::vector<std::string>> unique_indexes() const;
  std::string shown_key_name() const;
  // Whether a key or an index of the table as it is has the column.
  bool is_indexed_now(std::string_view name) const;
  // To columns without a declared length, and to those that come into a key.
  void give_room();
  Status finish_rows(AlterTablePlan& plan);
  Status finish_names(AlterTablePlan& plan);

  StatementBinder& binder_;
  storage::TableRef table_;
  Definition definition_;
  std::map<std::string, ExprPtr, std::less<>> values_;  // by column
  std::vector<OtherIndex> others_;
  std::vector<std::string> partition_;
  std::vector<DroppedForeignKey> cascaded_;
  std::vector<std::string> cascaded_texts_;
  std::vector<std::string> validated_;
  std::vector<std::string> dropped_columns_;
  std::vector<std::string> retyped_columns_;
  std::map<std::string, std::string> renamed_columns_;
  bool cascades_ = false;
  bool ordered_ = false;
  bool replaces_rows_ = false;
};

}  // namespace namdb::sql
