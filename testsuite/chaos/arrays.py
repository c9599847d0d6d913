# SPDX-License-Identifier: Apache-2.0
"""Arrays under kills of the controller: ranges, fail-fast, aftercorr, a million elements."""
from checks import *


def check_array(e):
    """e: pods (of this array, traced), rows, job, n, throttle, fail, ops, left."""
    wrong, n, fail = [], e['n'], e['fail']
    pods = [p for p in e['pods'] if p.starts]
    twice = [p.uid for p in pods if len(p.starts) > 1]
    if twice:
        wrong.append(f'{len(twice)} pods were started twice: {few(twice)}')
    by = {}
    for p in pods:
        by.setdefault(p.index, []).append(p)
    for ps in by.values():
        ps.sort(key=lambda p: p.starts[0])
    # how often each element had to start
    least, most = Counter(), Counter()
    cancelled, held = {}, []
    for o in e['ops']:
        if o['what'] == 'requeue':
            for i in o['indexes']:
                if o['acked']:
                    least[i] += 1
                most[i] += o['tries'] if o['unsure'] or not o['acked'] else 1
        elif o['what'] == 'cancel' and o['acked']:
            for i in o['indexes']:
                cancelled.setdefault(i, o['at'])
        elif o['what'] == 'cancel':
            for i in o['indexes']:
                cancelled.setdefault(i, None)
    never, often, beside = [], [], []
    for i in range(n):
        k = len(by.get(i, ()))
        if i in cancelled:
            if k > 1 + most[i]:
                often.append(i)
        else:
            if k < 1 + least[i]:
                never.append(i)
            if k > 1 + most[i]:
                often.append(i)
        for a, b in zip(by.get(i, ()), by.get(i, ())[1:]):
            if (a.over() or 9e18) > b.starts[0] + .02:
                beside.append(i)
    if never:
        wrong.append(f'{len(never)} elements ran too rarely: {few(never)} ({[len(by.get(i, ())) for i in never[:3]]} starts, {[1 + least[i] for i in never[:3]]} due)')
    if often:
        wrong.append(f'{len(often)} elements ran too often: {few(often)} ({[len(by[i]) for i in often[:3]]} starts, at most {[1 + most[i] for i in often[:3]]} due)')
    if beside:
        wrong.append(f'{len(beside)} elements had two attempts at once: {few(beside)}')
    # A pod that had its node by then may start before the node hears of its deletion.
    late = [i for i, t in cancelled.items() if t and any(p.starts[0] > t + 1.5 and p.bound > t for p in by.get(i, ()))]
    if late:
        wrong.append(f'{len(late)} cancelled elements started afterwards: {few(late)}')
    for o in e['ops']:
        if o['what'] == 'hold' and o['acked']:
            # A kill just after the answer may not undo it either.
            w = [i for i in o['indexes'] if any(o['at'] + 1.5 < p.starts[0] < o['until'] and p.bound > o['at'] for p in by.get(i, ()))]
            if w:
                wrong.append(f'{len(w)} held elements started: {few(w)}')
    if e['throttle']:
        m = overlaps(None, [(p.starts[0], p.over() or 9e18) for p in pods])
        if m > e['throttle']:
            wrong.append(f'{m} elements at once, the throttle is {e["throttle"]}')
    # history
    rows = [r for r in e['rows'] if 'podUid' in r]
    uids = Counter(r['podUid'] for r in rows)
    double = [u for u, k in uids.items() if k > 1]
    if double:
        wrong.append(f'{len(double)} attempts have several rows: {few(double)}')
    keys = Counter((r['index'], r['attempt']) for r in rows)
    same = [k for k, m in keys.items() if m > 1]
    if same:
        wrong.append(f'{len(same)} (index, attempt) are used by several rows: {few(same)}')
    rowless = [(p.index, p.uid) for p in pods if p.uid not in uids]
    if rowless:
        wrong.append(f'{len(rowless)} attempts have no row: {few(rowless)}')
    known = {p.uid: p for p in e['pods']}
    strange = [r['pod'] for r in rows if r['podUid'] not in known and r.get('startTime')]
    if strange:
        wrong.append(f'{len(strange)} rows of attempts that never started say that they did: {few(strange)}')
    lies = []
    for r in rows:
        p = known.get(r['podUid'])
        if p is None or not p.starts:
            continue
        cut = p.deleted is not None and (not p.ends or p.deleted <= p.ends[0] + 15)
        true = {('Completed', 0)} if p.code == 0 else {('Failed', 3)} if p.code == 3 else set()
        got = (r['state'], r.get('exitCode'))
        if got not in true and not (cut and r['state'] in ('Requeued', 'Cancelled')):
            lies.append(f"{r['pod']}: row {got}, node {sorted(true)}{' deleted' if p.deleted else ''}")
        elif r.get('node') != p.node:
            lies.append(f"{r['pod']}: row on {r.get('node')}, was on {p.node}")
        elif not cut and (abs((seconds(r.get('startTime')) or 0) - p.starts[0]) > 1.6 or abs((seconds(r['endTime']) or 0) - p.ends[0]) > 1.6):
            lies.append(f"{r['pod']}: row {r.get('startTime')}..{r['endTime']}, was {p.starts[0]:.1f}..{p.ends[0]:.1f}")
    if lies:
        wrong.append(f'{len(lies)} untrue rows: {few(lies)}')
    # the Job
    s = e['job']['status']
    good = bad = 0
    ended = {}
    for r in rows:
        if r['index'] not in ended or r['attempt'] > ended[r['index']]['attempt']:
            ended[r['index']] = r
    good = sum(r['state'] == 'Completed' for r in ended.values())
    bad = sum(r['state'] == 'Failed' for r in ended.values())
    if s.get('succeeded', 0) != good or s.get('failed', 0) != bad:
        wrong.append(f"the Job counts {s.get('succeeded', 0)} succeeded, {s.get('failed', 0)} failed; its rows say {good} and {bad}")
    un = span(s.get('array', {}).get('unstarted'))
    if un & set(by):
        wrong.append(f'{len(un & set(by))} elements are said never to have started, and did: {few(sorted(un & set(by)))}')
    missing = set(range(n)) - set(by) - un - called_off(rows, by)
    if missing:
        wrong.append(f'{len(missing)} elements neither ran nor are among the unstarted: {few(sorted(missing))}')
    one = [r for r in e['rows'] if 'tasks' in r]
    if len(one) != (1 if un else 0) or (one and span(one[0]['tasks']) != un):
        wrong.append(f"rows of unstarted tasks: {[r['tasks'][:60] for r in one]}, the Job says {s.get('array', {}).get('unstarted', '')[:60]!r}")
    word = 'Failed' if bad or e.get('failed_by_site') else 'Cancelled' if any(i in cancelled for i in range(n)) and good + bad < n else 'Completed'
    if s.get('state') != word:
        wrong.append(f"the state is {s.get('state')}, {word} was due ({good} good, {bad} bad, {n})")
    if e['left']:
        wrong.append(f"{len(e['left'])} pods are left: {few(e['left'])}")
    return wrong


