#!/bin/bash
# Second process of the virtual machine, on the host's files: makes the RDMA devices, runs the command, leaves its exit
# status for the host, and powers off.
#
#   rx0 on w0, 10.2.0.1   one end of a cable
#   rx1 on w1, 10.2.0.2   the other end; connecting to one address leaves by the other device
#   rxl on lo, 127.0.0.1
#
# The cable is the veth pair v0, v1 below w0 and w1: with v0 down both ends lose the link, and keep what a network interface
# loses that is down itself: addresses, routes, neighbours. Soft-RoCE depends on it: a management packet for which there is
# no route stops the device's management queue pair for ever, and no connection is made again.
run=/run/verbs-vm
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp TERM=dumb
exec </dev/hvc0 >/dev/hvc0 2>&1
busybox stty raw -echo
# Which udev makes elsewhere: bash's <(...) needs it.
ln -s /proc/self/fd /dev/fd

# One process for all of it: starting one takes a while here.
addresses_and_routes() {
  echo "link set lo up"
  echo "link add v0 type veth peer name v1"
  local end other
  for end in 0 1; do
    other=$((1 - end))
    echo "link set v$end up"
    echo "link add w$end link v$end address 02:00:00:00:00:0$((end + 1)) type macvlan mode private"
    echo "addr add 10.2.0.$((end + 1))/24 dev w$end"
    echo "link set w$end up"
    echo "neighbour replace 10.2.0.$((other + 1)) lladdr 02:00:00:00:00:0$((other + 1)) dev w$end nud permanent"
    # A device that talks to itself asks for its own address, too.
    echo "neighbour replace 10.2.0.$((end + 1)) lladdr 02:00:00:00:00:0$((end + 1)) dev w$end nud permanent"
    echo "route add 10.2.0.$((other + 1)) dev w$end src 10.2.0.$((end + 1)) table 10$end"
  done
  # Packets for an end are its own only when they come in by the cable; sent from here they leave by the other end.
  for end in 0 1; do
    other=$((1 - end))
    echo "route del local 10.2.0.$((end + 1)) table local"
    echo "route add local 10.2.0.$((end + 1)) dev w$end table 20$end"
    echo "rule add pref 1 iif w$end lookup 20$end"
    echo "rule add pref 2 to 10.2.0.$((other + 1)) lookup 10$end"
  done
}

make_devices() {
  hostname verbs-vm
  echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
  echo 0 >/proc/sys/net/ipv4/conf/default/rp_filter
  echo 1 >/proc/sys/net/ipv4/conf/all/accept_local
  echo 1 >/proc/sys/net/ipv4/conf/default/accept_local
  echo 10000 >/proc/sys/net/core/netdev_max_backlog
  addresses_and_routes | ip -batch -
  printf 'link add %s type rxe netdev %s\n' rx0 w0 rx1 w1 rxl lo | rdma -b -
  mkdir -p /dev/infiniband
  chmod 0666 /dev/infiniband/*
}

# Folders of the host below those that the machine has for itself (a tree in /tmp), as writable as all others.
mount_folders() {
  local name folder layers
  while read -r name folder; do
    layers=/run/layers/$name
    mkdir -p "$folder" $layers/{host,upper,work}
    mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,ro,cache=loose "$name" $layers/host &&
      mount -t overlay -o lowerdir=$layers/host,upperdir=$layers/upper,workdir=$layers/work overlay "$folder" ||
      echo "verbs-vm: $folder is not in the machine"
  done <$run/folders
}

make_devices >$run/devices.log 2>&1
mount_folders
if [ -e $run/shell ]; then
  echo "rx0 10.2.0.1, rx1 10.2.0.2, rxl 127.0.0.1; what is left in $run is kept. exit ends the machine."
  read -r TERM columns rows folder <$run/shell
  busybox stty sane cols "$columns" rows "$rows"
  cd "$folder"
  # With a terminal of its own: ctrl-C ends what runs there.
  setsid --ctty --wait bash -i
  echo $? >$run/status
else
  (source $run/command.sh) </dev/null
  echo $? >$run/status
fi
dmesg >$run/dmesg.log 2>/dev/null
sync
busybox poweroff -f
