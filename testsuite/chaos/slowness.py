# SPDX-License-Identifier: Apache-2.0
"""A slow disk, a slow network, many agents at once, slow watchers, a stopped controller."""
from arrays import array_plants, check_array, evidence
from checks import *


def slow_disk(c):
    """fsync takes 2 s longer for a minute: nothing acknowledged is lost with kills, nodes stay ready, running jobs are not touched, it catches up."""
    lib, slow = f'{c.d}/bin/slowsync.so', f'{c.d}/slow'
    shutil.copy(f'{c.helpers}/slowsync.so', lib)
    env = dict(c.env, LD_PRELOAD=lib, SLOWSYNC=slow)
    c.options = ['--node-grace', '12s']
    c.controller(env=env)
    c.virtual('n1', 8, '--heartbeat', '2s')
    c.hollow(10)
    run = c.submit('run', c.script('run', 60), node='n1')['metadata']['name']
    c.started('start', 'run')
    acks, over, lat, unready, lock = {}, threading.Event(), [], [], threading.Lock()

    def submit(k):
        x = 0
        while not over.is_set():
            x += 1
            t = now()
            b = c.simple(f'w{k}-{x}', run_ms=100)
            while not over.is_set():
                try:
                    st, o = c.req('POST', JOBS, b, {'Idempotency-Key': f'{k}-{x}{c.tag}'}, timeout=30)
                    if st in (200, 201):
                        with lock:
                            acks[o['metadata']['uid']] = (f'w{k}-{x}', o['metadata']['name'])
                            lat.append((now(), now() - t))
                        break
                    if st not in (429, 500, 502, 503, 504, 507):
                        break
                except NET:
                    pass
                time.sleep(.1)

    def nodes():
        while not over.wait(.5):
            try:
                st, o = c.req('GET', NODES, timeout=5)
                if st == 200:
                    unready.extend(n['metadata']['name'] for n in o['items'] if not any(x['type'] == 'Ready' and x['status'] == 'True' for x in n['status'].get('conditions', [])))
            except NET:
                pass
    a = c.array('a', '0-2999', run_ms=100, fail_modulo=50)
    ts = [threading.Thread(target=submit, args=(k,), daemon=True) for k in range(6)] + [threading.Thread(target=nodes, daemon=True)]
    for t in ts:
        t.start()
    time.sleep(3)
    slow_at = now()
    if not c.control:
        with open(slow, 'w') as f:
            f.write('2.0\n')
    time.sleep(20)
    kills = 0
    for _ in range(3):
        time.sleep(8)
        if not c.control:
            c.kill('controller')
            kills += 1
            t = now()
            c.controller(env=env, wait=60)
            started = now() - t
    slow_end = now()
    if os.path.exists(slow):
        os.unlink(slow)
    time.sleep(3)
    over.set()
    for t in ts:
        t.join(40)
    c.wait_ended(120)
    healed = now() - slow_end
    c.history_written()
    jobs = {j['metadata']['uid']: j for j in c.jobs()}
    tr = c.trace()
    e = {'acks': acks, 'jobs': jobs, 'pods': tr}

    def check(e):
        w = []
        lost = [n for u, n in e['acks'].items() if u not in e['jobs']]
        if lost:
            w.append(f'{len(lost)} acknowledged jobs lost: {few(lost)}')
        names = Counter(j['metadata']['annotations'].get('kiln.hpc/job-name') for j in e['jobs'].values() if j['metadata']['annotations'].get('kiln.hpc/job-name', '').startswith('w'))
        twice = [n for n, m in names.items() if m > 1]
        if twice:
            w.append(f'{len(twice)} submitted twice: {few(twice)}')
        ran = Counter(p.job for p in e['pods'].values() if p.starts and p.index == 0 and p.job != a['status']['id'])
        more = [i for i, m in ran.items() if m > 1]
        if more:
            w.append(f'{len(more)} jobs ran twice: {few(more)}')
        un = [j['metadata']['name'] for j in e['jobs'].values() if not condition(j)]
        if un:
            w.append(f'{len(un)} never end: {few(un)}')
        bad = [j['metadata']['name'] for j in e['jobs'].values() if j['metadata']['annotations'].get('kiln.hpc/job-name', '').startswith('w') and condition(j) == 'Failed']
        if bad:
            w.append(f'{len(bad)} jobs failed: {few(bad)} {str(c.job(bad[0])["status"])[:300]}')
        return w
    wrong = check(e) + check_array(evidence(c, a, 3000, trace=tr))
    j = c.job(run)
    if condition(j) != 'Complete' and j['status'].get('state') != 'Running':
        wrong.append(f"the running job is {j['status'].get('state')}")
    if unready:
        wrong.append(f'nodes were not ready {len(unready)} times: {dict(Counter(unready))}')

    def lost(e):
        e['acks'] = {**e['acks'], 'x': ('w', 'y')}
    during = [l for t, l in lat if slow_at + 3 < t < slow_end]
    return verdict(wrong, f"{len(acks)} acknowledged ({len(during)} while slow, {sum(during) / max(1, len(during)):.1f} s each), {kills} kills, start on the slow disk {started if kills else 0:.1f} s, all ended {healed:.0f} s after, {prove(check, e, [('lost', lost)])} planted violation found")


