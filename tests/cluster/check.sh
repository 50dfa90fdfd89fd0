#!/bin/sh
# Holds tests/cluster/cluster to its word: hosts of their own names and links, shaped both ways; the exit code of the
# command; a shared link that carries what crosses it and nothing else; nothing left behind, after a SIGKILL too; several clusters side by side.
set -u
cluster=$1
export MPISTAIR_RELAY=$2
export TMPDIR="$(mktemp -d "${TMPDIR:-/tmp}/mpistair-cluster-check.XXXXXX")"
trap '"$cluster" down -d "$TMPDIR/kept" 2>/dev/null; rm -rf "$TMPDIR"' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}

# expect WHAT FOUND EXPECTED
expect() {
    [ "$2" = "$3" ] || fail "$1: found '$2', expected '$3'"
    echo "ok: $1"
}

# expect_soon WHAT COMMAND ...: the command succeeds within 10 s.
expect_soon() {
    what=$1
    shift
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || fail "$what: not within 10 s"
        sleep 0.05
    done
    echo "ok: $what"
}

no_namespace_holds() {
    ! grep -qs "$TMPDIR" /proc/[0-9]*/cmdline
}

# While no cluster, of this test or of another, has changed the list.
allowed_controls() {
    flock /proc/self/ns/net cat /proc/sys/net/ipv4/tcp_allowed_congestion_control
}

[ "$(id -u)" -eq 0 ] || { echo "skipped: only root may make network namespaces"; exit 77; }
"$cluster" run -n 1 -- true || { echo "skipped: no network namespaces here"; exit 77; }
allowed=$(allowed_controls)
links=$(ip -o link | wc -l)

expect "exit code of the command" "$("$cluster" run -n 1 -- sh -c 'exit 7'; echo $?)" 7
expect "input of the command" "$(echo word | "$cluster" run -n 1 -- cat)" word
expect "host name and congestion control" \
    "$("$cluster" run -- cat /proc/sys/kernel/hostname /proc/sys/net/ipv4/tcp_congestion_control | tr '\n' ' ')" "node0 cubic "
expect "rate of the host's end" "$("$cluster" run -r 123mbit -- tc qdisc show dev eth0 | grep -o 'rate [^ ]*')" "rate 123Mbit"
expect "wrong usage" "$("$cluster" run -n 2 2>/dev/null; echo $?)" 2
expect "a shared link needs two nodes" "$("$cluster" run -n 1 -l 10mbit -- true 2>/dev/null; echo $?)" 2
expect "a delay needs two nodes" "$("$cluster" run -n 1 -D 50us -- true 2>/dev/null; echo $?)" 2
# Half of a round trip of 100 bytes, us: the least of 300.
cat >"$TMPDIR/round_trip" <<'END'
import os, socket, subprocess, time
ECHO = "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 5002)); print('listens', flush=True); [s.sendto(*s.recvfrom(100)) for _ in range(300)]"
rsh = [os.environ["OMPI_MCA_plm_rsh_agent"], "node2", "exec", "python3", "-c", '"' + ECHO + '"']
echo = subprocess.Popen(rsh, stdout=subprocess.PIPE)
echo.stdout.readline()
s = socket.socket(type=socket.SOCK_DGRAM)
s.settimeout(10)
took = []
for _ in range(300):
    begin = time.monotonic()
    s.sendto(bytes(100), ("10.77.0.3", 5002))
    s.recv(100)
    took.append(time.monotonic() - begin)
print(int(min(took) / 2 * 1e6))
END
delayed() {
    "$cluster" run -n 3 -D "$1" -- python3 "$TMPDIR/round_trip" || echo failed
}
at_once=$(delayed 0) later=$(delayed 500us)
expect "a delay of 500 us is there ($at_once, $later us)" "$((at_once < 500 && later >= 500 && later - at_once <= 600))" 1
# Sums of 8 MB that a host sends to another, and of what arrives.
cat >"$TMPDIR/stream" <<'END'
import hashlib, os, socket, subprocess
SUM = """import hashlib, socket
server = socket.create_server(('', 5001))
print('listens', flush=True)
other, took = server.accept()[0], hashlib.sha256()
while part := other.recv(65536):
    took.update(part)
print(took.hexdigest())
""".replace("'", '"')
echo = subprocess.Popen([os.environ["OMPI_MCA_plm_rsh_agent"], "node1", "exec", "python3", "-c", f"'{SUM}'"],
                        stdout=subprocess.PIPE, text=True)
echo.stdout.readline()
sent = os.urandom(8000000)
with socket.create_connection(("10.77.0.2", 5001), 10) as connection:
    connection.sendall(sent)
print(echo.stdout.readline().strip() == hashlib.sha256(sent).hexdigest())
END
expect "8 MB through the relay" "$("$cluster" run -D 100us -- timeout 60 python3 "$TMPDIR/stream")" True
# Two flows of 1 MB from half to half go through the link's one queue, flows of neighbours do not.
cat >"$TMPDIR/flow" <<'END'
import os, socket, subprocess, sys
MEGABYTE = 1000000
SEND = "import socket; socket.create_connection(('10.77.0.%d', 5001), 10).sendall(bytes(1000000))"
RECEIVE = """import socket
server = socket.create_server(('', 5001))
print('listens', flush=True)
other = server.accept()[0]
n = 0
while n < 1000000:
    n += len(other.recv(65536))
"""


