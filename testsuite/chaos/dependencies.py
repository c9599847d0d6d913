# SPDX-License-Identifier: Apache-2.0
"""Dependencies, singleton, begin times and deadlines."""
from checks import *


def check_deps(e):
    """e: jobs {id: {deps, require, own}} and what became of them: pods by job id, state by id, when it was acted upon."""
    w, jobs, state, pods = [], e['jobs'], dict(e['state']), e['pods']
    runs = {i: [p for p in pods.get(i, []) if p.starts] for i in jobs}
    twice = [i for i, r in runs.items() if len(r) > 1 or any(len(p.starts) > 1 for p in r)]
    if twice:
        w.append(f'{len(twice)} jobs ran twice: {few(twice)}')
    for i, j in jobs.items():  # deleted before it had a pod: it has no row, and counts as not completed
        if j.get('deleted') and not runs[i]:
            state.setdefault(i, 'Deleted')
    unended = [i for i in jobs if state.get(i) not in ('Completed', 'Failed', 'Cancelled', 'Deadline', 'TimedOut', 'Deleted')]
    if unended:
        w.append(f'{len(unended)} jobs have no end: {few((i, state.get(i)) for i in unended)}')
        return w

    never_ran = {r['job']: seconds(r['endTime']) for r in e['rows'] if r.get('endTime') and not r.get('startTime') and r.get('reason') == 'DependencyNeverSatisfied'}

    def met(d):
        s, r = state.get(d['job']), runs.get(d['job'])
        return {'afterok': s == 'Completed', 'afternotok': s != 'Completed', 'afterany': True, 'after': True}[d['type']]

    def when(d):
        r, delay = runs.get(d['job']), d.get('delaySeconds', 0)
        if d['type'] != 'after':
            return r[0].over() if r else None
        # A job that was cancelled or deleted counts as started then, though its pod may still start under a kill.
        # One that could never run has ended before it was deleted.
        t = [x for x in (r[0].starts[0] if r else None, jobs.get(d['job'], {}).get('stopped_at'), never_ran.get(d['job'])) if x]
        return (int(min(t)) if delay else min(t)) + delay if t else None
    early, wrongly, never, said = [], [], [], []
    for i, j in jobs.items():
        deps = j['deps']
        if not deps:
            ok = True
        else:
            ms = [met(d) for d in deps]
            ok = all(ms) if j['require'] == 'All' else any(ms)
        if runs[i] and not ok:
            wrongly.append(i)
        if not runs[i] and ok and not j['stopped']:
            never.append(i)
        if not ok and not j['stopped'] and state[i] != 'Cancelled':
            said.append((i, state[i]))
        if runs[i] and deps and ok:
            ts = [when(d) for d in deps if met(d)]
            if j['require'] == 'All':
                need = max((t for t in ts if t), default=None)
            else:
                need = min(ts) if all(ts) else None
            if need and runs[i][0].starts[0] < need - .005:
                early.append((i, round(need - runs[i][0].starts[0], 3)))
        if runs[i] and not j['stopped'] and state[i] != ('Failed' if runs[i][0].code else 'Completed'):
            said.append((i, state[i], runs[i][0].code))
    for name, x in (('started before their dependencies were met', early), ('ran although their dependencies cannot be met', wrongly),
                    ('never ran although their dependencies are met', never), ('have an untrue state', said)):
        if x:
            w.append(f'{len(x)} jobs {name}: {few(x)}')
    rows = Counter(r.get('podUid') or r['job'] for r in e['rows'])
    missing = [i for i in jobs if state.get(i) != 'Deleted' and not any(r['job'] == i for r in e['rows'])]
    rowless = [p.job for r in runs.values() for p in r if p.uid not in rows]
    if missing or rowless or [k for k, m in rows.items() if m > 1]:
        w.append(f'history: {len(missing)} jobs and {len(rowless)} attempts without row, {len([k for k, m in rows.items() if m > 1])} with several: {few(missing + rowless)}')
    if e['strange']:
        w.append(f"jobs that nobody asked for: {few(e['strange'])}")
    return w


