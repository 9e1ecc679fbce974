// The catalog (server 0): tables, routines and roles by name, ids that are never used again, and a version
// that every change raises. The version also stands in front of the timestamp vector, where each snapshot
// sees it.
//
// A table is created in two steps: begin() reserves name and id, the creator prepares the table on every
// memory server, finish() makes it visible. A creator that goes away in between leaves no name. An index is
// visible in two states, and its creator must stay until it is ready. An index that is built anew is visible
// beside the index that it is to replace. In one step it takes the place of the old index, which stays
// visible until no transaction can need it.
//
// To give a table new columns, another table takes its place. Both are visible while rows are copied: the new
// one under a hidden name, and the old one frozen, so that no transaction changes its rows. The copier must
// stay until then.
//
// Where there is a log, changes are made in a draft, logged, and taken over (control_changes.h): no worker
// sees a change that a restart could forget. Creations that are not finished belong to a channel and are not
// logged.
//
// Each change of an entry has a *position*, a number that ascends. The log and the workers get the entries
// that changed behind a position (catalog_changes.cc). Entries lie in maps whose copies share them, and are
// found by id, by name, and by the table that they are of: a change costs the same however many entries
// there are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "memory/coordinator/persistent_map.h"
#include "memory/options.h"
#include "memory/region/region.h"
#include "proto/control.pb.h"
#include "proto/control_state.pb.h"

namespace namdb::memory {

class Catalog {
 public:
  template <typename Descriptor>
  using ByName = PersistentMap<std::string, Descriptor>;
  template <typename Descriptor>
  using ById = PersistentMap<std::uint32_t, Descriptor>;

  Catalog(Region& region, const Options& options);
  Catalog& operator=(const Catalog&) = delete;

  // A copy to try a change in: its changes are not seen in the region's catalog version.
  Catalog draft() const;
  // Takes over the state of `draft`, which is a draft() of this catalog.
  void adopt(Catalog&& draft);

  // --- control state (catalog_state.cc) ---
  // Becomes the catalog of a sound state; new ids begin at its mark. Creations that had begun belong to
  // channel 0, which no peer has: disconnected(0) undoes them.
  void import_state(const control::ControlState& state);
  // Fills in catalog version, tables, indexes, routines, roles and rights.
  void export_state(control::ControlState& state) const;
  // Fills in the difference from the catalog of `state` to this one, the version included; nothing if they
  // are equal. The two differ only in entries that changed behind that position.
  void describe_changes(const control::ControlState& state, std::uint64_t position,
                        control::ControlEntry& entry) const;
  // The next id of a table, an index, a routine, a role or an entry of rights.
  std::uint32_t next_id() const { return next_id_; }

  // --- changes (catalog_changes.cc) ---
  // Of the last change; it ascends with each.
  std::uint64_t position() const { return position_; }
  // Answers GET_CATALOG, except for the fields that are not the catalog's.
  void describe(const control::GetCatalogRequest& request, control::GetCatalogReply& reply) const;
  // Dropped entries are remembered for workers that ask for the changes. If there are many, forgets the
  // oldest of those up to that position: a worker that was away for longer gets the whole catalog.
  void forget_drops(std::uint64_t position);

  std::uint64_t version() const { return version_; }
  const ByName<control::TableDescriptor>& tables() const { return tables_; }
  // Null: there is none.
  const control::TableDescriptor* find_table(std::uint32_t id) const;

  // Fills in id, generation, and the defaults of what is 0: ring slots, size hint, buckets a server.
  Result<control::TableDescriptor> begin(fabric::PeerId peer, control::TableDescriptor table,
                                         std::uint32_t owner = 0);
  // The table as begin() returned it, with a bucket base for each server, and the indexes that were begun for
  // it, with their parts. Returns the catalog's version.
  Result<std::uint64_t> finish(fabric::PeerId peer, const control::FinishCreateTableRequest& request);
  Status abandon(fabric::PeerId peer, std::uint32_t table);
  // Enters where a table's main buckets on one server lie since they were doubled; an older report changes
  // nothing. Outside input: undefined_table, or protocol_violation.
  Status grow(const control::GrowTableRequest& request);
  // The same after that server has opened again, with other buckets than before.
  Status reopen(std::uint32_t server, std::uint32_t table, std::uint64_t bucket_base,
                std::uint32_t doublings);
  // The ids of tables and indexes that are begun and not finished.
  std::vector<std::uint32_t> creating() const;
  // Returns the table's id. table_is_altered while another one is to take its place.
  Result<std::uint32_t> drop(const std::string& name);
  // Undoes the peer's unfinished creations; the ids of those tables and indexes.
  std::vector<std::uint32_t> disconnected(fabric::PeerId peer);

