// The calls that a memory server answers, in the order of their numbers.
//
// A method is one row here and one handler, a function of the method's name in namespace memory::handlers.
// methods.h declares the handler from the row. Its definition lies in the file of this folder that has the
// handler's name: close_slot in close_slot.cc. Columns:
//
//   kind       CALL           protobuf messages                Status f(Caller, const Request&, Reply&)
//              WAITING_CALL   the same; the handler suspends   Task<Status> f(Caller, const Request&, Reply&)
//              BYTES          bytes of common/calls            Status f(const Call&)
//              WAITING_BYTES  the same; the handler suspends   Task<Status> f(Call)
//   method     control::Method, or of common/placement/{move,follow}_calls.h
//   handler
//   messages   request and reply (kinds CALL and WAITING_CALL)
//   where      the servers that answer it (Where)
//   when full  what a handler's out_of_memory leads to (WhenFull)
#pragma once

#define NAMDB_MEMORY_METHODS(CALL, WAITING_CALL, BYTES, WAITING_BYTES)                                       \
  WAITING_CALL(STATUS, status, StatusRequest, StatusReply, every_server, fail)                               \
  CALL(SHUTDOWN, shutdown, ShutdownRequest, ShutdownReply, every_server, fail)                               \
  CALL(HEARTBEAT, heartbeat, HeartbeatRequest, HeartbeatReply, every_server, fail)                           \
  WAITING_CALL(FENCE, fence, FenceRequest, FenceReply, every_server, fail)                                   \
  WAITING_CALL(PREPARE_TABLE, prepare_table, PrepareTableRequest, PrepareTableReply, every_server, retry)    \
  CALL(DISCARD_TABLE, discard_table, DiscardTableRequest, DiscardTableReply, every_server, fail)             \
  CALL(ALLOCATE_RECORDS, allocate_records, AllocateRecordsRequest, AllocateReply, every_server, retry)       \
  CALL(ALLOCATE_BUCKETS, allocate_buckets, AllocateBucketsRequest, AllocateReply, every_server, retry)       \
  CALL(RETURN_MEMORY, return_memory, ReturnMemoryRequest, ReturnMemoryReply, every_server, fail)             \
  CALL(RETIRE_BUCKETS, retire_buckets, RetireBucketsRequest, RetireBucketsReply, every_server, fail)         \
  CALL(JOIN_CLUSTER, join_cluster, JoinClusterRequest, JoinClusterReply, every_server, fail)                 \
  CALL(LIST_TABLES, list_tables, ListTablesRequest, ListTablesReply, every_server, fail)                     \
  CALL(FABRIC, fabric, FabricRequest, FabricReply, every_server, fail)                                       \
  WAITING_BYTES(MOVE_VERSIONS, move_versions, every_server, fail)                                            \
  WAITING_BYTES(SNAPSHOT, snapshot, whole_vector, fail)                                                      \
  BYTES(NOTE_DELETES, note_deletes, every_server, fail)                                                      \
  WAITING_BYTES(INDEX_WRITE, index_write, every_server, fail)                                                \
  BYTES(INDEX_SETTLE, index_settle, every_server, fail)                                                      \
  BYTES(INDEX_DOUBTS, index_doubts, every_server, fail)                                                      \
  BYTES(INDEX_SEEK, index_seek, every_server, fail)                                                          \
  CALL(MEMORY, memory, MemoryRequest, MemoryReply, every_server, fail)                                       \
  CALL(PREPARE_INDEX, prepare_index, PrepareIndexRequest, PrepareIndexReply, every_server, retry)            \
  CALL(BUILT_INDEX, built_index, BuiltIndexRequest, BuiltIndexReply, every_server, fail)                     \
  CALL(DISCARD_INDEX, discard_index, DiscardIndexRequest, DiscardIndexReply, every_server, fail)             \
  CALL(SETTLE_DEPARTED, settle_departed, SettleDepartedRequest, SettleDepartedReply, not_server_0, fail)     \
  WAITING_BYTES(BATCH_CALL, batch_call, every_server, fail)                                                  \
  BYTES(PING, ping, every_server, fail)                                                                      \
  WAITING_BYTES(FIND, find, every_server, fail)                                                              \
  WAITING_BYTES(LOCK, lock, every_server, fail)                                                              \
  WAITING_CALL(LEASE_SLOT, lease_slot, LeaseSlotRequest, LeaseSlotReply, server_0, fail)                     \
  WAITING_CALL(CLOSE_SLOT, close_slot, CloseSlotRequest, CloseSlotReply, server_0, fail)                     \
  CALL(LIST_SLOTS, list_slots, ListSlotsRequest, ListSlotsReply, server_0, fail)                             \
  CALL(GET_CATALOG, get_catalog, GetCatalogRequest, GetCatalogReply, server_0, fail)                         \
  WAITING_CALL(BEGIN_CREATE_TABLE, begin_create_table, BeginCreateTableRequest, BeginCreateTableReply,       \
               server_0, fail)                                                                               \
  WAITING_CALL(FINISH_CREATE_TABLE, finish_create_table, FinishCreateTableRequest, FinishCreateTableReply,   \
               server_0, fail)                                                                               \
  WAITING_CALL(DROP_TABLE, drop_table, DropTableRequest, DropTableReply, server_0, fail)                     \
  WAITING_CALL(GROW_TABLE, grow_table, GrowTableRequest, GrowTableReply, server_0, fail)                     \
  WAITING_CALL(BEGIN_CREATE_INDEX, begin_create_index, BeginCreateIndexRequest, BeginCreateIndexReply,       \
               server_0, fail)                                                                               \
  WAITING_CALL(ADVANCE_INDEX, advance_index, AdvanceIndexRequest, AdvanceIndexReply, server_0, fail)         \
  WAITING_CALL(DROP_INDEX, drop_index, DropIndexRequest, DropIndexReply, server_0, fail)                     \
  CALL(ENDED_COMPUTES, ended_computes, EndedComputesRequest, EndedComputesReply, server_0, fail)             \
  CALL(PLACE_SLOT, place_slot, PlaceSlotRequest, PlaceSlotReply, partitioned_vector, fail)                   \
  CALL(LEASE_JOURNAL_ROOM, lease_journal_room, LeaseJournalRoomRequest, LeaseJournalRoomReply, every_server, \
       fail)                                                                                                 \
  CALL(RETURN_JOURNAL_ROOM, return_journal_room, ReturnJournalRoomRequest, ReturnJournalRoomReply,           \
       every_server, fail)                                                                                   \
  WAITING_BYTES(OPEN_JOURNAL, open_journal, every_server, retry)                                             \
  WAITING_BYTES(FLUSH, flush, every_server, fail)                                                            \
  WAITING_BYTES(CLOSE_JOURNAL, close_journal, every_server, fail)                                            \
  WAITING_BYTES(LOOK, look, every_server, fail)                                                              \
  WAITING_BYTES(VOID, void_entries, every_server, fail)                                                      \
  WAITING_BYTES(VERDICT, verdict, every_server, fail)                                                        \
  WAITING_CALL(ALTER_TABLE, alter_table, AlterTableRequest, AlterTableReply, server_0, fail)                 \
  WAITING_CALL(REPLACE_TABLE, replace_table, ReplaceTableRequest, ReplaceTableReply, server_0, fail)         \
  WAITING_CALL(CHECKPOINT, checkpoint, CheckpointRequest, CheckpointReply, every_server, fail)               \
  BYTES(INDEX_LOAD, index_load, every_server, fail)                                                          \
  CALL(COMMIT_OUTCOME, commit_outcome, CommitOutcomeRequest, CommitOutcomeReply, server_0, fail)             \
  WAITING_CALL(GATHER, gather, GatherRequest, GatherReply, every_server, fail)                               \
  WAITING_CALL(DERIVE, derive, DeriveRequest, DeriveReply, every_server, fail)                               \
  WAITING_CALL(SERVE, serve, ServeRequest, ServeReply, every_server, fail)                                   \
  WAITING_CALL(CREATE_ROUTINE, create_routine, CreateRoutineRequest, CreateRoutineReply, server_0, fail)     \
  WAITING_CALL(DROP_ROUTINE, drop_routine, DropRoutineRequest, DropRoutineReply, server_0, fail)             \
  WAITING_CALL(CHANGE_ROLES, change_roles, ChangeRolesRequest, ChangeRolesReply, server_0, fail)             \
  WAITING_BYTES(SCAN, scan, every_server, fail)                                                              \
  CALL(LIST_COMPUTES, list_computes, ListComputesRequest, ListComputesReply, server_0, fail)                 \
  CALL(DRAIN_COMPUTE, drain_compute, DrainComputeRequest, DrainComputeReply, server_0, fail)                 \
  BYTES(CONFIGURATION, configuration, every_server, fail)                                                    \
  WAITING_BYTES(FILES, files, every_server, fail)                                                            \
  WAITING_BYTES(READ_FILE, read_file, every_server, fail)                                                    \
  WAITING_BYTES(HAND_OVER, hand_over, every_server, fail)                                                    \
  BYTES(MOVE, move, every_server, fail)                                                                      \
  WAITING_BYTES(FOLLOW, follow, every_server, fail)                                                          \
  WAITING_BYTES(LEASE, lease, every_server, fail)                                                            \
  BYTES(COPY, copy, every_server, fail)                                                                      \
  WAITING_BYTES(LEAVE, leave, every_server, fail)
