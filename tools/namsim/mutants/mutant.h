// A test double that removes one protection of the design: product code runs unchanged, but the double alters
// its operations, their results or its answers, as if the rule were not there. A run that still passes with a
// mutant does not bite.
//
// A mutant overrides what it needs:
//   before    operations are on their way to a memory server: may change, add or leave out some
//   after     the batch has completed: may change the results that product code is about to see
//   failed    the batch has failed: may change the error that product code is about to see
//   on_call   a call to a memory server: may answer otherwise
// One object serves one run: all compute servers and all memory servers of it, on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/layout/record.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/cluster/interposer.h"

namespace namdb::sim {

// A batch between product code and the channel.
struct Posting {
  std::size_t compute = 0;
  std::size_t server = 0;
  fabric::LocalPool* pool = nullptr;
  std::vector<fabric::Operation> asked;       // what product code posted
  std::vector<fabric::Operation> operations;  // what goes to the channel
  // Registered memory that the changed operations use; lives until they completed.
  std::vector<fabric::LocalBuffer> buffers;

  // A buffer of this posting, with the word in it.
  std::byte* word(std::uint64_t value);
  void write(std::uint64_t offset, const std::byte* local, std::uint32_t length_bytes);
};

class Mutant : public Interposer {
 public:
  void attach(Cluster& cluster) override { cluster_ = &cluster; }
  std::unique_ptr<fabric::ClientFabric> client(std::size_t compute,
                                               std::unique_ptr<fabric::ClientFabric> fabric) final;
  std::unique_ptr<fabric::Service> service(std::size_t server, fabric::Service& service) final;

  virtual void before(Posting& posting);
  virtual void after(Posting& posting);
  virtual void failed(Posting& posting, Status& status);
  virtual reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                        std::uint16_t method, std::string_view request, std::string* reply);
  virtual Result<std::string> on_connect(fabric::Service& inner, std::size_t server, fabric::PeerId peer,
                                         std::string_view hello);

  // The one-sided operations and calls that all compute servers of the run have posted.
  std::uint64_t operations() const { return operations_; }
  void count(std::uint64_t operations) { operations_ += operations; }

 protected:
  Cluster& cluster() { return *cluster_; }

 private:
  Cluster* cluster_ = nullptr;
  std::uint64_t operations_ = 0;
};

}  // namespace namdb::sim
