// The sources that a reactor polls in every turn besides its io_uring: shared-memory rings, completion
// queues, mailboxes. A source belongs to the reactor's thread.
#pragma once

namespace namdb::reactor {

class PollSource {
 public:
  virtual ~PollSource() = default;

  // Does the work that is there, without blocking: true if there was any. Called in every turn, so cheap.
  virtual bool poll() = 0;

  // The reactor is about to sleep in the kernel. Arms the source's wake-up (see WakeDescriptor) and then
  // looks once more, in this order: true if the reactor may sleep, false if there is work now.
  virtual bool prepare_sleep() = 0;
  // The reactor is awake again; follows each prepare_sleep(), whatever that returned.
  virtual void cancel_sleep() = 0;
};

}  // namespace namdb::reactor
