# SPDX-License-Identifier: Apache-2.0
"""History: migration, retention, a full disk, backup, queries."""
from arrays import array_plants, check_array, evidence
from checks import *


def fill_history(c, rows, age=0):
    """Puts that many old rows into the history of a stopped controller; with daily and monthly sums that fit."""
    p = f'{c.d}/state/history.db'
    db = sqlite3.connect(p)
    db.execute('PRAGMA synchronous=OFF')
    db.execute('PRAGMA journal_mode=WAL')
    cols = [r[1] for r in db.execute('PRAGMA table_info(attempts)')]
    words = {}

    def word(t):
        if t not in words:
            r = db.execute('SELECT id FROM words WHERE word=?', (t,)).fetchone()
            words[t] = r[0] if r else db.execute('INSERT INTO words (word) VALUES (?)', (t,)).lastrowid
        return words[t]
    W = {t: word(t) for t in ['', 'default', 'all', 'Completed', 'Failed', 'NonZeroExitCode', *[f'user{i}' for i in range(50)], *[f'node{i}' for i in range(100)]]}
    end0 = int(time.time()) - 86400 * 200 - age
    step = 86400 * 199 / rows

    def gen():
        for i in range(rows):
            end, u, bad = end0 + int(i * step), i % 50, i % 17 == 0
            v = dict(end_at=end, uid=5000 + u, user=W[f'user{u}'], account=W['default'], partition=W['all'], job=10 ** 7 + i, job_uid=None, idx=None, attempt=1,
                     object=f'job-{10 ** 7 + i}', name=f'old{i % 1000}', pod='-0', key=i.to_bytes(16, 'big'), submit_at=end - 60, eligible_at=end - 60, start_at=end - 50,
                     node=W[f'node{i % 100}'], cpu_milli=1000, memory=0, devices=0, time_limit=3600, cpu_us=1000000, peak=1000, state=W['Failed' if bad else 'Completed'],
                     exit_code=1 if bad else 0, signal=0, ended_by=W[''], reason=W['NonZeroExitCode' if bad else ''], message=None, script=None, revision=1, lost=0)
            yield [v.get(k) for k in cols if k != 'id']
    names = [k for k in cols if k != 'id']
    db.executemany(f"INSERT INTO attempts ({','.join(names)}) VALUES ({','.join('?' * len(names))})", gen())
    db.executemany('INSERT OR IGNORE INTO users (user, uid) VALUES (?, ?)', [(W[f'user{u}'], 5000 + u) for u in range(50)])
    sums = ("account, user, partition, count(*), sum(exit_code = 0), sum(exit_code = 1), 0, sum(50.0), sum(1.0), sum(50.0), 0, 0, count(*), sum(10), 10 FROM attempts WHERE job >= 10000000 GROUP BY 1, 2, 3, 4")
    db.execute(f'INSERT OR REPLACE INTO daily SELECT end_at / 86400, {sums}')
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'monthly'").fetchone():
        db.execute(f"INSERT OR REPLACE INTO monthly SELECT CAST(strftime('%Y%m', end_at, 'unixepoch') AS INTEGER), {sums}")
    db.commit()
    db.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()


FIRST_COLUMNS = ('id end_at uid user account partition job job_uid idx attempt object name pod key submit_at eligible_at start_at node cpu_milli memory devices '
                 'time_limit cpu_us peak state exit_code signal ended_by reason message script revision lost').split()


def downgrade(path):
    """A file as its first schema was."""
    db = sqlite3.connect(path)
    for i in ('by_state', 'by_partition', 'by_name', 'by_uid_state', 'by_account_state'):
        db.execute(f'DROP INDEX IF EXISTS {i}')
    db.execute('CREATE INDEX IF NOT EXISTS by_uid ON attempts (uid, end_at)')
    db.execute('CREATE INDEX IF NOT EXISTS by_account ON attempts (account, end_at)')
    for col in [r[1] for r in db.execute('PRAGMA table_info(attempts)')]:
        if col not in FIRST_COLUMNS:
            db.execute(f'ALTER TABLE attempts DROP COLUMN {col}')
    db.execute('DROP TABLE epochs')
    db.execute('DROP TABLE monthly')
    db.execute('PRAGMA user_version = 1')
    db.commit()
    db.close()


