// The relations of pg_catalog, with the columns that PostgreSQL 15 gives them.
#include <array>

#include "compute/sql/catalog/system_relation_rows.h"

namespace namdb::sql {
namespace {

// clang-format off
constexpr std::array kPgCatalogRows = std::to_array<SystemRelationRow>({
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
});
// clang-format on

}  // namespace

std::span<const SystemRelationRow> pg_catalog_relations() {
  return kPgCatalogRows;
}

}  // namespace namdb::sql
