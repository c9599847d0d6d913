# SPDX-License-Identifier: Apache-2.0
"""Jobs of several nodes, whose pods start together, while the controller and agents are killed."""
from checks import *

NODES_OF = ('n1', 'n2', 'n3', 'n4')


def attempt_of(job, pod):
    """The index and the attempt in the name of a pod: JOB-INDEX, or JOB-INDEX-rATTEMPT."""
    index, _, attempt = pod.removeprefix(job + '-').partition('-r')
    return int(index), int(attempt or 0)


def check_gangs(e):
    """e: runs, jobs by id (at the end), rows, asked {tag: what was done to it}, gangs {tag: id, n, code}."""
    w, by, rows = [], {}, {}
    bad = core_overlaps(e['runs'])
    if bad:
        w.append(f'{len(bad)} times two jobs ran on one core at once: {few(bad)}')
    for r in e['runs']:
        by.setdefault(r.tag, []).append(r)
    for r in e['rows']:
        rows.setdefault(r['job'], []).append(r)
    for tag, x in e['gangs'].items():
        rs, j, how = by.get(tag, []), e['jobs'].get(x['id']), e['asked'].get(tag)
        if j is None:
            w.append(f'{tag} is gone')
            continue
        name, s = j['metadata']['name'], j['status'].get('state')
        if not condition(j):
            w.append(f'{tag} ({name}) has not ended: {s}, {str(j["status"].get("cause"))[:150]}')
            continue
        if len({r.pod for r in rs}) != len(rs):
            w.append(f'a pod of {tag} ran twice: {few(sorted(r.pod for r in rs))}')
        attempts = {}
        for r in rs:
            attempts.setdefault(attempt_of(name, r.pod)[1], []).append(r)
        for a, of in attempts.items():
            if len({r.node for r in of}) != len(of):
                w.append(f'{tag}: two pods of attempt {a} ran on one node')
            # one that fails ends the others, also those whose agent was away when all were told to start; a job that is requeued then goes on
            goes_on = x.get('requeue') and a != max(attempts)
            if len(of) < x['n'] and not how and s not in ('Failed', 'NodeFailed') and not goes_on:
                w.append(f'{tag}: {len(of)} of {x["n"]} pods of attempt {a} ran')
        order = sorted(attempts)
        for a, b in zip(order, order[1:]):
            if max(r.spans[-1][1] for r in attempts[a]) > min(r.started for r in attempts[b]) + .03:
                w.append(f'{tag}: attempt {b} began while attempt {a} ran')
        if len(order) > 1 and how != 'requeue' and not x.get('requeue'):
            w.append(f'{tag} ran {len(order)} times, and nobody asked for it')
        want = 'Failed' if x['code'] else 'Completed'
        # a shepherd may be killed when all were told to start and it has not heard it
        if s == 'NodeFailed' and not x.get('requeue') and (j['status'].get('lastRun') or {}).get('reason') == 'ShepherdLost':
            continue
        if s != want and (s, how) != ('Cancelled', 'cancel'):
            w.append(f'{tag} is {s}, not {want} ({how}; {str(j["status"].get("cause"))[:120]})')
        if s == 'Completed' and sum(bool(r.ended) for r in attempts.get(order[-1], []) if order) != x['n']:
            w.append(f'{tag} is Completed, and not all of its {x["n"]} pods came to their end')
        if s == 'Failed' and j['status'].get('exitCode') != x['code']:
            w.append(f'{tag} is Failed with {j["status"].get("exitCode")}, not with {x["code"]}')
        mine = Counter(r.get('attempt') for r in rows.get(x['id'], []))
        for a in attempts:
            if mine[a + 1] != 1:
                w.append(f'{tag}: attempt {a} ran and has {mine[a + 1]} rows')
    return w