def called_off(rows, started):
    """Elements whose pod had a node, and was ended before its process started: their rows say that they never did."""
    return {r['index'] for r in rows if not r.get('startTime')} - set(started)


def array_plants(rng=random):
    """Violations of every clause of check_array."""
    def pick(e):
        return next(p for p in e['pods'] if len(p.starts) == 1 and len(p.ends) == 1 and p.deleted is None and p.code == 0)

    def other(p, **kw):
        q = Pod(p.job, p.index, 'planted', p.node)
        q.starts, q.ends, q.code = [p.ends[0] + 1], [p.ends[0] + 2], 0
        for k, v in kw.items():
            setattr(q, k, v)
        return q

    def again(e):
        p = pick(e)
        p.starts = [*p.starts, p.starts[0] + 1]
        return lambda: p.starts.pop()

    def second(e):
        e['pods'] = [*e['pods'], other(pick(e))]

    def beside(e):
        p = pick(e)
        e['pods'] = [*e['pods'], other(p, starts=[p.starts[0] + .01])]

    def lost(e):
        p = pick(e)
        e['pods'] = [q for q in e['pods'] if q is not p]

    def rowless(e):
        u = pick(e).uid
        e['rows'] = [r for r in e['rows'] if r.get('podUid') != u]

    def double(e):
        u = pick(e).uid
        e['rows'] = [*e['rows'], next(r for r in e['rows'] if r.get('podUid') == u)]

    def change(**kw):
        def f(e):
            u = pick(e).uid
            e['rows'] = [dict(r, **kw) if r.get('podUid') == u else r for r in e['rows']]
        return f

    def count(e):
        s = copy.deepcopy(e['job'])
        s['status']['succeeded'] = s['status'].get('succeeded', 0) + 1
        e['job'] = s

    def many(e):
        p = pick(e)
        e['throttle'] = e['throttle'] or 5
        e['pods'] = [*e['pods']] + [other(p, uid=f'planted{k}', index=10 ** 7 + k, starts=[p.starts[0]], ends=[p.starts[0] + 9]) for k in range(e['throttle'] + 1)]

    def held(e):
        p = pick(e)
        e['ops'] = [*e['ops'], {'what': 'hold', 'acked': True, 'unsure': False, 'tries': 1, 'indexes': {p.index}, 'at': min(p.bound - 1, p.starts[0] - 3), 'until': p.starts[0] + 3}]

    def dead(e):
        p = pick(e)
        e['ops'] = [*e['ops'], {'what': 'cancel', 'acked': True, 'unsure': False, 'tries': 1, 'indexes': {p.index}, 'at': min(p.bound - 1, p.starts[0] - 3), 'until': 0}]

    def left(e):
        e['left'] = ['planted']

    def state(e):
        e['job'] = copy.deepcopy(e['job'])
        e['job']['status']['state'] = 'Running'

    def unrequeued(e):
        p = pick(e)
        e['ops'] = [*e['ops'], {'what': 'requeue', 'acked': True, 'unsure': False, 'tries': 1, 'indexes': {p.index}, 'at': p.ends[0], 'until': 0}]
    return [('pod started twice', again), ('element ran again', second), ('two attempts at once', beside), ('element never ran', lost),
            ('no row', rowless), ('two rows', double), ('wrong exit code', change(exitCode=4)), ('wrong state', change(state='Failed')),
            ('wrong node', change(node='nowhere')), ('wrong end', change(endTime='2026-01-01T00:00:00Z')), ('wrong start', change(startTime='2026-01-01T00:00:00Z')),
            ('attempt number twice', change(attempt=1, index=1)), ('count', count), ('throttle', many), ('held started', held), ('cancelled started', dead),
            ('pod left', left), ('state', state), ('acknowledged requeue lost', unrequeued)]


