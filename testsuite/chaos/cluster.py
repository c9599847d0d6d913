# SPDX-License-Identifier: Apache-2.0
"""A private cluster for one case: munged, controller, agents and a test user below one directory.

Only what is documented is used: options of the programs, kctl, ksub and the API.
"""
import asyncio
import glob
import http.client
import json
import os
import pwd
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time

JOBS = '/apis/batch/v1/namespaces/default/jobs'
PODS = '/api/v1/namespaces/default/pods'
NODES = '/api/v1/nodes'
NET = (OSError, http.client.HTTPException, json.JSONDecodeError)
now = time.monotonic


class Broken(Exception):
    """The product did not do what the case asks for."""


class Skip(Exception):
    """This machine cannot show it."""


class UConn(http.client.HTTPConnection):
    def __init__(self, path, timeout=10):
        super().__init__('kiln', timeout=timeout)
        self.path = path

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(self.timeout)
        s.connect(self.path)
        self.sock = s


def until(seconds, what, step=.1):
    """The first true value of what(), or the last value when the time is over."""
    end = now() + seconds
    while True:
        v = what()
        if v or now() >= end:
            return v
        time.sleep(step)


def alive(pid):
    try:
        return open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[0] not in 'ZX'
    except OSError:
        return False


def condition(job):
    """Complete, Failed or None."""
    for c in job['status'].get('conditions', []):
        if c['type'] in ('Complete', 'Failed') and c['status'] == 'True':
            return c['type']


def cpu_set(text):
    r = set()
    for q in (text or '').split(','):
        if q:
            a, _, b = q.partition('-')
            r |= set(range(int(a), int(b or a) + 1))
    return r


def ending(pod):
    """The reason and message of a pod that has ended."""
    s = pod.get('status', {})
    t = (s.get('containerStatuses') or [{}])[0].get('state', {}).get('terminated', {})
    return s.get('reason') or t.get('reason'), s.get('message') or t.get('message') or ''


def own_processes(directory, uid=None):
    """Pids whose program lies below directory, or whose user is the test user."""
    r = []
    for p in glob.glob('/proc/[0-9]*'):
        pid = int(p[6:])
        if pid == os.getpid():
            continue
        try:
            if uid is not None and re.search(r'^Uid:\s+(\d+)', open(p + '/status').read(), re.M)[1] == str(uid):
                r.append(pid)
            elif os.readlink(p + '/exe').startswith(directory + '/'):
                r.append(pid)
        except OSError:
            pass
    return r


def cgroups(tag):
    return [d for d, _, _ in os.walk('/sys/fs/cgroup') if f'/{tag}' in d]


