# SPDX-License-Identifier: Apache-2.0
"""What the cases need beyond cluster.py: hollow nodes with a trace, history, requests that are repeated, kills, clocks, ticking jobs."""
import collections
import urllib.parse

from cluster import *

Counter = collections.Counter
HISTORY = '/kiln/v1/history'


def few(things, n=3):
    things = list(things)
    return ', '.join(str(x) for x in things[:n]) + (f' and {len(things) - n} more' if len(things) > n else '')


def ranges(numbers):
    """3,5-9"""
    out, numbers = [], sorted(numbers)
    i = 0
    while i < len(numbers):
        j = i
        while j + 1 < len(numbers) and numbers[j + 1] == numbers[j] + 1:
            j += 1
        out.append(f'{numbers[i]}-{numbers[j]}' if j > i else str(numbers[i]))
        i = j + 1
    return ','.join(out)


class Pod:
    """What a hollow node saw of a pod."""
    __slots__ = ('job', 'index', 'uid', 'node', 'starts', 'ends', 'deleted', 'gone', 'code', 'bound')

    def __init__(self, job, index, uid, node):
        self.job, self.index, self.uid, self.node = job, index, uid, node
        self.starts, self.ends, self.deleted, self.gone, self.code, self.bound = [], [], None, None, None, 0

    def over(self):
        """When it no longer ran, as the node saw it."""
        t = [x for x in (self.ends[0] if self.ends else None, self.deleted, self.gone) if x]
        return min(t) if t else None


