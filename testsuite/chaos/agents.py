# SPDX-License-Identifier: Apache-2.0
"""Kept shepherds with several users, and what is left behind."""
from checks import *


def more_users(c, n):
    """Users of this case beside the first; run removes them."""
    r = []
    for i in range(n):
        name = f'{c.tag}{"uvwx"[i]}'
        if subprocess.run(['useradd', '--no-create-home', '--home-dir', f'{c.d}/home', '--shell', '/bin/sh', name], capture_output=True).returncode:
            raise RuntimeError('useradd')
        with open(f'{c.d}/users', 'a') as f:
            f.write(name + '\n')
        r.append(pwd.getpwnam(name))
    return r


def as_user(c, pw, work):
    """Runs work(say) in a process of that user; the lines that it said, when it has ended."""
    r, w = os.pipe()
    pid = os.fork()
    if pid:
        os.close(w)
        out = []
        t = threading.Thread(target=lambda: out.extend(os.fdopen(r).read().splitlines()), daemon=True)
        t.start()
        return pid, t, out
    try:
        os.close(r)
        os.setgroups([pw.pw_gid])
        os.setgid(pw.pw_gid)
        os.setuid(pw.pw_uid)
        f = os.fdopen(w, 'w')
        work(lambda *a: print(*a, file=f, flush=True))
    finally:
        os._exit(0)


