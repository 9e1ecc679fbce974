#include "compute/sql/catalog/system_relations.h"

#include <array>
#include <optional>

#include "common/base/check.h"

namespace namdb::sql {
namespace {

struct Row {
  Oid oid;
  std::string_view schema;
  std::string_view name;
  char kind;
  std::string_view columns;  // "name:type" as pg_type names it, separated by blanks
};

// clang-format off
constexpr std::array kRows = std::to_array<Row>({
    {2600, "pg_catalog", "pg_aggregate", 'r',
     "aggfnoid:regproc aggkind:char aggnumdirectargs:int2 aggtransfn:regproc aggfinalfn:regproc "
     "aggcombinefn:regproc aggserialfn:regproc aggdeserialfn:regproc aggmtransfn:regproc "
     "aggminvtransfn:regproc aggmfinalfn:regproc aggfinalextra:bool aggmfinalextra:bool "
     "aggfinalmodify:char aggmfinalmodify:char aggsortop:oid aggtranstype:oid aggtransspace:int4 "
     "aggmtranstype:oid aggmtransspace:int4 agginitval:text aggminitval:text"},
    {2601, "pg_catalog", "pg_am", 'r',
     "oid:oid amname:name amhandler:regproc amtype:char"},
    {2602, "pg_catalog", "pg_amop", 'r',
     "oid:oid amopfamily:oid amoplefttype:oid amoprighttype:oid amopstrategy:int2 amoppurpose:char "
     "amopopr:oid amopmethod:oid amopsortfamily:oid"},
    {2603, "pg_catalog", "pg_amproc", 'r',
     "oid:oid amprocfamily:oid amproclefttype:oid amprocrighttype:oid amprocnum:int2 amproc:regproc"},
    {2604, "pg_catalog", "pg_attrdef", 'r',
     "oid:oid adrelid:oid adnum:int2 adbin:text"},
    {1249, "pg_catalog", "pg_attribute", 'r',
     "attrelid:oid attname:name atttypid:oid attstattarget:int4 attlen:int2 attnum:int2 attndims:int4 "
     "attcacheoff:int4 atttypmod:int4 attbyval:bool attalign:char attstorage:char attcompression:char "
     "attnotnull:bool atthasdef:bool atthasmissing:bool attidentity:char attgenerated:char "
     "attisdropped:bool attislocal:bool attinhcount:int4 attcollation:oid attacl:_text "
     "attoptions:_text attfdwoptions:_text attmissingval:text"},
    {1261, "pg_catalog", "pg_auth_members", 'r',
     "roleid:oid member:oid grantor:oid admin_option:bool"},
    {1260, "pg_catalog", "pg_authid", 'r',
     "oid:oid rolname:name rolsuper:bool rolinherit:bool rolcreaterole:bool rolcreatedb:bool "
     "rolcanlogin:bool rolreplication:bool rolbypassrls:bool rolconnlimit:int4 rolpassword:text "
     "rolvaliduntil:timestamptz"},
    {2605, "pg_catalog", "pg_cast", 'r',
     "oid:oid castsource:oid casttarget:oid castfunc:oid castcontext:char castmethod:char"},
    {1259, "pg_catalog", "pg_class", 'r',
     "oid:oid relname:name relnamespace:oid reltype:oid reloftype:oid relowner:oid relam:oid "
     "relfilenode:oid reltablespace:oid relpages:int4 reltuples:float8 relallvisible:int4 "
     "reltoastrelid:oid relhasindex:bool relisshared:bool relpersistence:char relkind:char "
     "relnatts:int2 relchecks:int2 relhasrules:bool relhastriggers:bool relhassubclass:bool "
     "relrowsecurity:bool relforcerowsecurity:bool relispopulated:bool relreplident:char "
     "relispartition:bool relrewrite:oid relfrozenxid:int8 relminmxid:int8 relacl:_text "
     "reloptions:_text relpartbound:text"},
    {3456, "pg_catalog", "pg_collation", 'r',
     "oid:oid collname:name collnamespace:oid collowner:oid collprovider:char "
     "collisdeterministic:bool collencoding:int4 collcollate:text collctype:text colliculocale:text "
     "collversion:text"},
    {2606, "pg_catalog", "pg_constraint", 'r',
     "oid:oid conname:name connamespace:oid contype:char condeferrable:bool condeferred:bool "
     "convalidated:bool conrelid:oid contypid:oid conindid:oid conparentid:oid confrelid:oid "
     "confupdtype:char confdeltype:char confmatchtype:char conislocal:bool coninhcount:int4 "
     "connoinherit:bool conkey:_int2 confkey:_int2 conpfeqop:_oid conppeqop:_oid conffeqop:_oid "
     "confdelsetcols:_int2 conexclop:_oid conbin:text"},
    {2607, "pg_catalog", "pg_conversion", 'r',
     "oid:oid conname:name connamespace:oid conowner:oid conforencoding:int4 contoencoding:int4 "
     "conproc:regproc condefault:bool"},
    {1262, "pg_catalog", "pg_database", 'r',
     "oid:oid datname:name datdba:oid encoding:int4 datlocprovider:char datistemplate:bool "
     "datallowconn:bool datconnlimit:int4 datfrozenxid:int8 datminmxid:int8 dattablespace:oid "
     "datcollate:text datctype:text daticulocale:text datcollversion:text datacl:_text"},
    {2964, "pg_catalog", "pg_db_role_setting", 'r',
     "setdatabase:oid setrole:oid setconfig:_text"},
    {826, "pg_catalog", "pg_default_acl", 'r',
     "oid:oid defaclrole:oid defaclnamespace:oid defaclobjtype:char defaclacl:_text"},
    {2608, "pg_catalog", "pg_depend", 'r',
     "classid:oid objid:oid objsubid:int4 refclassid:oid refobjid:oid refobjsubid:int4 deptype:char"},
    {2609, "pg_catalog", "pg_description", 'r',
     "objoid:oid classoid:oid objsubid:int4 description:text"},
    {3501, "pg_catalog", "pg_enum", 'r',
     "oid:oid enumtypid:oid enumsortorder:float4 enumlabel:name"},
    {3466, "pg_catalog", "pg_event_trigger", 'r',
     "oid:oid evtname:name evtevent:name evtowner:oid evtfoid:oid evtenabled:char evttags:_text"},
    {3079, "pg_catalog", "pg_extension", 'r',
     "oid:oid extname:name extowner:oid extnamespace:oid extrelocatable:bool extversion:text "
     "extconfig:_oid extcondition:_text"},
    {2328, "pg_catalog", "pg_foreign_data_wrapper", 'r',
     "oid:oid fdwname:name fdwowner:oid fdwhandler:oid fdwvalidator:oid fdwacl:_text fdwoptions:_text"},
    {1417, "pg_catalog", "pg_foreign_server", 'r',
     "oid:oid srvname:name srvowner:oid srvfdw:oid srvtype:text srvversion:text srvacl:_text "
     "srvoptions:_text"},
    {3118, "pg_catalog", "pg_foreign_table", 'r',
     "ftrelid:oid ftserver:oid ftoptions:_text"},
    {2610, "pg_catalog", "pg_index", 'r',
     "indexrelid:oid indrelid:oid indnatts:int2 indnkeyatts:int2 indisunique:bool "
     "indnullsnotdistinct:bool indisprimary:bool indisexclusion:bool indimmediate:bool "
     "indisclustered:bool indisvalid:bool indcheckxmin:bool indisready:bool indislive:bool "
     "indisreplident:bool indkey:int2vector indcollation:oidvector indclass:oidvector "
     "indoption:int2vector indexprs:text indpred:text"},
    {2611, "pg_catalog", "pg_inherits", 'r',
     "inhrelid:oid inhparent:oid inhseqno:int4 inhdetachpending:bool"},
    {3394, "pg_catalog", "pg_init_privs", 'r',
     "objoid:oid classoid:oid objsubid:int4 privtype:char initprivs:_text"},
    {2612, "pg_catalog", "pg_language", 'r',
     "oid:oid lanname:name lanowner:oid lanispl:bool lanpltrusted:bool lanplcallfoid:oid "
     "laninline:oid lanvalidator:oid lanacl:_text"},
    {2995, "pg_catalog", "pg_largeobject_metadata", 'r',
     "oid:oid lomowner:oid lomacl:_text"},
    {2615, "pg_catalog", "pg_namespace", 'r',
     "oid:oid nspname:name nspowner:oid nspacl:_text"},
    {2616, "pg_catalog", "pg_opclass", 'r',
     "oid:oid opcmethod:oid opcname:name opcnamespace:oid opcowner:oid opcfamily:oid opcintype:oid "
     "opcdefault:bool opckeytype:oid"},
    {2617, "pg_catalog", "pg_operator", 'r',
     "oid:oid oprname:name oprnamespace:oid oprowner:oid oprkind:char oprcanmerge:bool "
     "oprcanhash:bool oprleft:oid oprright:oid oprresult:oid oprcom:oid oprnegate:oid oprcode:regproc "
     "oprrest:regproc oprjoin:regproc"},
    {2753, "pg_catalog", "pg_opfamily", 'r',
     "oid:oid opfmethod:oid opfname:name opfnamespace:oid opfowner:oid"},
    {3350, "pg_catalog", "pg_partitioned_table", 'r',
     "partrelid:oid partstrat:char partnatts:int2 partdefid:oid partattrs:int2vector "
     "partclass:oidvector partcollation:oidvector partexprs:text"},
    {3256, "pg_catalog", "pg_policy", 'r',
     "oid:oid polname:name polrelid:oid polcmd:char polpermissive:bool polroles:_oid polqual:text "
     "polwithcheck:text"},
    {1255, "pg_catalog", "pg_proc", 'r',
     "oid:oid proname:name pronamespace:oid proowner:oid prolang:oid procost:float8 prorows:float8 "
     "provariadic:oid prosupport:regproc prokind:char prosecdef:bool proleakproof:bool "
     "proisstrict:bool proretset:bool provolatile:char proparallel:char pronargs:int2 "
     "pronargdefaults:int2 prorettype:oid proargtypes:oidvector proallargtypes:_oid "
     "proargmodes:_char proargnames:_text proargdefaults:text protrftypes:_oid prosrc:text "
     "probin:text prosqlbody:text proconfig:_text proacl:_text"},
    {6104, "pg_catalog", "pg_publication", 'r',
     "oid:oid pubname:name pubowner:oid puballtables:bool pubinsert:bool pubupdate:bool "
     "pubdelete:bool pubtruncate:bool pubviaroot:bool"},
    {6237, "pg_catalog", "pg_publication_namespace", 'r',
     "oid:oid pnpubid:oid pnnspid:oid"},
    {6106, "pg_catalog", "pg_publication_rel", 'r',
     "oid:oid prpubid:oid prrelid:oid prqual:text prattrs:int2vector"},
    {3541, "pg_catalog", "pg_range", 'r',
     "rngtypid:oid rngsubtype:oid rngmultitypid:oid rngcollation:oid rngsubopc:oid "
     "rngcanonical:regproc rngsubdiff:regproc"},
    {2618, "pg_catalog", "pg_rewrite", 'r',
     "oid:oid rulename:name ev_class:oid ev_type:char ev_enabled:char is_instead:bool ev_qual:text "
     "ev_action:text"},
    {3596, "pg_catalog", "pg_seclabel", 'r',
     "objoid:oid classoid:oid objsubid:int4 provider:text label:text"},
    {2224, "pg_catalog", "pg_sequence", 'r',
     "seqrelid:oid seqtypid:oid seqstart:int8 seqincrement:int8 seqmax:int8 seqmin:int8 seqcache:int8 "
     "seqcycle:bool"},
    {1214, "pg_catalog", "pg_shdepend", 'r',
     "dbid:oid classid:oid objid:oid objsubid:int4 refclassid:oid refobjid:oid deptype:char"},
    {2396, "pg_catalog", "pg_shdescription", 'r',
     "objoid:oid classoid:oid description:text"},
    {3592, "pg_catalog", "pg_shseclabel", 'r',
     "objoid:oid classoid:oid provider:text label:text"},
    {3381, "pg_catalog", "pg_statistic_ext", 'r',
     "oid:oid stxrelid:oid stxname:name stxnamespace:oid stxowner:oid stxstattarget:int4 "
     "stxkeys:int2vector stxkind:_char stxexprs:text"},
    {6100, "pg_catalog", "pg_subscription", 'r',
     "oid:oid subdbid:oid subskiplsn:text subname:name subowner:oid subenabled:bool subbinary:bool "
     "substream:bool subtwophasestate:char subdisableonerr:bool subconninfo:text subslotname:name "
     "subsynccommit:text subpublications:_text"},
    {6102, "pg_catalog", "pg_subscription_rel", 'r',
     "srsubid:oid srrelid:oid srsubstate:char srsublsn:text"},
    {1213, "pg_catalog", "pg_tablespace", 'r',
     "oid:oid spcname:name spcowner:oid spcacl:_text spcoptions:_text"},
    {3576, "pg_catalog", "pg_transform", 'r',
     "oid:oid trftype:oid trflang:oid trffromsql:regproc trftosql:regproc"},
    {2620, "pg_catalog", "pg_trigger", 'r',
     "oid:oid tgrelid:oid tgparentid:oid tgname:name tgfoid:oid tgtype:int2 tgenabled:char "
     "tgisinternal:bool tgconstrrelid:oid tgconstrindid:oid tgconstraint:oid tgdeferrable:bool "
     "tginitdeferred:bool tgnargs:int2 tgattr:int2vector tgargs:text tgqual:text tgoldtable:name "
     "tgnewtable:name"},
    {3602, "pg_catalog", "pg_ts_config", 'r',
     "oid:oid cfgname:name cfgnamespace:oid cfgowner:oid cfgparser:oid"},
    {3603, "pg_catalog", "pg_ts_config_map", 'r',
     "mapcfg:oid maptokentype:int4 mapseqno:int4 mapdict:oid"},
    {3600, "pg_catalog", "pg_ts_dict", 'r',
     "oid:oid dictname:name dictnamespace:oid dictowner:oid dicttemplate:oid dictinitoption:text"},
    {3601, "pg_catalog", "pg_ts_parser", 'r',
     "oid:oid prsname:name prsnamespace:oid prsstart:regproc prstoken:regproc prsend:regproc "
     "prsheadline:regproc prslextype:regproc"},
    {3764, "pg_catalog", "pg_ts_template", 'r',
     "oid:oid tmplname:name tmplnamespace:oid tmplinit:regproc tmpllexize:regproc"},
    {1247, "pg_catalog", "pg_type", 'r',
     "oid:oid typname:name typnamespace:oid typowner:oid typlen:int2 typbyval:bool typtype:char "
     "typcategory:char typispreferred:bool typisdefined:bool typdelim:char typrelid:oid "
     "typsubscript:regproc typelem:oid typarray:oid typinput:regproc typoutput:regproc "
     "typreceive:regproc typsend:regproc typmodin:regproc typmodout:regproc typanalyze:regproc "
     "typalign:char typstorage:char typnotnull:bool typbasetype:oid typtypmod:int4 typndims:int4 "
     "typcollation:oid typdefaultbin:text typdefault:text typacl:_text"},
    {1418, "pg_catalog", "pg_user_mapping", 'r',
     "oid:oid umuser:oid umserver:oid umoptions:_text"},
    {12081, "pg_catalog", "pg_available_extensions", 'v',
     "name:name default_version:text installed_version:text comment:text"},
    {12077, "pg_catalog", "pg_cursors", 'v',
     "name:text statement:text is_holdable:bool is_binary:bool is_scrollable:bool "
     "creation_time:timestamptz"},
    {12010, "pg_catalog", "pg_group", 'v',
     "groname:name grosysid:oid grolist:_oid"},
    {12043, "pg_catalog", "pg_indexes", 'v',
     "schemaname:name tablename:name indexname:name tablespace:name indexdef:text"},
    {12073, "pg_catalog", "pg_locks", 'v',
     "locktype:text database:oid relation:oid page:int4 tuple:int2 virtualxid:text transactionid:int8 "
     "classid:oid objid:oid objsubid:int2 virtualtransaction:text pid:int4 mode:text granted:bool "
     "fastpath:bool waitstart:timestamptz"},
    {12038, "pg_catalog", "pg_matviews", 'v',
     "schemaname:name matviewname:name matviewowner:name tablespace:name hasindexes:bool "
     "ispopulated:bool definition:text"},
    {12018, "pg_catalog", "pg_policies", 'v',
     "schemaname:name tablename:name policyname:name permissive:text roles:_name cmd:text qual:text "
     "with_check:text"},
    {12095, "pg_catalog", "pg_prepared_statements", 'v',
     "name:text statement:text prepare_time:timestamptz parameter_types:_text from_sql:bool "
     "generic_plans:int8 custom_plans:int8"},
    {12090, "pg_catalog", "pg_prepared_xacts", 'v',
     "transaction:int8 gid:text prepared:timestamptz owner:name database:name"},
    {12068, "pg_catalog", "pg_publication_tables", 'v',
     "pubname:name schemaname:name tablename:name attnames:_name rowfilter:text"},
    {12000, "pg_catalog", "pg_roles", 'v',
     "rolname:name rolsuper:bool rolinherit:bool rolcreaterole:bool rolcreatedb:bool rolcanlogin:bool "
     "rolreplication:bool rolconnlimit:int4 rolpassword:text rolvaliduntil:timestamptz "
     "rolbypassrls:bool rolconfig:_text oid:oid"},
    {12023, "pg_catalog", "pg_rules", 'v',
     "schemaname:name tablename:name rulename:name definition:text"},
    {12048, "pg_catalog", "pg_sequences", 'v',
     "schemaname:name sequencename:name sequenceowner:name data_type:regtype start_value:int8 "
     "min_value:int8 max_value:int8 increment_by:int8 cycle:bool cache_size:int8 last_value:int8"},
    {12104, "pg_catalog", "pg_settings", 'v',
     "name:text setting:text unit:text category:text short_desc:text extra_desc:text context:text "
     "vartype:text source:text min_val:text max_val:text enumvals:_text boot_val:text reset_val:text "
     "sourcefile:text sourceline:int4 pending_restart:bool"},
    {12005, "pg_catalog", "pg_shadow", 'v',
     "usename:name usesysid:oid usecreatedb:bool usesuper:bool userepl:bool usebypassrls:bool "
     "passwd:text valuntil:timestamptz useconfig:_text"},
    {12142, "pg_catalog", "pg_stat_all_tables", 'v',
     "relid:oid schemaname:name relname:name seq_scan:int8 seq_tup_read:int8 idx_scan:int8 "
     "idx_tup_fetch:int8 n_tup_ins:int8 n_tup_upd:int8 n_tup_del:int8 n_tup_hot_upd:int8 "
     "n_live_tup:int8 n_dead_tup:int8 n_mod_since_analyze:int8 n_ins_since_vacuum:int8 "
     "last_vacuum:timestamptz last_autovacuum:timestamptz last_analyze:timestamptz "
     "last_autoanalyze:timestamptz vacuum_count:int8 autovacuum_count:int8 analyze_count:int8 "
     "autoanalyze_count:int8"},
    {12266, "pg_catalog", "pg_stat_database", 'v',
     "datid:oid datname:name numbackends:int4 xact_commit:int8 xact_rollback:int8 blks_read:int8 "
     "blks_hit:int8 tup_returned:int8 tup_fetched:int8 tup_inserted:int8 tup_updated:int8 "
     "tup_deleted:int8 conflicts:int8 temp_files:int8 temp_bytes:int8 deadlocks:int8 "
     "checksum_failures:int8 checksum_last_failure:timestamptz blk_read_time:float8 "
     "blk_write_time:float8 session_time:float8 active_time:float8 idle_in_transaction_time:float8 "
     "sessions:int8 sessions_abandoned:int8 sessions_fatal:int8 sessions_killed:int8 "
     "stats_reset:timestamptz"},
    {12192, "pg_catalog", "pg_stat_user_indexes", 'v',
     "relid:oid indexrelid:oid schemaname:name relname:name indexrelname:name idx_scan:int8 "
     "idx_tup_read:int8 idx_tup_fetch:int8"},
    {12161, "pg_catalog", "pg_stat_user_tables", 'v',
     "relid:oid schemaname:name relname:name seq_scan:int8 seq_tup_read:int8 idx_scan:int8 "
     "idx_tup_fetch:int8 n_tup_ins:int8 n_tup_upd:int8 n_tup_del:int8 n_tup_hot_upd:int8 "
     "n_live_tup:int8 n_dead_tup:int8 n_mod_since_analyze:int8 n_ins_since_vacuum:int8 "
     "last_vacuum:timestamptz last_autovacuum:timestamptz last_analyze:timestamptz "
     "last_autoanalyze:timestamptz vacuum_count:int8 autovacuum_count:int8 analyze_count:int8 "
     "autoanalyze_count:int8"},
    {12179, "pg_catalog", "pg_statio_user_tables", 'v',
     "relid:oid schemaname:name relname:name heap_blks_read:int8 heap_blks_hit:int8 "
     "idx_blks_read:int8 idx_blks_hit:int8 toast_blks_read:int8 toast_blks_hit:int8 "
     "tidx_blks_read:int8 tidx_blks_hit:int8"},
    {12053, "pg_catalog", "pg_stats", 'v',
     "schemaname:name tablename:name attname:name inherited:bool null_frac:float8 avg_width:int4 "
     "n_distinct:float8 most_common_vals:text most_common_freqs:text histogram_bounds:text "
     "correlation:float8 most_common_elems:text most_common_elem_freqs:text elem_count_histogram:text"},
    {12033, "pg_catalog", "pg_tables", 'v',
     "schemaname:name tablename:name tableowner:name tablespace:name hasindexes:bool hasrules:bool "
     "hastriggers:bool rowsecurity:bool"},
    {12126, "pg_catalog", "pg_timezone_names", 'v',
     "name:text abbrev:text utc_offset:text is_dst:bool"},
    {12129, "pg_catalog", "pg_user_mappings", 'v',
     "umid:oid srvid:oid srvname:name umuser:oid usename:name umoptions:_text"},
    {12014, "pg_catalog", "pg_user", 'v',
     "usename:name usesysid:oid usecreatedb:bool usesuper:bool userepl:bool usebypassrls:bool "
     "passwd:text valuntil:timestamptz useconfig:_text"},
    {12028, "pg_catalog", "pg_views", 'v',
     "schemaname:name viewname:name viewowner:name definition:text"},
    {12099, "pg_catalog", "pg_seclabels", 'v',
     "objoid:oid classoid:oid objsubid:int4 objtype:text objnamespace:oid objname:text provider:text "
     "label:text"},
    {12257, "pg_catalog", "pg_replication_slots", 'v',
     "slot_name:name plugin:name slot_type:text datoid:oid database:name temporary:bool active:bool "
     "active_pid:int4 xmin:int8 catalog_xmin:int8 restart_lsn:text confirmed_flush_lsn:text "
     "wal_status:text safe_wal_size:int8 two_phase:bool"},
    {12227, "pg_catalog", "pg_stat_replication", 'v',
     "pid:int4 usesysid:oid usename:name application_name:text client_addr:text client_hostname:text "
     "client_port:int4 backend_start:timestamptz backend_xmin:int8 state:text sent_lsn:text write_lsn:text "
     "flush_lsn:text replay_lsn:text write_lag:interval flush_lag:interval replay_lag:interval "
     "sync_priority:int4 sync_state:text reply_time:timestamptz"},
    {12262, "pg_catalog", "pg_stat_replication_slots", 'v',
     "slot_name:text spill_txns:int8 spill_count:int8 spill_bytes:int8 stream_txns:int8 stream_count:int8 "
     "stream_bytes:int8 total_txns:int8 total_bytes:int8 stats_reset:timestamptz"},
    {6000, "pg_catalog", "pg_replication_origin", 'r',
     "roident:oid roname:text"},
    {12332, "pg_catalog", "pg_replication_origin_status", 'v',
     "local_id:oid external_id:text remote_lsn:text local_lsn:text"},
    {2613, "pg_catalog", "pg_largeobject", 'r',
     "loid:oid pageno:int4 data:bytea"},
    {6243, "pg_catalog", "pg_parameter_acl", 'r',
     "oid:oid parname:text paracl:_text"},
    {12058, "pg_catalog", "pg_stats_ext", 'v',
     "schemaname:name tablename:name statistics_schemaname:name statistics_name:name statistics_owner:name "
     "attnames:_name exprs:_text kinds:_char inherited:bool n_distinct:text dependencies:text "
     "most_common_vals:_text most_common_val_nulls:_bool most_common_freqs:_float8 "
     "most_common_base_freqs:_float8"},
    {12063, "pg_catalog", "pg_stats_ext_exprs", 'v',
     "schemaname:name tablename:name statistics_schemaname:name statistics_name:name statistics_owner:name "
     "expr:text inherited:bool null_frac:float8 avg_width:int4 n_distinct:float8 most_common_vals:text "
     "most_common_freqs:_float4 histogram_bounds:text correlation:float8 most_common_elems:text "
     "most_common_elem_freqs:_float4 elem_count_histogram:_float4"},
    {3429, "pg_catalog", "pg_statistic_ext_data", 'r',
     "stxoid:oid stxdinherit:bool stxdndistinct:text stxddependencies:text stxdmcv:text stxdexpr:text"},
    {12244, "pg_catalog", "pg_stat_subscription", 'v',
     "subid:oid subname:name pid:int4 relid:oid received_lsn:text last_msg_send_time:timestamptz "
     "last_msg_receipt_time:timestamptz latest_end_lsn:text latest_end_time:timestamptz"},
    {12336, "pg_catalog", "pg_stat_subscription_stats", 'v',
     "subid:oid subname:name apply_error_count:int8 sync_error_count:int8 stats_reset:timestamptz"},
    {12297, "pg_catalog", "pg_stat_progress_analyze", 'v',
     "pid:int4 datid:oid datname:name relid:oid phase:text sample_blks_total:int8 sample_blks_scanned:int8 "
     "ext_stats_total:int8 ext_stats_computed:int8 child_tables_total:int8 child_tables_done:int8 "
     "current_child_table_relid:oid"},
    {12317, "pg_catalog", "pg_stat_progress_basebackup", 'v',
     "pid:int4 phase:text backup_total:int8 backup_streamed:int8 tablespaces_total:int8 "
     "tablespaces_streamed:int8"},
    {12307, "pg_catalog", "pg_stat_progress_cluster", 'v',
     "pid:int4 datid:oid datname:name relid:oid command:text phase:text cluster_index_relid:oid "
     "heap_tuples_scanned:int8 heap_tuples_written:int8 heap_blks_total:int8 heap_blks_scanned:int8 "
     "index_rebuild_count:int8"},
    {12302, "pg_catalog", "pg_stat_progress_vacuum", 'v',
     "pid:int4 datid:oid datname:name relid:oid phase:text heap_blks_total:int8 heap_blks_scanned:int8 "
     "heap_blks_vacuumed:int8 index_vacuum_count:int8 max_dead_tuples:int8 num_dead_tuples:int8"},
    {12312, "pg_catalog", "pg_stat_progress_create_index", 'v',
     "pid:int4 datid:oid datname:name relid:oid index_relid:oid command:text phase:text lockers_total:int8 "
     "lockers_done:int8 current_locker_pid:int8 blocks_total:int8 blocks_done:int8 tuples_total:int8 "
     "tuples_done:int8 partitions_total:int8 partitions_done:int8"},
    {12275, "pg_catalog", "pg_stat_user_functions", 'v',
     "funcid:oid schemaname:name funcname:name calls:int8 total_time:float8 self_time:float8"},
    {12236, "pg_catalog", "pg_stat_wal_receiver", 'v',
     "pid:int4 status:text receive_start_lsn:text receive_start_tli:int4 written_lsn:text flushed_lsn:text "
     "received_tli:int4 last_msg_send_time:timestamptz last_msg_receipt_time:timestamptz "
     "latest_end_lsn:text latest_end_time:timestamptz slot_name:text sender_host:text sender_port:int4 "
     "conninfo:text"},
    {12152, "pg_catalog", "pg_stat_sys_tables", 'v',
     "relid:oid schemaname:name relname:name seq_scan:int8 seq_tup_read:int8 idx_scan:int8 "
     "idx_tup_fetch:int8 n_tup_ins:int8 n_tup_upd:int8 n_tup_del:int8 n_tup_hot_upd:int8 n_live_tup:int8 "
     "n_dead_tup:int8 n_mod_since_analyze:int8 n_ins_since_vacuum:int8 last_vacuum:timestamptz "
     "last_autovacuum:timestamptz last_analyze:timestamptz last_autoanalyze:timestamptz vacuum_count:int8 "
     "autovacuum_count:int8 analyze_count:int8 autoanalyze_count:int8"},
    {12183, "pg_catalog", "pg_stat_all_indexes", 'v',
     "relid:oid indexrelid:oid schemaname:name relname:name indexrelname:name idx_scan:int8 "
     "idx_tup_read:int8 idx_tup_fetch:int8"},
    {12170, "pg_catalog", "pg_statio_all_tables", 'v',
     "relid:oid schemaname:name relname:name heap_blks_read:int8 heap_blks_hit:int8 idx_blks_read:int8 "
     "idx_blks_hit:int8 toast_blks_read:int8 toast_blks_hit:int8 tidx_blks_read:int8 tidx_blks_hit:int8"},
    {12175, "pg_catalog", "pg_statio_sys_tables", 'v',
     "relid:oid schemaname:name relname:name heap_blks_read:int8 heap_blks_hit:int8 idx_blks_read:int8 "
     "idx_blks_hit:int8 toast_blks_read:int8 toast_blks_hit:int8 tidx_blks_read:int8 tidx_blks_hit:int8"},
    {12196, "pg_catalog", "pg_statio_all_indexes", 'v',
     "relid:oid indexrelid:oid schemaname:name relname:name indexrelname:name idx_blks_read:int8 "
     "idx_blks_hit:int8"},
    {12205, "pg_catalog", "pg_statio_user_indexes", 'v',
     "relid:oid indexrelid:oid schemaname:name relname:name indexrelname:name idx_blks_read:int8 "
     "idx_blks_hit:int8"},
    {12209, "pg_catalog", "pg_statio_all_sequences", 'v',
     "relid:oid schemaname:name relname:name blks_read:int8 blks_hit:int8"},
    {12218, "pg_catalog", "pg_statio_user_sequences", 'v',
     "relid:oid schemaname:name relname:name blks_read:int8 blks_hit:int8"},
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

std::vector<SystemRelation::Column> columns_of(std::string_view text) {
  std::vector<SystemRelation::Column> columns;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view item = text.substr(0, end);
    const std::size_t colon = item.find(':');
    const std::optional<TypeId> type = type_named(item.substr(colon + 1));
    NAMDB_CHECK(type.has_value());
    columns.push_back({item.substr(0, colon), {*type}});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return columns;
}

}  // namespace

std::span<const SystemRelation> system_relations() {
  static const std::vector<SystemRelation> relations = [] {
    std::vector<SystemRelation> all;
    for (const Row& row : kRows)
      all.push_back({row.oid, row.schema, row.name, row.kind, columns_of(row.columns)});
    return all;
  }();
  return relations;
}

}  // namespace namdb::sql