def evidence(c, job, n, throttle=None, fail=0, ops=(), trace=None, rows=None):
    i, name = job['status']['id'], job['metadata']['name']
    trace = trace if trace is not None else c.trace()
    j = c.job(name)
    left = [p['metadata']['name'] for p in c.pods(name)]
    return {'pods': [p for p in trace.values() if p.job == i], 'rows': c.history(job=i) if rows is None else rows, 'job': j, 'n': n,
            'throttle': throttle, 'fail': fail, 'ops': [o for o in ops if o['job'] == i], 'left': left}


class Meddler(threading.Thread):
    """Holds, releases, cancels and requeues ranges of arrays; writes down what was asked and answered."""

    def __init__(self, c, jobs, pause, block=200):
        super().__init__(daemon=True)
        self.c, self.jobs, self.pause, self.block, self.ops, self.over, self.wrong = c, jobs, pause, block, [], threading.Event(), None
        self.held, self.used = [], {j['status']['id']: set() for j, _ in jobs}
        self.start()

    def do(self, what, job, indexes, until_=9e18):
        o = {'what': what, 'job': job, 'indexes': indexes, 'acked': False, 'unsure': False, 'tries': 0, 'at': 0, 'until': until_, 'sent': time.time()}
        text = f'{job}_[{ranges(indexes)}]'
        end = now() + 60
        while now() < end:
            o['tries'] += 1
            try:
                st, a = self.c.req('POST', f'/kiln/v1/jobs/{what}', {'ids': text}, timeout=20)
            except NET:
                o['unsure'] = True
                time.sleep(.05)
                continue
            if st == 200:
                o['acked'] = all(j.get('outcome') in ('Done', 'Unchanged') for j in a['jobs'])
                o['said'] = [(j.get('outcome'), j.get('message')) for j in a['jobs']]
                o['at'] = time.time()
                break
            if st not in (429, 500, 502, 503, 504):
                o['said'] = f'{st} {a}'[:200]
                break
            time.sleep(.05)
        self.ops.append(o)
        return o

    def elements(self, name, indexes):
        st, o, _ = self.c.insist('GET', f'{JOBS}/{name}/elements?limit=1000&tasks={ranges(indexes)}', seconds=30)
        return {i['index']: i['state'] for i in o['items']} if st == 200 else {}

    def run(self):
        try:
            while not self.over.wait(random.uniform(*self.pause)):
                job, name, n = random.choice([(j['status']['id'], j['metadata']['name'], n) for j, n in self.jobs])
                x = random.random()
                lo = random.randrange(0, max(1, n - self.block))
                block = set(range(lo, lo + random.randint(1, self.block))) - self.used[job]
                if not block:
                    continue
                states = self.elements(name, block)
                if x < .35:
                    waiting = {i for i in block if states.get(i) in ('Pending', 'Requeued')}
                    if waiting:
                        self.used[job] |= waiting
                        o = self.do('hold', job, waiting)
                        self.held.append(o)
                elif x < .55 and self.held:
                    o = self.held.pop(random.randrange(len(self.held)))
                    o['until'] = time.time()
                    self.do('release', o['job'], o['indexes'])
                elif x < .75:
                    some = {i for i in block if states.get(i) in ('Pending', 'Running')}
                    if some and len(some) < n / 20:
                        self.used[job] |= some
                        self.do('cancel', job, some)
                else:
                    done = {i for i in block if states.get(i) in ('Completed', 'Failed')}
                    if done:
                        self.used[job] |= done
                        self.do('requeue', job, done)
        except Exception as e:
            self.wrong = e

    def finish(self):
        self.over.set()
        self.join(100)
        for o in self.held:
            o['until'] = time.time()
            self.do('release', o['job'], o['indexes'])
        self.held = []
        if self.wrong:
            raise self.wrong
        return Counter(o['what'] for o in self.ops)


