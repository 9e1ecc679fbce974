// A crash leaves the signal and the stack, with names of functions, on standard error, where daemons log. The
// process then ends by the same signal as without the handler, with a core file where the system makes one.
//
// Handled are SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP and SIGABRT (failed checks, uncaught exceptions). A
// reader of standard error that does not read for three seconds costs the rest of the stack: the process then
// ends by SIGABRT. Sanitizers report crashes themselves: in their builds nothing happens here.
#pragma once

namespace namdb {

// `program` is argv[0]. First thing in main(), before any other thread. A thread whose own stack overflows
// leaves a stack only if it has a SignalStack; the one that calls this has one from here on.
void install_crash_handler(const char* program);

}  // namespace namdb