def slow_net(c):
    """An agent and 30 hollow nodes behind 200 ms and 5 % loss: 400 real jobs and an array of 3,000, each once and true; nodes stay ready."""
    ns, far = c.tag, '10.198.%d' % (os.getpid() % 250)

    def ip(*a):
        r = subprocess.run(a, capture_output=True, text=True)
        if r.returncode:
            raise Skip(f"no network namespaces here: {' '.join(a)}: {r.stderr.strip()}")
    ip('ip', 'netns', 'add', ns)
    ip('ip', 'link', 'add', ns, 'type', 'veth', 'peer', 'name', ns + 'b')
    ip('ip', 'link', 'set', ns + 'b', 'netns', ns)
    ip('ip', 'addr', 'add', f'{far}.1/24', 'dev', ns)
    ip('ip', 'link', 'set', ns, 'up')
    ip('ip', '-n', ns, 'addr', 'add', f'{far}.2/24', 'dev', ns + 'b')
    ip('ip', '-n', ns, 'link', 'set', ns + 'b', 'up')
    ip('ip', '-n', ns, 'link', 'set', 'lo', 'up')
    if not c.control:
        ip('tc', 'qdisc', 'add', 'dev', ns, 'root', 'netem', 'delay', '100ms', '20ms', 'loss', '5%')
        ip('ip', 'netns', 'exec', ns, 'tc', 'qdisc', 'add', 'dev', ns + 'b', 'root', 'netem', 'delay', '100ms', '20ms', 'loss', '5%')
    c.address = f'{far}.1'
    c.configure()
    c.controller()
    wrap = ['nsenter', f'--net=/run/netns/{ns}']
    t = now()
    c.agent('n1', '--topology', 'pack:1 numa:1 core:8 pu:1', '--heartbeat', '3s', prefix=wrap, wait=60)
    reg = now() - t
    t = now()
    c.hollow(30, wrap=wrap, wait=120)
    reg2 = now() - t
    c.untaint('n1')
    unready, over = [], threading.Event()

    def nodes():
        while not over.wait(.5):
            try:
                st, o = c.req('GET', NODES, timeout=5)
                if st == 200:
                    unready.extend(n['metadata']['name'] for n in o['items'] if not any(x['type'] == 'Ready' and x['status'] == 'True' for x in n['status'].get('conditions', [])))
            except NET:
                pass
    threading.Thread(target=nodes, daemon=True).start()
    a = c.array('a', '0-2999', run_ms=100, fail_modulo=50)
    N = 400
    t0 = now()
    k = Killer(c, 8, 16)
    jobs = {}
    for x in range(N):
        b = c.body(f'r{x}', f'#!/bin/sh\necho start $KILN_JOB_ID >>{c.w}/lines\nexit {3 if x % 10 == 0 else 0}\n', node='n1')
        st, o, _ = c.insist('POST', JOBS, b, {'Idempotency-Key': f'{x}{c.tag}'})
        jobs[o['status']['id']] = 3 if x % 10 == 0 else 0
    c.wait_ended(240, step=1)
    kills = k.stop()
    c.wait_ended(100, step=1)
    took = now() - t0
    over.set()
    time.sleep(2)
    c.history_written()
    wrong = check_array(evidence(c, a, 3000))
    live = {j['status']['id']: j for j in c.jobs()}
    starts = Counter(int(l[1]) for l in c.lines())
    rows = Counter(r['job'] for r in c.history(fields='job,index') if 'index' not in r)
    bad = [(i, starts[i], live[i]['status'].get('state'), live[i]['status'].get('exitCode'), rows[i]) for i, code in jobs.items()
           if starts[i] != 1 or live[i]['status'].get('exitCode') != code or live[i]['status'].get('state') != ('Failed' if code else 'Completed') or rows[i] != 1]
    if bad:
        wrong.append(f'{len(bad)} jobs are not true (id, starts, state, code, rows): {few(bad)}')
    if unready:
        wrong.append(f'nodes were not ready: {dict(Counter(unready).most_common(5))}')
    return verdict(wrong, f'agent ready after {reg:.1f} s, 30 nodes after {reg2:.1f} s; {N} jobs and 3,000 elements in {took:.0f} s; {kills}')