def sweep(directory, uid, tag, keep=False):
    """End and remove everything of a case: processes, mounts, network, cgroups, files."""
    for k in range(50):
        pids = own_processes(directory, uid)
        if not pids:
            break
        for p in pids:
            try:
                os.kill(p, signal.SIGCONT)
                os.kill(p, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(.1)
    for line in open('/proc/self/mounts').read().splitlines()[::-1]:
        at = line.split()[1]
        if at.startswith(directory + '/'):
            subprocess.run(['umount', '-l', at], capture_output=True)
    if os.path.exists(f'/run/netns/{tag}'):
        subprocess.run(['ip', 'netns', 'del', tag], capture_output=True)
    if os.path.exists(f'/sys/class/net/{tag}'):
        subprocess.run(['ip', 'link', 'del', tag], capture_output=True)
    for d in sorted(cgroups(tag), key=len, reverse=True):
        for _ in range(20):
            try:
                os.rmdir(d)
                break
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(.05)
    if not keep:
        shutil.rmtree(directory, ignore_errors=True)


class Cluster:
    def __init__(self, build, directory, user, tag):
        self.build, self.d, self.user, self.tag = build, directory, user, tag
        pw = pwd.getpwnam(user)
        self.uid, self.gid = pw.pw_uid, pw.pw_gid
        for x in ('bin', 'log', 'etc', 'home', 'state', 'munge', 'w'):
            os.mkdir(f'{self.d}/{x}', 0o755)
        os.chmod(f'{self.d}/state', 0o700)
        os.chmod(f'{self.d}/w', 0o777)
        os.chown(f'{self.d}/home', self.uid, self.gid)
        for p in glob.glob(f'{build}/k*'):
            if os.path.isfile(p) and os.access(p, os.X_OK):
                shutil.copy(p, f'{self.d}/bin/')
        self.w, self.sock, self.msock = f'{self.d}/w', f'{self.d}/sock', f'{self.d}/munge/socket'
        self.procs, self.address, self.options, self.nodes = {}, '127.0.0.1', [], {}
        s = socket.socket()
        s.bind(('127.0.0.1', 0))
        self.port = s.getsockname()[1]
        s.close()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(('KILN', 'KSUB', 'MAKE'))}
        self.env['PATH'] = f'{self.d}/bin:' + os.environ['PATH']
        self.configure()
        self.munged()

    def configure(self):
        for who, server in (('client', f'http://{self.address}:{self.port}'), ('root', f'http+unix://{self.sock}')):
            with open(f'{self.d}/etc/{who}.yaml', 'w') as f:
                f.write(f'cluster: test\nserviceUser: root\nserver: {server}\nmungeSocket: {self.msock}\n')

    # --- processes -----------------------------------------------------------
    def start(self, name, argv, **kw):
        with open(f'{self.d}/log/{name}', 'ab') as log:
            p = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd='/', **{'env': self.env, **kw})
        self.procs[name] = p
        return p

    def munged(self):
        k = f'{self.d}/munge/private'
        os.mkdir(k, 0o700)
        with open(k + '/key', 'wb') as f:
            f.write(os.urandom(128))
        os.chmod(k + '/key', 0o600)
        shutil.copy(shutil.which('munged') or '/usr/sbin/munged', f'{self.d}/bin/munged')
        self.start('munged', [f'{self.d}/bin/munged', '--foreground', '--force', f'--socket={self.msock}',
                              f'--key-file={k}/key', f'--pid-file={k}/pid', f'--seed-file={k}/seed'])
        if not until(10, lambda: os.path.exists(self.msock), .02):
            raise RuntimeError('munged does not start: ' + self.tail('munged'))

    def controller(self, *more, wait=60, must=True, **kw):
        """Start it; True when it is ready."""
        fresh = not os.listdir(f'{self.d}/state')
        argv = [f'{self.d}/bin/kiln-controller', '--state-dir', f'{self.d}/state', '--listen',
                f'{self.address}:{self.port}', '--socket', self.sock, '--cluster', 'test',
                '--munge-socket', self.msock, *self.options, *more]
        self.start('controller', argv, **kw)
        if not wait:
            return None
        ready = self.ready(wait)
        if not ready and fresh and must and self.procs['controller'].poll() is not None and self.has('kiln-controller', '--init'):
            subprocess.run([*argv, '--init'], env=self.env, capture_output=True, timeout=20)
            self.start('controller', argv, **kw)
            ready = self.ready(wait)
        if must and not ready:
            raise Broken('the controller does not start: ' + self.tail('controller'))
        return ready

    def has(self, program, option):
        r = subprocess.run([f'{self.d}/bin/{program}', '--help'], env=self.env, capture_output=True, text=True, timeout=10)
        return option in (r.stdout + r.stderr).replace(',', ' ').split()

    def ready(self, wait):
        def ask():
            if self.procs['controller'].poll() is not None:
                return 'gone'
            try:
                return self.req('GET', '/readyz', timeout=2)[0] == 200
            except NET:
                return False
        return until(wait, ask, .02) is True

    def agent(self, n, *options, wait=20, prefix=(), tmp=None, port=None):
        """Start an agent, with the options that it had before if none are given; wait until its node is Ready."""
        for x in ('', '/state', '/run', '/tmp'):
            os.makedirs(f'{self.d}/{n}{x}', 0o711, exist_ok=True)
        os.chmod(f'{self.d}/{n}/tmp', 0o1777)
        if options or prefix or tmp or n not in self.nodes:
            self.nodes[n] = ([*options], [*prefix], tmp or f'{self.d}/{n}/tmp', port or self.port)
        options, prefix, tmp, port = self.nodes[n]
        self.start(n, [*prefix, f'{self.d}/bin/kiln-agent', '--controller', f'http://{self.address}:{port}',
                       '--cluster', 'test', '--service-user', 'root', '--munge-socket', self.msock, '--node-name', n,
                       '--state-dir', f'{self.d}/{n}/state', '--run-dir', f'{self.d}/{n}/run', '--tmp-dir', tmp,
                       '--shepherd', f'{self.d}/bin/kiln-shepherd', '--cgroup-base', f'/{self.tag}-{n}', *options])
        if wait and not until(wait, lambda: self.node_ready(n), .1):
            raise RuntimeError(f'node {n} does not become Ready: ' + self.tail(n))

    def virtual(self, n, cores, *options, **kw):
        self.agent(n, '--topology', f'pack:1 numa:1 core:{cores} pu:1', *options, **kw)

    def node_ready(self, n):
        try:
            st, o = self.req('GET', f'{NODES}/{n}')
        except NET:
            return False
        return st == 200 and any(x['type'] == 'Ready' and x['status'] == 'True' for x in o['status'].get('conditions', []))

    def kill(self, name, sig=signal.SIGKILL):
        p = self.procs[name]
        if p.poll() is None:
            p.send_signal(sig)
            if sig in (signal.SIGKILL, signal.SIGTERM):
                try:
                    p.wait(20)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()

    def tail(self, name, n=1):
        try:
            lines = open(f'{self.d}/log/{name}', errors='replace').read().splitlines()
        except OSError:
            return ''
        return ' / '.join(l.replace(self.d, '') for l in lines[-n:])[:300]

    def log(self, name):
        return open(f'{self.d}/log/{name}', errors='replace').read()

    # --- asking --------------------------------------------------------------
    def req(self, method, path, body=None, headers=None, timeout=10, sock=None):
        """As root by the controller's socket."""
        c = UConn(sock or self.sock, timeout)
        try:
            c.request(method, path, None if body is None else json.dumps(body), {'Content-Type': 'application/json', **(headers or {})})
            r = c.getresponse()
            d = r.read()
            try:
                return r.status, json.loads(d)
            except json.JSONDecodeError:
                return r.status, d
        finally:
            c.close()

    def run(self, *argv, timeout=60, **kw):
        """A command as the test user."""
        e = dict(self.env, KILN_CONFIG=f'{self.d}/etc/client.yaml', HOME=f'{self.d}/home', USER=self.user, LOGNAME=self.user)
        return subprocess.run(argv, env=e, user=self.uid, group=self.gid, extra_groups=[self.gid], cwd=self.w,
                              timeout=timeout, capture_output=True, text=True, **kw)

    def kctl(self, *argv, timeout=60):
        """kctl as root by the socket."""
        e = dict(self.env, KILN_CONFIG=f'{self.d}/etc/root.yaml')
        return subprocess.run(['kctl', '--no-wait', *argv], env=e, cwd='/', timeout=timeout, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def untaint(self, n):
        """Let ordinary jobs come to a virtual node."""
        st, o = self.req('GET', f'{NODES}/{n}')
        for t in o['spec'].get('taints', []):
            self.kctl('taint', 'node', n, t['key'] + '-')

    def ksub(self, *argv, timeout=60):
        """The id of a job, or None."""
        r = self.run('ksub', '--parsable', *argv, timeout=timeout)
        return int(r.stdout.strip()) if r.returncode == 0 else None

    def body(self, name, script, cpu='1', node=None, exclusive=True, **spec):
        """A Job as root submits it for the test user."""
        pod = {'restartPolicy': 'Never', 'execution': {'stdoutPath': '/dev/null'},
               'tolerations': [{'key': 'kiln.hpc/virtual', 'operator': 'Exists'}],
               'securityContext': {'runAsUser': self.uid, 'runAsGroup': self.gid},
               'containers': [{'name': 'main', 'workingDir': self.w, 'resources': {'requests': {'cpu': cpu}, 'limits': {'cpu': cpu}}}]}
        if exclusive:
            pod['placement'] = {'cpuPolicy': 'exclusive'}
        if node:
            pod['nodeSelector'] = {'kubernetes.io/hostname': node}
        return {'apiVersion': 'batch/v1', 'kind': 'Job',
                'metadata': {'generateName': 'job-', 'annotations': {'kiln.hpc/job-name': name}},
                'spec': {'backoffLimit': 0, 'script': {'text': script}, 'template': {'spec': pod}, **spec}}

    def submit(self, name, script, **kw):
        """The Job, submitted."""
        st, o = self.req('POST', JOBS, self.body(name, script, **kw), timeout=30)
        if st not in (200, 201):
            raise RuntimeError(f'a submission was refused: {st} {str(o)[:200]}')
        return o

    def jobs(self):
        st, o = self.req('GET', JOBS, timeout=60)
        if st != 200:
            raise Broken(f'the list of jobs answers {st} {str(o)[:150]}')
        return o['items']

    def job(self, which):
        """By name or id; None when it is gone."""
        if isinstance(which, int):
            return next((j for j in self.jobs() if j['status'].get('id') == which), None)
        st, o = self.req('GET', f'{JOBS}/{which}')
        return o if st == 200 else None

    def pods(self, job=None):
        st, o = self.req('GET', PODS + (f'?labelSelector=job-name={job}' if job else ''), timeout=60)
        if st != 200:
            raise Broken(f'the list of pods answers {st}')
        return o['items']

    def wait_ended(self, seconds, names=None, step=.3):
        """Wait for all jobs (or these); the jobs by name."""
        def look():
            try:
                js = {j['metadata']['name']: j for j in self.jobs()}
            except NET:
                return None
            mine = js.values() if names is None else [js[n] for n in names if n in js]
            look.js = js
            return all(condition(j) for j in mine)
        look.js = {}
        until(seconds, look, step)
        return look.js

    # --- what jobs write -----------------------------------------------------
    def lines(self, name='lines'):
        try:
            return [l.split() for l in open(f'{self.w}/{name}').read().splitlines() if l]
        except OSError:
            return []

    def started(self, *words, seconds=20):
        """The first line that begins so; raises when there is none."""
        def look():
            return next((l for l in self.lines() if l[:len(words)] == list(words)), None)
        r = until(seconds, look, .05)
        if not r:
            raise RuntimeError(f"the job does not start ({' '.join(words)}): " + self.tail('n1'))
        return r

    def script(self, tag, seconds, more=''):
        return (f'#!/bin/sh\necho start {tag} $KILN_JOB_ID $KILN_NODE_NAME $$ $KILN_CPUS >>{self.w}/lines\n{more}sleep {seconds}\n'
                f'echo end {tag} $KILN_JOB_ID $KILN_NODE_NAME >>{self.w}/lines\n')

    def shepherds(self):
        """What stands between the agent and each job: pid of the parent of its first process -> ids of jobs."""
        r = {}
        for p in own_processes('/nowhere', self.uid):
            try:
                env = open(f'/proc/{p}/environ', errors='replace').read()
                parent = int(open(f'/proc/{p}/stat').read().rpartition(')')[2].split()[1])
                if os.readlink(f'/proc/{parent}/exe').startswith(f'{self.d}/bin/') and parent not in [x.pid for x in self.procs.values()]:
                    r.setdefault(parent, set()).update(int(i) for i in re.findall(r'(?:^|\0)KILN_JOB_ID=(\d+)', env))
            except (OSError, ValueError):
                pass
        return [(p, ids) for p, ids in r.items() if ids]

    def strays(self):
        """Processes of Kiln's programs that were not started here and outlive what was."""
        return [p for p in own_processes(f'{self.d}/bin') if p not in [x.pid for x in self.procs.values()]]


class Watcher(threading.Thread):
    """A client that lists, watches, and lists anew when it must; mirror: uid -> (resourceVersion, name)."""

    def __init__(self, c, path, seen=None):
        super().__init__(daemon=True)
        self.c, self.path, self.seen = c, path, seen
        self.mirror, self.over, self.odd, self.lists, self.events = {}, False, [], 0, 0
        self.start()

    def run(self):
        rv, last = None, 0
        while not self.over:
            try:
                if rv is None:
                    st, o = self.c.req('GET', self.path)
                    if st != 200:
                        time.sleep(.05)
                        continue
                    rv = int(o['metadata']['resourceVersion'])
                    if rv < last:
                        self.odd.append(f'a list went back from revision {last} to {rv}')
                    self.mirror = {i['metadata']['uid']: (i['metadata']['resourceVersion'], i['metadata']['name']) for i in o['items']}
                    self.lists += 1
                    last = rv
                    for i in o['items'] if self.seen else ():
                        self.seen(i)
                k = UConn(self.c.sock, 5)
                k.request('GET', f'{self.path}?watch=1&allowWatchBookmarks=true&resourceVersion={rv}')
                r = k.getresponse()
                if r.status == 410:
                    rv = None
                while r.status == 200 and not self.over:
                    line = r.readline()
                    if not line.endswith(b'\n'):
                        break
                    if not line.strip():
                        continue
                    e = json.loads(line)
                    o, t = e['object'], e['type']
                    if t == 'ERROR':
                        if o.get('code') == 410:
                            rv = None
                        break
                    v, u = int(o['metadata']['resourceVersion']), o['metadata'].get('uid')
                    self.events += 1
                    if t != 'BOOKMARK' and v <= rv:
                        self.odd.append(f'an event went back from revision {rv} to {v}')
                    if t == 'ADDED' and u in self.mirror:
                        self.odd.append(f"ADDED twice: {o['metadata']['name']}")
                    if t in ('ADDED', 'MODIFIED'):
                        self.mirror[u] = (o['metadata']['resourceVersion'], o['metadata']['name'])
                        if self.seen:
                            self.seen(o)
                    elif t == 'DELETED':
                        self.mirror.pop(u, None)
                    rv = last = max(rv, v)
                k.close()
                time.sleep(.02)
            except NET:
                time.sleep(.03)


class SlowWatch(threading.Thread):
    """A way to the controller on which what a watch says comes up to late seconds late, in order; all else passes at once."""

    def __init__(self, port, late):
        super().__init__(daemon=True)
        self.to, self.late, self.delayed, self.watches = port, late, 0, 0
        self.up = threading.Event()
        self.start()
        if not self.up.wait(10):
            raise RuntimeError('the slow way does not open')

    def run(self):
        asyncio.run(self.serve())

    async def serve(self):
        server = await asyncio.start_server(self.connection, '127.0.0.1', 0)
        self.port = server.sockets[0].getsockname()[1]
        self.up.set()
        await server.serve_forever()

    async def connection(self, r, w):
        try:
            r2, w2 = await asyncio.open_connection('127.0.0.1', self.to)
        except OSError:
            w.close()
            return
        is_watch, chunks = [], asyncio.Queue()

        async def ask():
            while d := await r.read(65536):
                if b'watch=' in d.split(b'\r\n', 1)[0] and not is_watch:
                    is_watch.append(1)
                    self.watches += 1
                w2.write(d)
                await w2.drain()
            w2.close()

        async def hear():
            while d := await r2.read(65536):
                if is_watch:
                    chunks.put_nowait((asyncio.get_running_loop().time() + random.uniform(0, self.late), d))
                else:
                    w.write(d)
                    await w.drain()
            chunks.put_nowait((0, b''))

        async def tell():
            while True:
                t, d = await chunks.get()
                if not d:
                    w.close()
                    return
                await asyncio.sleep(max(0, t - asyncio.get_running_loop().time()))
                self.delayed += 1
                w.write(d)
                await w.drain()
        await asyncio.gather(ask(), hear(), tell(), return_exceptions=True)
        for x in (w, w2):
            x.close()


def backup(source, target):
    """A copy of a live state directory: databases by SQLite's own backup, other files as they are."""
    os.mkdir(target, 0o700)
    for f in os.listdir(source):
        p = f'{source}/{f}'
        if f.endswith(('-wal', '-shm', '-journal')) or f == 'lock' or not os.path.isfile(p):
            continue
        with open(p, 'rb') as h:
            is_db = h.read(15) == b'SQLite format 3'
        if is_db:
            a, b = sqlite3.connect(p), sqlite3.connect(f'{target}/{f}')
            a.backup(b)
            b.close()
            a.close()
            os.chmod(f'{target}/{f}', 0o600)
        else:
            shutil.copy2(p, target)