def array_storm(c):
    """200,000 elements in two arrays, one with a throttle; kills every few seconds; ranges held, released, cancelled, requeued."""
    NA, NB = int(150000 * c.scale), int(50000 * c.scale)
    T = 100
    c.controller()
    c.hollow(40)
    a = c.array('free', f'0-{NA - 1}', run_ms=100, fail_modulo=50)
    b = c.array('throttled', f'0-{NB - 1}', run_ms=200, fail_modulo=1000, throttle=T)
    t0 = now()
    m = Meddler(c, [(a, NA), (b, NB)], (.2, 1.5), block=max(5, min(400, int(NB / 40))))
    s = Sampler(c, ['controller'])
    k = Killer(c, 1.5, 6)
    names = [a['metadata']['name'], b['metadata']['name']]
    stalled, last, seen_done = None, now(), 0

    def done():
        r = 0
        for n in names:
            st, o, _ = c.insist('GET', f'{JOBS}/{n}', seconds=60)
            s = o['status']
            r += s.get('succeeded', 0) + s.get('failed', 0) + s.get('array', {}).get('cancelled', 0)
        return r
    limit = now() + (1500 * c.scale + 120)
    while now() < limit:
        time.sleep(1)
        d = done()
        if d != seen_done:
            last, seen_done = now(), d
        if d >= (NA + NB) * .97 - sum(len(o['indexes']) for o in m.held):
            break
        if now() > last + 60:
            stalled = f'nothing ended for 60 s after {d} elements'
            break
    what = m.finish()
    kills = k.stop()
    js = c.wait_ended(200, names)
    took = now() - t0
    s.over.set()
    waiting = [n for n in names if n not in js or not condition(js[n])]
    if not c.history_written(60):
        stalled = stalled or 'history still has waiting rows after 60 s'
    time.sleep(1)
    tr = c.trace()
    wrong, proofs = [], 0
    if stalled:
        wrong.append(stalled)
    if waiting:
        wrong.append(f'{waiting} have not ended: ' + str([c.job(n)['status'] for n in waiting])[:600])
    rows = 0
    for j, n, t, f in ((a, NA, None, 50), (b, NB, T, 1000)):
        e = evidence(c, j, n, t, f, m.ops, tr)
        rows += len(e['rows'])
        if not waiting:
            wrong += [f"{j['metadata']['name']}: {w}" for w in check_array(e)]
            plants = array_plants()
            proofs += prove(check_array, e, plants if n < 30000 else random.sample(plants, 4))
        if c.keep_evidence:
            import pickle
            pickle.dump(({k_: v for k_, v in e.items() if k_ != 'pods'}, [(p.job, p.index, p.uid, p.node, p.starts, p.ends, p.deleted, p.gone, p.code, p.bound) for p in e['pods']]),
                        open(f"{c.evidence_dir}/{j['metadata']['name']}.pickle", 'wb'))
    bad = [o for o in m.ops if not o['acked']]
    figures = (f"{NA + NB} elements, {rows} rows, {took:.0f} s ({(NA + NB) / took:.0f}/s), {kills}, ops {dict(what)} ({sum(o['unsure'] for o in m.ops)} unsure, {len(bad)} refused), "
               f"controller at most {s.most('controller') // 1024} MiB, {proofs} planted violations found")
    if bad:
        figures += f", refusals: {few(set(str(o.get('said'))[:120] for o in bad))}"
    return verdict(wrong, figures)