def on(node, program, **more):
    rsh = [os.environ["OMPI_MCA_plm_rsh_agent"], f"node{node}", "exec", "python3", "-c", "'" + program.replace("'", '"') + "'"]
    return subprocess.Popen(rsh, text=True, **more)


def counted():
    """Megabytes in whole numbers that the link's queue towards the second half has passed on."""
    said = subprocess.run("nsenter --target 1 --net tc -s qdisc show dev between0".split(), capture_output=True, text=True)
    return int(said.stdout.split("Sent ")[1].split()[0]) // MEGABYTE


for flows in ([(0, 2), (1, 3)], [(0, 1), (2, 3)]):
    before = counted()
    receivers = [on(to, RECEIVE, stdout=subprocess.PIPE) for _, to in flows]
    for receiver in receivers:
        receiver.stdout.readline()
    senders = [on(source, SEND % (to + 1)) for source, to in flows]
    if any(p.wait(30) for p in senders + receivers):
        sys.exit("a flow failed")
    print(counted() - before, end=" ")
END
expect "megabytes through the shared link" "$("$cluster" run -n 4 -l 200mbit -- python3 "$TMPDIR/flow")" "2 0 "
expect "rate of the shared link, both ways" "$("$cluster" run -n 3 -r none -l 123mbit -- nsenter --target 1 --net \
    tc qdisc show | grep -o 'tbf.*between.*rate [^ ]*' | sed 's/tbf .* dev //; s/ root.*rate//' | sort | tr '\n' ' ')" \
    "between0 123Mbit between1 123Mbit "

"$cluster" up -n 3 -m 2 -d "$TMPDIR/kept" || fail "up"
expect "another cluster beside it" "$("$cluster" run -n 2 -- cat /proc/sys/kernel/hostname)" node0
expect "names and addresses reach the other hosts" "$("$cluster" run -d "$TMPDIR/kept" -- sh -c '
    for host in node0 node1 node2; do "$0/rsh" "$host" cat /proc/sys/kernel/hostname; done' "$TMPDIR/kept" | tr '\n' ' ')" \
    "node0 node1 node2 "
expect "slots" "$(grep -c 'slots=2' "$TMPDIR/kept/hostfile")" 3
"$cluster" down -d "$TMPDIR/kept" || fail "down"
expect_soon "nothing is left by down" no_namespace_holds
case $cluster in
/tmp/*) ;; # no host would see the script
*)
    expect "with -t a /tmp for each host, the folder on all" "$("$cluster" run -n 2 -t -- sh -c '
        touch /tmp/mine
        cd "${OMPI_MCA_plm_rsh_agent%/*}" && touch ours
        ./rsh node1 "ls ours; ls /tmp/mine 2>/dev/null || echo none"' | tr '\n' ' ')" "ours none "
    ;;
esac

# Prints whether a cluster sees what another has in its memory: their processes the same numbers and
# their hosts the same names, of which Open MPI makes those of its files.
memory_of_two() {
    "$cluster" run -d "$TMPDIR/kept" -- sh -c 'touch "$OMPI_MCA_btl_vader_backing_directory/other"'
    "$cluster" run -n 1 -- sh -c '
        for folder in "$OMPI_MCA_btl_vader_backing_directory" "$OMPI_MCA_orte_tmpdir_base"; do
            [ -d "$folder" ] && [ ! -e "$folder/other" ] && echo own
        done' | tr '\n' ' '
}
"$cluster" up -n 1 -d "$TMPDIR/kept" || fail "up"
expect "memory of a cluster's own for Open MPI" "$(memory_of_two)" "own own "
"$cluster" down -d "$TMPDIR/kept" || fail "down"
pids=
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    mkdir "$TMPDIR/$((i / 2))" 2>/dev/null # two of them know of each other, the others have folders elsewhere
    TMPDIR="$TMPDIR/$((i / 2))" "$cluster" run -n 1 -- true &
    pids="$pids $!"
done
ended=
for pid in $pids; do
    wait "$pid" && ended="$ended."
done
expect "clusters that begin and end at once" "$ended" "............"

"$cluster" run -n 2 -- sleep 600 &
killed=$!
expect_soon "a cluster to be killed is up" sh -c 'ls "$TMPDIR"/mpistair-cluster.*/ready >/dev/null 2>&1'
kill -KILL $killed
wait $killed 2>/dev/null
expect_soon "nothing is left after a SIGKILL" no_namespace_holds
"$cluster" run -n 1 -- true || fail "a cluster after a killed one"
expect "folders of killed clusters" "$(ls -d "$TMPDIR"/mpistair-cluster.*/ 2>/dev/null | wc -l)" 0
expect "links of this machine" "$(ip -o link | wc -l)" "$links"
expect "allowed congestion controls" "$(allowed_controls)" "$allowed"