def reconnect(c):
    """1,000 hollow nodes with running pods come back at once after the controller was away for a minute."""
    N = int(1000 * c.scale)
    c.controller()
    t = now()
    c.hollow(N, topology='pack:1 numa:1 core:4 pu:1', wait=300)
    first = now() - t
    a = c.array('a', f'0-{3 * N - 1}', run_ms=40000, cpu='1')
    until(120, lambda: sum(1 for l in open(f'{c.d}/trace') if l[0] == 's') >= 3 * N if os.path.exists(f'{c.d}/trace') else False, .5)
    rss0 = c.rss('controller')
    if not c.control:
        c.kill('controller')
        time.sleep(60)
    t = now()
    s = Sampler(c, ['controller'], .2)
    if not c.control:
        c.controller()
    up = now() - t

    def ready():
        try:
            st, o = c.req('GET', NODES, timeout=30)
            return st == 200 and sum(any(x['type'] == 'Ready' and x['status'] == 'True' for x in n['status'].get('conditions', [])) for n in o['items']) == N
        except NET:
            return False
    bad_at_start = None
    if not until(120, ready, .3):
        raise Broken('not all nodes are ready 120 s after the restart')
    all_ready = now() - t
    js = c.wait_ended(120, [a['metadata']['name']])
    ended = now() - t
    # a job goes quickly again
    t2 = now()
    n = c.insist('POST', JOBS, c.simple('quick', run_ms=10))[1]['metadata']['name']
    until(30, lambda: condition(c.job(n)), .02)
    quick = now() - t2
    lease = 0
    # nobody may be counted as lost while they come back
    ev = c.req('GET', '/api/v1/namespaces/default/events?limit=500')[1]
    c.history_written()
    wrong = check_array(evidence(c, a, 3 * N))
    logs = c.log('controller')
    lost = len(re.findall(r'is not ready|NotReady|silent', logs))
    time.sleep(1)
    return verdict(wrong, f'{N} nodes first ready in {first:.0f} s; restart served after {up:.2f} s, all ready after {all_ready:.1f} s, {3 * N} ended pods reported after {ended:.1f} s, then a job takes {quick:.2f} s; '
                   f'controller {rss0 // 1024} MiB before, most {s.most("controller") // 1024} MiB; "not ready" in the log {lost} times')


