#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two controllers with one replicated store (heads.t), and what is hard about it: both
# start at once, their clocks are an hour apart, and a takeover meets a job of two nodes
# that runs, a script of 4 MiB that is being submitted, and 1,000 watches. It runs with
# `testsuite/run --long`, or by hand:
#
#   KILN_LONG=1 testsuite/one testsuite/cluster/heads_hard.t

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/postgres.sh"
. "$top_srcdir/testsuite/lib/heads.sh"
[ -n "$KILN_LONG" ] || skip_all "takeovers in hard cases: testsuite/run --long"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl python3
cluster_user kilntest1 || skip_all "only root can make users"
postgres_primary pg1
cluster_store=$postgres_url
heads_begin
one_leads() {
    leader=a follower=b
    if leads a && leads b; then return 1; fi
    leads a || { leader=b follower=a && leads b; }
}
log_says() { grep -qE "$2" "$cluster/log/$1"; }
count_of() { grep -c "$2" "$cluster/log/$1"; }

# --- both at once -----------------------------------------------------------------
for round in 1 2 3; do
    head_start a
    head_start b
    ok "of two that start at once one leads ($round)" wait_for 30 one_leads
    one_leads # in this shell
    ok "the other one waits ($round)" wait_for 20 log_says "$follower" 'Waiting to lead'
    is "and has not led ($round)" "$(count_of "$follower" 'leads now')" 0
    [ "$round" -lt 3 ] || break
    for head in a b; do
        signal "$head" KILL
        await_end "$head"
        rm "$cluster/$head/socket" 2>/dev/null
        : >"$cluster/log/$head"
    done
done

# --- clocks an hour apart -----------------------------------------------------------
hour=
if command -v faketime >/dev/null; then
    hour="LD_PRELOAD=$(faketime -f +0 sh -c 'echo "$LD_PRELOAD"') FAKETIME=+1h
        FAKETIME_DONT_FAKE_MONOTONIC=1"
fi
stop "$follower"
# shellcheck disable=SC2086 # several words
head_start "$follower" env $hour
ok "a controller whose clock is an hour ahead waits" \
    wait_for 20 log_says "$follower" 'Waiting to lead'
waits_since=$(date +%s)
for node in n1 n2; do heads_node "$leader" "$node" --topology 'package:1 core:8 pu:1'; done
home=$cluster/home/kilntest1
gang=$(as kilntest1 ksub --parsable -N 2 --wrap \
    'echo begin >>gang; sleep 40; echo end >>gang')
wait_for 30 grep -q begin "$home/gang"

# --- 1,000 watches --------------------------------------------------------------------
cat >"$cluster/watches.py" <<'PYTHON'
import asyncio, json, resource, sys
count, first, second, wanted = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
path = "/apis/batch/v1/namespaces/default/jobs"
opened = saw = resumed = gone = 0
slots = asyncio.Semaphore(50)

