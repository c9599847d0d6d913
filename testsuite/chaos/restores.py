# SPDX-License-Identifier: Apache-2.0
"""An older copy of the controller's state is put back while jobs run."""
from checks import *


def since(e, t):
    """Whether it was after a copy that was put back later. A snapshot may lack what is not on the disk yet."""
    return t is not None and any(copied - 1.5 < t + e['boot'] < put for copied, put in e['puts'])


def check_put_back(e):
    """e: acks [(time, id, uid, revision, tag)], puts [(copied, put)], runs, jobs by id (at the end), boot, orphans."""
    w, by = [], {}
    for what, at in (('job id', 1), ('revision', 3)):
        several = {n for n, k in Counter(n for n, _ in {(a[at], a[2]) for a in e['acks']}).items() if k > 1}
        if several:
            w.append(f'{len(several)} times one {what} was given to several jobs: {few(sorted(several))}')
    for r in e['runs']:
        by.setdefault(r.tag, []).append(r)
    termed = [r.tag for r in e['runs'] if r.termed]
    if termed:
        w.append(f'{len(termed)} running jobs were ended: {few(termed)}')
    # the machine does not stop, so a run without an end was killed
    cut = [r.tag for r in e['runs'] if not r.ended and not r.termed]
    if cut:
        w.append(f'{len(cut)} running jobs were killed: {few(cut)}')
    # A job that a copy lacks is unknown to the controller: its runs go on, and their cores count as free.
    lacked = {tag for t, *_, tag in e['acks'] if since(e, t - e['boot'])}
    bad = core_overlaps([r for r in e['runs'] if not (r.tag in lacked and since(e, r.started))])
    if bad:
        w.append(f'{len(bad)} times two jobs ran on one core at once: {few(bad)}')
    for tag, rs in by.items():
        rs.sort(key=lambda r: r.started)
        # What a copy has, and ran when it was put back, goes on, whether it ran or waited in the copy. A job whose end
        # the copy lacks starts again if it waited there, and has lost its end otherwise.
        for a, b in zip(rs, rs[1:]):
            if tag in lacked:
                continue
            if a.spans[-1][1] > b.started + .03:
                w.append(f'{tag} ran twice at once')
            elif not since(e, a.ended):
                w.append(f'{tag} ran again, but each copy knew its end, or it ran on')
    for t, i, uid, _, tag in e['acks']:
        j = e['jobs'].get(i)
        if tag in lacked:
            continue
        if j is None or j['metadata']['uid'] != uid:
            w.append(f'{tag} was in each copy that is older than it, and is gone')
            continue
        said, why = j['status'].get('state'), (j['status'].get('lastRun') or {}).get('reason')
        if said != 'Completed' and not (why == 'PodLost' and any(since(e, r.ended) for r in by.get(tag, []))):
            w.append(f'{tag} is {said}, {why}')
        elif not any(r.ended for r in by.get(tag, [])):
            w.append(f'{tag} is {said} and never came to its end')
    return w


