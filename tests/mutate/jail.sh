#!/usr/bin/env bash
# jail.sh: what a mutant may see and change. Runs as process 1 of new PID and mount namespaces.
#
#   jail.sh PRIVATE TREE COMMAND…     PRIVATE: an empty directory; TREE: absolute
#
# Every file system is read-only but /tmp and /dev/shm, which are new and end with the command.
# The cgroup file system shows our own group as its root. So no mutant can delete a file of
# anybody, nor signal or freeze another process.
set -eu
private=$1 tree=$2
shift 2

mount -t tmpfs -o size=2g,mode=1777 mutate "$private"
case $tree in
/tmp/*) # stays where it is, in the new /tmp
	mkdir -p "$private/${tree#/tmp/}"
	mount --bind "$tree" "$private/${tree#/tmp/}"
	;;
esac
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
mount --move "$private" /tmp
mount -t tmpfs -o size=256m,mode=1777 mutate /dev/shm
if [ -n "$cgroups" ]; then
	umount "$cgroups"
	mount -t cgroup2 none "$cgroups"
fi

# (a mount over another one is listed later and is the one that its path names)
awk '{ print $5 }' /proc/self/mountinfo | while read -r at; do
	case $at in
	/tmp | /proc | /proc/* | /dev | /dev/* | "${cgroups:-/dev}") ;;
	*) mount -o remount,bind,ro "$at" 2>/dev/null || [ ! -e "$at" ] ;;
	esac
done
touch "$tree/mutate-was-here" 2>/dev/null && {
	echo "jail.sh: $tree is not read-only" >&2
	exit 125
}

cd "$tree"
ulimit -c 0
# a child, since process 1 ignores signals and must reap what is left
"$@"
exit $?