def history_migration(c):
    """kill -9 at random moments while a file of 600,000 rows of the first schema is upgraded and gets its indexes."""
    N = int(600000 * c.scale)
    p = f'{c.d}/state/history.db'
    c.controller()
    c.hollow(1)
    st, o, _ = c.insist('POST', JOBS, c.simple('one'))
    c.wait_ended(20)
    c.history_written()
    c.kill('controller', signal.SIGTERM)
    db = sqlite3.connect(p)
    schema = sorted(r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))
    version = db.execute('PRAGMA user_version').fetchone()[0]
    db.close()
    fill_history(c, N)
    downgrade(p)
    before = sqlite3.connect(p).execute('SELECT count(*), sum(end_at), sum(exit_code) FROM attempts').fetchone()
    shutil.copy(p, f'{c.d}/old.db')
    kills, at = 0, []
    for rounds in range(0 if c.control else 6):
        for f in (p, p + '-wal', p + '-shm'):
            if os.path.exists(f):
                os.unlink(f)
        shutil.copy(f'{c.d}/old.db', p)
        os.chmod(p, 0o600)
        for x in [random.uniform(.05, .5), random.uniform(.1, 1.5), random.uniform(.2, 4)]:
            c.controller(wait=0)
            time.sleep(x)
            c.kill('controller')
            kills += 1
            db = sqlite3.connect(p)
            at.append((db.execute('PRAGMA user_version').fetchone()[0], len(db.execute("SELECT name FROM sqlite_schema WHERE type='index' AND name LIKE 'by_%'").fetchall())))
            now_ = db.execute('SELECT count(*), sum(end_at), sum(exit_code) FROM attempts WHERE job >= 10000000 OR job = 1').fetchone()
            if now_ != before:
                raise Broken(f'after a kill in the upgrade the rows are {now_}, were {before}')
            db.close()
    t = now()
    c.controller()
    ready = now() - t
    wrong = []
    want = [n for n in schema]

    def done():
        db = sqlite3.connect(f'file:{p}?mode=ro', uri=True)
        have = sorted(r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))
        db.close()
        return have == want
    if not until(180, done, .5):
        wrong.append('the indexes are not those of a new file after 180 s')
    full = now() - t
    st, o, _ = c.insist('POST', JOBS, c.simple('two'))
    two = o['status']['id']  # ids are skipped after a kill
    c.wait_ended(20)
    c.history_written()
    q = now()
    n = len(c.history(user='user7', fields='job,state'))
    q = now() - q
    c.kill('controller', signal.SIGTERM)
    db = sqlite3.connect(p)
    after = db.execute('SELECT count(*), sum(end_at), sum(exit_code) FROM attempts WHERE job >= 10000000 OR job = 1').fetchone()
    e = {'before': before, 'after': after, 'ok': db.execute('PRAGMA integrity_check').fetchone()[0], 'version': (db.execute('PRAGMA user_version').fetchone()[0], version),
         'monthly': db.execute('SELECT sum(ended), sum(completed), sum(failed), round(sum(cpu_s)) FROM monthly').fetchone(),
         'daily': db.execute('SELECT sum(ended), sum(completed), sum(failed), round(sum(cpu_s)) FROM daily').fetchone(), 'two': db.execute('SELECT count(*) FROM attempts WHERE job = ?', (two,)).fetchone()[0]}

    def check(e):
        w = []
        if e['before'] != e['after']:
            w.append(f"rows were {e['before']}, are {e['after']}")
        if e['ok'] != 'ok':
            w.append(f"integrity: {e['ok']}")
        if e['version'][0] != e['version'][1]:
            w.append(f"version {e['version']}")
        if e['monthly'] != e['daily']:
            w.append(f"sums of months {e['monthly']}, of days {e['daily']}")
        if e['two'] != 1:
            w.append(f"{e['two']} rows of the job after it")
        return w
    wrong += check(e)
    if os.path.exists(p + '.damaged'):
        wrong.append('the file was set aside as damaged')

    def fewer(e):
        e['after'] = (e['after'][0] - 1, *e['after'][1:])

    def sums(e):
        e['monthly'] = (e['monthly'][0] + 1, *e['monthly'][1:])
    return verdict(wrong, f"{N} rows, {kills} kills, seen (version, indexes) {at}, served after {ready:.1f} s, complete after {full:.0f} s, {n} rows of a user in {q:.2f} s, {prove(check, e, [('row lost', fewer), ('sums', sums)])} planted violations found")


