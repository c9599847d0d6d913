#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""systemctl.py VERB [--now] UNIT... - units of a machine that has no systemd

For machines.sh, where it is the command systemctl. It knows of a service what
servers need: User, Environment, EnvironmentFile, ExecStart, Type=notify, Restart,
RestartPreventExitStatus and KillMode. `boot` starts the units that are enabled.
"""
import os
import pwd
import re
import shlex
import signal
import socket
import subprocess
import sys
import time

UNITS = ('/etc/systemd/system', '/lib/systemd/system')
ENABLED = '/etc/systemd/enabled'
RUN = '/run/units'


def read_unit(name):
    for folder in UNITS:
        path = f'{folder}/{name}.service'
        if os.path.exists(path):
            text = open(path, encoding='utf-8').read().replace('\\\n', ' ')
            break
    else:
        sys.exit(f'systemctl: there is no unit {name}.service')
    unit = {}
    for line in text.split('\n'):
        key, equals, value = line.partition('=')
        if equals and not line.startswith('#'):
            unit.setdefault(key, []).append(value.strip())
    return unit


def one(unit, key, default=''):
    return unit.get(key, [default])[-1]


def environment(unit, name):
    known = {'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8'}
    user = one(unit, 'User')
    if user:
        known.update(HOME=pwd.getpwnam(user).pw_dir, USER=user, LOGNAME=user)
    lines = [word for value in unit.get('Environment', []) for word in shlex.split(value)]
    for path in unit.get('EnvironmentFile', []):
        path = path.lstrip('-').replace('%p', name)
        if os.path.exists(path):
            lines += [shlex.split(line)[0] for line in open(path, encoding='utf-8')
                      if re.match(r'[A-Z]', line)]
    for line in lines:
        key, _, value = line.partition('=')
        known[key] = value.replace('%H', socket.gethostname())
    return known


def is_active(name):
    try:
        os.kill(int(open(f'{RUN}/{name}', encoding='utf-8').read()), 0)
    except (OSError, ValueError):
        return False
    return True


def keep(name, ready):
    """The process that starts the service, and starts it again."""
    unit = read_unit(name)
    child = None
    stopping = False

    def stop(*_):
        nonlocal stopping
        stopping = True
        if child is not None:
            child.terminate()

    signal.signal(signal.SIGTERM, stop)
    known = environment(unit, name)
    command = [re.sub(r'\$(\w+)', lambda m: known.get(m[1], ''), word)
               for word in shlex.split(one(unit, 'ExecStart'))]
    command = [word for word in command if word]
    if one(unit, 'Type') == 'notify':
        path = f'{RUN}/{name}.notify'
        if os.path.exists(path):
            os.unlink(path)
        notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notices.bind(path)
        os.chmod(path, 0o777)
        notices.settimeout(0.2)
        known['NOTIFY_SOCKET'] = path
    else:
        notices = None
    unchanged = {int(word) for value in unit.get('RestartPreventExitStatus', [])
                 for word in value.split()}
    who = {}
    if one(unit, 'User'):
        user = pwd.getpwnam(one(unit, 'User'))
        who = {'user': user.pw_uid, 'group': user.pw_gid,
               'extra_groups': os.getgrouplist(user.pw_name, user.pw_gid)}
    while True:
        child = subprocess.Popen(command, env=known, cwd='/', stdin=subprocess.DEVNULL, **who)
        if stopping:
            child.terminate()
        # It is read to the end, because a sender waits for room in the socket.
        while notices is not None and child.poll() is None:
            try:
                if b'READY=1' in notices.recv(4096):
                    ready()
            except socket.timeout:
                pass
        if notices is None:
            ready()
        status = child.wait()
        print(f'systemctl: {name} has ended with status {status}', flush=True)
        restarts = {'always': True, 'on-failure': status != 0, 'on-abnormal': status < 0}
        if stopping or status in unchanged or not restarts.get(one(unit, 'Restart')):
            ready()
            return
        time.sleep(1)


def start(name, waits=True):
    if is_active(name):
        return
    come, go = os.pipe()
    if os.fork() > 0:
        os.close(go)
        if waits:
            os.read(come, 1) # until it is ready, or has ended
        os.close(come)
        return
    os.setsid()
    os.close(come)
    log = os.open(f'/var/log/{name}.log', os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open('/dev/null', os.O_RDONLY)
    for fd, copy in ((null, 0), (log, 1), (log, 2)):
        os.dup2(fd, copy)
    with open(f'{RUN}/{name}', 'w', encoding='utf-8') as f:
        f.write(str(os.getpid()))

    def ready():
        nonlocal go
        if go >= 0:
            os.close(go)
            go = -1

    try:
        keep(name, ready)
    finally:
        os.unlink(f'{RUN}/{name}')
        os._exit(0)


def stop(name):
    if not is_active(name):
        return
    os.kill(int(open(f'{RUN}/{name}', encoding='utf-8').read()), signal.SIGTERM)
    until = time.time() + 90
    while is_active(name) and time.time() < until:
        time.sleep(0.1)


def main():
    verb, *names = sys.argv[1:]
    now = '--now' in names
    names = [re.sub(r'\.service$', '', name) for name in names if name != '--now']
    os.makedirs(ENABLED, exist_ok=True)
    os.makedirs(RUN, exist_ok=True)
    if verb == 'boot':
        for name in sorted(os.listdir(ENABLED)):
            start(name, waits=False)
    for name in names:
        read_unit(name)
        if verb == 'enable':
            open(f'{ENABLED}/{name}', 'w', encoding='utf-8').close()
        elif verb == 'disable' and os.path.exists(f'{ENABLED}/{name}'):
            os.unlink(f'{ENABLED}/{name}')
        if verb in ('stop', 'restart') or (verb == 'disable' and now):
            stop(name)
        if verb in ('start', 'restart') or (verb == 'enable' and now):
            start(name)
        if verb == 'is-active':
            print('active' if is_active(name) else 'inactive')


main()