  // --- altered tables (catalog_alter.cc) ---
  // Outside input: undefined_table, duplicate_table, table_is_altered, or protocol_violation. Returns the
  // catalog's version.
  Result<std::uint64_t> alter(const control::AlterTableRequest& request);
  // Puts the table that the peer has finished in the place of the table that it replaces. Returns the id of
  // the replaced table.
  Result<std::uint32_t> replace_table(fabric::PeerId peer, std::uint32_t table);
  // The name under which a replacement table, or an index of it, is visible until it takes the other table's
  // place. SQL cannot express it.
  static std::string hidden_name(const std::string& name, std::uint32_t table);
  static std::string final_name(const std::string& hidden);

  // --- foreign keys (catalog_foreign_keys.cc) ---
  // Foreign keys follow the tables that they reference. A change of a referenced table counts as a change of
  // the tables that reference it, too, and a new foreign key counts as a change of the table that it
  // references. So statements that were planned before end in catalog_changed.

  // --- indexes (catalog_indexes.cc) ---
  // A hash index is a table here: begun and finished as one, which begin() makes the columns of. Then it is
  // building, and goes on by advance_index() like others.
  const ByName<control::IndexDescriptor>& indexes() const { return indexes_; }
  // Indexes that are to replace one of the same name, and indexes that were replaced; by id.
  const ById<control::IndexDescriptor>& indexes_beside() const { return indexes_beside_; }
  // Fills in id and page length. Outside input. The table may be one that the peer is creating.
  Result<control::IndexDescriptor> begin_index(fabric::PeerId peer, control::IndexDescriptor index);
  // Returns the catalog's version.
  Result<std::uint64_t> advance_index(fabric::PeerId peer, const control::AdvanceIndexRequest& request);
  // Returns the index's id. Ends its creation if it was not ready, and the creation of an index that was to
  // replace it. Drops an index of a UNIQUE constraint only if `of_constraint`.
  Result<std::uint32_t> drop_index(const std::string& name, bool of_constraint);
  // Every live worker has acknowledged that version: replaced indexes that only older transactions need go.
  void acknowledged(std::uint64_t version);
  // acknowledged(version) would let a replaced index go.
  bool has_replaced(std::uint64_t version) const;

  // --- routines, views among them (catalog_routines.cc) ---
  // Where a routine is a view, its name begins with this (compute/api/routine.h). Views share the names of
  // tables and indexes.
  static constexpr char kViewMark = '\x01';
  static std::string view_key(const std::string& name) { return std::string(1, kViewMark) + name; }
  const ByName<control::RoutineDescriptor>& routines() const { return routines_; }
  // Outside input: invalid_function_definition, limit_exceeded, duplicate_function, undefined_function.
  // Returns the catalog's version, which is the routine's.
  Result<std::uint64_t> create_routine(const control::CreateRoutineRequest& request);
  // Outside input: undefined_function. Returns the catalog's version.
  Result<std::uint64_t> drop_routine(const control::DropRoutineRequest& request);

  // --- roles and rights (catalog_roles.cc) ---
  const std::map<std::uint32_t, control::RoleDescriptor>& roles() const { return roles_; }
  const ById<control::ObjectRights>& rights() const { return rights_; }
  // The catalog's version when a role or a right last changed; after a restart a later one.
  std::uint64_t roles_version() const { return roles_version_; }
  // Makes all of the change or nothing. Outside input: catalog_changed, invalid_name, duplicate_object,
  // undefined_object, limit_exceeded, protocol_violation. Returns the catalog's version.
  Result<std::uint64_t> change_roles(const control::ChangeRolesRequest& request);

 private:
  static constexpr std::size_t kMaxName_bytes = 255;
  static constexpr std::size_t kMaxRoleName_bytes = 63;
  static constexpr std::uint32_t kNewRole = 0xc000'0000;           // as compute/api/role.h has it
  static constexpr std::size_t kMaxDefinition_bytes = 256U << 10;  // of a routine
  // A reply of GET_CATALOG has this much room for entries, each with a frame. A table goes into one reply
  // with its indexes.
  static constexpr std::size_t kMaxReply_bytes = fabric::kMaxCall_bytes - 4096;
  static constexpr std::size_t kMaxEntry_bytes = kMaxReply_bytes / 2;
  static constexpr std::size_t kFrame_bytes = 32;
  // At least so many dropped entries are remembered.
  static constexpr std::size_t kRememberedDrops = 4096;

