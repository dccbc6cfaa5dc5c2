# Run by mmdebstrap with the new system's root: an ordinary user, the list of packages, and what boots the machine,
# which lies in /executorch-vm until it is copied out.
set -eu
root=$1
echo 'user:x:1000:1000::/home/user:/bin/sh' >>"$root/etc/passwd"
echo 'user:x:1000:' >>"$root/etc/group"
mkdir -p "$root/home/user" "$root/job" "$root/results"
echo '127.0.0.1 localhost clean' >"$root/etc/hosts"
echo clean >"$root/etc/hostname"

out=$root/executorch-vm
mkdir "$out"
dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package} ${Version}\n' >"$out/packages"
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
cd "$out"
# The name without a version depends on the newest kernel, and newer Debian puts its files into several packages.
depends() { apt-cache depends "$1" | sed -n 's/^ *Depends: \(linux-[a-z]*-[0-9][^ ]*\)$/\1/p'; }
all=$(depends "linux-image-cloud-$KERNEL_ARCH")
for kernel in $all; do
    all="$all $(depends "$kernel")"
done
apt-get download $all busybox-static
