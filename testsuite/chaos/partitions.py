# SPDX-License-Identifier: Apache-2.0
"""Reservations, drains and partitions that change while the controller is dead."""
from checks import *


def dead_controller_times(c):
    """Reservations begin and end, a planned drain begins and ends, and priority tiers change while the controller is dead."""
    c.controller()
    for n in ('n1', 'n2', 'n3'):
        c.virtual(n, 2, '--heartbeat', '1s')
    R = '/apis/kiln.hpc/v1/reservations'
    wrong, did = [], []

    def reserve(name, nodes, start, secs, **spec):
        st, o, _ = c.insist('POST', R, {'apiVersion': 'kiln.hpc/v1', 'kind': 'Reservation', 'metadata': {'name': name},
                            'spec': {'nodes': nodes, 'start': rfc(start), 'duration': f'{secs}s', **spec}})
        if st != 201:
            raise RuntimeError(f'reservation: {st} {str(o)[:300]}')

    def rstate(n):
        st, o = c.req('GET', f'{R}/{n}')
        return o['status'].get('state') if st == 200 else None

    def go(name, node, secs, limit, **spec):
        b = c.body(name, c.ticker(name, secs), cpu='2', node=node, **spec)
        b['spec']['template']['spec']['activeDeadlineSeconds'] = limit
        if 'reservation' in b['spec']:
            b['spec']['template']['spec']['placement']['reservation'] = b['spec'].pop('reservation')
        st, o, _ = c.insist('POST', JOBS, b)
        if st != 201:
            raise RuntimeError(f'job: {st} {str(o)[:300]}')
        return o['metadata']['name']

    def ran(tag):
        return next((r for r in c.runs() if r.tag == tag), None)
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    t = int(time.time())
    user = c.user
    reserve('course', ['n1'], t + 10, 14, users=[user])
    reserve('maint', ['n2'], t + 10, 14, maintenance=True) if False else None
    r = c.kctl('drain', '--at', 'now+10seconds', '--for', '0:00:14', '--reason', 'chaos', 'n2')
    planned = 'n2' in r.stdout + r.stderr
    if r.returncode:
        raise RuntimeError('drain --at: ' + r.stderr[:200])
    # Jobs that would reach into it wait; those that are for it wait until it begins; short ones run before.
    long1, long2, long3 = go('long1', 'n1', 1, 300), go('long2', 'n2', 1, 300), go('long3', 'n3', 1, 300)
    mine = go('mine', 'n1', 1, 8, reservation='course')
    until(8, lambda: ran('long3'), .1)
    if ran('long1') or ran('long2') or ran('mine'):
        wrong.append(f"started before: {[r.tag for r in c.runs()]}")
    if not c.control:
        c.kill('controller')
    time.sleep(max(0, t + 13 - time.time()))
    if not c.control:
        c.controller()
    up = time.time()
    if not until(8, lambda: rstate('course') == 'Active', .1):
        wrong.append(f"the reservation is {rstate('course')} after the restart")
    else:
        did.append(f'active {time.time() - up:.1f} s after the restart')
    if not until(10, lambda: ran('mine'), .1):
        wrong.append('the job of the reservation does not start')
    else:
        did.append(f'its job runs {ran("mine").started + boot - up:.1f} s after it')
    until(8, lambda: c.req('GET', f'{NODES}/n2')[1]['spec'].get('unschedulable'), .1)
    if not c.req('GET', f'{NODES}/n2')[1]['spec'].get('unschedulable'):
        wrong.append('the node of the drain takes jobs')
    if ran('long1') or ran('long2'):
        wrong.append(f"started in the reservation: {[r.tag for r in c.runs()]}")
    # and again over the end
    if not c.control:
        c.kill('controller')
    time.sleep(max(0, t + 27 - time.time()))
    if not c.control:
        c.controller()
    up = time.time()
    if not until(20, lambda: ran('long1') and ran('long2'), .1):
        wrong.append(f"20 s after the end: long1 {'runs' if ran('long1') else 'waits'}, long2 {'runs' if ran('long2') else 'waits'}; n2 {c.req('GET', f'{NODES}/n2')[1]['spec']}; {rstate('course')}")
    else:
        did.append(f"both go on {max(ran('long1').started, ran('long2').started) + boot - up:.1f} s after the second restart")
    early = [x for x in ('long1', 'long2') if ran(x) and ran(x).started + boot < t + 24 - 1]
    if early:
        wrong.append(f'{early} started before the end of the reservation')
    # cordoned before by hand: stays cordoned after the maintenance
    c.kctl('cordon', 'n3')
    r = c.kctl('drain', '--at', 'now+3seconds', '--for', '0:00:04', '--reason', 'chaos', 'n3')
    if not c.control:
        c.kill('controller')
    time.sleep(9)
    if not c.control:
        c.controller()
    time.sleep(3)
    if not c.req('GET', f'{NODES}/n3')[1]['spec'].get('unschedulable'):
        wrong.append('a node that was cordoned by hand is back in service after a maintenance')
    c.kctl('uncordon', 'n3')
    # created, begun and over while dead between: a drain that was never seen active leaves nothing behind
    r = c.kctl('drain', '--at', 'now+3seconds', '--for', '0:00:03', '--reason', 'chaos', 'n3')
    if not c.control:
        c.kill('controller')
        time.sleep(8)
        c.controller()
    else:
        time.sleep(8)
    x = go('after', 'n3', .5, 300)
    if not until(15, lambda: ran('after'), .1):
        wrong.append(f"after a drain that passed while dead, the node takes no job: {c.req('GET', f'{NODES}/n3')[1]['spec']} {str((c.job(x) or {}).get('status'))[:200]}")
    c.wait_ended(20)
    return verdict(wrong, '; '.join(did))


