# shellcheck shell=bash
# Several "hosts" on one machine: network namespaces on a bridge, each with its own address and host name; sourced.
# Needs root and work (a folder). hosts_up N makes mf-h1..mf-hN at 10.78.0.1..N; hosts_down ends what is left.
: "${work:?}"

hosts_down() {
  local ns pid
  for ns in $(ip netns list | awk '{print $1}' | grep -E '^mf-(h[0-9]+|switch)$'); do
    for pid in $(ip netns pids "$ns"); do kill -KILL "$pid" 2>/dev/null || true; done
    ip netns delete "$ns" || true
    rm -rf "/etc/netns/$ns"
  done
}

hosts_up() {
  local i n=$1
  hosts_down
  ip netns add mf-switch || return
  ip -n mf-switch link add br0 type bridge
  ip -n mf-switch link set br0 up
  mkdir -p "$work/hosts"
  { echo "127.0.0.1 localhost"; for i in $(seq "$n"); do echo "10.78.0.$i mf-h$i"; done; } >"$work/hosts/names"
  for i in $(seq "$n"); do
    ip netns add "mf-h$i"
    ip link add eth0 netns "mf-h$i" type veth peer name "sw$i" netns mf-switch
    ip -n "mf-h$i" link set lo up
    ip -n "mf-h$i" addr add "10.78.0.$i/24" dev eth0
    ip -n "mf-h$i" link set eth0 up
    ip -n mf-switch link set "sw$i" master br0
    ip -n mf-switch link set "sw$i" up
    mkdir -p "/etc/netns/mf-h$i" "$work/hosts/tmp-mf-h$i"
    cp "$work/hosts/names" "/etc/netns/mf-h$i/hosts" # ip netns exec binds it on /etc/hosts
  done
  # on-host HOST COMMAND...: its own network, host name and temporary folder. remote-shell: what mpirun calls for ssh.
  cat >"$work/hosts/on-host" <<SH
#!/usr/bin/env bash
h=\$1; shift
exec ip netns exec "\$h" unshare --uts --mount --propagation private bash -c '
  hostname "\$0"; mount --bind "$work/hosts/tmp-\$0" /var/tmp; export TMPDIR=/var/tmp; exec "\$@"' "\$h" "\$@"
SH
  cat >"$work/hosts/remote-shell" <<SH
#!/usr/bin/env bash
while [[ \${1:-} == -* ]]; do shift; done
h=\$1; shift
exec "$work/hosts/on-host" "\$h" /bin/bash -c "\$*"
SH
  chmod +x "$work/hosts/on-host" "$work/hosts/remote-shell"
}

# cut_host I, mend_host I: the switch drops all that host I sends and should get; the link stays up.
cut_host() { bridge -n mf-switch link set dev "sw$1" state 0; }
mend_host() { bridge -n mf-switch link set dev "sw$1" state 3; }