def state_put_back(c):
    """An older copy of the state is put back, twice, with starts that are killed: running jobs run on, no id is given twice, nothing runs twice at once."""
    c.controller()
    for n in ('n1', 'n2'):
        c.virtual(n, 8, '--heartbeat', '1s')
    acks, over, puts, state = [], threading.Event(), [], f'{c.d}/state'
    down = threading.Lock()  # no request is under way while the state is exchanged

    def submit(k):
        x = 0
        while not over.wait(random.uniform(.05, .5)):
            x += 1
            tag = f'w{k}-{x}'
            b = c.body(tag, c.ticker(tag, random.choice([.2, 1, 4, 12])), cpu=str(random.choice([1, 1, 2])))
            with down:
                st, o, _ = c.insist('POST', JOBS, b, {'Idempotency-Key': tag + c.tag}, seconds=90, timeout=70)
                if st in (200, 201):
                    acks.append((time.time(), o['status']['id'], o['metadata']['uid'], o['metadata']['resourceVersion'], tag))
                else:
                    raise RuntimeError(f'{tag}: {st} {str(o)[:200]}')
    ts = [threading.Thread(target=submit, args=(k,), daemon=True) for k in range(2)]
    for t in ts:
        t.start()

    def copy_state(to):
        """A snapshot, as of a disk."""
        t = time.time()
        c.kill('controller', signal.SIGSTOP)
        shutil.copytree(state, to)
        c.kill('controller', signal.SIGCONT)
        return t
    time.sleep(3 + 5 * c.scale)
    kills = 0
    for turn in range(2):
        copied = copy_state(f'{c.d}/copy{turn}')
        time.sleep(random.uniform(1, 12))
        with down:
            c.kill('controller')
            os.rename(state, f'{state}.{turn}')
            if c.control:
                os.rename(f'{state}.{turn}', state)
            else:
                shutil.copytree(f'{c.d}/copy{turn}', state)
                os.chmod(state, 0o700)
                puts.append((copied, time.time()))
                for _ in range(random.randrange(3)):  # starts that nodes may or may not see
                    c.controller(wait=0)
                    time.sleep(random.uniform(0, 1))
                    c.kill('controller')
                    kills += 1
            c.controller()
        time.sleep(random.uniform(3, 8))
    over.set()
    for t in ts:
        t.join(100)
    c.wait_ended(120)
    until(60, lambda: all(r.ended or r.termed for r in c.runs()), .5)
    orphans = len(c.kctl('orphans').stdout.splitlines())
    e = {'acks': acks, 'puts': puts, 'runs': c.runs(), 'jobs': {j['status']['id']: j for j in c.jobs()}, 'boot': time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)}
    wrong = check_put_back(e)
    if wrong and c.keep_evidence:
        json.dump({'acks': acks, 'puts': puts, 'jobs': list(e['jobs'].values()), 'boot': e['boot'], 'runs': [(r.tag, r.job, r.pod, r.node, r.spans, r.ended, r.termed) for r in e['runs']]}, open(f'{c.evidence_dir}/evidence.json', 'w'))

    def twice(e):
        a = e['acks'][0]
        e['acks'] = e['acks'] + [(a[0], a[1], 'planted', a[3], 'planted')]

    def ended(e):
        e['runs'] = copy.deepcopy(e['runs'])
        e['runs'][0].termed, e['runs'][0].ended = e['runs'][0].started, None

    def beside(e):
        r = copy.deepcopy(next(r for r in e['runs'] if not since(e, r.started)))
        r.started += .05
        e['runs'] = e['runs'] + [r]

    def adopted(e):
        """A job that waited in a copy and ran when it was put back."""
        known = {a[4] for a in e['acks'] if not since(e, a[0] - e['boot'])}
        return [r for r in e['runs'] if r.tag in known and since(e, r.started) and r.ended and not since(e, r.ended)]

    def again(e):
        r = copy.deepcopy(adopted(e)[0])
        r.started, r.spans = r.ended + 1, [[r.ended + 1, r.ended + 2]]
        e['runs'] = e['runs'] + [r]

    def running(e):
        j = copy.deepcopy(e['jobs'][adopted(e)[0].job])
        j['status']['state'] = 'Running'
        e['jobs'] = {**e['jobs'], adopted(e)[0].job: j}

    def lost(e):
        e['jobs'] = {i: j for i, j in e['jobs'].items() if i != e['acks'][-1][1]}
    plants = [('id twice', twice), ('ended', ended), ('twice at once', beside), ('lost', lost)]
    if adopted(e):
        plants += [('adopted and run again', again), ('adopted and said to run', running)]
    proofs = prove(check_put_back, e, plants)
    repeated = len(e['runs']) - len({r.tag for r in e['runs']})
    beside_ = len(core_overlaps(e['runs']))
    return verdict(wrong, f'{len(acks)} jobs, {len(puts)} copies put back, {[round(p - a, 1) for a, p in puts]} s old, {kills} starts killed, {len(adopted(e))} waited in a copy and went on, {repeated} ran again, {beside_} times on a core of a run that the copy did not know, {orphans} lines of orphans, {proofs} planted violations found')
