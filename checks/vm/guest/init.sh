#!/bin/sh
# First process of the machine: mounts the disks and hands over to /run/vm/job.sh. Everything here is busybox.
PATH=/bin
say() { echo "executorch-vm: $*"; }
fail() {
    say "failed: $*"
    poweroff -f
}

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev 2>/dev/null
say "kernel started"
for module in /modules/*.ko; do
    insmod "$module" || fail "cannot load $module"
done
tries=0
until [ -b /dev/vda ] && [ -b /dev/vdb ] && [ -b /dev/vdc ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || fail "the disks did not appear"
    usleep 50000
done

mkdir -p /lower /upper /root
mount -t squashfs -o ro /dev/vda /lower || fail "cannot mount the system's disk"
mount -t tmpfs -o size=75% upper /upper || fail "cannot make the writable layer"
mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work root /root ||
    fail "cannot join the layers"
cd /root
mkdir -p job results home/user
mount -t squashfs -o ro,nosuid,nodev /dev/vdb job || fail "cannot mount the disk with the job's files"
for kind in proc sysfs:sys devtmpfs:dev; do
    mount -t "${kind%:*}" none "${kind#*:}" || fail "cannot mount $kind"
done
mkdir -p dev/pts dev/shm
mount -t devpts none dev/pts
mount -t tmpfs -o mode=1777 none dev/shm
mount -t tmpfs -o mode=0755 none run
mkdir run/vm
cp /bin/busybox /vm/* run/vm/
umount /proc /sys
say "system mounted"
exec switch_root /root /bin/sh /run/vm/job.sh
