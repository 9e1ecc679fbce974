// A memory server's connections to the other memory servers of its cluster, where it is a client like a
// compute server, over the cluster's transport and with its key. Server 0 needs them to decide the commits of
// compute servers that died (memory/coordinator/decider.h).
//
// Workers say under which addresses they reach the memory servers (JOIN_CLUSTER): a memory server reaches
// the others under the same. The servers of a database on disk know them before (Options::memory_servers).
// A link is made at the first call to its server. From then on it is kept: a server that ends or does not
// answer is found out by pings, and the link is made again, at growing intervals. While it is down every
// call fails at once, with the reason.
//
// A server that keeps its data on disk may be another process after each time that its link was down: its
// region's epoch tells. Its region may even be at another host (common/placement/configuration.h). So if a
// link cannot be made, all known hosts are asked at once for the region's place. A link to a host that has
// lost its region is given up as soon as this server learns of the new place, whether the old host answers or
// hangs. Each link begins with an exchange of the places that both ends know: so a server whose region has
// moved tells all servers to which it makes links, and tells them again when they restart with old addresses.
// A server that was taken for dead may learn in this way that its own region is elsewhere: then it makes no
// further call.
//
// Belongs to the executor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/random.h"
#include "common/fabric/fabric.h"
#include "common/fabric/patient_client.h"
#include "common/layout/global_address.h"
#include "common/placement/configuration.h"
#include "common/placement/search.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::memory {

struct LinkOptions {
  layout::ServerId server_id = 0;  // this server
  std::uint32_t server_count = 1;
  // Between two attempts to connect: the first pause, doubled each time up to the last.
  std::uint64_t first_pause_ns = kMillisecond_ns;
  std::uint64_t longest_pause_ns = kSecond_ns;
  std::uint64_t ping_interval_ns = 100 * kMillisecond_ns;
  // A server that does not answer a ping for so many intervals is given up.
  std::uint32_t silent_intervals = 100;
  // Regions may move.
  bool asks_places = false;
};

class Links {
 public:
  using MakeFabric = std::function<std::unique_ptr<fabric::ClientFabric>()>;
  enum class State : std::uint8_t { unused, connecting, up, down };

  Links(reactor::Executor& executor, LinkOptions options);
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
  ~Links();

  // The client side of the transport, made when the first link is. Before the first call.
  void set_fabric(MakeFabric make_fabric) { make_fabric_ = std::move(make_fabric); }
  // The addresses and epochs of all memory servers, server 0's first; the latest count (cluster_identity.h).
  // A server of level memory that shows another epoch has restarted empty, and is refused. Epoch 0: any.
  // Error protocol_violation where there are not as many of either as servers.
  Status learn(std::vector<std::string> addresses, std::vector<std::uint64_t> epochs);

  // Where all regions are, this server's among them, as far as this server knows.
  placement::Configuration configuration() const;
  // Takes what is newer there.
  void learn_places(const placement::Configuration& told) { search_.learn(told); }
  // This server's region has moved to where it is.
  bool has_moved() const { return search_.places().place(options_.server_id).number != 0; }
  // Makes the links to all other servers now, and keeps them.
  void keep_all();
  // Called once, when this server's region is at another place, with a higher number than it has now. From
  // then on every call fails. May be empty.
  void on_elsewhere(std::function<void(const placement::Place& place)> elsewhere);
  // Called when a place has been learned. May be empty.
  void on_learned(std::function<void()> learned) { learned_ = std::move(learned); }

  // Resumes when the first attempt to make the link has ended. A call behind it is posted at once, over the
  // link that is there then.
  reactor::Task<void> tried(layout::ServerId server);
  // A two-sided call to another server. The first one waits until the link is up or its first attempt has
  // failed. Errors: connection_failure while the server cannot be reached, if the link breaks under way (the
  // call may have been executed), and if the server's address is unknown; others are the handler's own.
  reactor::Task<Result<std::string>> call(layout::ServerId server, std::uint16_t method, std::string request);

  State state(layout::ServerId server) const { return links_[server]->state; }
  // The epoch of the server's region when the link was last made; 0 before.
  std::uint64_t epoch(layout::ServerId server) const { return links_[server]->epoch; }
  // Notified when a link's state changes, and when addresses are learned.
  reactor::Event& changed() { return changed_; }
  // Ends all links; calls fail from now on. Awaited before destruction where any call was made.
  reactor::Task<void> close();

 private:
  struct Link {
    explicit Link(reactor::Executor& executor) : wake(executor) {}
    State state = State::unused;
    std::unique_ptr<fabric::Channel> channel;  // up
    std::string address;                       // up, or of the last attempt
    std::uint64_t epoch = 0;
    Status reason;  // down
    bool ping_under_way = false;
    bool ping_failed = false;
    reactor::Event wake;  // the task that keeps it has work
  };

  void make(layout::ServerId server);
  Status unreachable(layout::ServerId server) const;
  const std::string& address(layout::ServerId server) const;
  void places_changed();
  bool ending() const { return closing_ || is_elsewhere_; }
  reactor::Task<void> ask_places(layout::ServerId server);
  reactor::Task<void> keep(layout::ServerId server);
  // To the link's address.
  reactor::Task<Result<std::unique_ptr<fabric::Channel>>> connect(layout::ServerId server);
  // This server tells the other one which places it knows, and learns of it, before the link is up.
  reactor::Task<Status> exchange_places(fabric::Channel* channel);
  // Until the link is lost, or its region elsewhere; why.
  reactor::Task<Status> watch(layout::ServerId server);
  static reactor::Task<void> ping(Link* link);

  reactor::Executor& executor_;
  LinkOptions options_;
  MakeFabric make_fabric_;
  std::unique_ptr<fabric::ClientFabric> transport_;
  std::unique_ptr<fabric::PatientClient> fabric_;  // over that one
  std::string id_;                                 // random; empty before the first link
  std::vector<std::string> addresses_;
  std::vector<std::uint64_t> epochs_;
  placement::PlaceSearch search_;  // its places are those of regions that moved; number 0: addresses_ has it
  std::function<void()> learned_;
  std::function<void(const placement::Place& place)> elsewhere_;
  std::uint64_t own_number_ = 0;  // of this server's place, when that was set
  bool is_elsewhere_ = false;
  std::vector<std::unique_ptr<Link>> links_;  // by server
  bool closing_ = false;
  reactor::Event changed_;
  reactor::Gate gate_;
};

// The id of the database whose server 0 listens there, for a server with a new data folder. Error
// configuration where another server answers, or one that keeps nothing on disk; those of connect().
reactor::Task<Result<std::uint64_t>> ask_database_id(fabric::ClientFabric* fabric, Random* random,
                                                     std::string address, LinkOptions options);

}  // namespace namdb::memory
