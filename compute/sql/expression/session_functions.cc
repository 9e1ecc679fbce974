// Functions of the session and of the server.
#include "common/layout/placement.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/expression/server_version.h"
#include "compute/sql/expression/session_directory.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

// While there are roles they decide: superusers may, and those who have the role of the session's user. The
// name under which the signal is then sent is that user's.
Status check_may_signal(const SessionFacts& facts, std::int32_t process_id, bool ends, std::string& user) {
  const storage::Roles* const roles = facts.roles.get();
  if (roles == nullptr || roles->empty()) return {};
  for (const SessionActivity& session : facts.sessions->sessions()) {
    if (session.process_id != process_id) continue;
    const storage::Role* const target = roles->find(session.user);
    const bool of_superuser = target != nullptr && target->superuser;
    const bool has_role = target != nullptr && roles->inherits(facts.role, target->id);
    if (facts.is_superuser() || (has_role && !of_superuser)) {
      user = session.user;
      return {};
    }
    if (of_superuser) {
      return Status(ErrorCode::insufficient_privilege,
                    ends ? "must be a superuser to terminate superuser process"
                         : "must be a superuser to cancel superuser query");
    }
    return Status(ErrorCode::insufficient_privilege,
                  ends ? "must be a member of the role whose process is being terminated or member of "
                         "pg_signal_backend"
                       : "must be a member of the role whose query is being canceled or member of "
                         "pg_signal_backend");
  }
  return {};
}

template <SessionDirectory::Signal kSignal>
Status signal_session(Context context, Arguments arguments, Datum& out) {
  SessionDirectory* const sessions = context.facts->sessions;
  if (sessions == nullptr) return Status(ErrorCode::feature_not_supported, "there are no other sessions");
  const auto process_id = static_cast<std::int32_t>(arguments[0].integer);
  std::string user = context.facts->user;
  constexpr bool kEnds = kSignal == SessionDirectory::Signal::terminate;
  if (Status status = check_may_signal(*context.facts, process_id, kEnds, user); !status.ok()) return status;
  const Result<bool> sent = sessions->send(kSignal, process_id, user);
  if (!sent.ok()) return sent.status();
  out = Datum::of_boolean(*sent);
  return {};
}

template <auto kMember>
Status partition_server(Context context, Arguments arguments, Datum& out) {
  const std::uint64_t hash = layout::partition_hash(arguments[0].*kMember);
  out = Datum::of_integer(layout::partition_server(hash, context.facts->memory_servers));
  return {};
}

Status now(Context context, Arguments, Datum& out) {
  out = Datum::of_integer(context.facts->now_us);
  return {};
}
Status statement_timestamp(Context context, Arguments, Datum& out) {
  out = Datum::of_integer(context.facts->statement_us);
  return {};
}
Status clock_timestamp(Context context, Arguments, Datum& out) {
  out = Datum::of_integer(context.facts->present_us());
  return {};
}

Status version(Context, Arguments, Datum& out) {
  out = Datum::of_text(kVersionText);
  return {};
}
Status current_database(Context context, Arguments, Datum& out) {
  out = Datum::of_text(context.facts->database);
  return {};
}
Status current_schema(Context context, Arguments, Datum& out) {
  out = context.facts->hides_public ? Datum() : Datum::of_text("public");
  return {};
}
Status current_user(Context context, Arguments, Datum& out) {
  out = Datum::of_text(context.facts->user);
  return {};
}
Status session_user(Context context, Arguments, Datum& out) {
  const SessionFacts& facts = *context.facts;
  out = Datum::of_text(facts.session_user.empty() ? facts.user : facts.session_user);
  return {};
}
Status backend_pid(Context context, Arguments, Datum& out) {
  out = Datum::of_integer(context.facts->process_id);
  return {};
}
Status is_in_recovery(Context, Arguments, Datum& out) {
  out = Datum::of_boolean(false);
  return {};
}

}  // namespace