class StormCluster(Cluster):
    control, scale, pace = False, 1.0, 1.0
    helpers = None  # the directory with the programs of helpers/, set by run

    def body(self, *a, **kw):
        """As ksub makes it: a pod is replaced when it has ended, not when it is being ended."""
        b = super().body(*a, **kw)
        b['spec'].setdefault('podReplacementPolicy', 'Failed')
        return b

    # --- hollow nodes --------------------------------------------------------
    def hollow(self, nodes, topology='pack:1 numa:1 core:64 pu:1', wait=120, name='hollow', prefix='h', run_ms=0, wrap=(), **kw):
        program = f'{self.d}/bin/kiln-hollow'
        if not os.path.exists(program):
            shutil.copy(f'{self.build}/testsuite/bench/cluster/kiln-hollow', program)
        argv = [program, '--controller', f'http://{self.address}:{self.port}', '--cluster', 'test', '--munge-socket', self.msock,
                '--state-dir', f'{self.d}/{name}', '--topology', topology, '--nodes', str(nodes), '--prefix', prefix, '--run-ms', str(run_ms),
                '--trace', f'{self.d}/trace']
        if '--node-grace' in self.options:
            argv += ['--heartbeat', str(int(self.options[self.options.index('--node-grace') + 1].removesuffix('s')) // 4)]
        argv = [*wrap, *argv]
        self.start(name, argv, **kw)
        if wait and not until(wait, lambda: f'{nodes} nodes ready' in self.log(name), .1):
            raise RuntimeError('the hollow nodes do not come up: ' + self.tail(name))

    def trace(self):
        """uid -> Pod."""
        pods = {}
        try:
            f = open(f'{self.d}/trace')
        except OSError:
            return pods
        with f:
            for line in f:
                w = line.split()
                if len(w) < 8:
                    continue
                what, us, job, index, uid, node, code, bound = w
                p = pods.get(uid)
                if p is None:
                    p = pods[uid] = Pod(int(job) if job != '-' else 0, int(index) if index != '-' else 0, uid, node)
                t = int(us) / 1e6
                if what == 's':
                    p.starts.append(t)
                    p.bound = int(bound)
                elif what == 'e':
                    p.ends.append(t)
                    p.code = int(code)
                elif what == 'd':
                    p.deleted = p.deleted or t
                elif what == 'g':
                    p.gone = p.gone or t
        return pods

    # --- requests that are repeated until they are answered ------------------
    def insist(self, method, path, body=None, headers=None, seconds=60, ok=(200, 201), timeout=20):
        """Asks until there is an answer that is not the fault's; (status, answer, whether some attempt had no answer)."""
        end, unsure, last = now() + seconds, False, None
        while True:
            try:
                st, o = self.req(method, path, body, headers, timeout=timeout)
                if st in ok:
                    return st, o, unsure
                last = (st, str(o)[:200])
                if st not in (429, 500, 502, 503, 504, 507):
                    return st, o, unsure
            except NET as e:
                unsure, last = True, e
            if now() > end:
                return 0, last, unsure
            time.sleep(.05)

    def act(self, action, ids, seconds=60, **more):
        """POST /kiln/v1/jobs/ACTION."""
        return self.insist('POST', f'/kiln/v1/jobs/{action}', {'ids': ids, **more}, seconds=seconds)

    def on_hollow(self, template):
        """Real nodes would run it, too, and leave no trace."""
        if self.nodes and 'hollow' in self.procs:
            other = {'key': 'kubernetes.io/hostname', 'operator': 'NotIn', 'values': [*self.nodes]}
            template['spec']['affinity'] = {'nodeAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': {'nodeSelectorTerms': [{'matchExpressions': [other]}]}}}

    def array(self, name, tasks, cpu='1', script=None, run_ms=0, fail_modulo=0, throttle=None, fail_fast=False, annotations=None, tiny=True, **spec):
        """Submits an array that hollow nodes run; the Job."""
        b = self.body(name, 'x', cpu=cpu)
        b['spec'].pop('backoffLimit')
        b['spec'].pop('podReplacementPolicy')
        a = {'tasks': tasks}
        if throttle is not None:
            a['throttle'] = throttle
        if fail_fast:
            a['failFast'] = True
        t = b['spec']['template']
        t['metadata'] = {'annotations': {'run-ms': str(run_ms), **({'fail-modulo': str(fail_modulo)} if fail_modulo else {}), **(annotations or {})}}
        self.on_hollow(t)
        if script is None:
            b['spec'].pop('script')
            t['spec']['containers'][0].update(image='host', command=['/bin/true'])
        else:
            b['spec']['script'] = {'text': script}
        b['spec'].update(array=a, **spec)
        st, o, _ = self.insist('POST', JOBS, b, {'Idempotency-Key': f'{name}-{os.urandom(6).hex()}'})
        if st not in (200, 201):
            raise RuntimeError(f'the array was refused: {st} {str(o)[:300]}')
        return o

    def simple(self, name, run_ms=100, exit_code=0, cpu='1', **spec):
        """A plain job for hollow nodes."""
        b = self.body(name, 'x', cpu=cpu)
        b['spec'].pop('script')
        t = b['spec']['template']
        t['metadata'] = {'annotations': {'run-ms': str(run_ms), **({'fail-modulo': '1'} if exit_code else {})}}
        self.on_hollow(t)
        t['spec']['containers'][0].update(image='host', command=['/bin/true'])
        for k in ('schedulerName', 'priorityClassName'):
            if k in spec:
                t['spec'][k] = spec.pop(k)
        if 'partition' in spec:
            t['spec'].setdefault('placement', {})['partition'] = spec.pop('partition')
        b['spec'].update(spec)
        return b

    # --- history -------------------------------------------------------------
    def history(self, **query):
        rows, more = [], ''
        q = urllib.parse.urlencode({'limit': 5000, **query})
        while True:
            st, o, _ = self.insist('GET', f'{HISTORY}?{q}' + (f'&continue={urllib.parse.quote(more)}' if more else ''), timeout=60)
            if st != 200:
                raise Broken(f'history answers {st} {str(o)[:200]}')
            rows += o['items']
            more = o.get('metadata', {}).get('continue')
            if not more:
                return rows

    def metric(self, name):
        st, o = self.req('GET', '/metrics', timeout=30)
        text = o.decode() if isinstance(o, bytes) else str(o)
        for line in text.splitlines():
            if line.rpartition(' ')[0] == name:
                return float(line.rpartition(' ')[2])
        return None

    def history_written(self, seconds=60):
        """Wait until no row waits."""
        def look():
            try:
                return self.metric('kiln_history_waiting') == 0
            except NET:
                return False
        time.sleep(.3)
        return until(seconds, look, .3)

    # --- memory --------------------------------------------------------------
    def rss(self, name):
        try:
            t = open(f'/proc/{self.procs[name].pid}/status').read()
            return int(re.search(r'VmRSS:\s+(\d+)', t)[1])
        except (OSError, TypeError):
            return 0

    def cpu(self, name):
        f = open(f'/proc/{self.procs[name].pid}/stat').read().rpartition(')')[2].split()
        return (int(f[11]) + int(f[12])) / os.sysconf('SC_CLK_TCK')


class Killer(threading.Thread):
    """kill -9 of the controller every so many seconds, a quarter of the time once more while it starts."""

    def __init__(self, c, least, most, again=.25, before=None, options=(), env=None):
        super().__init__(daemon=True)
        self.c, self.least, self.most, self.again, self.before = c, least, most, again, before
        self.kills, self.starts, self.over, self.wrong, self.refused = 0, [], threading.Event(), None, 0
        self.kw = {'env': env} if env else {}
        self.start()

    def run(self):
        try:
            while not self.over.wait(random.uniform(self.least, self.most) / self.c.pace):
                if self.c.control:
                    continue
                if self.before:
                    self.before()
                self.c.kill('controller')
                self.kills += 1
                t = now()
                if random.random() < self.again:
                    self.c.controller(wait=0, **self.kw)
                    time.sleep(random.uniform(0, .4))
                    self.c.kill('controller')
                    self.kills += 1
                # beside a --backup the start may be refused (75); the unit starts it again after a second
                while not self.c.controller(must=False, **self.kw):
                    if self.c.procs['controller'].poll() != 75 or now() > t + 60:
                        raise Broken('the controller does not start: ' + self.c.tail('controller'))
                    self.refused += 1
                    time.sleep(1)
                self.starts.append(now() - t)
        except Exception as e:
            self.wrong = e

    def stop(self):
        self.over.set()
        self.join(120)
        if self.wrong:
            raise self.wrong
        return f'{self.kills} kills{f", {self.refused} starts refused (75)" if self.refused else ""}, start {sum(self.starts) / max(1, len(self.starts)):.2f} s (max {max(self.starts, default=0):.2f})'


class Sampler(threading.Thread):
    """RSS in KiB of processes by name, each so many seconds."""

    def __init__(self, c, names, each=1.0):
        super().__init__(daemon=True)
        self.c, self.names, self.each, self.over = c, names, each, threading.Event()
        self.seen = {n: [] for n in names}
        self.t0 = now()
        self.start()

    def run(self):
        while not self.over.wait(self.each):
            for n in self.names:
                r = self.c.rss(n)
                if r:
                    self.seen[n].append((now() - self.t0, r))

    def most(self, n):
        return max((r for _, r in self.seen[n]), default=0)


def overlaps(pods, times):
    """The most pods at once in a list of (start, end)."""
    ev = []
    for a, b in times:
        ev += [(a, 1), (b, -1)]
    ev.sort(key=lambda e: (e[0], e[1]))
    n = most = 0
    for _, d in ev:
        n += d
        most = max(most, n)
    return most


# --- clocks and disks ----------------------------------------------------------
def rfc(t):
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(t))


