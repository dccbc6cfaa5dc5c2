# Runs the job as an ordinary user, writes what it left in /results to the third disk, and switches the machine off.
vm=/run/vm/busybox
say() { echo "executorch-vm: $*"; }
as_user() {
    setpriv --reuid 1000 --regid 1000 --clear-groups env -i HOME=/home/user USER=user LOGNAME=user \
        PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TMPDIR=/tmp "$@"
}

export PATH=/usr/sbin:/usr/bin:/sbin:/bin
. /run/vm/settings
$vm ifconfig lo 127.0.0.1 up
$vm hostname clean
chown 1000:1000 /results /home/user
chmod 1777 /tmp
mkdir /run/vm/end
cd /home/user || say "failed: no home"

say "job starts"
begin=$($vm cut -d' ' -f1 /proc/uptime)
# A pipe: the job shall not take the console for a terminal. What the job left running holds the pipe, and is ended.
(
    as_user timeout -k 5 "$limit" sh /run/vm/command </dev/null 2>&1
    echo $? >/run/vm/status
    as_user $vm kill -9 -1 2>/dev/null
) | $vm cat
end=$($vm cut -d' ' -f1 /proc/uptime)
say "job ended"

{
    echo "status $($vm cat /run/vm/status)"
    echo "begin $begin"
    echo "end $end"
} >/run/vm/end/.executorch-vm-end
# The last file of the archive proves that it is whole.
if tar -cf /dev/vdc -C /results . -C /run/vm/end .executorch-vm-end; then
    $vm sync
    say "results written"
else
    say "failed: the results do not fit on their disk"
fi
$vm poweroff -f