def partition_changes(c):
    """Partitions go Down and Up, lose nodes, get other limits and tiers and are deleted, while 200 jobs wait, under kills."""
    N = int(200 * c.scale)
    c.controller()
    c.hollow(4, topology='pack:1 numa:1 core:4 pu:1')
    names = [f'h{i}' for i in range(4)]
    for i, n in enumerate(names):
        c.merge(f'{NODES}/{n}', {'metadata': {'labels': {'half': 'a' if i < 2 else 'b'}}})
    P = '/apis/kiln.hpc/v1/partitions'
    c.partition('a', selector={'matchLabels': {'half': 'a'}})
    c.partition('b', selector={'matchLabels': {'half': 'b'}}, priorityTier=5)
    c.partition('c')
    jobs, ops, over = {}, [], threading.Event()
    k = Killer(c, .7, 3)

    def feed():
        for x in range(N):
            part = random.choice(['a', 'b', 'a,b', 'c'])
            b = c.simple(f'p{x}', run_ms=random.choice([100, 400, 1500]), cpu=random.choice(['1', '2']))
            b['spec']['template']['spec'].setdefault('placement', {})['partition'] = part
            b['spec']['template']['spec']['activeDeadlineSeconds'] = 600
            st, o, _ = c.insist('POST', JOBS, b, {'Idempotency-Key': f'p{x}{c.tag}'})
            if st in (200, 201):
                jobs[o['status']['id']] = {'part': part, 'name': o['metadata']['name']}
            elif 'artition' not in str(o):
                ops.append(('refused', time.time(), 0, str(o)[:200]))
            time.sleep(.1)
    f = threading.Thread(target=feed, daemon=True)
    f.start()
    down, t_end = {}, now() + 60
    selector = {'a': {'half': 'a'}, 'b': {'half': 'b'}}
    windows = []  # (partition, kind, from acknowledged, until sent)
    while now() < t_end or f.is_alive():
        time.sleep(random.uniform(.5, 2))
        part = random.choice('abc')
        x = random.random()
        if part in down and x < .6:
            w = down.pop(part)
            w[3] = time.time()
            st, o, _ = c.merge(f'{P}/{part}', {'spec': {'state': 'Up', 'selector': {'matchLabels': selector[part]} if part in selector else None}})
            continue
        if part in down:
            continue
        if x < .5:
            st, o, _ = c.merge(f'{P}/{part}', {'spec': {'state': random.choice(['Down', 'Inactive']), 'reason': 'chaos'}})
            if st == 200:
                w = [part, 'down', time.time(), 9e18]
                windows.append(w)
                down[part] = w
        elif x < .8 and part in selector:  # its nodes become none
            st, o, _ = c.merge(f'{P}/{part}', {'spec': {'selector': {'matchLabels': {'half': 'nowhere'}}}})
            if st == 200:
                w = [part, 'nodes', time.time(), 9e18]
                windows.append(w)
                down[part] = w
        elif x < .9:
            c.merge(f'{P}/{part}', {'spec': {'priorityTier': random.randint(1, 9)}})
        else:
            c.merge(f'{P}/{part}', {'spec': {'maximumTime': random.choice(['5m', '1h', 'none'])}})
    for part in 'abc':
        if part in down:
            down.pop(part)[3] = time.time()
        c.merge(f'{P}/{part}', {'spec': {'state': 'Up', 'maximumTime': 'none', 'selector': {'matchLabels': selector[part]} if part in selector else None}})
    c.wait_ended(100)
    kills = k.stop()
    c.wait_ended(60)
    e = {'pods': list(c.trace().values()), 'jobs': jobs, 'live': {j['status']['id']: j for j in c.jobs()}, 'windows': windows}

    def check(e):
        w = []
        by = {}
        for p in e['pods']:
            if p.starts:
                by.setdefault(p.job, []).append(p)
        wait = [i for i in e['jobs'] if i not in e['live'] or e['live'][i]['status'].get('state') != 'Completed']
        if wait:
            w.append(f"{len(wait)} jobs are not Completed: {few((i, e['jobs'][i]['part'], (e['live'].get(i) or {}).get('status', {}).get('state'), str((e['live'].get(i) or {}).get('status', {}).get('cause'))[:100]) for i in wait)}")
        bad, place, twice = [], [], []
        for i, j in e['jobs'].items():
            ps = by.get(i, [])
            if len(ps) > 1 or any(len(p.starts) > 1 for p in ps):
                twice.append(i)
            for p in ps:
                parts = j['part'].split(',')
                mine = [x for x in parts if x == 'c' or int(p.node[1:]) < 2 and x == 'a' or int(p.node[1:]) >= 2 and x == 'b']
                if not mine:
                    place.append((i, j['part'], p.node))
                # closed for all the partitions through which it could have come
                if mine and all(any(part == x and a + 1.5 < p.starts[0] < b for part, kind, a, b in e['windows']) for x in mine):
                    bad.append((i, j['part'], p.node))
        for n, x in (('started while their partition was closed', bad), ('ran on nodes of another partition', place), ('ran twice', twice)):
            if x:
                w.append(f'{len(x)} jobs {n}: {few(x)}')
        return w
    wrong = check(e) + [o[3] for o in ops[:2]]

    def closed(e):
        p = next(p for p in e['pods'] if p.starts and e['jobs'].get(p.job, {}).get('part') == 'a')
        e['windows'] = e['windows'] + [['a', 'down', p.starts[0] - 9, p.starts[0] + 9]]

    def place(e):
        e['pods'] = copy.deepcopy(e['pods'])
        next(p for p in e['pods'] if p.starts and e['jobs'].get(p.job, {}).get('part') == 'a').node = 'h3'
    return verdict(wrong, f"{len(jobs)} jobs, {len(windows)} closings, {kills}, {prove(check, e, [('closed', closed), ('other node', place)])} planted violations found")