def history_retention(c):
    """A million rows, maxBytes half of that: pruned under kills, while readers page through all and arrays end; sums stay, nothing new is lost."""
    N = int(1000000 * c.scale)
    p = f'{c.d}/state/history.db'
    c.controller()
    c.hollow(10)
    st, o, _ = c.insist('POST', JOBS, c.simple('one'))
    c.wait_ended(20)
    c.history_written()
    c.kill('controller', signal.SIGTERM)
    fill_history(c, N)
    size = os.path.getsize(p)
    conf = f'{c.d}/etc/controller.yaml'
    with open(conf, 'w') as f:
        f.write(f'history: {{maxBytes: {size // 2 // 1024}Ki}}\n')
    c.options = ['--config', conf]
    c.controller()
    over, lock, faults, passes, rows_read = threading.Event(), threading.Lock(), [], [0], [0]
    answers = Counter()

    def reader(k):
        while not over.is_set():
            more, last, seen, n = '', 0, set(), 0
            while not over.is_set():
                q = f'{HISTORY}?limit=5000&fields=job,endTime,id,state' + ('&user=user%d' % k if k else '')
                try:
                    st, o = c.req('GET', q + (f'&continue={urllib.parse.quote(more)}' if more else ''), timeout=30)
                except NET:
                    time.sleep(.1)
                    continue
                answers[st] += 1
                if st in (429, 503):
                    time.sleep(.1)
                    continue
                if st != 200:
                    faults.append(f'{st} {str(o)[:150]}')
                    break
                for r in o['items']:
                    t = seconds(r['endTime'])
                    if t < last:
                        faults.append(f'out of order: {r}')
                    last = t
                    if r['id'] in seen:
                        faults.append(f'a row twice in one listing: {r}')
                    seen.add(r['id'])
                n += len(o['items'])
                more = o.get('metadata', {}).get('continue')
                if not more:
                    passes[0] += 1
                    break
            rows_read[0] += n
    readers = [threading.Thread(target=reader, args=(k,), daemon=True) for k in (0, 7)]

    def report():
        st, o, _ = c.insist('GET', f'{HISTORY}/report?by=all&since=2020-01-01T00:00:00Z')
        o = o.get('items', o) if isinstance(o, dict) else o
        return sum(x['ended'] for x in o), sum(x['completed'] for x in o)
    base = report()
    for r in readers:
        r.start()
    k = Killer(c, 2, 6)
    arrays = [c.array(f'a{x}', '0-1999', run_ms=50, fail_modulo=100) for x in range(3)]
    t0 = now()
    js = c.wait_ended(200, [a['metadata']['name'] for a in arrays])

    def pruned():
        db = sqlite3.connect(f'file:{p}?mode=ro', uri=True)
        try:
            return db.execute('SELECT count(*) FROM attempts WHERE job >= 10000000').fetchone()[0]
        finally:
            db.close()

    def settled():
        try:
            b = c.metric('kiln_history_bytes')
            return b and b <= size // 2 + 2 ** 20
        except NET:
            return False
    ok = until(200, settled, 1)
    kills = k.stop()
    ok = until(200, settled, 1)
    took = now() - t0
    time.sleep(2)
    over.set()
    for r in readers:
        r.join(40)
    wrong = list(dict.fromkeys(faults))[:3]
    c.history_written()
    if not ok:
        wrong.append(f'the history has {c.metric("kiln_history_bytes")} bytes, {size // 2} is the limit')
    tr = c.trace()
    for a in arrays:
        e = evidence(c, a, 2000, trace=tr)
        wrong += [f"{a['metadata']['name']}: {w}" for w in check_array(e)]
    left = pruned()
    db = sqlite3.connect(f'file:{p}?mode=ro', uri=True)
    oldest = db.execute('SELECT min(job) FROM attempts WHERE job >= 10000000').fetchone()[0]
    if left and oldest is not None and left != 10 ** 7 + N - oldest:
        wrong.append(f'not the oldest rows went: {left} are left, the oldest is {oldest - 10 ** 7} of {N}')
    if db.execute('PRAGMA quick_check').fetchone()[0] != 'ok':
        wrong.append('the file is damaged')
    db.close()
    end = report()
    ran = sum(bool(p_.starts) for p_ in tr.values())
    if end[0] != base[0] + ran - 1:
        wrong.append(f'the report had {base[0]} ended, has {end[0]}; {ran - 1} attempts ended in between')
    return verdict(wrong, f'{N} rows of {size >> 20} MiB, {left} left after {took:.0f} s, {kills}, {passes[0]} full listings of {rows_read[0]} rows, answers {dict(answers)}, {ran} new attempts')


