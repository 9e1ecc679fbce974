// Looks for regions that have moved: asks hosts for their configurations (CONFIGURATION), side by side, so
// that a host that hangs does not delay the others. Of all answers the places with the highest numbers are
// taken (configuration.h). Answers of another database are ignored. While this database's id is not known,
// answers count only if all that have come name the same database.
//
// An answer that comes after ask() has returned counts, too, once the database's id is known.
//
// One executor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/placement/ask.h"
#include "common/placement/configuration.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::placement {

class PlaceSearch {
 public:
  // Asks over a connection that is there: the request's bytes, and the reply's.
  using Call = std::function<reactor::Task<Result<std::string>>(std::string request)>;
  struct Host {
    std::string address;
    Call call;  // empty: it is connected to
  };

  // How long ask() waits for answers, and for further ones once something is learned.
  static constexpr std::uint64_t kPatience_ns = 500 * kMillisecond_ns;
  static constexpr std::uint64_t kLinger_ns = 10 * kMillisecond_ns;

  // The executor outlives this. `known`: the places that flags name. `make_hello`: of a peer that is not a
  // worker.
  PlaceSearch(reactor::Executor& executor, MakeHello make_hello, Configuration known);
  PlaceSearch(const PlaceSearch&) = delete;
  PlaceSearch& operator=(const PlaceSearch&) = delete;

  const Configuration& places() const { return places_; }
  // Some host has not answered a question yet.
  bool lacks_answers() const { return running_ != 0; }
  void know_database(std::uint64_t database_id) { places_.set_database_id(database_id); }
  // Called whenever some place has become another. May be empty.
  void on_learned(std::function<void()> learned) { learned_ = std::move(learned); }
  // Takes over the places of a peer's configuration. False: all of it was known.
  bool learn(const Configuration& told);
  // Asks those hosts, except those that have not answered an earlier question yet. Resumes when all have
  // answered, or soon after something is learned, or when it has waited long enough. True: some place is
  // another than when it began. The fabric is there until settle() has returned.
  reactor::Task<bool> ask(fabric::ClientFabric* fabric, std::vector<Host> hosts);
  // Waits for the questions that are under way. Awaited before destruction where any was asked; may come
  // again.
  reactor::Task<void> settle();

 private:
  // The questions of one ask().
  struct Round {
    std::uint64_t open = 0;
    bool over = false;
    std::vector<Configuration> answers;  // while the database's id is not known
  };

  reactor::Task<void> ask_host(fabric::ClientFabric* fabric, std::shared_ptr<Round> round, Host host);
  void answered(Round& round, const Result<std::string>& reply);
  void learn_from(Round& round);

  reactor::Executor& executor_;
  MakeHello make_hello_;
  Configuration places_;
  std::function<void()> learned_;
  std::set<std::string> asked_;  // and have not answered
  std::uint64_t running_ = 0;
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::placement
