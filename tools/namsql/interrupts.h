// Ctrl-C as something to wait for: the signal handler writes to a pipe, and every wait of the program has the
// pipe's other end beside its own descriptor. So no signal is missed between a check and a wait.
//
// One for the process, used by its one thread.
#pragma once

namespace namdb::namsql {

class Interrupts {
 public:
  // From here on SIGINT does not end the process, unless the one before it has not been noticed yet: the
  // program waits for something else then.
  static void install();
  // Whether there was one since the last call.
  static bool take();

  enum class Wake { ready, interrupted, timeout };
  // Waits until the descriptor is ready to be read (or written, if `write` asks for it, too), until an
  // interrupt, which it takes, or until so many milliseconds have passed; negative: without an end. A
  // negative descriptor is never ready.
  enum class Ready { read, read_or_write };
  static Wake wait(int descriptor, Ready ready, int timeout_ms);
};

}  // namespace namdb::namsql