  enum class Kind : std::uint8_t { table, index, routine, role, rights };
  struct Change {
    std::uint32_t id = 0;
    Kind kind = Kind::table;
  };
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  struct Creation {
    fabric::PeerId peer;
    control::TableDescriptor table;
    std::uint32_t owner = 0;
  };
  struct IndexCreation {
    fabric::PeerId peer;
    control::IndexDescriptor index;
  };
  Catalog(Region& region, const Options& options, bool draft)
      : region_(region), options_(options), draft_(draft) {}
  Catalog(const Catalog&) = default;
  void changed();
  void show_version() const;
  // Whether an entry of `entry_bytes` has room in the place of an entry of `before_bytes` (0: it is new).
  // Error limit_exceeded, with the hint.
  Status check_room(std::size_t entry_bytes, std::size_t before_bytes, const char* hint) const;
  // Whether a table or an index has the name, also one that is only begun.
  bool name_taken(const std::string& name) const;

  // --- entries (catalog_changes.cc). All changes of them are made by these ---
  // New, or in the place of the one with that id, whatever its name.
  void put_table(control::TableDescriptor table);
  void put_index(control::IndexDescriptor index);
  void put_routine(control::RoutineDescriptor routine);
  void put_role(control::RoleDescriptor role);
  void put_rights(control::ObjectRights rights);
  // The entries exist.
  void erase_table(std::uint32_t id);
  void erase_index(std::uint32_t id);
  void erase_routine(std::uint32_t id);
  void erase_role(std::uint32_t id);
  void erase_rights(std::uint32_t id);
  void note_change(Kind kind, std::uint32_t id);
  void note_drop(Kind kind, std::uint32_t id);
  // A visible one, or one beside. Null: there is none.
  const control::IndexDescriptor* find_index(std::uint32_t id) const;
  static bool is_beside(const control::IndexDescriptor& index);
  // The ids of a table's indexes of all kinds, those beside others too; and of the tables that reference it.
  std::vector<std::uint32_t> indexes_of(std::uint32_t table) const;
  std::vector<std::uint32_t> referencing(std::uint32_t table) const;
  static std::vector<std::uint32_t> second_of(const PersistentMap<Pair, bool>& pairs, std::uint32_t first);
  // Adds the entry to the reply, if it is there, or its id to those that are dropped; false where it has no
  // room.
  bool describe(const Change& change, control::GetCatalogReply& reply, std::size_t* bytes) const;
  void describe_table(std::uint32_t table, control::GetCatalogReply& reply) const;
  void describe_ids(control::GetCatalogReply& reply) const;

