#include "tools/namsim/workloads/wire_client.h"

#include "compute/pgwire/testing/memory_stream.h"

namespace namdb::sim {

namespace wire = pgwire::testing;
using reactor::Task;

Task<WireAnswer> WireClient::start() {
  return ask(wire::startup({{"user", "simulated"}, {"database", "namdb"}}));
}

Task<WireAnswer> WireClient::query(std::string sql) {
  return ask(wire::query(sql));
}

Task<WireAnswer> WireClient::execute(std::string sql, std::vector<std::optional<std::string>> parameters) {
  return ask(wire::parse("", sql) + wire::bind("", "", parameters) + wire::describe('P', "") +
             wire::execute("") + wire::sync());
}

Task<WireAnswer> WireClient::ask(std::string bytes) {
  WireAnswer answer;
  stream_->write(bytes);
  while (!lost_) {
    for (const wire::Received& message : wire::take_messages(unread_)) {
      answer.kinds += message.type;
      if (message.type == 'Z') co_return answer;
      if (message.type == 'D') answer.rows.push_back(message.values());
      if (message.type == 'C') answer.tag = message.payload.substr(0, message.payload.size() - 1);
      if (message.type != 'E' || !answer.sqlstate.empty()) continue;
      answer.sqlstate = message.field('C');
      answer.message = message.field('M');
    }
    char buffer[512];
    const Result<std::size_t> got = co_await stream_->read_some(buffer, sizeof(buffer));
    if (!got.ok() || *got == 0) {
      lost_ = true;
    } else {
      unread_.append(buffer, *got);
    }
  }
  answer.lost = true;
  co_return answer;
}

}  // namespace namdb::sim
