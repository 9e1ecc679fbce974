#!/bin/busybox sh
# First process of the virtual machine: modules, then the host's files under what is written here, then the
# script that the host left for this run.
bb=/bin/busybox
$bb mount -t proc proc /proc
$bb mount -t sysfs sys /sys
$bb mount -t devtmpfs dev /dev
for module in /modules/*; do $bb insmod "$module" || echo "cannot insert $module"; done
$bb mount -t tmpfs -o size=75% layers /layers
$bb mkdir /layers/host /layers/packages /layers/run /layers/upper /layers/work
share=trans=virtio,version=9p2000.L,msize=512000
for source in host packages; do
  $bb mount -t 9p -o $share,ro,cache=loose $source /layers/$source || $bb poweroff -f
done
$bb mount -t 9p -o $share,cache=none run /layers/run || $bb poweroff -f
$bb mount -t overlay -o lowerdir=/layers/packages:/layers/host,upperdir=/layers/upper,workdir=/layers/work \
  overlay /merged || $bb poweroff -f
for folder in proc sys dev; do $bb mkdir -p /merged/$folder; $bb mount --move /$folder /merged/$folder; done
for folder in tmp run dev/shm; do
  $bb mkdir -p /merged/$folder
  $bb mount -t tmpfs -o mode=1777 tmpfs /merged/$folder
done
$bb mkdir -p /merged/run/verbs-vm /merged/dev/pts
$bb mount -t devpts devpts /merged/dev/pts
$bb mount --move /layers/run /merged/run/verbs-vm
exec $bb switch_root /merged /run/verbs-vm/guest.sh