def _clock(self):
    """From here on all that is started has a clock that shift() sets; munged is started again with it."""
    self._shift = f'{self.d}/shift'
    self._offset = 0
    with open(self._shift, 'wb') as f:
        f.write(bytes(8))
    os.chmod(self._shift, 0o644)
    shutil.copy(f'{self.helpers}/clockshift.so', f'{self.d}/bin/')
    self.env['LD_PRELOAD'], self.env['CLOCKSHIFT'] = f'{self.d}/bin/clockshift.so', self._shift
    self.kill('munged')
    os.unlink(self.msock) if os.path.exists(self.msock) else None
    k = f'{self.d}/munge/private'
    self.start('munged', [f'{self.d}/bin/munged', '--foreground', '--force', f'--socket={self.msock}',
                          f'--key-file={k}/key', f'--pid-file={k}/pid', f'--seed-file={k}/seed'])
    if not until(10, lambda: os.path.exists(self.msock), .02):
        raise RuntimeError('munged does not start: ' + self.tail('munged'))


def _shift(self, to):
    """Sets the clock to that time (seconds since 1970)."""
    self._offset = to - time.time()
    with open(self._shift, 'r+b') as f:
        f.write(int(self._offset * 1e6).to_bytes(8, 'little', signed=True))


StormCluster.clock, StormCluster.set_clock, StormCluster.time = _clock, _shift, lambda self: time.time() + self._offset


