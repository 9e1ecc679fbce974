#include "compute/sql/syntax/condition_names.h"

#include <algorithm>
#include <array>

namespace namdb::sql {
namespace {

struct Condition {
  std::string_view name;
  std::string_view sqlstate;
};

// PostgreSQL's names (its appendix of error codes), as far as a procedure may meet them here.
constexpr std::array kConditions = {
    Condition{"active_sql_transaction", "25001"},
    Condition{"ambiguous_column", "42702"},
    Condition{"ambiguous_function", "42725"},
    Condition{"array_subscript_error", "2202E"},
    Condition{"assert_failure", "P0004"},
    Condition{"bad_copy_file_format", "22P04"},
    Condition{"cardinality_violation", "21000"},
    Condition{"case_not_found", "20000"},
    Condition{"check_violation", "23514"},
    Condition{"configuration_limit_exceeded", "53400"},
    Condition{"connection_exception", "08000"},
    Condition{"connection_failure", "08006"},
    Condition{"data_corrupted", "XX001"},
    Condition{"data_exception", "22000"},
    Condition{"datatype_mismatch", "42804"},
    Condition{"datetime_field_overflow", "22008"},
    Condition{"deadlock_detected", "40P01"},
    Condition{"dependent_objects_still_exist", "2BP01"},
    Condition{"disk_full", "53100"},
    Condition{"division_by_zero", "22012"},
    Condition{"duplicate_column", "42701"},
    Condition{"duplicate_function", "42723"},
    Condition{"duplicate_object", "42710"},
    Condition{"duplicate_table", "42P07"},
    Condition{"error_in_assignment", "22005"},
    Condition{"exclusion_violation", "23P01"},
    Condition{"feature_not_supported", "0A000"},
    Condition{"foreign_key_violation", "23503"},
    Condition{"in_failed_sql_transaction", "25P02"},
    Condition{"insufficient_privilege", "42501"},
    Condition{"insufficient_resources", "53000"},
    Condition{"integrity_constraint_violation", "23000"},
    Condition{"internal_error", "XX000"},
    Condition{"interval_field_overflow", "22015"},
    Condition{"invalid_argument_for_nth_value_function", "22016"},
    Condition{"invalid_argument_for_ntile_function", "22014"},
    Condition{"invalid_binary_representation", "22P03"},
    Condition{"invalid_column_reference", "42P10"},
    Condition{"invalid_datetime_format", "22007"},
    Condition{"invalid_escape_sequence", "22025"},
    Condition{"invalid_function_definition", "42P13"},
    Condition{"invalid_name", "42602"},
    Condition{"invalid_object_definition", "42P17"},
    Condition{"invalid_parameter_value", "22023"},
    Condition{"invalid_preceding_or_following_size", "22013"},
    Condition{"invalid_regular_expression", "2201B"},
    Condition{"invalid_table_definition", "42P16"},
    Condition{"invalid_text_representation", "22P02"},
    Condition{"invalid_transaction_state", "25000"},
    Condition{"lock_not_available", "55P03"},
    Condition{"no_data_found", "P0002"},
    Condition{"not_null_violation", "23502"},
    Condition{"null_value_not_allowed", "22004"},
    Condition{"numeric_value_out_of_range", "22003"},
    Condition{"object_in_use", "55006"},
    Condition{"object_not_in_prerequisite_state", "55000"},
    Condition{"operator_intervention", "57000"},
    Condition{"out_of_memory", "53200"},
    Condition{"plpgsql_error", "P0000"},
    Condition{"program_limit_exceeded", "54000"},
    Condition{"query_canceled", "57014"},
    Condition{"raise_exception", "P0001"},
    Condition{"read_only_sql_transaction", "25006"},
    Condition{"restrict_violation", "23001"},
    Condition{"serialization_failure", "40001"},
    Condition{"statement_completion_unknown", "40003"},
    Condition{"statement_too_complex", "54001"},
    Condition{"string_data_right_truncation", "22001"},
    Condition{"substring_error", "22011"},
    Condition{"syntax_error", "42601"},
    Condition{"syntax_error_or_access_rule_violation", "42000"},
    Condition{"too_many_columns", "54011"},
    Condition{"too_many_connections", "53300"},
    Condition{"too_many_rows", "P0003"},
    Condition{"transaction_rollback", "40000"},
    Condition{"undefined_column", "42703"},
    Condition{"undefined_function", "42883"},
    Condition{"undefined_object", "42704"},
    Condition{"undefined_parameter", "42P02"},
    Condition{"undefined_table", "42P01"},
    Condition{"unique_violation", "23505"},
    Condition{"untranslatable_character", "22P05"},
    Condition{"windowing_error", "42P20"},
    Condition{"wrong_object_type", "42809"},
};

bool is_sqlstate(std::string_view text) {
  return text.size() == 5 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); });
}

}  // namespace

std::optional<std::string> sqlstate_of_condition(std::string_view name) {
  if (is_sqlstate(name)) return std::string(name);
  const auto found = std::ranges::find(kConditions, name, &Condition::name);
  if (found == kConditions.end()) return std::nullopt;
  return std::string(found->sqlstate);
}

}  // namespace namdb::sql
