// WakeDescriptor: an eventfd that ends a reactor's sleep. Another thread or another process that has work for
// a reactor writes to it, after it saw that the reactor sleeps (PollSource::prepare_sleep()). It is never
// read: each write is an edge that wakes the reactor once.
#pragma once

namespace namdb::reactor {

class Ring;

class WakeDescriptor {
 public:
  // Owns a new eventfd, which ends the sleep of the reactor whose ring it is.
  explicit WakeDescriptor(Ring& ring);
  WakeDescriptor(const WakeDescriptor&) = delete;
  WakeDescriptor& operator=(const WakeDescriptor&) = delete;
  // On the reactor's thread. The descriptor is closed as soon as the kernel has let go of it.
  ~WakeDescriptor();

  // To hand to another process. Valid while this object lives.
  int descriptor() const { return descriptor_; }
  // Any thread, and signal handlers.
  void signal() const { signal(descriptor_); }
  // The same for a descriptor that came from another process; a failure is that process's loss.
  static void signal(int descriptor);

  // Instead of the kernel's confirmation, when the reactor will never look at completions again.
  void abandon();

 private:
  class Watch;
  Watch* watch_;
  int descriptor_;
};

}  // namespace namdb::reactor