def history_full(c):
    """The disk of history.db alone is full while arrays and jobs end, jobs are deleted and the controller is killed; all rows come afterwards."""
    small = f'{c.d}/small'
    os.mkdir(small, 0o700)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=24m,mode=700', 'chaos', small], capture_output=True).returncode:
        raise Skip('no tmpfs here')
    c.controller()
    c.kill('controller', signal.SIGTERM)
    for x in ('', '-wal', '-shm'):
        f = f'{c.d}/state/history.db{x}'
        if os.path.exists(f):
            os.unlink(f)
    os.symlink(f'{small}/history.db', f'{c.d}/state/history.db')
    open(f'{small}/history.db', 'w').close()
    c.controller()
    c.hollow(10)
    st, o, _ = c.insist('POST', JOBS, c.simple('one'))
    c.wait_ended(20)
    c.history_written()

    def fill():
        if not c.control:
            with open(f'{small}/filler', 'ab', 0) as f:
                try:
                    while True:
                        f.write(bytes(4096))
                except OSError:
                    pass
    fill()
    k = Killer(c, 1.5, 5, before=fill)
    t0 = now()
    N = int(12000 * c.scale)
    arrays = [(c.array('a', f'0-{N - 1}', run_ms=30, fail_modulo=40), N, 40), (c.array('b', f'0-{N // 4 - 1}', run_ms=30, throttle=50), N // 4, 0)]
    deleted = []
    for x in range(60):
        st, o, _ = c.insist('POST', JOBS, c.simple(f's{x}', run_ms=50), {'Idempotency-Key': f's{x}{c.tag}'})
        if x % 3 == 0:
            deleted.append(o)
        time.sleep(.1)
    c.wait_ended(200)
    for o in deleted:
        c.insist('DELETE', f"{JOBS}/{o['metadata']['name']}?propagationPolicy=Background", ok=(200, 202, 404))
    said = c.kctl('status').stdout
    kills = k.stop()
    wrong = []
    if not c.control and 'history cannot be written' not in said and 'history' not in said:
        wrong.append('kctl status does not say that history cannot be written')
    waiting = c.metric('kiln_history_waiting')
    if not c.control:
        os.unlink(f'{small}/filler')
    t = now()
    tr = c.trace()
    due = sum(bool(p.starts) for p in tr.values())
    if not until(60, lambda: len(c.history(fields='job,podUid')) >= due, .5):
        wrong.append(f"60 s after there is room, {c.metric('kiln_history_waiting')} rows wait")
    healed = now() - t
    for a, n, f in arrays:
        e = evidence(c, a, n, 50 if a is arrays[1][0] else None, f, trace=tr)
        wrong += [f"{a['metadata']['name']}: {w}" for w in check_array(e)]
    rows = Counter(r.get('podUid') for r in c.history())
    lost = [p for p in tr.values() if p.starts and rows[p.uid] != 1]
    if lost:
        wrong.append(f'{len(lost)} attempts have no row or several: {few((p.job, p.index, rows[p.uid]) for p in lost)}')
    return verdict(wrong, f'{len(tr)} attempts, {waiting} waited, all written {healed:.1f} s after there was room, {kills}, {now() - t0:.0f} s')


def history_backup(c):
    """--backup killed at random moments and beside kills of the controller; each finished copy is whole, and restores with all its rows."""
    c.controller()
    c.hollow(10)
    k = Killer(c, 2, 5)
    over = threading.Event()
    a = c.array('a', '0-19999', run_ms=40, fail_modulo=40)
    done, killed, wrong, sizes = [], 0, [], []
    env = dict(c.env)
    for x in range(30):
        target = f'{c.d}/copy{x}'
        p = subprocess.Popen([f'{c.d}/bin/kiln-controller', '--state-dir', f'{c.d}/state', '--backup', target], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd='/')
        if not c.control and random.random() < .5:
            time.sleep(random.uniform(0, .4))
            p.kill()
            killed += 1
        out = p.communicate(timeout=60)[0].decode()
        if p.returncode == 0:
            done.append((target, time.time()))
        elif p.returncode != -9 and os.path.exists(target):
            wrong.append(f'a backup failed and left a file: {out[:150]}')
        elif p.returncode != -9:
            wrong.append(f'a backup failed: {out[:200]}') if 'busy' not in out and 'locked' not in out else None
        time.sleep(.2)
    js = c.wait_ended(200)
    kills = k.stop()
    left = [f for f in os.listdir(c.d) if f.startswith('copy') and not any(f'{c.d}/{f}' in (t, t + '.history') for t, _ in done)]
    figures = f'{len(done)} whole, {killed} killed'
    # names of copies that were killed: are they under the final name, and if so whole?
    for f in left:
        p = f'{c.d}/{f}'
        try:
            db = sqlite3.connect(f'file:{p}?mode=ro', uri=True)
            ok = db.execute('PRAGMA quick_check').fetchone()[0]
            n = db.execute('SELECT count(*) FROM sqlite_schema').fetchone()[0]
            db.close()
        except sqlite3.Error as e:
            ok, n = str(e), 0
        if not f.endswith(('.new', '.new-journal')) and not f.startswith('.') and (ok != 'ok' or n == 0):
            wrong.append(f'a killed backup left {f}, which is not whole: {ok}, {n} tables')
        sizes.append((f, ok, n))
    c.history_written()
    c.kill('controller', signal.SIGTERM)
    # restore three of the whole ones, each into an empty directory, and look
    state = f'{c.d}/state'
    rows_before = c_rows = None
    for target, at in random.sample(done, min(3, len(done))):
        os.rename(state, f'{state}.{os.path.basename(target)}')
        os.mkdir(state, 0o700)
        r = subprocess.run([f'{c.d}/bin/kiln-controller', '--state-dir', state, '--restore', target], env=env, capture_output=True, text=True)
        if r.returncode:
            wrong.append(f'restore of {os.path.basename(target)}: {r.stderr[:200]}')
            continue
        db = sqlite3.connect(f'file:{state}/history.db?mode=ro', uri=True)
        uids = Counter(r[0] for r in db.execute('SELECT key FROM attempts'))
        ok = db.execute('PRAGMA integrity_check').fetchone()[0]
        db.close()
        db = sqlite3.connect(f'file:{state}/kiln.db?mode=ro', uri=True)
        ok2 = db.execute('PRAGMA integrity_check').fetchone()[0]
        db.close()
        if (ok, ok2) != ('ok', 'ok'):
            wrong.append(f'restored files: {ok} {ok2}')
        if not c.controller(must=False):
            wrong.append(f'the controller does not start on a restored copy: {c.tail("controller", 3)}')
            continue
        # no hollow nodes: nothing runs. What ended before the copy is in its history or in its store.
        c.history_written(30)
        h = Counter(r.get('podUid') for r in c.history(job=a['status']['id'], fields='podUid,index,state'))
        pods = {p['metadata']['uid'] for p in c.pods()}
        tr = c.trace()
        gone = [p for p in tr.values() if p.gone and p.gone < at - 1.5 and p.uid not in h and p.uid not in pods]
        if gone:
            wrong.append(f'{len(gone)} attempts that were over before the copy are neither in its store nor in its history: {few(p.index for p in gone)}')
        if any(m > 1 for m in h.values()):
            wrong.append('rows twice after a restore')
        figures += f', restored one with {len(h)} rows'
        c.kill('controller', signal.SIGTERM)
        c.kill('hollow') if 'hollow' in c.procs else None
        import shutil as sh
        sh.rmtree(state)
        os.rename(f'{state}.{os.path.basename(target)}', state)
    return verdict(wrong, f'{figures}, left by kills {few(sizes)}, {kills}')


def history_queries(c):
    """A million rows, five clients that query without a pause, an array of 20,000 and submissions beside them, kills: latency and truth."""
    N = int(1000000 * c.scale)
    c.controller()
    c.hollow(20)
    st, o, _ = c.insist('POST', JOBS, c.simple('one'))
    c.wait_ended(20)
    c.history_written()
    c.kill('controller', signal.SIGTERM)
    fill_history(c, N)
    c.controller()
    over, lat, answers, faults = threading.Event(), {}, Counter(), []
    queries = [f'{HISTORY}?limit=5000&user=user3', f'{HISTORY}?limit=5000&name=old99*', f'{HISTORY}?limit=1000&state=Failed&node=node5', f'{HISTORY}/report?by=user&since=2020-01-01T00:00:00Z', f'{HISTORY}?limit=5000&fields=job,state']

    def ask(q):
        while not over.is_set():
            t = now()
            try:
                st, o = c.req('GET', q, timeout=30)
            except NET:
                time.sleep(.1)
                continue
            answers[st] += 1
            lat.setdefault(q, []).append(now() - t)
            if st not in (200, 429, 503):
                faults.append(f'{q}: {st} {str(o)[:100]}')
            if st != 200:
                time.sleep(.05)
    sub = {'alone': [], 'beside': []}

    def submit(kind, n):
        for x in range(n):
            t = now()
            try:
                c.req('POST', JOBS, c.simple('s', run_ms=10), timeout=30)
                sub[kind].append(now() - t)
            except NET:
                pass
            time.sleep(.02)
    submit('alone', 100)
    ts = [threading.Thread(target=ask, args=(q,), daemon=True) for q in queries]
    for t in ts:
        t.start()
    time.sleep(1)
    submit('beside', 200)
    k = Killer(c, 3, 7)
    n = int(20000 * max(c.scale, .1))
    a = c.array('a', f'0-{n - 1}', run_ms=50, fail_modulo=100)
    t0 = now()
    c.wait_ended(300, [a['metadata']['name']])
    took = now() - t0
    kills = k.stop()
    over.set()
    for t in ts:
        t.join(40)
    c.wait_ended(60)
    c.history_written()
    wrong = list(dict.fromkeys(faults))[:3]
    tr = c.trace()
    wrong += check_array(evidence(c, a, n, trace=tr))
    rows = Counter(r.get('podUid') for r in c.history(since=rfc(time.time() - 7200), fields='podUid,job'))
    lost = [p for p in tr.values() if p.starts and rows[p.uid] != 1]
    if lost:
        wrong.append(f'{len(lost)} attempts have no row or several: {few((p.job, p.index, rows[p.uid]) for p in lost)}')

    def q(l, f):
        return sorted(l)[min(len(l) - 1, int(len(l) * f))] * 1000 if l else -1
    figures = (f"{N} rows, {sum(answers.values())} queries {dict(answers)}, p50/p99 ms {[(q(v, .5) // 1, q(v, .99) // 1) for v in lat.values()]}; submission p50/p99 ms alone {q(sub['alone'], .5):.0f}/{q(sub['alone'], .99):.0f}, "
               f"beside {q(sub['beside'], .5):.0f}/{q(sub['beside'], .99):.0f}; {n} elements in {took:.0f} s; {kills}")
    return verdict(wrong, figures)
