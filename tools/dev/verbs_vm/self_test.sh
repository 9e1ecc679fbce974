#!/bin/bash
# Inside the machine: the devices work without namdb. Each line is one check; the exit status is that of all.
failures=0
check() {
  local name="$1"
  shift
  if "$@" >"$VERBS_VM_LOGS/self_test.out" 2>&1; then
    echo "ok      $name"
  else
    echo "FAILED  $name"
    sed 's/^/        /' "$VERBS_VM_LOGS/self_test.out"
    failures=$((failures + 1))
  fi
}

# pair SERVER-COMMAND -- CLIENT-COMMAND: both end well; the client is tried again until the server listens.
pair() {
  local server=() status
  while [ "$1" != -- ]; do server+=("$1"); shift; done
  shift
  "${server[@]}" &
  for _ in $(seq 50); do
    "$@" && break
    kill -0 $! 2>/dev/null || break
    read -rt 0.1 <> <(:)
  done
  wait $!
  status=$?
  return $status
}

three_devices() { [ "$(rdma link show | grep -c 'state ACTIVE')" = 3 ]; }

ibv_devinfo -v >"$VERBS_VM_LOGS/ibv_devinfo.log" 2>&1
check "three active devices" three_devices
check "READ, WRITE by rdma_cm over the cable" pair rping -s -a 10.2.0.1 -C 3 -- rping -c -a 10.2.0.1 -C 3
check "rdma_cm on the loopback device" pair rping -s -a 127.0.0.1 -C 3 -- rping -c -a 127.0.0.1 -C 3
check "SEND and RECV with a completion channel" \
  pair ibv_rc_pingpong -d rx0 -g 1 -n 50 -e -p 18601 -- ibv_rc_pingpong -d rx1 -g 1 -n 50 -e -p 18601 127.0.0.1
check "a shared receive queue" \
  pair ibv_srq_pingpong -d rx0 -g 1 -n 50 -q 2 -p 18602 -- ibv_srq_pingpong -d rx1 -g 1 -n 50 -q 2 -p 18602 127.0.0.1
check "atomics" pair ib_atomic_lat -d rx0 -x 1 -n 50 -p 18603 -- ib_atomic_lat -d rx1 -x 1 -n 50 -p 18603 127.0.0.1
echo "$failures failed"
[ "$failures" = 0 ]