  // `begun` with the parts that `given` has; nullopt if `given` describes another index.
  std::optional<control::IndexDescriptor> with_parts(const control::IndexDescriptor& begun,
                                                     const control::IndexDescriptor& given) const;
  // Checks that these are all of the table's indexes that the peer has begun, and no others. Returns them.
  Result<std::vector<control::IndexDescriptor>> indexes_to_finish(
      fabric::PeerId peer, const control::FinishCreateTableRequest& request) const;
  Result<control::IndexDescriptor> begin_replacement(fabric::PeerId peer,
                                                     const control::IndexDescriptor& wanted);
  // The index takes the place of the one that it replaces, and is ready.
  Status replace(const control::IndexDescriptor& index);
  // --- altered tables ---
  // table_is_altered while another table is to take that one's place, be it finished or not.
  Status check_unaltered(std::uint32_t table) const;
  // Whether the table, which is new, may take the place of the one that it names. Outside input.
  Status check_replacement(const control::TableDescriptor& table) const;
  // The table that an index of `table` will belong to: the table that `table` replaces, or `table` itself.
  std::uint32_t final_table(std::uint32_t table) const;
  // Whether the name belongs to an object other than table `replaced` and its indexes.
  bool name_taken_beside(const std::string& name, std::uint32_t replaced) const;
  // Whether a new index of that table may have the name. Outside input.
  Status check_index_name(const std::string& name, std::uint32_t table) const;
  void rename_index(const control::IndexDescriptor& renamed);
  void undo_replacement(std::uint32_t table);
  // Whether a table may have these foreign keys, where it has those already. Outside input:
  // protocol_violation, undefined_table, table_is_altered.
  using ForeignKeys = google::protobuf::RepeatedPtrField<control::ForeignKey>;
  Status check_foreign_keys(const ForeignKeys& wanted, const ForeignKeys& known) const;
  // dependent_objects_still_exist: another table references that one.
  Status check_unreferenced(std::uint32_t table) const;
  // The tables that these keys reference, and the known ones do not, have changed.
  void touch_referenced(const ForeignKeys& wanted, const ForeignKeys& known);
  // Changes the keys of other tables that reference that table.
  void change_references(std::uint32_t table, const std::function<void(control::ForeignKey&)>& change);
  // Changes a table's description.
  void change_table(std::uint32_t id, const std::function<void(control::TableDescriptor&)>& change);
  // Gives the table and its indexes their final names; they are ready for transactions from now on.
  void show_replacement(std::uint32_t table);
  // Fills in the columns of the table that is to hold a hash index's entries. Outside input.
  Status make_hash_index(control::TableDescriptor& table) const;
  Result<std::uint64_t> advance_hash_index(fabric::PeerId peer, const control::AdvanceIndexRequest& request);
  void erase_hash_index(std::uint32_t id);
  void drop_indexes_of(std::uint32_t table);
  std::vector<std::uint32_t> undo_index_creations(fabric::PeerId peer);
  // --- roles and rights ---
  // A step of change_roles().
  Status change_role(control::RoleDescriptor role, std::uint32_t* id);
  Status change_rights(control::ObjectRights rights);
  Status drop_role(std::uint32_t id);
  // Whether all roles and objects that these name are there.
  Status check_named_roles(const control::RoleDescriptor& role) const;
  Status check_named_roles(const control::ObjectRights& rights) const;
  bool role_is_there(std::uint32_t id) const { return id == 0 || roles_.contains(id); }
  // The entry of the object that the rights are of; null: it has none.
  const control::ObjectRights* find_rights(const control::ObjectRights& rights) const;
  // A new object; nothing happens without an owner, or if that is gone. The caller calls changed().
  void own(control::ObjectRights rights, std::uint32_t owner);
  // An object is gone, or the table that took its place has its rights.
  void disown(const control::ObjectRights& object);
  void move_rights(std::uint32_t from_table, std::uint32_t to_table);
  static control::ObjectRights rights_of_table(std::uint32_t table);
  static control::ObjectRights rights_of_routine(const std::string& name);
  // The object that the rights are of, as a key.
  static std::string object_key(const control::ObjectRights& rights);
  // The most bytes that the table's entry in a reply of GET_CATALOG can take, however much the table grows.
  std::size_t encoded_bytes(const control::TableDescriptor& table) const;

  Region& region_;
  const Options& options_;
  bool draft_ = false;
  std::uint64_t version_ = 0;
  std::uint32_t next_id_ = 1;
  std::size_t encoded_bytes_ = 0;
  ByName<control::TableDescriptor> tables_;
  ByName<control::IndexDescriptor> indexes_;  // that transactions know of, and those beside
  ById<control::IndexDescriptor> indexes_beside_;
  ByName<control::RoutineDescriptor> routines_;
  std::map<std::uint32_t, control::RoleDescriptor> roles_;  // by id
  ById<control::ObjectRights> rights_;                      // by the entry's id
  std::uint64_t roles_version_ = 0;
  // --- how the above are found ---
  ById<std::string> names_;                              // of those that lie by their names
  PersistentMap<Pair, bool> table_indexes_;              // a table, and an index of it
  PersistentMap<Pair, bool> references_;                 // a table, and another one that references it
  PersistentMap<std::string, std::uint32_t> rights_of_;  // an entry of rights, by its object
  // --- changes ---
  std::uint64_t position_ = 0;
  std::uint64_t forgotten_ = 0;                        // the last position of a drop that is forgotten
  PersistentMap<std::uint64_t, Change> changes_;       // the last one of each entry, by its position
  ById<std::uint64_t> positions_;                      // of these, by the entries' ids
  PersistentMap<std::uint64_t, std::uint32_t> drops_;  // those that are drops
  // --- what channels are about to make ---
  std::map<std::uint32_t, Creation> creations_;
  std::map<std::uint32_t, IndexCreation> index_creations_;  // of indexes that are not ready, by id
  std::map<std::uint32_t, fabric::PeerId> hash_builders_;   // of hash indexes that are building, by id
  std::map<std::uint32_t, fabric::PeerId> copiers_;         // of tables that are to replace one, by id
};

}  // namespace namdb::memory
