#!/usr/bin/env bash
# Hosts of their own on one machine, as network namespaces; sourced. Root. A host has its own address (10.77.0.I), host name
# and /var/tmp; they meet at a switch whose ports can be cut, so that packets vanish while links stay up, as in a cut cable.
#   hosts_up N            makes hosts $(host 1) .. $(host N); fails where the system does not allow that
#   on_host H COMMAND...  runs a command there
#   over K ARGS...        muffle ($MUFFLE) on hosts 1..K, one rank each, by launch/mpirun.sh; host_list K: what mpirun calls them
#   cut_link H            nothing gets to or from host H any more; mend_link H mends it
#   hosts_down            ends what still runs on them, and removes them
set -euo pipefail

net_prefix=mf$$
net_folder=
net_count=0

host() { echo "$net_prefix-h$1"; }

hosts_up() {
  local i h
  net_count=$1
  net_folder=$(mktemp -d)
  unshare --uts --mount --propagation private true || return # in some containers and in a chroot
  ip netns add "$net_prefix-sw" || return  # not allowed to
  ip -n "$net_prefix-sw" link add br0 type bridge
  ip -n "$net_prefix-sw" link set br0 up
  echo "127.0.0.1 localhost" >"$net_folder/hosts"
  for i in $(seq "$net_count"); do echo "10.77.0.$i $(host "$i")" >>"$net_folder/hosts"; done
  for i in $(seq "$net_count"); do
    h=$(host "$i")
    ip netns add "$h"
    ip link add eth0 netns "$h" type veth peer name "sw$i" netns "$net_prefix-sw"
    ip -n "$h" link set lo up
    ip -n "$h" addr add "10.77.0.$i/24" dev eth0
    ip -n "$h" link set eth0 up
    ip -n "$net_prefix-sw" link set "sw$i" master br0 up
    mkdir -p "/etc/netns/$h" "$net_folder/tmp.$h"
    cp "$net_folder/hosts" "/etc/netns/$h/hosts"  # ip netns exec shows it as /etc/hosts
  done
  # What mpirun calls in place of ssh: [OPTIONS] HOST COMMAND-STRING.
  cat >"$net_folder/rsh" <<END
#!/usr/bin/env bash
while [[ \${1:-} == -* ]]; do shift; done
h=\$1
shift
exec "$net_folder/on-host" "\$h" /bin/bash -c "\$*"
END
  cat >"$net_folder/on-host" <<END
#!/usr/bin/env bash
h=\$1
shift
exec ip netns exec "\$h" unshare --uts --mount --propagation private bash -c \
  'hostname "\$0"; mount --bind "$net_folder/tmp.\$0" /var/tmp; export TMPDIR=/var/tmp; exec "\$@"' "\$h" "\$@"
END
  chmod +x "$net_folder/rsh" "$net_folder/on-host"
}

# Each namespace believes that it owns all cores, so nothing is bound.
over() {
  MUFFLE_BINARY=$MUFFLE timeout -k 10 400 "$net_folder/on-host" "$(host 1)" "$(dirname "${BASH_SOURCE[0]}")/../../../launch/mpirun.sh" -n "$1" \
    --host "$(host_list "$1")" --bind-to none --network 10.77.0.0/24 --mca plm rsh --mca plm_rsh_agent "$net_folder/rsh" --mca mpi_yield_when_idle 1 -- "${@:2}"
}
host_list() { for i in $(seq "$1"); do host "$i"; done | sed 's/$/:1/' | paste -sd,; }

on_host() { "$net_folder/on-host" "$(host "$1")" "${@:2}"; }
cut_link() { bridge -n "$net_prefix-sw" link set dev "sw$1" state 0; }
mend_link() { bridge -n "$net_prefix-sw" link set dev "sw$1" state 3; }

# pids_on H: what still runs there.
pids_on() { ip netns pids "$(host "$1")"; }

hosts_down() {
  local i p h
  for i in $(seq "$net_count"); do
    h=$(host "$i")
    ip netns list | grep -qw "$h" || continue
    for p in $(ip netns pids "$h"); do kill -KILL "$p" 2>/dev/null || true; done
    ip netns del "$h"
    rm -rf "/etc/netns/$h"
  done
  ! ip netns list | grep -qw "$net_prefix-sw" || ip netns del "$net_prefix-sw"
  [[ -z $net_folder ]] || rm -rf "$net_folder"
}