def deps_dag(c):
    """1,500 jobs in a random graph of dependencies and 60 pipelines, some cancelled or deleted, under kills."""
    N, P = int(1500 * c.scale), int(60 * c.scale)
    c.controller()
    c.hollow(10)
    jobs, names, ids, lock = {}, {}, [], threading.Lock()
    k = Killer(c, .3, 1.5)
    stopped, pipes, wrong = set(), [], []
    t0 = now()

    def submit(name, deps, require, hold=False):
        b = c.simple(name, run_ms=random.choice([20, 100, 400, 1500]), exit_code=random.random() < .2)
        if deps:
            b['spec']['dependencies'] = {'require': require, 'jobs': deps}
        st, o, _ = c.insist('POST', JOBS, b, {'Idempotency-Key': name + c.tag})
        if st not in (200, 201):
            raise RuntimeError(f'refused: {st} {str(o)[:200]}')
        i = o['status']['id']
        jobs[i] = {'deps': [dict(d) for d in deps], 'require': require, 'stopped': False, 'name': o['metadata']['name']}
        names[o['metadata']['name']] = i
        ids.append(i)
        return i
    for x in range(N):
        deps = []
        if ids and random.random() < .75:
            pool = ids[-60:] if random.random() < .8 else ids
            for d in random.sample(pool, min(len(pool), random.choice([1, 1, 2, 3]))):
                t = random.choice(['afterok', 'afterok', 'afternotok', 'afterany', 'after'])
                deps.append({'type': t, 'job': d, **({'delaySeconds': 2} if t == 'after' and random.random() < .3 else {})})
        try:
            submit(f'd{x}', deps, random.choice(['All', 'All', 'Any']))
        except RuntimeError as e:
            if 'eleted' not in str(e) and 'not found' not in str(e) and 'no job' not in str(e) and 'can never be met' not in str(e):
                raise
        if random.random() < .06:
            v = random.choice(ids[-20:])
            jobs[v]['stopped'] = True
            jobs[v].setdefault('stopped_at', time.time())
            c.act('cancel', str(v))
        if random.random() < .05:
            v = random.choice(ids[-20:])
            jobs[v].setdefault('stopped_at', time.time())
            st, o, _ = c.insist('DELETE', f"{JOBS}/{jobs[v]['name']}?propagationPolicy=Background", ok=(200, 202, 404))
            jobs[v]['stopped'] = True
            jobs[v]['deleted'] = True
        if P and x % max(1, N // P) == 5:
            # a pipeline of some stages; every fifth has a stage that is refused
            n, bad = random.randint(2, 6), len(pipes) % 5 == 4
            stages = []
            for s in range(n):
                b = c.simple(f'p{len(pipes)}-{s}', run_ms=50, exit_code=random.random() < .1)
                if s:
                    b['spec']['dependencies'] = {'jobs': [{'type': random.choice(['afterok', 'afterany']), 'stage': f's{random.randrange(s)}'}]}
                if bad and s == n - 1:
                    b['spec']['template']['spec'].setdefault('placement', {})['partition'] = 'nowhere'
                stages.append({'name': f's{s}', 'job': b})
            st, o, _ = c.insist('POST', '/kiln/v1/pipelines', {'key': f'p{len(pipes)}{c.tag}', 'stages': stages})
            if bad:
                if st in (200, 201):
                    wrong.append('a pipeline with a refused stage was accepted')
                pipes.append((len(pipes), n, None))
            else:
                if st not in (200, 201):
                    wrong.append(f'a pipeline was refused: {st} {str(o)[:200]}')
                    pipes.append((len(pipes), n, None))
                    continue
                got = [s['id'] for s in o['stages']]
                pipes.append((len(pipes), n, got))
                for s, i in enumerate(got):
                    d = stages[s]['job']['spec'].get('dependencies', {}).get('jobs', [])
                    jobs[i] = {'deps': [{'type': y['type'], 'job': got[int(y['stage'][1:])]} for y in d], 'require': 'All', 'stopped': False, 'name': o['stages'][s]['job']}
    c.wait_ended(120)
    kills = k.stop()
    c.wait_ended(60)
    until(20, lambda: not any(p['status'].get('phase') not in ('Failed', 'Succeeded') for p in c.pods()), .5)
    c.history_written()
    rows, tr, pods = c.history(), c.trace(), {}
    for p in tr.values():
        pods.setdefault(p.job, []).append(p)
    live = {j['status']['id']: j for j in c.jobs()}
    state = {i: j['status'].get('state') for i, j in live.items()}
    for r in rows:
        if r['job'] in jobs and r['job'] not in state:
            state[r['job']] = r['state']
    asked = Counter(j['metadata']['annotations']['kiln.hpc/job-name'] for j in live.values())
    strange = [n for n, m in asked.items() if m > 1]
    for x, n, got in pipes:
        have = [m for m in asked if m.startswith(f'p{x}-')]
        if got is None and have:
            strange.append(f'{have} of a refused pipeline')
        if got is not None and len(have) != n:
            strange.append(f'{len(have)} of {n} stages of pipeline {x}')
    e = {'jobs': jobs, 'state': state, 'pods': pods, 'rows': rows, 'strange': strange}
    wrong += check_deps(e)
    if wrong and c.keep_evidence:
        json.dump({'jobs': jobs, 'state': state, 'rows': rows, 'pods': {i: [(p.starts, p.ends, p.code, p.deleted, p.uid) for p in ps] for i, ps in pods.items()}}, open(f'{c.evidence_dir}/evidence.json', 'w'))

    def ran(e):
        return next(i for i, j in e['jobs'].items() if j['deps'] and j['require'] == 'All' and not j['stopped'] and any(p.starts for p in e['pods'].get(i, []))
                    and any(p.over() for d in j['deps'] for p in e['pods'].get(d['job'], [])))

    def early(e):
        i = ran(e)
        q = copy.deepcopy(e['pods'][i])
        q[0].starts = [1.0]
        e['pods'] = {**e['pods'], i: q}

    def twice(e):
        i = ran(e)
        q = copy.deepcopy(e['pods'][i])
        e['pods'] = {**e['pods'], i: q + [copy.deepcopy(q[0])]}

    def never(e):
        e['pods'] = {**e['pods'], ran(e): []}

    def wrongly(e):
        i = next(i for i, s in e['state'].items() if i in e['jobs'] and s == 'Cancelled' and not e['jobs'][i]['stopped'] and e['jobs'][i]['deps'] and not any(p.starts for p in e['pods'].get(i, [])))
        q = copy.deepcopy(next(p for ps in e['pods'].values() for p in ps if p.starts))
        q.job = i
        e['pods'] = {**e['pods'], i: [q]}

    def rowless(e):
        i = ran(e)
        e['rows'] = [r for r in e['rows'] if r['job'] != i]

    def lie(e):
        e['state'] = {**e['state'], ran(e): 'Failed' if e['state'][ran(e)] == 'Completed' else 'Completed'}
    proofs = prove(check_deps, e, [('early', early), ('twice', twice), ('never', never), ('wrongly', wrongly), ('no row', rowless), ('untrue state', lie)])
    n = Counter(state[i] for i in jobs if i in state)
    return verdict(wrong, f'{len(jobs)} jobs, {len(pipes)} pipelines, {dict(n)}, {now() - t0:.0f} s, {kills}, {proofs} planted violations found')


def singleton(c):
    """40 singletons of two names by ksub, under kills: one at a time, in the order of submission."""
    N = 40
    c.controller()
    c.hollow(4, run_ms=400)
    k = Killer(c, .5, 2)
    ids = {'x': [], 'y': []}

    def many(name):
        for _ in range(N // 2):
            i = c.ksub('-d', 'singleton', '-J', name, '-o', '/dev/null', '-t', '5', '--wrap', 'true', timeout=120)
            if i is not None:
                ids[name].append(i)
    for n in c.req('GET', NODES)[1]['items']:
        c.untaint(n['metadata']['name'])
    ts = [threading.Thread(target=many, args=(n,)) for n in ids]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    c.wait_ended(100)
    kills = k.stop()
    c.wait_ended(60)
    e = {'pods': list(c.trace().values()), 'ids': ids}

    def check(e):
        w = []
        for name, mine in e['ids'].items():
            ps = sorted((p for p in e['pods'] if p.job in mine and p.starts), key=lambda p: p.starts[0])
            if [p.job for p in ps] != mine:
                w.append(f'{name}: started {[p.job for p in ps]}, submitted {mine}')
            both = [(a.job, b.job) for a, b in zip(ps, ps[1:]) if (a.over() or 9e18) > b.starts[0]]
            if both:
                w.append(f'{name}: at once: {few(both)}')
        return w
    wrong = check(e)
    if any(len(m) != N // 2 for m in ids.values()):
        wrong.append(f'submitted {[len(m) for m in ids.values()]}')

    def plant(e):
        q = copy.deepcopy(e['pods'])
        x = next(p for p in q if p.job == e['ids']['x'][3])
        x.ends = [x.starts[0] + 50]
        e['pods'] = q
    return verdict(wrong, f'{N} jobs, {kills}, {prove(check, e, [("at once", plant)])} planted violation found')


def begin_deadline(c):
    """120 jobs with begin times, deadlines or both, under kills: none starts early, late or without need; Deadline is said in time."""
    N = int(120 * c.scale)
    c.controller()
    c.hollow(2, topology='pack:1 numa:1 core:4 pu:1')
    jobs = {}
    t0 = time.time()
    k = Killer(c, .5, 3, again=.2)
    for x in range(N):
        kind = x % 4
        b = c.simple(f'b{x}', run_ms=100)
        o = {}
        if kind in (0, 1):
            o['begin'] = int(time.time()) + random.randint(2, 40)
            b['spec']['beginTime'] = rfc(o['begin'])
        if kind == 2:  # can never run: 99 cores; ends when its limit no longer fits
            b = c.simple(f'b{x}', run_ms=100, cpu='99')
            b['spec']['template']['spec']['activeDeadlineSeconds'] = 5
            o['deadline'] = int(time.time()) + random.randint(8, 40)
            o['late'] = o['deadline'] - 5
            b['spec']['deadline'] = rfc(o['deadline'])
        if kind == 3:  # would run for ever; ended at the deadline. At most two at a time, so that others have room.
            b = c.simple(f'b{x}', run_ms=3600000, cpu='1')
            b['spec']['template']['spec']['activeDeadlineSeconds'] = 1
            o['deadline'] = int(time.time()) + random.randint(3, 12)
            b['spec']['deadline'] = rfc(o['deadline'])
        st, j, _ = c.insist('POST', JOBS, b, {'Idempotency-Key': f'{x}{c.tag}'})
        if st not in (200, 201):
            raise RuntimeError(f'refused: {st} {str(j)[:200]}')
        o['at'] = time.time()
        jobs[j['status']['id']] = o
        time.sleep(.25)
    c.wait_ended(90)
    kills = k.stop()
    c.wait_ended(30)
    c.history_written()
    live = {j['status']['id']: j for j in c.jobs()}
    e = {'pods': c.trace(), 'jobs': jobs, 'live': live, 'rows': c.history()}

    def check(e):
        w = []
        by = {}
        for p in e['pods'].values():
            by.setdefault(p.job, []).append(p)
        early, late, said, sooner, after, rows = [], [], [], [], [], []
        for i, o in e['jobs'].items():
            ps = [p for p in by.get(i, []) if p.starts]
            j = e['live'].get(i)
            s = j['status'].get('state') if j else None
            end = next((seconds(x['lastTransitionTime']) for x in (j or {}).get('status', {}).get('conditions', []) if x['type'] in ('Complete', 'Failed') and x['status'] == 'True'), None)
            if len(ps) > 1:
                w.append(f'{i} ran twice')
            if 'begin' in o:
                if ps and ps[0].starts[0] < o['begin'] - .01:
                    early.append((i, round(o['begin'] - ps[0].starts[0], 2)))
                if not ps or s != 'Completed':
                    said.append((i, s, 'begin'))
                elif ps[0].starts[0] > max(o['begin'], o['at']) + 12:
                    late.append((i, round(ps[0].starts[0] - o['begin'], 1)))
            elif 'late' in o:
                if s != 'Deadline' or ps:
                    said.append((i, s, 'waiting past its deadline'))
                elif end is None or end < o['late'] - 1:
                    sooner.append((i, end, o['late']))
                elif end > o['late'] + 8:
                    late.append((i, 'Deadline', end - o['late']))
            else:
                if s != 'Deadline':
                    said.append((i, s, 'running past its deadline'))
                elif end is None or end < o['deadline'] - 1.5 and ps:
                    sooner.append((i, end, o['deadline']))
                elif end > o['deadline'] + 8:
                    late.append((i, 'Deadline', end - o['deadline']))
                if any(p.over() is None or p.over() > o['deadline'] + 8 for p in ps):
                    after.append(i)
            if sum(r['job'] == i for r in e['rows']) != max(1, len(ps)):
                rows.append((i, sum(r['job'] == i for r in e['rows'])))
        for n, x in (('started before their time', early), ('late', late), ('have another end', said), ('ended too soon', sooner), ('ran on after the deadline', after), ('wrong number of rows', rows)):
            if x:
                w.append(f'{len(x)} {n}: {few(x)}')
        return w
    wrong = check(e)

    def early(e):
        e['pods'] = copy.deepcopy(e['pods'])
        p = next(p for p in e['pods'].values() if 'begin' in e['jobs'][p.job])
        p.starts[0] = e['jobs'][p.job]['begin'] - 1

    def state(e):
        e['live'] = copy.deepcopy(e['live'])
        next(j for i, j in e['live'].items() if 'late' in e['jobs'][i])['status']['state'] = 'Cancelled'

    def rowless(e):
        e['rows'] = e['rows'][1:]
    return verdict(wrong, f"{N} jobs, {kills}, {prove(check, e, [('early', early), ('state', state), ('no row', rowless)])} planted violations found")
