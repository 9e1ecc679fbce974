// The relations of information_schema, with the columns that PostgreSQL 15 gives them.
#include <array>

#include "compute/sql/catalog/system_relation_rows.h"

namespace namdb::sql {
namespace {

// clang-format off
constexpr std::array kInformationSchemaRows = std::to_array<SystemRelationRow>({
    {13250, "information_schema", "character_sets", 'v',
     "character_set_catalog:name character_set_schema:name character_set_name:name "
     "character_repertoire:name form_of_use:name default_collate_catalog:name "
     "default_collate_schema:name default_collate_name:name"},
    {13236, "information_schema", "applicable_roles", 'v',
     "grantee:name role_name:name is_grantable:text"},
    {13260, "information_schema", "check_constraints", 'v',
     "constraint_catalog:name constraint_schema:name constraint_name:name check_clause:text"},
    {13295, "information_schema", "columns", 'v',
     "table_catalog:name table_schema:name table_name:name column_name:name ordinal_position:int4 "
     "column_default:text is_nullable:text data_type:text character_maximum_length:int4 "
     "character_octet_length:int4 numeric_precision:int4 numeric_precision_radix:int4 "
     "numeric_scale:int4 datetime_precision:int4 interval_type:text interval_precision:int4 "
     "character_set_catalog:name character_set_schema:name character_set_name:name "
     "collation_catalog:name collation_schema:name collation_name:name domain_catalog:name "
     "domain_schema:name domain_name:name udt_catalog:name udt_schema:name udt_name:name "
     "scope_catalog:name scope_schema:name scope_name:name maximum_cardinality:int4 "
     "dtd_identifier:name is_self_referencing:text is_identity:text identity_generation:text "
     "identity_start:text identity_increment:text identity_maximum:text identity_minimum:text "
     "identity_cycle:text is_generated:text generation_expression:text is_updatable:text"},
    {13300, "information_schema", "constraint_column_usage", 'v',
     "table_catalog:name table_schema:name table_name:name column_name:name constraint_catalog:name "
     "constraint_schema:name constraint_name:name"},
    {13305, "information_schema", "constraint_table_usage", 'v',
     "table_catalog:name table_schema:name table_name:name constraint_catalog:name "
     "constraint_schema:name constraint_name:name"},
    {13320, "information_schema", "domains", 'v',
     "domain_catalog:name domain_schema:name domain_name:name data_type:text "
     "character_maximum_length:int4 character_octet_length:int4 character_set_catalog:name "
     "character_set_schema:name character_set_name:name collation_catalog:name collation_schema:name "
     "collation_name:name numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4 "
     "datetime_precision:int4 interval_type:text interval_precision:int4 domain_default:text "
     "udt_catalog:name udt_schema:name udt_name:name scope_catalog:name scope_schema:name "
     "scope_name:name maximum_cardinality:int4 dtd_identifier:name"},
    {13493, "information_schema", "element_types", 'v',
     "object_catalog:name object_schema:name object_name:name object_type:text "
     "collection_type_identifier:name data_type:text character_maximum_length:int4 "
     "character_octet_length:int4 character_set_catalog:name character_set_schema:name "
     "character_set_name:name collation_catalog:name collation_schema:name collation_name:name "
     "numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4 datetime_precision:int4 "
     "interval_type:text interval_precision:int4 domain_default:text udt_catalog:name udt_schema:name "
     "udt_name:name scope_catalog:name scope_schema:name scope_name:name maximum_cardinality:int4 "
     "dtd_identifier:name"},
    {13325, "information_schema", "enabled_roles", 'v',
     "role_name:name"},
    {13329, "information_schema", "key_column_usage", 'v',
     "constraint_catalog:name constraint_schema:name constraint_name:name table_catalog:name "
     "table_schema:name table_name:name column_name:name ordinal_position:int4 "
     "position_in_unique_constraint:int4"},
    {13334, "information_schema", "parameters", 'v',
     "specific_catalog:name specific_schema:name specific_name:name ordinal_position:int4 "
     "parameter_mode:text is_result:text as_locator:text parameter_name:name data_type:text "
     "character_maximum_length:int4 character_octet_length:int4 character_set_catalog:name "
     "character_set_schema:name character_set_name:name collation_catalog:name collation_schema:name "
     "collation_name:name numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4 "
     "datetime_precision:int4 interval_type:text interval_precision:int4 udt_catalog:name "
     "udt_schema:name udt_name:name scope_catalog:name scope_schema:name scope_name:name "
     "maximum_cardinality:int4 dtd_identifier:name parameter_default:text"},
    {13339, "information_schema", "referential_constraints", 'v',
     "constraint_catalog:name constraint_schema:name constraint_name:name "
     "unique_constraint_catalog:name unique_constraint_schema:name unique_constraint_name:name "
     "match_option:text update_rule:text delete_rule:text"},
    {13377, "information_schema", "routines", 'v',
     "specific_catalog:name specific_schema:name specific_name:name routine_catalog:name "
     "routine_schema:name routine_name:name routine_type:text module_catalog:name module_schema:name "
     "module_name:name udt_catalog:name udt_schema:name udt_name:name data_type:text "
     "character_maximum_length:int4 character_octet_length:int4 character_set_catalog:name "
     "character_set_schema:name character_set_name:name collation_catalog:name collation_schema:name "
     "collation_name:name numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4 "
     "datetime_precision:int4 interval_type:text interval_precision:int4 type_udt_catalog:name "
     "type_udt_schema:name type_udt_name:name scope_catalog:name scope_schema:name scope_name:name "
     "maximum_cardinality:int4 dtd_identifier:name routine_body:text routine_definition:text "
     "external_name:text external_language:text parameter_style:text is_deterministic:text "
     "sql_data_access:text is_null_call:text sql_path:text schema_level_routine:text "
     "max_dynamic_result_sets:int4 is_user_defined_cast:text is_implicitly_invocable:text "
     "security_type:text to_sql_specific_catalog:name to_sql_specific_schema:name "
     "to_sql_specific_name:name as_locator:text created:timestamptz last_altered:timestamptz "
     "new_savepoint_level:text is_udt_dependent:text result_cast_from_data_type:text "
     "result_cast_as_locator:text result_cast_char_max_length:int4 result_cast_char_octet_length:int4 "
     "result_cast_char_set_catalog:name result_cast_char_set_schema:name "
     "result_cast_char_set_name:name result_cast_collation_catalog:name "
     "result_cast_collation_schema:name result_cast_collation_name:name "
     "result_cast_numeric_precision:int4 result_cast_numeric_precision_radix:int4 "
     "result_cast_numeric_scale:int4 result_cast_datetime_precision:int4 "
     "result_cast_interval_type:text result_cast_interval_precision:int4 "
     "result_cast_type_udt_catalog:name result_cast_type_udt_schema:name "
     "result_cast_type_udt_name:name result_cast_scope_catalog:name result_cast_scope_schema:name "
     "result_cast_scope_name:name result_cast_maximum_cardinality:int4 "
     "result_cast_dtd_identifier:name"},
    {13421, "information_schema", "role_table_grants", 'v',
     "grantor:name grantee:name table_catalog:name table_schema:name table_name:name "
     "privilege_type:text is_grantable:text with_hierarchy:text"},
    {13382, "information_schema", "schemata", 'v',
     "catalog_name:name schema_name:name schema_owner:name default_character_set_catalog:name "
     "default_character_set_schema:name default_character_set_name:name sql_path:text"},
    {13386, "information_schema", "sequences", 'v',
     "sequence_catalog:name sequence_schema:name sequence_name:name data_type:text "
     "numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4 start_value:text "
     "minimum_value:text maximum_value:text increment:text cycle_option:text"},
    {13411, "information_schema", "table_constraints", 'v',
     "constraint_catalog:name constraint_schema:name constraint_name:name table_catalog:name "
     "table_schema:name table_name:name constraint_type:text is_deferrable:text "
     "initially_deferred:text enforced:text nulls_distinct:text"},
    {13416, "information_schema", "table_privileges", 'v',
     "grantor:name grantee:name table_catalog:name table_schema:name table_name:name "
     "privilege_type:text is_grantable:text with_hierarchy:text"},
    {13425, "information_schema", "tables", 'v',
     "table_catalog:name table_schema:name table_name:name table_type:text "
     "self_referencing_column_name:name reference_generation:text user_defined_type_catalog:name "
     "user_defined_type_schema:name user_defined_type_name:name is_insertable_into:text is_typed:text "
     "commit_action:text"},
    {13440, "information_schema", "triggers", 'v',
     "trigger_catalog:name trigger_schema:name trigger_name:name event_manipulation:text "
     "event_object_catalog:name event_object_schema:name event_object_table:name action_order:int4 "
     "action_condition:text action_statement:text action_orientation:text action_timing:text "
     "action_reference_old_table:name action_reference_new_table:name action_reference_old_row:name "
     "action_reference_new_row:name created:timestamptz"},
    {13468, "information_schema", "view_column_usage", 'v',
     "view_catalog:name view_schema:name view_name:name table_catalog:name table_schema:name "
     "table_name:name column_name:name"},
    {13483, "information_schema", "views", 'v',
     "table_catalog:name table_schema:name table_name:name view_definition:text check_option:text "
     "is_updatable:text is_insertable_into:text is_trigger_updatable:text is_trigger_deletable:text "
     "is_trigger_insertable_into:text"},
    {13245, "information_schema", "attributes", 'v',
     "udt_catalog:name udt_schema:name udt_name:name attribute_name:name ordinal_position:int4 "
     "attribute_default:text is_nullable:text data_type:text character_maximum_length:int4 "
     "character_octet_length:int4 character_set_catalog:name character_set_schema:name "
     "character_set_name:name collation_catalog:name collation_schema:name collation_name:name "
     "numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4 datetime_precision:int4 "
     "interval_type:text interval_precision:int4 attribute_udt_catalog:name attribute_udt_schema:name "
     "attribute_udt_name:name scope_catalog:name scope_schema:name scope_name:name "
     "maximum_cardinality:int4 dtd_identifier:name is_derived_reference_attribute:text"},
    {13255, "information_schema", "check_constraint_routine_usage", 'v',
     "constraint_catalog:name constraint_schema:name constraint_name:name specific_catalog:name "
     "specific_schema:name specific_name:name"},
    {13275, "information_schema", "column_column_usage", 'v',
     "table_catalog:name table_schema:name table_name:name column_name:name dependent_column:name"},
    {13280, "information_schema", "column_domain_usage", 'v',
     "domain_catalog:name domain_schema:name domain_name:name table_catalog:name table_schema:name "
     "table_name:name column_name:name"},
    {13503, "information_schema", "column_options", 'v',
     "table_catalog:name table_schema:name table_name:name column_name:name option_name:name "
     "option_value:text"},
    {13310, "information_schema", "domain_constraints", 'v',
     "constraint_catalog:name constraint_schema:name constraint_name:name domain_catalog:name "
     "domain_schema:name domain_name:name is_deferrable:text initially_deferred:text"},
    {13315, "information_schema", "domain_udt_usage", 'v',
     "udt_catalog:name udt_schema:name udt_name:name domain_catalog:name domain_schema:name "
     "domain_name:name"},
    {13511, "information_schema", "foreign_data_wrapper_options", 'v',
     "foreign_data_wrapper_catalog:name foreign_data_wrapper_name:name option_name:name option_value:text"},
    {13515, "information_schema", "foreign_data_wrappers", 'v',
     "foreign_data_wrapper_catalog:name foreign_data_wrapper_name:name authorization_identifier:name "
     "library_name:text foreign_data_wrapper_language:text"},
    {13524, "information_schema", "foreign_server_options", 'v',
     "foreign_server_catalog:name foreign_server_name:name option_name:name option_value:text"},
    {13528, "information_schema", "foreign_servers", 'v',
     "foreign_server_catalog:name foreign_server_name:name foreign_data_wrapper_catalog:name "
     "foreign_data_wrapper_name:name foreign_server_type:text foreign_server_version:text "
     "authorization_identifier:name"},
    {13537, "information_schema", "foreign_table_options", 'v',
     "foreign_table_catalog:name foreign_table_schema:name foreign_table_name:name option_name:name "
     "option_value:text"},
    {13541, "information_schema", "foreign_tables", 'v',
     "foreign_table_catalog:name foreign_table_schema:name foreign_table_name:name "
     "foreign_server_catalog:name foreign_server_name:name"},
    {13348, "information_schema", "routine_column_usage", 'v',
     "specific_catalog:name specific_schema:name specific_name:name routine_catalog:name "
     "routine_schema:name routine_name:name table_catalog:name table_schema:name table_name:name "
     "column_name:name"},
    {13362, "information_schema", "routine_routine_usage", 'v',
     "specific_catalog:name specific_schema:name specific_name:name routine_catalog:name "
     "routine_schema:name routine_name:name"},
    {13367, "information_schema", "routine_sequence_usage", 'v',
     "specific_catalog:name specific_schema:name specific_name:name routine_catalog:name "
     "routine_schema:name routine_name:name sequence_catalog:name sequence_schema:name sequence_name:name"},
    {13372, "information_schema", "routine_table_usage", 'v',
     "specific_catalog:name specific_schema:name specific_name:name routine_catalog:name "
     "routine_schema:name routine_name:name table_catalog:name table_schema:name table_name:name"},
    {13430, "information_schema", "transforms", 'v',
     "udt_catalog:name udt_schema:name udt_name:name specific_catalog:name specific_schema:name "
     "specific_name:name group_name:name transform_type:text"},
    {13435, "information_schema", "triggered_update_columns", 'v',
     "trigger_catalog:name trigger_schema:name trigger_name:name event_object_catalog:name "
     "event_object_schema:name event_object_table:name event_object_column:name"},
    {13463, "information_schema", "user_defined_types", 'v',
     "user_defined_type_catalog:name user_defined_type_schema:name user_defined_type_name:name "
     "user_defined_type_category:text is_instantiable:text is_final:text ordering_form:text "
     "ordering_category:text ordering_routine_catalog:name ordering_routine_schema:name "
     "ordering_routine_name:name reference_type:text data_type:text character_maximum_length:int4 "
     "character_octet_length:int4 character_set_catalog:name character_set_schema:name "
     "character_set_name:name collation_catalog:name collation_schema:name collation_name:name "
     "numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4 datetime_precision:int4 "
     "interval_type:text interval_precision:int4 source_dtd_identifier:name ref_dtd_identifier:name"},
    {13550, "information_schema", "user_mapping_options", 'v',
     "authorization_identifier:name foreign_server_catalog:name foreign_server_name:name option_name:name "
     "option_value:text"},
    {13555, "information_schema", "user_mappings", 'v',
     "authorization_identifier:name foreign_server_catalog:name foreign_server_name:name"},
    {13473, "information_schema", "view_routine_usage", 'v',
     "table_catalog:name table_schema:name table_name:name specific_catalog:name specific_schema:name "
     "specific_name:name"},
});
// clang-format on

}  // namespace

std::span<const SystemRelationRow> information_schema_relations() {
  return kInformationSchemaRows;
}

}  // namespace namdb::sql
