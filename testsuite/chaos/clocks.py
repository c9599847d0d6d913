# SPDX-License-Identifier: Apache-2.0
"""Clocks that jump, and cron across a change of the offset."""
from checks import *


def clock_jumps(c):
    """The clock jumps by hours, forwards and backwards, while jobs wait for begin times and deadlines and run; nodes stay ready, limits are durations."""
    c.clock()
    c.controller()
    c.virtual('n1', 8, *QUICK)
    c.hollow(1, topology='pack:1 numa:1 core:8 pu:1')
    c.untaint('n1')
    wrong, seen, did = [], [], []
    over = threading.Event()
    jumps = not c.control

    def nodes():
        while not over.wait(.5):
            try:
                st, o = c.req('GET', NODES)
                if st == 200:
                    for n in o['items']:
                        if not any(x['type'] == 'Ready' and x['status'] == 'True' for x in n['status'].get('conditions', [])):
                            seen.append((n['metadata']['name'], rfc(c.time())))
            except NET:
                pass
    threading.Thread(target=nodes, daemon=True).start()

    def go(name, node='h0', run_ms=100, cpu='1', limit=None, **spec):
        b = c.simple(name, run_ms=run_ms, cpu=cpu, **{k: rfc(v) if isinstance(v, (int, float)) else v for k, v in spec.items()})
        if limit:
            b['spec']['template']['spec']['activeDeadlineSeconds'] = limit
        b['spec']['template']['spec']['nodeSelector'] = {'kubernetes.io/hostname': node}
        st, o, _ = c.insist('POST', JOBS, b)
        if st != 201:
            raise RuntimeError(f'{st} {str(o)[:200]}')
        return o['metadata']['name']

    def real(tag, secs, limit=None):
        b = c.body(tag, c.ticker(tag, secs), node='n1')
        b['spec']['template']['spec']['terminationGracePeriodSeconds'] = 2
        if limit:
            b['spec']['template']['spec']['activeDeadlineSeconds'] = limit
        return c.insist('POST', JOBS, b)[1]['metadata']['name']

    def state(n):
        j = c.job(n)
        return j and (j['status'].get('state') or 'Pending')

    def expect(text, n, states, within):
        t = now()
        until(within, lambda: state(n) in states, .1)
        if state(n) not in states:
            wrong.append(f'{text}: {state(n)} after {within} s, not {"/".join(states)}')
        else:
            did.append(f'{text} {now() - t:.1f} s')

    def jump(s):
        if jumps:
            c.set_clock(c.time() + s)
    far = 7200 if jumps else 8
    # What runs: a limit of 25 s, a limit of an hour, and the limit of a day that all have
    lim, hour, day = real('lim', 300, 25), real('hour', 75, 3600), real('day', 75)
    until(20, lambda: len(c.runs()) == 3)
    began = {r.tag: r for r in c.runs()}
    # 1. begin in two hours, deadline: not now; after jumps, soon.
    b1 = go('begin', beginTime=c.time() + far)
    d1 = go('deadline', cpu='99', limit=1800 if jumps else 2, deadline=c.time() + far)
    time.sleep(3)
    for n in (b1, d1):
        if state(n) != 'Pending':
            wrong.append(f'{n} is {state(n)} too soon')
    jump(5400 + 2)
    expect('deadline after a jump of 1:30 h', d1, ('Deadline',), 20)
    if state(b1) != 'Pending' and jumps:
        wrong.append('a begin time came half an hour early')
    jump(1805)
    expect('begin after another jump', b1, ('Completed',), 20)
    # the agent is started again when the clock is two hours further than at the start of its jobs
    c.kill('n1')
    c.agent('n1')
    time.sleep(4)
    if state(hour) != 'Running':
        wrong.append(f'a job with a limit of an hour is {state(hour)} after {time.clock_gettime(time.CLOCK_BOOTTIME) - began["hour"].started:.0f} s, when its agent was started again after the clock had jumped by 2 h ({(c.job(hour)["status"].get("lastRun") or {}).get("message")})')
    # 2. backwards by a day: nothing that waits starts, and what runs runs on
    b3 = go('begin3', beginTime=c.time() + (60 if jumps else 12))
    jump(-86400)
    time.sleep(8)
    if state(b3) != 'Pending':
        wrong.append(f'after a jump back by a day, a job starts a day early: {state(b3)}')
    new = go('plain')
    expect('a plain job after the jump back', new, ('Completed',), 15)
    jump(86400 + 62)
    expect('begin after the jump forward', b3, ('Completed',), 20)
    # 3. with the controller dead
    b4 = go('begin4', beginTime=c.time() + (3600 if jumps else 3))
    d4 = go('deadline4', cpu='99', limit=600 if jumps else 1, deadline=c.time() + (3600 if jumps else 3))
    c.kill('controller')
    jump(3601)
    c.controller()
    expect('begin after a jump while dead', b4, ('Completed',), 20)
    expect('deadline after a jump while dead', d4, ('Deadline',), 20)
    # a controller with a clock before everything
    c.kill('controller')
    jump(-86400 * 30)
    c.controller()
    p = go('before')
    expect('a plain job when the clock is a month back', p, ('Completed',), 20)
    until(100, lambda: state(hour) not in ('Running', 'Pending') and state(day) not in ('Running', 'Pending'), .3)
    time.sleep(1)
    runs = {r.tag: r for r in c.runs()}
    took = runs['lim'].spans[-1][1] - runs['lim'].started
    if state(lim) != 'TimedOut' or not 24 < took < 34:
        wrong.append(f'a job with a limit of 25 s is {state(lim)}, it ran {took:.0f} s')
    for n, tag in ((hour, 'hour'), (day, 'day')):
        if state(n) != 'Completed':
            wrong.append(f"a job of 75 s with a limit of {'an hour' if tag == 'hour' else 'a day'} is {state(n)}, it ran {runs[tag].spans[-1][1] - runs[tag].started:.0f} s")
    c.history_written()
    rows = c.history()
    n = Counter(r.get('podUid') or r['job'] for r in rows)
    if any(m > 1 for m in n.values()):
        wrong.append('rows twice')
    over.set()
    if seen:
        wrong.append(f'nodes were not ready: {few(seen)} and so on, {len(seen)} times')
    return verdict(wrong, '; '.join(did))


