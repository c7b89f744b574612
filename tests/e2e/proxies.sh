# shellcheck shell=bash
# shellcheck disable=SC2154
# Sourced by sites_network_test.sh: the same exchange through squid (Basic, NTLM), tinyproxy and an nginx that ends TLS and buffers. They are
# unpacked by dpkg -x and never installed, nor started as services; all on loopback. Needs root (squid must not be it) and a mirror of Debian's.
proxies=$work/proxies
packages=(squid squid-common squid-langpack libecap3 libltdl7 libdb5.3 libnetfilter-conntrack3 libnfnetlink0 libmnl0 nginx tinyproxy-bin tcpdump libpcap0.8)
mkdir -p "$proxies/root" "$proxies/var"
(cd "$proxies" && apt-get download "${packages[@]}" >/dev/null 2>&1 && for p in *.deb; do dpkg -x "$p" root; done) || fail "the proxies' packages cannot be had"
chmod 755 "$work" "$proxies"
chown 65534 "$proxies/var"
unpacked=$proxies/root
libraries=$unpacked/usr/lib/x86_64-linux-gnu:$unpacked/lib/x86_64-linux-gnu

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
listens() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
# as_nobody COMMAND...: started in the background; ends with the test.
as_nobody() {
  setpriv --reuid 65534 --regid 65534 --clear-groups env LD_LIBRARY_PATH="$libraries" "$@" >>"$proxies/var.log" 2>&1 &
  servers+=($!)
}

# squid PORT METHOD: asks for a name and a password by this method.
start_squid() {
  cat >"$proxies/squid.conf" <<END
http_port 127.0.0.1:$1
pid_filename none
cache_log $proxies/var/squid.log
access_log stdio:$proxies/var/access.log
coredump_dir $proxies/var
cache deny all
netdb_filename none
pinger_enable off
shutdown_lifetime 1 second
mime_table $unpacked/usr/share/squid/mime.conf
icon_directory $unpacked/usr/share/squid/icons
error_directory $unpacked/usr/share/squid/errors/templates
unlinkd_program $unpacked/usr/lib/squid/unlinkd
auth_param $2 program $unpacked/usr/lib/squid/$2_fake_auth
acl known proxy_auth REQUIRED
http_access allow known
http_access deny all
END
  as_nobody "$unpacked/usr/sbin/squid" -N -n "muffle$1" -f "$proxies/squid.conf"
  check "squid ($2) listens" within 20 listens "$1"
}

start_tinyproxy() {
  printf 'Port %s\nListen 127.0.0.1\nTimeout 60\nAllow 127.0.0.1\nBasicAuth north word\nLogFile "%s"\n' "$1" "$proxies/var/tiny.log" >"$proxies/tiny.conf"
  as_nobody "$unpacked/usr/bin/tinyproxy" -d -c "$proxies/tiny.conf"
  check "tinyproxy listens" within 20 listens "$1"
}