def gang_storm(c):
    """Jobs of several nodes under kills of controller, agents and shepherds that wait: all pods of an attempt run or none, no attempt beside another, nothing is left."""
    c.controller()
    for n in NODES_OF:
        c.virtual(n, 3, '--heartbeat', '1s')
    gangs, asked, kills, down, over = {}, {}, Counter(), {}, threading.Event()
    N = max(16, int(80 * c.scale))
    c.ticker('x', 1)  # puts the program there

    def submit(x):
        tag, n = f'g{x}', random.randint(2, len(NODES_OF))
        secs, code = random.choice([.3, 1, 2, 5]), 7 if x % 6 == 5 else 0
        script = f'#!/bin/sh\ncode=0\n[ "$KILN_NODEID" != 1 ] || code={code}\nexec {c.d}/bin/ticker {c.w}/ticks {tag} {secs} $code\n'
        b = c.body(tag, script, cpu=str(random.choice([1, 1, 2, 3])), completionMode='Indexed', completions=n, parallelism=n,
                   scheduling={'schedulingPolicy': {'gang': {}}, 'disruptionMode': {'all': {}}, 'onePerNode': True})
        b['spec']['requeue'] = x % 3 == 0
        b['spec']['template']['spec']['execution']['runs'] = 'Each'
        b['spec']['template']['spec']['terminationGracePeriodSeconds'] = 5
        st, o, _ = c.insist('POST', JOBS, b, {'Idempotency-Key': tag + c.tag})
        if st not in (200, 201):
            raise RuntimeError(f'{st} {str(o)[:200]}')
        gangs[tag] = {'id': o['status']['id'], 'n': n, 'code': code, 'requeue': x % 3 == 0}

    def feed():
        for x in range(N):
            if over.wait(random.uniform(.2, 2)):
                return
            submit(x)
    f = threading.Thread(target=feed, daemon=True)
    f.start()

    def kill_waiting_shepherd():
        """One that has prepared its pod and waits for the others: no process of the user has run, so the pod is launched again."""
        for live in random.sample(found := glob.glob(f'{c.d}/n*/run/pods/*/live'), len(found)):
            try:
                pid = int(re.search(r'^shepherd_pid=\d+:(\d+)$', open(live).read(), re.M)[1])
                if not os.readlink(f'/proc/{pid}/exe').startswith(f'{c.d}/bin/'):
                    continue
                os.kill(pid, signal.SIGSTOP)
                said = open(live).read()
                if re.search(r'^phase=\d+:preparing$', said, re.M) and re.search(r'^is_prepared=\d+:1$', said, re.M):
                    os.kill(pid, signal.SIGKILL)
                    kills['waiting shepherd'] += 1
                    return
                os.kill(pid, signal.SIGCONT)
            except (OSError, TypeError):
                pass

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
        if x < .2 and 'controller' not in down:
            c.kill('controller')
            kills['controller'] += 1
            down['controller'] = now() + random.choice([0, 0, .3, 2])
        elif x < .5:
            n = random.choice(NODES_OF)
            if n not in down:
                c.kill(n)
                kills['agent'] += 1
                down[n] = now() + random.choice([0, 0, .5, 3])
        elif x < .6:
            kill_waiting_shepherd()
        elif x > .9 and len(asked) < N // 4 and gangs and 'controller' not in down:
            tag = random.choice(list(gangs)[-4:])
            if tag not in asked:
                asked[tag] = random.choice(['cancel', 'requeue'])
                c.act(asked[tag], str(gangs[tag]['id']))
        if not f.is_alive():
            try:
                if all(condition(j) for j in c.jobs()):
                    break
            except NET:
                pass
    over.set()
    start_again(True)
    f.join(70)
    c.wait_ended(120)
    time.sleep(1)
    c.history_written()
    jobs = {j['status']['id']: j for j in c.jobs()}
    e = {'runs': c.runs(), 'jobs': jobs, 'rows': c.history(), 'asked': asked, 'gangs': gangs}
    wrong = check_gangs(e)
    left = [p['metadata']['name'] for p in c.pods() if p['status'].get('phase') not in ('Failed', 'Succeeded')]
    if left:
        wrong.append(f'pods are left: {few(left)}')
    whole = {n: c.insist('POST', JOBS, c.body('whole', '#!/bin/sh\ntrue\n', node=n, cpu='3'))[1]['metadata']['name'] for n in NODES_OF}
    ended = c.wait_ended(30, whole.values())
    taken = [n for n, j in whole.items() if not condition(ended[j])]
    if taken:
        wrong.append(f'not all cores are free again on {taken}')
    if wrong and c.keep_evidence:
        json.dump({'jobs': list(jobs.values()), 'rows': e['rows'], 'asked': asked, 'gangs': gangs, 'runs': [(r.tag, r.pod, r.node, r.spans, r.ended, r.termed) for r in e['runs']]}, open(f'{c.evidence_dir}/evidence.json', 'w'))

    def one_done(e):
        return next(r for r in e['runs'] if r.tag not in asked and r.ended and not gangs[r.tag]['code'] and not gangs[r.tag]['requeue'])

    def beside(e):
        x = copy.deepcopy(max(e['runs'], key=lambda r: r.spans[0][1] - r.spans[0][0]))
        x.tag, x.spans = 'planted', [[x.spans[0][0] + .05, x.spans[0][1] - .05]]
        e['runs'] = e['runs'] + [x]

    def twice(e):
        e['runs'] = e['runs'] + [copy.deepcopy(one_done(e))]

    def alone(e):
        x = one_done(e)
        e['runs'] = [r for r in e['runs'] if r is not x]

    def again(e):
        more = [copy.deepcopy(r) for r in e['runs'] if r.tag == one_done(e).tag]
        for r in more:
            r.pod, r.started = r.pod + '-r1', r.started + 1000
        e['runs'] = e['runs'] + more

    def row(e):
        job = gangs[one_done(e).tag]['id']
        e['rows'] = [r for r in e['rows'] if r['job'] != job]
    proofs = prove(check_gangs, e, [('two on a core', beside), ('ran twice', twice), ('not all ran', alone), ('an attempt too many', again), ('row missing', row)])
    words = Counter(j['status'].get('state') for j in jobs.values())
    return verdict(wrong, f'{len(gangs)} gangs of {sum(x["n"] for x in gangs.values())} pods, {len(e["runs"])} runs, kills {dict(kills)}, asked {dict(Counter(asked.values()))}, {dict(words)}, {proofs} planted violations found')