def cron_dst(c):
    """CronJobs in Europe/Berlin over both changes of 2027 and the leap day of 2028, killed around the due times; jumps over several due times."""
    from zoneinfo import ZoneInfo
    import datetime
    B = ZoneInfo('Europe/Berlin')
    c.clock()

    def utc(*a):
        return datetime.datetime(*a, tzinfo=datetime.timezone.utc).timestamp()
    c.set_clock(utc(2027, 3, 27, 22, 0))
    with open(f'{c.d}/etc/controller.yaml', 'w') as f:
        f.write('finished: {maxAge: 3650d}\n')
    c.options = ['--config', f'{c.d}/etc/controller.yaml']
    c.controller()
    c.hollow(1)

    def cron(name, schedule, zone='Europe/Berlin', **more):
        j = c.simple(name, run_ms=20)
        st, o, _ = c.insist('POST', '/apis/batch/v1/namespaces/default/cronjobs', {'apiVersion': 'batch/v1', 'kind': 'CronJob', 'metadata': {'name': name},
                            'spec': {'schedule': schedule, 'timeZone': zone, 'successfulJobsHistoryLimit': 100, 'failedJobsHistoryLimit': 100, **more,
                                     'jobTemplate': {'metadata': {'labels': {'of': name}}, 'spec': j['spec']}}})
        if st != 201:
            raise RuntimeError(f'{st} {str(o)[:300]}')
    cron('hourly', '0 * * * *')
    cron('at230', '30 2 * * *')
    cron('at300', '0 3 * * *')
    cron('sunday', '15 2 * * 0')
    cron('leap', '0 12 29 2 *')
    cron('utc', '30 1 * * *', 'UTC')

    def times(name):
        r = []
        for j in c.jobs():
            if j['metadata'].get('labels', {}).get('of') == name:
                r.append(int(j['metadata']['name'].rpartition('-')[2]) * 60)
        return sorted(r)
    due = Counter()
    want = {n: [] for n in ('hourly', 'at230', 'at300', 'sunday', 'leap', 'utc')}
    kills = 0

    def local(t):
        return datetime.datetime.fromtimestamp(t, B)

    def matches(name, t):
        d = local(t)
        # a second occurrence of an hour is also due; a time that does not exist never comes
        return {'hourly': d.minute == 0, 'at230': (d.hour, d.minute) == (2, 30), 'at300': (d.hour, d.minute) == (3, 0),
                'sunday': (d.hour, d.minute) == (2, 15) and d.weekday() == 6, 'leap': (d.month, d.day, d.hour, d.minute) == (2, 29, 12, 0),
                'utc': t % 86400 == 5400}[name]
    wrong, steps = [], 0

    def through(a, b):
        """Let the clock go over each due time between, with a kill now and then."""
        nonlocal kills, steps
        for t in range(int(a) // 900 * 900, int(b) + 1, 900):
            names = [n for n in want if matches(n, t)]
            if not names:
                continue
            steps += 1
            c.set_clock(t - 2.5)
            if not c.control and random.random() < .7:
                time.sleep(random.uniform(0, 4.5))
                c.kill('controller')
                kills += 1
                time.sleep(random.choice([0, 0, 2, 6]))
                c.controller()
            for n in names:
                want[n].append(t)
            # a jump of the clock is noticed within 5 s
            until(20, lambda: all(t in times(n) for n in names), .2)
            for n in names:
                if t not in times(n):
                    wrong.append(f'{n} made no job for {local(t):%Y-%m-%d %H:%M %Z}')
    through(utc(2027, 3, 27, 22, 30), utc(2027, 3, 28, 4, 10))
    spring = {n: [f'{local(t):%d %H:%M %Z}' for t in times(n)] for n in ('at230', 'at300', 'sunday')}
    # far jump over months: the last of the missed times, once each
    t = utc(2027, 10, 30, 22, 30)
    c.set_clock(t)
    for n in want:
        last = max((x for x in range(int(t) - 86400 * 9, int(t), 900) if matches(n, x)), default=None)
        if last:
            want[n].append(last)
    until(20, lambda: all(times(n) == want[n] for n in want), .3)
    for n in want:
        if times(n) != want[n]:
            extra, lost = sorted(set(times(n)) - set(want[n])), sorted(set(want[n]) - set(times(n)))
            wrong.append(f"{n} after a jump of seven months: too many {[f'{local(x):%c %Z}' for x in extra]}, missing {[f'{local(x):%c %Z}' for x in lost]}")
            want[n] = times(n)
    through(utc(2027, 10, 30, 23, 0), utc(2027, 10, 31, 3, 40))
    autumn = {n: [f'{local(x):%d %H:%M %Z}' for x in times(n) if x > utc(2027, 10, 30, 23, 0)] for n in ('at230', 'at300', 'sunday')}
    # back by three hours: no time creates a second job
    before = {n: times(n) for n in want}
    c.set_clock(utc(2027, 10, 31, 0, 20))
    for _ in range(2):
        time.sleep(6)
        if not c.control:
            c.kill('controller')
            kills += 1
            c.controller()
    c.set_clock(utc(2027, 10, 31, 0, 59, 57))
    time.sleep(8)
    if {n: times(n) for n in want} != before:
        wrong.append(f'after a jump back, times make second jobs: { {n: sorted(set(times(n)) - set(before[n])) for n in want if times(n) != before[n]} }')
    # the leap day
    t = utc(2028, 2, 29, 10, 59, 57)
    c.set_clock(t)
    if not c.control:
        time.sleep(random.uniform(0, 4))
        c.kill('controller')
        kills += 1
        c.controller()
    until(25, lambda: utc(2028, 2, 29, 11, 0) in times('leap'), .3)
    if times('leap') != [utc(2028, 2, 29, 11, 0)]:
        wrong.append(f"leap day: {[f'{local(x):%c}' for x in times('leap')]}")
    e = {n: times(n) for n in want}
    names = Counter(j['metadata']['name'] for j in c.jobs())
    if any(m > 1 for m in names.values()):
        wrong.append('jobs twice')
    for n in ('at230', 'at300', 'sunday', 'hourly'):
        extra = set(x for x in e[n] if x < utc(2028, 1, 1)) - set(want[n])
        if extra:
            wrong.append(f"{n} made jobs that were not due: {[f'{local(x):%c %Z}' for x in sorted(extra)]}")
    tr = c.trace()
    ran = Counter(p.job for p in tr.values() if p.starts)
    if any(m > 1 for m in ran.values()):
        wrong.append('a job of a CronJob ran twice')
    return verdict(wrong, f'{steps} due times, {kills} kills, {sum(map(len, e.values()))} jobs; spring {spring}; autumn {autumn}')


QUICK = ('--heartbeat', '1s')