def array_fail_fast(c):
    """Fail-fast arrays of 4,000 under kills: the first failure ends the rest, nothing starts after the end, unstarted + started = all."""
    N, COUNT = 4000, 6
    c.controller()
    c.hollow(20)
    k = Killer(c, 1, 3)
    arrays = []
    for x in range(COUNT):
        # one element fails, somewhere
        at = random.randrange(200, N - 200)
        arrays.append((c.array(f'ff{x}', f'0-{N - 1}', run_ms=random.choice([20, 150, 400]), fail_modulo=at + 1 if at + 1 > N / 2 else at + 1, throttle=random.choice([None, 50, 300]), fail_fast=True), at))
        time.sleep(1)
    names = [j['metadata']['name'] for j, _ in arrays]
    js = c.wait_ended(300, names)
    kills = k.stop()
    js = c.wait_ended(100, names)
    # A pod on its way when the job ended must be gone soon after.
    until(30, lambda: not any(c.pods(n) for n in names), .5)
    c.history_written()
    tr = c.trace()
    wrong, proofs, started = [], 0, 0

    def check(e):
        w = []
        j, n = e['job'], e['n']
        s = j['status']
        mine = [p for p in e['pods'] if p.starts]
        if condition(j) != 'Failed' or s.get('state') != 'Failed':
            w.append(f"it ended as {condition(j)}, {s.get('state')}")
        un, ran = span(s.get('array', {}).get('unstarted')), {p.index for p in mine}
        if un & ran:
            w.append(f'{len(un & ran)} elements are said never to have started, and did: {few(sorted(un & ran))}')
        rows = [r for r in e['rows'] if 'podUid' in r]
        lost = set(range(n)) - un - ran - called_off(rows, ran)
        if lost:
            w.append(f'{len(lost)} elements neither ran nor are unstarted: {few(sorted(lost))}')
        twice = [i for i, m in Counter(p.index for p in mine).items() if m > 1] + [p.index for p in mine if len(p.starts) > 1]
        if twice:
            w.append(f'{len(twice)} elements ran twice: {few(twice)}')
        done = next(seconds(x['lastTransitionTime']) for x in s['conditions'] if x['type'] == 'Failed') if condition(j) == 'Failed' else 9e18
        after = [p.index for p in mine if p.starts[0] > done + 3]
        if after:
            w.append(f'{len(after)} elements started more than 2 s after the end: {few(after)}')
        uids = Counter(r['podUid'] for r in rows)
        rowless = [p.index for p in mine if p.uid not in uids]
        if rowless or [u for u, m in uids.items() if m > 1]:
            w.append(f'{len(rowless)} attempts without row, {len([u for u, m in uids.items() if m > 1])} with several')
        one = [r for r in e['rows'] if 'tasks' in r]
        if len(one) != (1 if un else 0) or (one and span(one[0]['tasks']) != un):
            w.append(f'{len(one)} rows of unstarted tasks, which differ from the Job')
        by = {p.uid: p for p in mine}
        lies = [r['pod'] for r in rows if r['podUid'] in by and not (
            (r['state'], r.get('exitCode')) == (('Completed', 0) if by[r['podUid']].code == 0 else ('Failed', 3) if by[r['podUid']].code == 3 else None)
            or (by[r['podUid']].deleted or by[r['podUid']].gone) and r['state'] == 'Cancelled')]
        if lies:
            w.append(f'{len(lies)} untrue rows: {few(lies)} {[ (r["state"], r.get("exitCode"), r.get("endedBy")) for r in rows if r["pod"] in lies[:3]]}')
        good, bad = sum(r['state'] == 'Completed' for r in rows), sum(r['state'] == 'Failed' for r in rows)
        if s.get('failed', 0) < 1 or bad < 1:
            w.append('no failure is counted')
        if s.get('succeeded', 0) != good:
            w.append(f"the Job counts {s.get('succeeded', 0)} succeeded, its rows {good}")
        if e['left']:
            w.append(f"pods are left: {few(e['left'])}")
        return w
    for j, at in arrays:
        if j['metadata']['name'] not in js or not condition(js[j['metadata']['name']]):
            wrong.append(f"{j['metadata']['name']} has not ended: {str(c.job(j['metadata']['name'])['status'])[:400]}")
            continue
        e = evidence(c, j, N, trace=tr)
        started += sum(bool(p.starts) for p in e['pods'])
        wrong += [f"{j['metadata']['name']} (element {at} fails): {w}" for w in check(e)]

        def lose(e):
            e['pods'] = [p for p in e['pods'] if p.index != at]

        def rowless(e):
            e['rows'] = [r for r in e['rows'] if r.get('index') != at]

        def late(e):
            p = Pod(e['pods'][0].job, at, 'x', 'n')
            p.starts = [time.time() + 9]
            e['pods'] = [*e['pods'], p]
        proofs += prove(check, e, [('element lost', lose), ('row lost', rowless), ('late start', late)])
    return verdict(wrong, f'{COUNT} arrays of {N}, {started} elements started, {kills}, {proofs} planted violations found')