def identity(c):
    """5,000 short jobs of 3 users through one agent with kept shepherds, under random kills of shepherds and of the agent."""
    N = int(5000 * c.scale) // 3 * 3
    c.controller()
    c.agent('n1', '--heartbeat', '1s', '--topology', 'pack:1 numa:1 core:6 pu:1')
    c.untaint('n1')
    users = [pwd.getpwnam(c.user)] + more_users(c, 2)
    shutil.copy(f'{c.helpers}/idcheck', f'{c.d}/bin/')
    dirs = []
    for k, u in enumerate(users):
        p = f'{c.d}/w/u{k}'
        os.mkdir(p, 0o700)
        os.chown(p, u.pw_uid, u.pw_gid)
        dirs.append(p)
    import tempfile

    def client(k, u):
        def work(say):
            for x in range(N // 3):
                name = f'u{k}-{x}'
                code = 5 if x % 11 == 0 else 0
                # some jobs leave children, some are killed by a signal, some write to stderr only, some have a secret in the environment
                extra = ['', '', '', 'sleep 100 & ', 'kill -9 $$; ', 'sleep 0.3; '][x % 6 if x % 7 == 0 else 0]
                script = f'#!/bin/sh\n{extra}exec {c.d}/bin/idcheck {name} {code}\n'
                b = c.body(name, script)
                t = b['spec']['template']['spec']
                del t['securityContext']
                t['execution'] = {'stdoutPath': f'{dirs[k]}/{x}.out', 'umask': ['0022', '0077', '0027'][k]}
                t['containers'][0]['workingDir'] = dirs[k]
                t['containers'][0]['env'] = [{'name': 'MARK', 'value': name}] + ([{'name': f'SECRET{k}', 'value': name}] if x % 5 == 0 else [])
                end = now() + 120
                while now() < end:
                    try:
                        st, o = c.req('POST', JOBS, b, {'Idempotency-Key': name})
                        if st in (200, 201):
                            say('ack', name, o['status']['id'], o['metadata']['name'], code, 'kill' if 'kill -9' in extra else 'run', 1 if x % 5 == 0 else 0)
                            break
                        if st not in (429, 500, 502, 503, 504):
                            say('refused', name, str(o)[:200])
                            break
                    except NET:
                        pass
                    time.sleep(.05)
        return as_user(c, u, work)
    t0 = now()
    clients = [client(k, u) for k, u in enumerate(users)]
    kills, hit, over = Counter(), set(), threading.Event()
    agent_down = [0.0]

    def parent(p):
        try:
            return int(open(f'/proc/{p}/stat').read().rpartition(')')[2].split()[1])
        except OSError:
            return 0

    def children():
        """The fork server, and the kept and busy shepherds: processes of its or the shepherd's program.

        The process of a job has this program, too, until it executes its own. Its parent is a shepherd."""
        r = []
        for p in own_processes(f'{c.d}/bin'):
            try:
                exe = os.path.basename(os.readlink(f'/proc/{p}/exe'))
            except OSError:
                continue
            if exe in ('kiln-shepherd', 'kiln-forkserver'):
                r.append((p, exe))
        servers = {p for p, exe in r if exe == 'kiln-forkserver' and parent(p) == c.procs['n1'].pid}
        return [(p, exe) for p, exe in r if p in servers or parent(p) in servers or parent(p) not in {q for q, _ in r}]
    zombies = []

    def zombie_scan():
        n = []
        for p in glob.glob('/proc/[0-9]*'):
            try:
                f = open(p + '/stat').read().rpartition(')')
                s = f[2].split()
                parent = os.readlink(f'/proc/{s[1]}/exe')
            except OSError:
                continue
            if s[0] == 'Z' and parent.startswith(f'{c.d}/bin/'):
                n.append((int(p[6:]), f[0].partition('(')[2], os.path.basename(parent)))
        return n

    def hurt():
        while not over.wait(random.uniform(.1, .7)):
            if c.control:
                continue
            some = children()
            x = random.random()
            if x < .12:
                c.kill('n1')
                kills['agent'] += 1
                time.sleep(random.choice([0, .1, 1]))
                c.agent('n1', wait=0)
            elif some:
                p, exe = random.choice(some)
                kind = 'fork server' if exe == 'kiln-forkserver' and any(int(open(f'/proc/{q}/stat').read().rpartition(')')[2].split()[1]) == p for q, _ in some if os.path.exists(f'/proc/{q}/stat')) else 'shepherd'
                # which jobs it holds: children with their id in the environment
                for q in own_processes('/nowhere', users[0].pw_uid) + own_processes('/nowhere', users[1].pw_uid) + own_processes('/nowhere', users[2].pw_uid):
                    try:
                        if int(open(f'/proc/{q}/stat').read().rpartition(')')[2].split()[1]) == p:
                            m = re.search(r'KILN_JOB_ID=(\d+)', open(f'/proc/{q}/environ', errors='replace').read())
                            if m:
                                hit.add(int(m[1]))
                    except (OSError, ValueError):
                        pass
                try:
                    os.kill(p, signal.SIGKILL)
                    kills[kind] += 1
                except OSError:
                    pass
    h = threading.Thread(target=hurt, daemon=True)
    h.start()
    for pid, t, out in clients:
        os.waitpid(pid, 0)
        t.join(10)
    acks, refused = {}, []
    for _, _, out in clients:
        for l in out:
            w = l.split()
            if w[0] == 'ack':
                acks[int(w[2])] = (w[1], w[3], int(w[4]), w[5], int(w[6]))
            else:
                refused.append(l)
    c.wait_ended(600, [a[1] for a in acks.values()], 2)
    over.set()
    h.join(30)
    c.agent('n1', wait=20) if c.procs['n1'].poll() is not None else None
    c.wait_ended(60, [a[1] for a in acks.values()], 2)
    took = now() - t0
    time.sleep(2)
    zombies = zombie_scan()
    c.history_written()
    jobs = {j['status']['id']: j for j in c.jobs()}
    rows = Counter(r['job'] for r in c.history(fields='job,state'))
    outs = {}
    for i, (name, obj, code, kind, secret) in acks.items():
        k, x = int(name[1]), int(name[3:])
        p = f'{dirs[k]}/{x}.out'
        try:
            s = os.stat(p)
            outs[i] = (open(p).read(), s.st_uid, s.st_gid, s.st_mode & 0o777)
        except OSError:
            outs[i] = None
    e = {'outs': outs, 'jobs': jobs, 'rows': rows, 'hit': hit, 'acks': acks}
    masks = [0o022, 0o077, 0o027]

    def check(e):
        w, bad, lie, gone, many = [], [], [], [], []
        lost = 0
        for i, (name, obj, code, kind, secret) in e['acks'].items():
            k, x = int(name[1]), int(name[3:])
            u, j, out = users[k], e['jobs'].get(i), e['outs'].get(i)
            if j is None or not condition(j):
                gone.append(name)
                continue
            state, cause = j['status'].get('state'), (j['status'].get('lastRun') or {}).get('reason')
            if e['rows'][i] != 1:
                many.append((name, e['rows'][i]))
            if kind == 'kill':
                if not (state == 'Failed' or i in e['hit'] or cause == 'ShepherdLost'):
                    lie.append((name, state))
                continue
            if cause == 'ShepherdLost' or state == 'NodeFailed':
                lost += 1
                if out and out[0].count('\n') > 1:
                    bad.append((name, 'ran twice', out[0][:100]))
                continue
            if (state, j['status'].get('exitCode')) != (('Failed', code) if code else ('Completed', 0)):
                lie.append((name, state, j['status'].get('exitCode'), cause, (j['status'].get('lastRun') or {}).get('message', '')[:120]))
                continue
            if out is None:
                bad.append((name, 'no output'))
                continue
            want = (f'id {i} arg={name} mark={name} secrets={secret} uids={u.pw_uid},{u.pw_uid},{u.pw_uid} gids={u.pw_gid},{u.pw_gid},{u.pw_gid} groups={u.pw_gid} '
                    f'umask={masks[k]:o} cwd={dirs[k]} fds=3 pod={obj}-0 cgroup=')
            if not out[0].startswith(want) or out[0].count('\n') != 1:
                bad.append((name, out[0][:300]))
            elif out[1:] != (u.pw_uid, u.pw_gid, 0o666 & ~masks[k]):
                bad.append((name, 'file', out[1:]))
            elif c.tag not in out[0].split('cgroup=')[1]:
                bad.append((name, 'cgroup', out[0].split('cgroup=')[1]))
        e['lost'] = lost
        for n, l in (('have a wrong identity, environment or output', bad), ('have an untrue end', lie), ('have no end', gone), ('have not one row', many)):
            if l:
                w.append(f'{len(l)} jobs {n}: {few(l)}')
        pods = Counter(o[0].split('cgroup=')[1] for o in e['outs'].values() if o and 'cgroup=' in o[0])
        same = {g: n for g, n in pods.items() if n > 1}
        e['same'] = len(same)
        return w
    wrong = check(e)
    shares = e['same']
    lost = e['lost']
    if lost > max(3, 4 * sum(v for n, v in kills.items() if n != 'agent')):
        wrong.append(f'{lost} jobs were lost with their shepherd, {dict(kills)} were killed')
    if refused:
        wrong.append(f'{len(refused)} refused: {refused[0][:200]}')
    # a killed fork server is reaped when the next one is needed
    if len(zombies) > 1 or any(z[1] != 'kiln-forkserver' for z in zombies):
        wrong.append(f'{len(zombies)} zombies: {few(zombies)}')
    left = [p for u in users for p in own_processes('/nowhere', u.pw_uid) if alive(p)]
    if left:
        wrong.append(f"{len(left)} processes are left: {few(open(f'/proc/{p}/cmdline').read().replace(chr(0), ' ') for p in left)}")

    def who(e):
        i = next(i for i, o in e['outs'].items() if o and 'uids=' in o[0] and e['acks'][i][3] == 'run' and e['jobs'][i]['status'].get('state') == 'Completed')
        e['outs'] = {**e['outs'], i: (e['outs'][i][0].replace(f'uids={e["outs"][i][1]}', 'uids=1'), *e['outs'][i][1:])}

    def env(e):
        i = next(i for i, o in e['outs'].items() if o and 'uids=' in o[0] and e['acks'][i][3] == 'run' and e['jobs'][i]['status'].get('state') == 'Completed')
        e['outs'] = {**e['outs'], i: (e['outs'][i][0].replace('mark=u', 'mark=x'), *e['outs'][i][1:])}

    def out(e):
        i = next(i for i, o in e['outs'].items() if o and 'uids=' in o[0] and e['acks'][i][3] == 'run' and e['jobs'][i]['status'].get('state') == 'Completed')
        e['outs'] = {**e['outs'], i: (e['outs'][i][0] * 2, *e['outs'][i][1:])}

    def row(e):
        e['rows'] = Counter(e['rows'])
        e['rows'][next(iter(e['acks']))] += 1
    for f in (who, env, out, row):
        f.__name__
    proofs = prove(check, e, [('other user', who), ('other environment', env), ('output twice', out), ('two rows', row)])
    return verdict(wrong, f'{len(acks)} jobs of 3 users in {took:.0f} s ({len(acks) / took:.0f}/s), kills {dict(kills)}, {lost} lost with their shepherd, {shares} cgroups served several jobs, zombies at the end {len(zombies)}, {proofs} planted violations found')


def leaks(c):
    """30,000 jobs through one agent: memory of controller, agent, fork server and shepherds over time; descriptors; nothing left."""
    N = int(30000 * c.scale)
    with open(f'{c.d}/etc/controller.yaml', 'w') as f:
        f.write('finished: {maxCount: 500}\n')
    c.options = ['--config', f'{c.d}/etc/controller.yaml']
    c.controller()
    c.agent('n1', '--topology', 'pack:1 numa:1 core:8 pu:1')
    c.untaint('n1')
    samples, over = [], threading.Event()

    def others():
        r = []
        for p in own_processes(f'{c.d}/bin'):
            try:
                exe = os.path.basename(os.readlink(f'/proc/{p}/exe'))
                if exe in ('kiln-shepherd', 'kiln-forkserver'):
                    r.append((p, int(re.search(r'VmRSS:\s+(\d+)', open(f'/proc/{p}/status').read())[1])))
            except (OSError, TypeError):
                pass
        return r

    def fds(n):
        try:
            return len(os.listdir(f'/proc/{c.procs[n].pid}/fd'))
        except OSError:
            return 0
    done = 0
    t0 = now()
    B = max(500, N // 30)
    while done < N:
        a = c.array('a', f'0-{B - 1}', script='#!/bin/sh\nexit 0\n')
        n = a['metadata']['name']
        if not until(300, lambda: condition(c.job(n)), .2):
            raise Broken(f'{n} does not end: {c.job(n)["status"]}')
        done += B
        time.sleep(1.2)
        o = others()
        samples.append({'done': done, 'events': c.metric('kiln_store_objects{resource="events"}'), 'controller': c.rss('controller'), 'agent': c.rss('n1'), 'helpers': sum(r for _, r in o), 'n': len(o), 'fd': (fds('controller'), fds('n1')),
                        'state': sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(f'{c.d}/n1') for f in fs if os.path.exists(os.path.join(d, f))),
                        'cg': len(cgroups(f'{c.tag}-n1')), 'entries': sum(len(fs) + len(ds) for d, ds, fs in os.walk(f'{c.d}/n1'))})
    took = now() - t0
    rows = len(c.history(fields='job'))

    def slope(key):
        """KiB per 1,000 jobs over the second half."""
        h = samples[len(samples) // 2:]
        mx, my = sum(s['done'] for s in h) / len(h), sum(s[key] for s in h) / len(h)
        d = sum((s['done'] - mx) ** 2 for s in h)
        return 1000 * sum((s['done'] - mx) * (s[key] - my) for s in h) / d if d else 0
    s = {k: slope(k) for k in ('controller', 'agent', 'helpers', 'entries', 'cg', 'events')}
    # Every task that waits has an Event, which is kept for an hour: about 2 KiB each, and bounded by that hour.
    s['controller'] -= 2.5 * s['events']
    e = {'s': s, 'fd': (samples[len(samples) // 2]['fd'], samples[-1]['fd']), 'rows': rows}

    def check(e):
        w = []
        for k, most in (('controller', 60), ('agent', 30), ('helpers', 10)):
            # With fewer jobs, the window of former versions (64 MiB) still fills, and helpers come and go.
            if (k == 'agent' or done >= 20000) and e['s'][k] > most:
                w.append(f'{k} grows by {e["s"][k]:.0f} KiB for 1,000 jobs')
        if e['s']['entries'] > 20 or e['s']['cg'] > 1:
            w.append(f"files or cgroups stay: {e['s']['entries']:.1f}, {e['s']['cg']:.1f} for 1,000 jobs")
        if any(b > a + 5 for a, b in zip(*e['fd'])):
            w.append(f"descriptors {e['fd']}")
        if e['rows'] != done:
            w.append(f"{e['rows']} rows of {done} jobs")
        return w

    def grow(e):
        e['s'] = {**e['s'], 'agent': 1000}

    def row(e):
        e['rows'] -= 1
    few_ = samples[::max(1, len(samples) // 6)]
    return verdict(check(e), f"{done} jobs in {took:.0f} s ({done / took:.0f}/s); KiB for 1,000 jobs in the second half: { {k: round(v, 1) for k, v in s.items()} }; "
                   f"{[(x['done'], x['controller'], x['agent'], x['helpers'], x['n'], x['fd'], x['cg'], x['entries'], x['state']) for x in few_]} (jobs, controller, agent, helpers KiB, helpers, descriptors, cgroups, files, bytes), "
                   f"{prove(check, e, [('leak', grow), ('row', row)])} planted violations found")
