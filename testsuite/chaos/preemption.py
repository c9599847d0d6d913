# SPDX-License-Identifier: Apache-2.0
"""Suspension and requeue by preemption while agents and the controller are killed."""
from checks import *


def preempt_storm(c, mode):
    """Jobs of a low tier on two nodes, preempted by jobs of a high tier, while controller and agents are killed."""
    c.controller()
    for n in ('n1', 'n2'):
        c.virtual(n, 4, '--heartbeat', '1s')
    c.partition('low', preemptionMode=mode, priorityTier=1)
    c.partition('high', priorityTier=10)
    low, high, asked, kills, down, over = {}, {}, {}, Counter(), {}, threading.Event()
    NL, NH = max(5, int(16 * c.scale)), max(20, int(60 * c.scale))  # it lasts a minute anyway

    def go(name, part, cpu, secs, code=0, **spec):
        b = c.body(name, c.ticker(name, secs, code), cpu=str(cpu), **spec)
        b['spec']['template']['spec']['placement']['partition'] = part
        b['spec']['template']['spec']['terminationGracePeriodSeconds'] = 5
        st, o, _ = c.insist('POST', JOBS, b, {'Idempotency-Key': name + c.tag})
        if st not in (200, 201):
            raise RuntimeError(f'{st} {str(o)[:200]}')
        return o['status']['id'], o['metadata']['name']
    requeue = {}
    for x in range(NL):
        r = mode == 'Requeue' and x % 3 != 0
        code = 7 if x % 5 == 4 else 0
        secs = random.choice([4, 6, 9])
        i, n = go(f'low{x}', 'low', random.choice([1, 2, 4]), secs, code, **({'requeue': True} if r else {}))
        low[f'low{x}'] = {'id': i, 'name': n, 'secs': secs, 'code': code, 'requeue': r}

    def feed():
        for x in range(NH):
            if over.wait(random.uniform(.3, 2)):
                return
            secs = random.choice([.3, 1, 2])
            i, n = go(f'high{x}', 'high', random.choice([1, 1, 2, 4]), secs)
            high[f'high{x}'] = {'id': i, 'name': n, 'secs': secs, 'code': 0}
    f = threading.Thread(target=feed, daemon=True)
    f.start()

    def start_again(everything=False):
        for n, t in list(down.items()):
            if everything or now() >= t:
                del down[n]
                c.controller() if n == 'controller' else c.agent(n, wait=0)
    end = now() + 240
    while now() < end:
        time.sleep(random.uniform(.1, .9))
        start_again()
        x = 1 if c.control else random.random()
        if x < .25 and 'controller' not in down:
            c.kill('controller')
            kills['controller'] += 1
            down['controller'] = now() + random.choice([0, 0, .3, 2])
        elif x < .5:
            n = random.choice(['n1', 'n2'])
            if n not in down:
                c.kill(n)
                kills['agent'] += 1
                down[n] = now() + random.choice([0, 0, .5, 3])
        elif x > .97 and x < 1 and mode == 'Suspend' and len(asked) < 3 and 'controller' not in down:
            t = random.choice(list(low))
            if t not in asked:
                asked[t] = random.choice(['cancel', 'requeue'])
                c.act(asked[t], str(low[t]['id']))
        if not f.is_alive() and now() > end - 180:
            try:
                if all(condition(j) for j in c.jobs()):
                    break
            except NET:
                pass
    over.set()
    start_again(True)
    f.join(70)
    js = c.wait_ended(120)
    t_end = now()
    time.sleep(1)
    c.history_written()
    runs = c.runs()
    jobs = {j['status']['id']: j for j in c.jobs()}
    pods = c.pods()
    e = {'runs': runs, 'jobs': jobs, 'rows': c.history(), 'low': low, 'high': high, 'asked': asked, 'mode': mode,
         'boot': time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)}

    def check(e):
        w = []
        bad = core_overlaps(e['runs'])
        if bad:
            w.append(f'{len(bad)} times two jobs ran on one core at once: {few(bad)}')
        by, rows = {}, {}
        for r in e['runs']:
            by.setdefault(r.tag, []).append(r)
        for r in e['rows']:
            rows.setdefault(r['job'], []).append(r)
        for tag, x in {**e['low'], **e['high']}.items():
            rs, j = by.get(tag, []), e['jobs'].get(x['id'])
            if j is None:
                w.append(f'{tag} is gone')
                continue
            s, how = j['status'].get('state'), e['asked'].get(tag)
            again = x.get('requeue') or how == 'requeue'
            if not condition(j):
                w.append(f'{tag} ({j["metadata"]["name"]}) has not ended: {s}, {str(j["status"].get("cause"))[:150]}')
                continue
            if len(rs) > 1 and not again:
                w.append(f'{tag} ran {len(rs)} times')
            if len({r.pod for r in rs}) != len(rs):
                w.append(f'a pod of {tag} ran twice')
            rs.sort(key=lambda r: r.started)
            if any(a.spans[-1][1] > b.started + .03 for a, b in zip(rs, rs[1:])):
                w.append(f'{tag} had two attempts at once')
            good = [r for r in rs if r.ended]
            if how == 'requeue':  # it starts again as asked, also if it came to its end before the controller knew
                good = good[-1:]
            if len(good) > 1:
                w.append(f'{tag} ran to its end {len(good)} times')
            if how == 'cancel' and s == 'Cancelled':
                pass
            elif mode == 'Requeue' and not x.get('requeue') and tag in e['low'] and s == 'Preempted':
                if good:
                    w.append(f'{tag} is Preempted, and ran to its end')
            else:
                want = 'Failed' if x['code'] else 'Completed'
                if s != want or j['status'].get('exitCode') != x['code']:
                    w.append(f"{tag} is {s} with {j['status'].get('exitCode')}, not {want} with {x['code']} (runs {[(bool(r.ended), bool(r.termed)) for r in rs]}, {str(j['status'].get('cause'))[:120]})")
                elif len(good) != 1:
                    w.append(f'{tag} is {s}, and {len(good)} of its runs came to an end')
            mine = rows.get(x['id'], [])
            # an attempt that was preempted before its process started has a row, too
            begun = [r for r in mine if any(q.pod == r.get('pod') for q in rs)]
            if len({r.get('podUid') for r in mine}) != len(mine) or len(begun) != len(rs) or not mine or any(r.get('startTime') for r in mine if r not in begun):
                w.append(f"{tag} ran {len(rs)} times and has {len(mine)} rows: {[(r['state'], r.get('attempt'), r.get('startTime')) for r in mine]}")
            if s != 'Cancelled' and how != 'requeue' and any(r['state'] == 'Cancelled' for r in mine):
                w.append(f'{tag} is {s}, and nobody cancelled it, but an attempt of it is Cancelled')
            e['unbegun'] = e.get('unbegun', Counter()) + Counter((r['state'], r.get('reason')) for r in mine if r not in begun)
            for r in mine:
                # the row of the run of that pod
                p = next((q for q in rs if q.pod == r.get('pod')), None)
                if p is None:
                    continue
                frozen = sum(b[0] - a[1] for a, b in zip(p.spans, p.spans[1:]))
                said = r.get('frozenMicroseconds', 0) / 1e6
                slack = 1.5 + .1 * len(p.spans)
                # it may have been suspended between its start and its first tick
                lead = max(0, p.started + e['boot'] - (seconds(r.get('startTime')) or 0))
                if e['mode'] == 'Suspend' and p.ended and not frozen - slack < said < frozen + lead + slack:
                    w.append(f'{tag} was suspended for {frozen:.1f} s in {len(p.spans) - 1} pieces, its row says {said:.1f}')
                if p.ended and r['state'] != ('Failed' if x['code'] else 'Completed'):
                    w.append(f"{tag}: an attempt that came to its end has a row {r['state']}")
        return w
    wrong = check(e)
    left = [p['metadata']['name'] for p in pods if p['status'].get('phase') not in ('Failed', 'Succeeded')]
    if left:
        wrong.append(f'pods are left: {few(left)}')
    # all free again
    whole = {}
    for n in ('n1', 'n2'):
        st, o, _ = c.insist('POST', JOBS, c.body('whole', '#!/bin/sh\ntrue\n', node=n, cpu='4'))
        whole[n] = o['metadata']['name']
    jw = c.wait_ended(20, whole.values())
    taken = [n for n, j in whole.items() if not condition(jw[j])]
    if taken:
        wrong.append(f'not all cores are free again on {taken}')
    froze = sum(len(r.spans) - 1 for r in runs)
    if wrong and c.keep_evidence:
        json.dump({'jobs': list(jobs.values()), 'rows': e['rows'], 'asked': asked, 'runs': [(r.tag, r.pod, r.node, r.spans, r.ended, r.termed) for r in runs]}, open(f'{c.evidence_dir}/evidence.json', 'w'))

    def core(e):
        e['runs'] = copy.deepcopy(e['runs'])
        x = copy.deepcopy(max(e['runs'], key=lambda r: r.spans[0][1] - r.spans[0][0]))
        x.tag, x.spans = 'planted', [[x.spans[0][0] + .05, x.spans[0][1] - .05]]
        e['runs'].append(x)

    def twice(e):
        e['runs'] = e['runs'] + [copy.deepcopy(next(r for r in e['runs'] if r.tag.startswith('high') and r.ended))]

    def lost(e):
        e['runs'] = [r for r in e['runs'] if r.tag != 'high0']

    def row(e):
        e['rows'] = e['rows'][1:]

    def frozen(e):
        e['rows'] = copy.deepcopy(e['rows'])
        for r in e['rows']:
            r['frozenMicroseconds'] = r.get('frozenMicroseconds', 0) + 90000000
    plants = [('two on a core', core), ('ran twice', twice), ('end without run', lost), ('row missing', row)] + ([('frozen time', frozen)] if mode == 'Suspend' else [])
    proofs = prove(check, e, plants)
    words = Counter(j['status'].get('state') for j in jobs.values())
    unbegun = e.get('unbegun', {})
    return verdict(wrong, f'{NL} low, {len(high)} high, {len(runs)} runs, {froze} suspensions, kills {dict(kills)}, asked {asked}, {dict(words)}, attempts that never began {dict(unbegun)}, {proofs} planted violations found')