def array_aftercorr(c):
    """Two arrays of 8,000, the second aftercorr the first, under kills; some of the first fail, some are cancelled before they start."""
    N = int(8000 * c.scale)
    c.controller()
    c.hollow(20)
    a = c.array('a', f'0-{N - 1}', run_ms=150, fail_modulo=9, throttle=60)
    ia, na = a['status']['id'], a['metadata']['name']
    b = c.array('b', f'0-{N - 1}', run_ms=30, dependencies={'jobs': [{'type': 'aftercorr', 'job': ia}]})
    ib, nb = b['status']['id'], b['metadata']['name']
    st, o, _ = c.act('cancel', f'{ia}_[{N - 300}-{N - 201}]')
    k = Killer(c, 1, 4)
    c.wait_ended(400 * max(c.scale, .3), [na, nb])
    kills = k.stop()
    js = c.wait_ended(120, [na, nb])
    until(30, lambda: not c.pods(), .5)
    c.history_written()
    tr = c.trace()
    e = {'a': [p for p in tr.values() if p.job == ia], 'b': [p for p in tr.values() if p.job == ib], 'ja': c.job(na), 'jb': c.job(nb),
         'rows': c.history(job=ib), 'left': [p['metadata']['name'] for p in c.pods()]}

    def check(e):
        w = []
        A = {}
        for p in e['a']:
            if p.starts:
                A.setdefault(p.index, []).append(p)
        ran = Counter(p.index for p in e['b'] if p.starts)
        twice = [i for i, m in ran.items() if m > 1] + [p.index for p in e['b'] if len(p.starts) > 1]
        if twice:
            w.append(f'{len(twice)} elements of b ran twice: {few(twice)}')
        early, wrongly = [], []
        for p in e['b']:
            if not p.starts:
                continue
            q = [x for x in A.get(p.index, []) if x.code == 0]
            if not q:
                wrongly.append(p.index)
            elif q[0].ends[0] > p.starts[0]:
                early.append(p.index)
        if early:
            w.append(f'{len(early)} elements of b started before their element of a had ended: {few(early)}')
        if wrongly:
            w.append(f'{len(wrongly)} elements of b started although theirs of a did not complete: {few(wrongly)}')
        due = {i for i, ps in A.items() if any(p.code == 0 for p in ps)}
        never = sorted(due - set(ran))
        if never:
            w.append(f'{len(never)} elements of b never ran although theirs of a completed: {few(never)}')
        s = e['jb']['status']
        if condition(e['jb']) is None:
            w.append(f'b has not ended: {str(s)[:300]}')
            return w
        un = span(s.get('array', {}).get('unstarted'))
        if un != set(range(N)) - due:
            w.append(f"b's unstarted differ from those whose element of a did not complete: {few(sorted(un ^ (set(range(N)) - due)))}")
        if s.get('succeeded', 0) != len(due) or s.get('failed', 0):
            w.append(f"b counts {s.get('succeeded')} succeeded and {s.get('failed')} failed; {len(due)} ran")
        if s.get('state') != 'Cancelled':
            w.append(f"b is {s.get('state')}, not Cancelled")
        sa = e['ja']['status']
        if sa.get('succeeded', 0) != len(due) or sa.get('failed', 0) != sum(1 for i in A if i not in due):
            w.append(f"a counts {sa.get('succeeded')}, {sa.get('failed')}; the nodes saw {len(due)} and {sum(1 for i in A if i not in due)}")
        rows = Counter(r['podUid'] for r in e['rows'] if 'podUid' in r)
        if set(p.uid for p in e['b'] if p.starts) - set(rows) or [u for u, m in rows.items() if m > 1]:
            w.append('rows of b are missing or double')
        if e['left']:
            w.append(f"pods are left: {few(e['left'])}")
        return w
    wrong = check(e)

    def first(e):
        return next(p for p in e['b'] if p.starts)

    def early(e):
        p = copy.deepcopy(first(e))
        p.starts, p.uid = [1.0], 'x'
        e['b'] = [p] + [q for q in e['b'] if q.index != p.index]

    def wrongly(e):
        p = copy.deepcopy(first(e))
        p.index, p.uid = 8, 'x'
        e['b'] = [*e['b'], p]

    def never(e):
        f = first(e)
        e['b'] = [q for q in e['b'] if q is not f]
    proofs = prove(check, e, [('early start', early), ('start after a failure', wrongly), ('start missing', never)])
    return verdict(wrong, f"2 x {N} elements, {kills}, b: {e['jb']['status'].get('succeeded')} ran, {proofs} planted violations found")