def slow_watchers(c):
    """Slow watchers (kubectl, and clients that hardly read) beside a storm, with a small change log and kills: none has a wrong picture, memory is bounded."""
    with open(f'{c.d}/etc/controller.yaml', 'w') as f:
        f.write('watchLog: {bytes: 2Mi, age: 10s}\n')
    c.options = ['--config', f'{c.d}/etc/controller.yaml']
    c.controller()
    c.hollow(20)
    base = c.rss('controller')
    over, slow = threading.Event(), []
    notes = Counter()

    class Slow(threading.Thread):
        """Reads a little, sleeps, and lists again when told so."""

        def __init__(self, path, pause):
            super().__init__(daemon=True)
            self.path, self.pause, self.mirror, self.odd, self.lists, self.events, self.marks, self.doing = path, pause, {}, [], 0, 0, 0, ''
            self.start()

        def run(self):
            rv = None
            while not stop.is_set():  # after the storm without pauses
                try:
                    if rv is None:
                        st, o = c.req('GET', self.path, timeout=60)
                        if st != 200:
                            time.sleep(.1)
                            continue
                        rv = int(o['metadata']['resourceVersion'])
                        self.mirror = {i['metadata']['uid']: i['metadata']['resourceVersion'] for i in o['items']}
                        self.lists += 1
                    self.doing = f'watches from {rv} since {now():.0f}'
                    k = UConn(c.sock, 20)
                    k.request('GET', f'{self.path}?watch=1&allowWatchBookmarks=true&resourceVersion={rv}')
                    r = k.getresponse()
                    if r.status == 410:
                        notes['410'] += 1
                        rv = None
                    while r.status == 200:
                        line = r.readline()
                        if not line.endswith(b'\n'):
                            notes['cut'] += 1
                            break
                        if not line.strip():
                            continue
                        ev = json.loads(line)
                        o = ev['object']
                        if ev['type'] == 'ERROR':
                            notes[f"error {o.get('code')}"] += 1
                            if o.get('code') == 410:
                                rv = None
                            break
                        v = int(o['metadata']['resourceVersion'])
                        self.events += 1
                        if ev['type'] == 'BOOKMARK':
                            self.marks += 1
                        elif v <= rv:
                            self.odd.append(f'an event went back from {rv} to {v}')
                        u = o['metadata'].get('uid')
                        if ev['type'] == 'ADDED' and u in self.mirror:
                            self.odd.append('ADDED twice')
                        if ev['type'] == 'MODIFIED' and u not in self.mirror:
                            self.odd.append('MODIFIED before ADDED')
                        if ev['type'] in ('ADDED', 'MODIFIED'):
                            self.mirror[u] = o['metadata']['resourceVersion']
                        elif ev['type'] == 'DELETED':
                            self.mirror.pop(u, None)
                        rv = max(rv, v)
                        if not over.is_set() and self.events % 20 == 0:
                            time.sleep(self.pause)
                    k.close()
                except NET as err:
                    self.doing = f'{err} at {now():.0f}'
                    time.sleep(.05)
    stop = threading.Event()
    slow = [Slow(p, pause) for p in (PODS, JOBS) for pause in (.05, .3, 1, 5)]
    fast = [Watcher(c, PODS), Watcher(c, JOBS)]
    # kubectl, stopped most of the time
    kube = []
    for i in range(4):
        proxy = f'{c.d}/etc/p{i}'
    subprocess.run(['true'])
    port = socket.socket()
    port.bind(('127.0.0.1', 0))
    pn = port.getsockname()[1]
    port.close()
    c.start('proxy', ['kctl', '--server', f'http+unix://{c.sock}', 'proxy', '--port', str(pn)])
    time.sleep(1)
    for i in range(4):
        c.start(f'kubectl{i}', ['kubectl', f'--server=http://127.0.0.1:{pn}', 'get', ['pods', 'jobs'][i % 2], '-w', '-o', 'name'])
        kube.append(f'kubectl{i}')

    def jerk():
        while not over.is_set():
            for n in kube:
                c.kill(n, signal.SIGSTOP)
            over.wait(4)
            for n in kube:
                c.kill(n, signal.SIGCONT)
            over.wait(.2)
    j = threading.Thread(target=jerk, daemon=True)
    j.start()
    s = Sampler(c, ['controller', 'proxy'])
    k = Killer(c, 6, 12)
    arrays = [c.array(f'a{x}', '0-5999', run_ms=50, fail_modulo=100, throttle=t) for x, t in enumerate([None, 200])]
    for x in range(300):
        c.insist('POST', JOBS, c.simple(f's{x}', run_ms=50), {'Idempotency-Key': f's{x}{c.tag}'})
        time.sleep(.05)
    c.wait_ended(200)
    kills = k.stop()
    c.wait_ended(60)
    s.over.set()
    over.set()
    j.join(10)
    until(20, lambda: not c.pods(arrays[0]['metadata']['name']), .5)
    time.sleep(3)

    def listed(path):
        return {i['metadata']['uid']: i['metadata']['resourceVersion'] for i in c.req('GET', path, timeout=60)[1]['items']}

    def equal():
        p, jj = listed(PODS), listed(JOBS)
        return all(w.mirror == (p if w.path == PODS else jj) for w in slow) and {u: v[0] for u, v in fast[0].mirror.items()} == p and {u: v[0] for u, v in fast[1].mirror.items()} == jj
    wrong = []
    if not until(60, equal, 1):
        p, jj = listed(PODS), listed(JOBS)
        wrong.append(f"watchers have another picture: {[(w.path[-4:], len(w.mirror), len(p if w.path == PODS else jj), w.lists, w.events, w.doing) for w in slow if w.mirror != (p if w.path == PODS else jj)]}")
    stop.set()
    odd = [o for w in slow for o in w.odd] + [o for w in fast for o in w.odd]
    if odd:
        wrong.append(f'{len(odd)} odd events: {few(set(odd))}')
    tr = c.trace()
    c.history_written()
    for a in arrays:
        wrong += check_array(evidence(c, a, 6000, trace=tr))
    top = s.most('controller')
    if top - base > 400 * 1024:
        wrong.append(f'the controller took {top // 1024} MiB, {base // 1024} before')
    alive_k = [n for n in kube if c.procs[n].poll() is None]
    for n in [*kube, 'proxy']:
        c.kill(n)
    return verdict(wrong, f"lists {[w.lists for w in slow]}, events {[w.events for w in slow]}, bookmarks {sum(w.marks for w in slow)}, {dict(notes)}, {len(alive_k)} of 4 kubectl still watch, {kills}, "
                   f"controller {base // 1024} MiB, most {top // 1024}, proxy most {s.most('proxy') // 1024}")