std::span<const Function> session_functions() {
  constexpr auto kVolatile = Volatility::is_volatile;
  using enum SessionDirectory::Signal;
  using enum TypeId;
  static const std::vector<Function> functions = {
      {"now", {}, timestamptz, now},
      {"statement_timestamp", {}, timestamptz, statement_timestamp},
      {"clock_timestamp", {}, timestamptz, clock_timestamp, kVolatile},
      {"version", {}, text, version},
      {"current_database", {}, name, current_database},
      {"current_schema", {}, name, current_schema},
      {"current_user", {}, name, current_user},
      {"session_user", {}, name, session_user},
      {"pg_backend_pid", {}, int4, backend_pid},
      {"pg_is_in_recovery", {}, boolean, is_in_recovery},
      {"pg_sleep", {float8}, text, nullptr, kVolatile, Waiting::sleep},
      {"namdb_txid", {}, int8, nullptr, kVolatile, Waiting::transaction_id},
      {"namdb_txid_status", {int8}, text, nullptr, kVolatile, Waiting::transaction_outcome},
      {"nextval", {text}, int8, nullptr, kVolatile, Waiting::sequence},
      {"nextval", {regclass}, int8, nullptr, kVolatile, Waiting::sequence},
      {"currval", {text}, int8, nullptr, kVolatile, Waiting::sequence},
      {"currval", {regclass}, int8, nullptr, kVolatile, Waiting::sequence},
      {"lastval", {}, int8, nullptr, kVolatile, Waiting::sequence},
      {"setval", {text, int8}, int8, nullptr, kVolatile, Waiting::sequence},
      {"setval", {text, int8, boolean}, int8, nullptr, kVolatile, Waiting::sequence},
      {"setval", {regclass, int8}, int8, nullptr, kVolatile, Waiting::sequence},
      {"setval", {regclass, int8, boolean}, int8, nullptr, kVolatile, Waiting::sequence},
      {"pg_get_serial_sequence", {text, text}, text, nullptr, kVolatile, Waiting::sequence},
      {"current_setting", {text}, text, nullptr, kVolatile, Waiting::setting},
      {"current_setting", {text, boolean}, text, nullptr, kVolatile, Waiting::setting},
      {"set_config", {text, text, boolean}, text, nullptr, kVolatile, Waiting::setting},
      {"pg_advisory_lock", {int8}, text, nullptr, kVolatile, Waiting::session_lock},
      {"pg_advisory_lock", {int4, int4}, text, nullptr, kVolatile, Waiting::session_lock},
      {"pg_try_advisory_lock", {int8}, boolean, nullptr, kVolatile, Waiting::session_lock},
      {"pg_try_advisory_lock", {int4, int4}, boolean, nullptr, kVolatile, Waiting::session_lock},
      {"pg_advisory_unlock", {int8}, boolean, nullptr, kVolatile, Waiting::session_lock},
      {"pg_advisory_unlock", {int4, int4}, boolean, nullptr, kVolatile, Waiting::session_lock},
      {"pg_advisory_unlock_all", {}, text, nullptr, kVolatile, Waiting::session_lock},
      {"pg_advisory_xact_lock", {int8}, text, nullptr, kVolatile, Waiting::transaction_lock},
      {"pg_advisory_xact_lock", {int4, int4}, text, nullptr, kVolatile, Waiting::transaction_lock},
      {"pg_try_advisory_xact_lock", {int8}, boolean, nullptr, kVolatile, Waiting::transaction_lock},
      {"pg_try_advisory_xact_lock", {int4, int4}, boolean, nullptr, kVolatile, Waiting::transaction_lock},
      {"pg_advisory_lock_shared", {int8}, text, nullptr, kVolatile, Waiting::session_lock},
      {"pg_advisory_lock_shared", {int4, int4}, text, nullptr, kVolatile, Waiting::session_lock},
      {"pg_try_advisory_lock_shared", {int8}, boolean, nullptr, kVolatile, Waiting::session_lock},
      {"pg_try_advisory_lock_shared", {int4, int4}, boolean, nullptr, kVolatile, Waiting::session_lock},
      {"pg_advisory_xact_lock_shared", {int8}, text, nullptr, kVolatile, Waiting::transaction_lock},
      {"pg_advisory_xact_lock_shared", {int4, int4}, text, nullptr, kVolatile, Waiting::transaction_lock},
      {"pg_try_advisory_xact_lock_shared", {int8}, boolean, nullptr, kVolatile, Waiting::transaction_lock},
      {"pg_try_advisory_xact_lock_shared",
       {int4, int4},
       boolean,
       nullptr,
       kVolatile,
       Waiting::transaction_lock},
      {"pg_advisory_unlock_shared", {int8}, boolean, nullptr, kVolatile, Waiting::session_lock},
      {"pg_advisory_unlock_shared", {int4, int4}, boolean, nullptr, kVolatile, Waiting::session_lock},
      {"pg_cancel_backend", {int4}, boolean, signal_session<cancel>, kVolatile},
      {"pg_terminate_backend", {int4}, boolean, signal_session<terminate>, kVolatile},
      {"namdb_partition_server", {int8}, int4, partition_server<&Datum::integer>},
      {"namdb_partition_server", {boolean}, int4, partition_server<&Datum::integer>},
      {"namdb_partition_server", {timestamp}, int4, partition_server<&Datum::integer>},
      {"namdb_partition_server", {text}, int4, partition_server<&Datum::text>},
  };
  return functions;
}

}  // namespace namdb::sql