# --- jobs that tick --------------------------------------------------------------
def _ticker(self, tag, seconds_, code=0, stubborn=False):
    """The script of a job whose ticks show when it ran, and on which cores."""
    if not os.path.exists(f'{self.d}/bin/ticker'):
        shutil.copy(f'{self.helpers}/ticker', f'{self.d}/bin/')
    return f'#!/bin/sh\nexec {self.d}/bin/ticker {self.w}/ticks {tag} {seconds_} {code}{" stubborn" if stubborn else ""}\n'


class Run:
    """One process of a ticking job."""

    def __init__(self, w):
        self.tag, self.job, self.pod, self.node, self.pid, self.cpus = w[1], int(w[2]), w[3], w[4], int(w[5]), cpu_set(w[6])
        self.spans, self.ended, self.termed, self.started = [], None, None, None


def _runs(self, gap=.3):
    """All starts of ticking jobs, each with the spans in which it ran without a gap, in seconds since boot."""
    r = {}
    try:
        lines = open(f'{self.w}/ticks').read().splitlines()
    except OSError:
        return []
    for line in lines:
        w = line.split()
        if len(w) != 8:
            continue
        k = (w[1], w[5])
        t = int(w[7]) / 1000
        x = r.get(k)
        if w[0] == 'start' or x is None:
            x = r[k] = Run(w)
            x.started = t
            x.spans = [[t, t]]
            x.all = getattr(x, 'all', [])
            r.setdefault('all', []).append(x)
        if t - x.spans[-1][1] > gap:
            x.spans.append([t, t])
        x.spans[-1][1] = max(x.spans[-1][1], t)
        if w[0] == 'end':
            x.ended = t
        if w[0] == 'term':
            x.termed = t
    return r.get('all', [])


def core_overlaps(runs, slack=.03):
    """Pairs of runs that ran on one core of one node at the same time."""
    bad = []
    per = {}
    for x in runs:
        for a, b in x.spans:
            for cpu in x.cpus:
                per.setdefault((x.node, cpu), []).append((a, b, x))
    for (node, cpu), ss in per.items():
        ss.sort(key=lambda s: s[0])
        for i, (a, b, x) in enumerate(ss):
            for a2, b2, y in ss[i + 1:]:
                if a2 >= b - slack:
                    break
                if x is not y and min(b, b2) - a2 > slack:
                    bad.append((node, cpu, x.tag, y.tag, round(min(b, b2) - a2, 2)))
    return bad


def _partition(self, name, **spec):
    st, o, _ = self.insist('POST', '/apis/kiln.hpc/v1/partitions', {'apiVersion': 'kiln.hpc/v1', 'kind': 'Partition', 'metadata': {'name': name}, 'spec': spec})
    if st not in (200, 201, 409):
        raise RuntimeError(f'partition {name}: {st} {str(o)[:200]}')


def _merge(self, path, patch, seconds=30):
    return self.insist('PATCH', path, patch, {'Content-Type': 'application/merge-patch+json'}, seconds=seconds)


StormCluster.ticker, StormCluster.runs, StormCluster.partition, StormCluster.merge = _ticker, _runs, _partition, _merge