# nginx as docs/how-to/sites-network.md has it, in front of the server at $2.
start_nginx() {
  mkdir -p "$proxies/var/nginx"
  chown 65534 "$proxies/var/nginx"
  cp "$work/server.pem" "$work/server.key" "$proxies/var"
  chown 65534 "$proxies/var/server.key"
  cat >"$proxies/nginx.conf" <<END
daemon off;
pid $proxies/var/nginx/pid;
error_log $proxies/var/nginx/error.log warn; # says what it buffers
events {}
http {
  access_log off;
  client_body_temp_path $proxies/var/nginx/body;
  proxy_temp_path $proxies/var/nginx/proxy;
  fastcgi_temp_path $proxies/var/nginx/f;
  uwsgi_temp_path $proxies/var/nginx/u;
  scgi_temp_path $proxies/var/nginx/s;
  server {
    listen 127.0.0.1:$1 ssl;
    ssl_certificate $proxies/var/server.pem;
    ssl_certificate_key $proxies/var/server.key;
    client_max_body_size 5m;
    location / { proxy_pass $2; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
END
  as_nobody "$unpacked/usr/sbin/nginx" -c "$proxies/nginx.conf" -p "$proxies/var/nginx" -e "$proxies/var/nginx/error.log"
  check "nginx listens" within 20 listens "$1"
}

# passes WHAT ADDRESS [PROXY]: a new site's card gets to the server, and all that lies there to the site, but for countersignatures of the
# charter, which are left to the coordinator.
passes() {
  local site=S$((++sites_made))
  ends 0 "$MUFFLE" site init --name "$site" --out "$work/$site" --key-holder --exchange "$2"
  says 0 '^[1-9][0-9]* fetched, 2 sent' env MUFFLE_EXCHANGE_PROXY="${3:-}" "$MUFFLE" site sync --site "$work/$site"
  check "$1: what came is what lies there" diff -r -x .incoming -x 'charter-*-*' "$work/$site/exchange" "$work/exchange"
}

sites_made=0
plain=$address # the second server: plain HTTP, for nginx
serve third --listen 127.0.0.1:0 --cert "$work/server.pem" --key "$work/server.key"
basic=$(free_port) ntlm=$(free_port) tiny=$(free_port) front=$(free_port)
LD_LIBRARY_PATH=$libraries "$unpacked/usr/bin/tcpdump" -Z root -i lo -U -B 65536 -w "$work/capture" \
  "port ${address##*:} or port $basic or port $ntlm or port $tiny or port $front" >/dev/null 2>"$work/tcpdump.log" &
servers+=($!)
check "tcpdump listens" within 20 grep -q listening "$work/tcpdump.log"

start_squid "$basic" basic
passes "squid, Basic" "$address" "http://north:word@127.0.0.1:$basic"
says 78 'wants a name and a password' env MUFFLE_EXCHANGE_PROXY="http://127.0.0.1:$basic" "$MUFFLE" site sync --site "$work/S1"
start_squid "$ntlm" ntlm
passes "squid, NTLM" "$address" "http://north:word@127.0.0.1:$ntlm"
check "it was by NTLM" grep -qE "CONNECT 127.0.0.1:${address##*:} .*north" "$proxies/var/access.log"
start_tinyproxy "$tiny"
passes "tinyproxy" "$address" "http://north:word@127.0.0.1:$tiny"
says 78 'wants a name and a password' env MUFFLE_EXCHANGE_PROXY="http://north:wrong@127.0.0.1:$tiny" "$MUFFLE" site sync --site "$work/S1"
start_nginx "$front" "$plain"
passes "nginx" "https://127.0.0.1:$front"
# behind NAME COMMAND...: as NAME's network has it. NORTH is behind squid with Basic, SOUTH behind squid with NTLM, WEST reaches nginx alone.
behind() {
  case $1 in
    north) MUFFLE_EXCHANGE_PROXY=http://north:word@127.0.0.1:$basic "${@:2}" --exchange "$address" ;;
    south) MUFFLE_EXCHANGE_PROXY=http://south:word@127.0.0.1:$ntlm "${@:2}" --exchange "$address" ;;
    west) "${@:2}" --exchange "https://127.0.0.1:$front" ;;
    *) return 2 ;;
  esac
}

# After the round.
what_was_captured() {
  sleep 0.5 # tcpdump writes
  check "what passed was captured" test "$(stat -c %s "$work/capture")" -gt "$(((1 + 3) * contribution_bytes))"
  # shellcheck disable=SC2317 # by check
  absent() { ! grep -aqF -- "$1" "$work/capture"; }
  local word
  for word in muffle-message muffle-exchange Muffle-Exchange /v1/messages '"sender"' card- -contribution- -opening-; do
    check "no '$word' passed in plain text" absent "$word"
  done
  check "nginx buffered requests" grep -q 'a client request body is buffered' "$proxies/var/nginx/error.log"
}