async def ask(socket, target):
    reader, writer = await asyncio.open_unix_connection(socket, limit=1 << 24)
    writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    status = int((await reader.readline()).split()[1])
    length = None
    while (line := await reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode().partition(":")
        if name.lower() == "content-length":
            length = int(value)
    if length is not None:
        body = await reader.readexactly(length)
        writer.close()
        return status, body, None, None
    return status, None, reader, writer

async def frames(reader):
    rest = b""
    while (size := await reader.readline()) not in (b"", b"0\r\n"):
        rest += (await reader.readexactly(int(size, 16) + 2))[:-2]
        *lines, rest = rest.split(b"\n")
        for line in lines:
            if line:
                yield json.loads(line)

async def list_now():
    while True:
        for socket in (first, second):
            try:
                status, body, _, _ = await ask(socket, path)
                if status == 200:
                    jobs = json.loads(body)
                    return (int(jobs["metadata"]["resourceVersion"]),
                            any(job["metadata"]["name"] == wanted for job in jobs["items"]))
            except (OSError, asyncio.IncompleteReadError, IndexError, ValueError):
                pass
        await asyncio.sleep(0.3)

async def watch():
    global opened, saw, resumed, gone
    revision, is_listed = await list_now()
    is_new = was_open = False
    while True:
        for socket in (first, second):
            try:
                async with slots:
                    status, body, reader, writer = await ask(
                        socket, f"{path}?watch=1&allowWatchBookmarks=true&resourceVersion={revision}")
                if status == 410:
                    gone += 1
                    revision, is_listed = await list_now()
                if is_listed: # it was created before this list
                    saw += 1
                    return
                if reader is None:
                    continue
                if not was_open:
                    opened, was_open = opened + 1, True
                    if opened == count:
                        print("open", flush=True)
                elif not is_new:
                    resumed, is_new = resumed + 1, True
                async for event in frames(reader):
                    if event["type"] == "ERROR":
                        assert event["object"]["code"] == 410, event
                        gone += 1
                        revision, is_listed = await list_now()
                        break
                    revision = int(event["object"]["metadata"]["resourceVersion"])
                    if event["object"]["metadata"].get("name") == wanted and event["type"] == "ADDED":
                        saw += 1
                        writer.close()
                        return
                writer.close()
            except (OSError, asyncio.IncompleteReadError, IndexError):
                pass
        await asyncio.sleep(0.3)

async def main():
    done = [asyncio.create_task(watch()) for _ in range(count)]
    await asyncio.wait(done, timeout=150)
    print(f"opened {opened}, continued on the other controller {resumed}, answered 410 {gone}, "
          f"saw the job {saw}", flush=True)
    for task in done:
        if task.done() and task.exception():
            print(repr(task.exception()), flush=True)
            break
asyncio.run(main())
PYTHON
python3 "$cluster/watches.py" 1000 "$cluster/$leader/socket" "$cluster/$follower/socket" \
    after-takeover >"$cluster/watches" 2>&1 &
watches=$!
ok "1,000 watches are open" wait_for 90 grep -q open "$cluster/watches"

while [ $(($(date +%s) - waits_since)) -lt 14 ]; do sleep 1; done
is "a controller whose clock is ahead has not led meanwhile" \
    "$(count_of "$follower" 'leads now')" 0

# --- the takeover -----------------------------------------------------------------------
{
    printf '#!/bin/sh\nwc -c <"$0" >size; echo whole >>size; exit 0\n'
    awk 'BEGIN { for (i = 0; i < 65536; i++) printf "# %061d\n", i }' | head -c 4100000
} >"$cluster/home/large.sh"
chmod 644 "$cluster/home/large.sh"
signal "$leader" KILL
await_end "$leader"
as kilntest1 ksub --parsable "$cluster/home/large.sh" >"$cluster/large.id" 2>"$cluster/log/large" &
large=$!
ok "it leads after a kill of the other one" wait_for 40 leads "$follower"
wait "$large"
is "a script of 4 MiB that was being submitted is accepted" "$?" 0
was=$leader leader=$follower follower=$was
is_whole() { [ "$(tr '\n' ' ' <"$home/size")" = "$(wc -c <"$cluster/home/large.sh") whole " ]; }
ok "and runs, whole" wait_for 60 is_whole
as kilntest1 kctl create -f - >/dev/null <<TXT
{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "after-takeover", "namespace":
"default"}, "spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never",
"containers": [{"name": "main", "image": "host", "command": ["true"]}]}}}}
TXT
wait "$watches"
note "$(tail -1 "$cluster/watches")"
like "each watch goes on, or is told to list anew, and misses nothing" \
    "$(cat "$cluster/watches")" 'opened 1000, .* saw the job 1000$'
is_complete() { as kilntest1 kctl get job "$gang" --no-headers 2>/dev/null | grep -qw Completed; }
ok "the job of two nodes is complete" wait_for 90 is_complete
is "it ran once" "$(tr '\n' ' ' <"$home/gang")" "begin end "

# --- and back -----------------------------------------------------------------------------
: >"$cluster/log/$follower"
head_start "$follower"
wait_for 20 log_says "$follower" 'Waiting to lead'
rows_of() { # the times in a row are those of the controller that wrote it
    KILN_SERVER=$cluster/$1/socket kctl history --all-users -o csv | sort
}
has_rows() { [ "$(rows_of "$1" | grep -c Completed)" -ge "$2" ]; }
ok "history has the jobs that are complete" wait_for 30 has_rows "$leader" 2
rows_of "$leader" >"$cluster/history"
stop "$leader"
ok "the one whose clock is an hour behind leads again" wait_for 20 leads "$follower"
has_all_rows() { [ -z "$(rows_of "$follower" | comm -23 "$cluster/history" -)" ]; }
ok "its history has the same rows, field by field" wait_for 30 has_all_rows
is "and jobs run there" "$(as kilntest1 timeout 60 ksub --wait --wrap true >/dev/null 2>&1
    echo $?)" 0

finish