def array_million(c):
    """1,000,000 elements once, without kills: time and memory; every element once."""
    N = int(1000000 * c.scale)
    c.controller()
    c.hollow(250)
    base = c.rss('controller')
    s = Sampler(c, ['controller', 'hollow'], 2)
    cpu0 = c.cpu('controller')
    a = c.array('million', f'0-{N - 1}', run_ms=0)
    name, ia, t0 = a['metadata']['name'], a['status']['id'], now()
    end, marks, last, at = now() + 3000, [], -1, now()
    while now() < end:
        time.sleep(2)
        st = c.job(name)['status']
        d = st.get('succeeded', 0) + st.get('failed', 0)
        if d != last:
            last, at = d, now()
        if len(marks) < 10 * d // N:
            marks.append(f'{d // 1000}k: {now() - t0:.0f} s {c.rss("controller") // 1024} MiB')
        if condition(c.job(name)):
            break
        if now() > at + 120:
            raise Broken(f'nothing ended for 120 s after {d} elements: {str(st)[:300]}')
    took, cpu = now() - t0, c.cpu('controller') - cpu0
    after = c.rss('controller')
    c.history_written(120)
    t = now()
    rows = c.history(job=ia, fields='podUid,index,state,exitCode')
    q = now() - t
    runs, starts = Counter(), 0
    for line in open(f'{c.d}/trace'):
        if line[0] == 's':
            w = line.split()
            runs[int(w[3])] += 1
            starts += 1
    e = {'runs': runs, 'rows': rows, 'status': c.job(name)['status']}

    def check(e):
        w = []
        if len(e['runs']) != N or sum(e['runs'].values()) != N:
            w.append(f"{len(e['runs'])} of {N} elements ran, {sum(e['runs'].values())} times")
        if len(e['rows']) != N or len({r['podUid'] for r in e['rows']}) != N or {r['index'] for r in e['rows']} != set(range(N)):
            w.append(f"{len(e['rows'])} rows, {len({r['index'] for r in e['rows']})} different elements")
        if [r for r in e['rows'] if r['state'] != 'Completed' or r.get('exitCode')]:
            w.append('untrue rows')
        if e['status'].get('succeeded') != N or e['status'].get('state') != 'Completed':
            w.append(f"the Job: {str(e['status'])[:200]}")
        return w
    wrong = check(e)

    def twice(e):
        e['runs'][5] += 1

    def rowless(e):
        e['rows'] = e['rows'][1:]
    proofs = prove(check, e, [('ran twice', twice), ('no row', rowless)])
    c.kill('controller')
    t = now()
    c.controller()
    again = now() - t
    return verdict(wrong, f"{N} in {took:.0f} s ({N / took:.0f}/s), controller {1e6 * cpu / N:.0f} us CPU each, RSS idle {base // 1024}, most {s.most('controller') // 1024}, "
                   f"at the end {after // 1024} MiB; all rows read in {q:.0f} s; start afterwards {again:.2f} s; {'; '.join(marks)}; {proofs} planted violations found")