def stopped_controller(c):
    """SIGSTOP of the controller for a minute, then SIGCONT: leases, running jobs, deadlines, fences; nothing is lost or runs twice."""
    c.options = ['--node-grace', '10s']
    c.controller()
    c.virtual('n1', 8, '--heartbeat', '2s')
    c.hollow(20)
    c.untaint('n1')
    long_ = c.submit('long', c.script('long', 90), node='n1')['metadata']['name']
    short = c.submit('short', c.script('short', 25), node='n1')['metadata']['name']
    again = c.submit('again', c.script('again', 80), node='n1', requeue=True, backoffLimit=5)['metadata']['name']
    b = c.body('fence', c.script('fence', 80), node='n1')
    r = c.run('ksub', '--parsable', '-w', 'n1', '-o', '/dev/null', '--fence-after', '0:20', '--requeue', '--wrap', c.script('fence', 60).split('\n', 1)[1])
    fence = int(r.stdout.strip()) if r.returncode == 0 else None
    b = c.body('limit', c.script('limit', 300), node='n1')
    b['spec']['template']['spec']['activeDeadlineSeconds'] = 20
    limit = c.insist('POST', JOBS, b)[1]['metadata']['name']
    for x in ('long', 'short', 'again', 'limit'):
        c.started('start', x)
    a = c.array('a', '0-5999', run_ms=200, fail_modulo=100)
    time.sleep(3)
    t0 = now()
    if not c.control:
        c.kill('controller', signal.SIGSTOP)
    time.sleep(60)
    if not c.control:
        c.kill('controller', signal.SIGCONT)
    t = now()
    seen = []

    def ready():
        try:
            st, o = c.req('GET', NODES, timeout=5)
            n = sum(any(x['type'] == 'Ready' and x['status'] == 'True' for x in n['status'].get('conditions', [])) for n in o['items'])
            seen.append((round(now() - t, 1), n))
            return n == 21 and now() > t + 12
        except NET:
            return False
    until(60, ready, .3)
    low = min((n for _, n in seen), default=None)
    back = next((x for x, n in seen if n == 21), None)
    js = c.wait_ended(150)
    done = now() - t
    c.history_written()
    wrong = check_array(evidence(c, a, 6000))
    starts = Counter(l[1] for l in c.lines() if l[0] == 'start')
    ends = Counter(l[1] for l in c.lines() if l[0] == 'end')
    for tag, n, want in (('long', long_, 'Completed'), ('short', short, 'Completed'), ('again', again, 'Completed'), ('limit', limit, 'TimedOut')):
        s = js[n]['status'].get('state') if n in js else None
        if s != want or starts[tag] != 1:
            wrong.append(f'{tag} is {s} and was started {starts[tag]} times')
    f = c.job(fence) if fence else None
    figures = f"fence: {f and f['status'].get('state')}, started {starts['fence']}, ended {ends['fence']}"
    if starts['fence'] > 1 and ends['fence'] > 1:
        wrong.append('the fenced job ran to its end twice')
    if low is not None and low < 21:
        figures += f'; nodes ready at least {low} of 21'
        if not c.control and low == 0:
            figures += ' (all at once counted as not ready)'
    return verdict(wrong, f'stopped {t - t0:.0f} s; all nodes ready {back} s after; everything ended {done:.0f} s after; {figures}; controller exit {c.procs["controller"].poll()}')