def suspend_storm(c):
    """preemptionMode Suspend under kills of controller and agents."""
    return preempt_storm(c, 'Suspend')


def requeue_storm(c):
    """preemptionMode Requeue under kills of controller and agents."""
    return preempt_storm(c, 'Requeue')


def suspended_node_dies(c):
    """An agent is dead while one of its jobs is suspended: for good (fence), for long, or over the end of the job that has the cores."""
    c.controller()
    c.virtual('n1', 2, '--heartbeat', '1s')
    c.partition('low', preemptionMode='Suspend', priorityTier=1)
    c.partition('high', priorityTier=10)
    wrong, figures = [], []

    def go(name, part, secs, **spec):
        b = c.body(name, c.ticker(name, secs), cpu='2', **spec)
        b['spec']['template']['spec']['placement']['partition'] = part
        st, o, _ = c.insist('POST', JOBS, b)
        return o['metadata']['name']

    def state(n):
        j = c.job(n)
        return j and j['status'].get('state')

    def ran(tag):
        return next((r for r in c.runs() if r.tag == tag), None)
    for case, dead in (('agent', ['n1']), ('controller', ['controller']), ('both', ['n1', 'controller'])):
        a = go(f'lo-{case}', 'low', 3)
        until(20, lambda: ran(f'lo-{case}'))
        time.sleep(.5)
        b = go(f'hi-{case}', 'high', 3)
        if not until(20, lambda: ran(f'hi-{case}')):
            wrong.append(f'{case}: the high job does not start')
            continue
        if not c.control:
            for d in dead:
                c.kill(d)
        until(15, lambda: ran(f'hi-{case}').ended)
        time.sleep(2)  # the cores are free, and nobody says so
        t = now()
        if not c.control:
            for d in dead[::-1]:
                c.controller() if d == 'controller' else c.agent(d, wait=0)
        if not until(25, lambda: state(a) == 'Completed', .1):
            wrong.append(f'{case}: the suspended job is {state(a)} 25 s after the restart')
        figures.append(f'{case}: went on {ran(f"lo-{case}").spans[-1][0] - ran(f"hi-{case}").ended:.1f} s after the other ended, done {now() - t:.1f} s after the restart')
        if core_overlaps(c.runs()):
            wrong.append(f'{case}: two at once on a core: {few(core_overlaps(c.runs()))}')
    # The suspended job is killed with its shepherd while the agent is dead
    a = go('lo-x', 'low', 3)
    until(20, lambda: ran('lo-x'))
    b = go('hi-x', 'high', 4)
    until(20, lambda: ran('hi-x'))
    if not c.control:
        c.kill('n1')
        pid = ran('lo-x').pid
        os.kill(pid, signal.SIGKILL)
        time.sleep(1)
        c.agent('n1', wait=0)
        if not until(25, lambda: condition(c.job(a)), .1):
            wrong.append(f'a suspended job that was killed is {state(a)} after 25 s')
        figures.append(f'killed while suspended: {state(a)}')
    if not until(20, lambda: state(b) == 'Completed', .1):
        wrong.append(f'the high job is {state(b)}')
    n = c.submit('whole', '#!/bin/sh\ntrue\n', node='n1', cpu='2')['metadata']['name']
    if not until(20, lambda: condition(c.job(n)), .1):
        wrong.append('the cores are not free at the end')
    return verdict(wrong, '; '.join(figures))
