// Where the regions of a worker's memory servers are: first at the addresses that flags name, later wherever
// hosts say that they have moved to (common/placement). It asks every host that it knows, those of flags and
// those of copies included: each of them may be the only one that is left. It does not wait for the answer of
// a host that has lost its region. If the compute server knows a configuration store and some region has
// moved, it also asks the store: all hosts may have changed.
//
// Belongs to the worker's executor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/patient_client.h"
#include "common/layout/global_address.h"
#include "common/placement/search.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::txn {
class Cluster;
}

namespace namdb::compute {

class RegionFinder {
 public:
  struct Callbacks {
    placement::MakeHello hello;   // the bytes of that of a peer that is not a worker
    std::function<void()> moved;  // some region is elsewhere; may be empty
    // Asks the configuration store. Empty: there is none.
    std::function<reactor::Task<Result<placement::Configuration>>()> ask_store;
    std::function<void(const std::string& line)> log;  // for people, for each of them
  };

  // Executor and fabric outlive this. `configured`: the addresses of flags, server 0's first.
  RegionFinder(reactor::Executor& executor, fabric::PatientClient& fabric,
               std::vector<std::string> configured, Callbacks callbacks);

  // The addresses of all memory servers, as far as they are known; server 0's first.
  const std::vector<std::string>& addresses() const { return addresses_; }
  // Some address is another than that of flags.
  bool has_moved() const { return addresses_ != configured_; }
  // Some region has a copy.
  bool knows_copies() const;
  // From then on nothing is learned of others.
  void know_database(std::uint64_t database_id);
  // Asks, over the channels that `living` still has, and all other hosts beside it. Null: there are none.
  // True: some address is another than before. After an error it is the same.
  reactor::Task<bool> find(std::shared_ptr<txn::Cluster> living);
  // Learns of copies while there is a primary to ask: asks in the background, each second at most, over the
  // channels that `living` has. `everywhere`: a primary does not answer, so all hosts are asked, and more
  // often. `gate` has the questions.
  void keep_up(std::shared_ptr<txn::Cluster> living, bool everywhere, reactor::Gate& gate);
  // The cluster object reaches a memory server where its region is no more.
  bool reaches_old(const txn::Cluster& cluster) const;
  // Ends the channels to places where regions are no more. True if there were such.
  bool leave_old(txn::Cluster& cluster) const;
  // Waits for questions that are under way. Awaited before destruction where any was asked; may come again.
  reactor::Task<void> settle() { return search_.settle(); }

 private:
  bool is_old(const txn::Cluster& cluster, layout::ServerId server) const;
  // The hosts that the cluster object reaches.
  std::vector<placement::PlaceSearch::Host> reached(const std::shared_ptr<txn::Cluster>& living) const;
  // All hosts that are known, beside those.
  void add_known(std::vector<placement::PlaceSearch::Host>& hosts) const;
  reactor::Task<void> look(std::shared_ptr<txn::Cluster> living, bool everywhere, bool lost);
  void learned();

  reactor::Executor& executor_;
  fabric::PatientClient& fabric_;
  const std::vector<std::string> configured_;
  std::vector<std::string> addresses_;
  Callbacks callbacks_;
  placement::PlaceSearch search_;
  bool looking_ = false;
  std::uint64_t looked_ns_ = 0;  // when keep_up() has asked last; 0: never
};

}  // namespace namdb::compute
