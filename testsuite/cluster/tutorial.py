# SPDX-License-Identifier: Apache-2.0
"""tutorial.py PAGE HOME USER - runs the commands of a tutorial, and compares

Reads the examples of a manual page (between .EX and .EE): a line that begins
with "$ " is a command, and the lines after it are what it prints. A file that
the page shows with "$ cat FILE", and that does not exist, is made first. Prints
a line of TAP for each command. With TUTORIAL_SHOW set it prints what the
commands print instead, in the form of the page.

Times, sizes, percentages and names of nodes match any others, "..." matches any text, and a line
of "..." any lines. Commands that only show something are repeated for a while,
because states follow a moment later.
"""
import os
import re
import subprocess
import sys
import time

page, home, user = sys.argv[1:4]
SHOWS = re.compile(r'kctl (jobs|show|why|logs|history|efficiency|nodes|partitions|get|describe|events|status|whoami|reservations|steps|top)\b|cat |ls ')
NAME = 'ann'


def plain(line):
    for roff, text in (('\\-', '-'), ('\\(aq', "'"), ('\\e', '\\'), ('\\&', '')):
        line = line.replace(roff, text)
    return line


def examples():
    found, on = [], False
    for line in open(page, encoding='utf-8').read().split('\n'):
        if line.startswith('.EX'):
            on = True
        elif line.startswith('.EE'):
            on = False
        elif on and line.startswith('$ '):
            found.append([plain(line[2:]), []])
        elif on and found:
            found[-1][1].append(plain(line))
    return found


def run(command):
    r = subprocess.run(['setpriv', '--reuid', user, '--regid', user, '--init-groups', 'env', '-i', f'HOME={home}', f'USER={user}',
                        f'LOGNAME={user}', 'SHELL=/bin/sh', 'LANG=C.UTF-8', 'PATH=' + os.environ['PATH'], 'KILN_CONFIG=' + os.environ['KILN_CONFIG'],
                        'sh', '-c', command], cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    # Open MPI warns when its child was the first of the two to set its process group.
    lines = [line for line in r.stdout.rstrip('\n').split('\n') if 'plm:rsh: Warning: setpgid' not in line]
    return [clean(line) for line in lines] if r.stdout else []


def clean(line):
    return line.replace(home, '/home/' + NAME).replace(user, NAME).rstrip()


def blur(line):
    line = re.sub(r'~?\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?', '<time>', line)
    line = re.sub(r'~?\b[A-Z][a-z]{2} \d{1,2} \d\d:\d\d\b', '<time>', line)
    line = re.sub(r'~?\b(\d+-)?\d+:\d\d(:\d\d)?\b', '<time>', line)
    line = re.sub(r'\b\d+(\.\d+)?(B|[KMGT]i)\b', '<size>', line)
    line = re.sub(r'\b\d+(\.\d+)?%', '<part>', line)
    line = re.sub(r'\bn[12]\b', '<node>', line)
    return re.sub(r'\s+', ' ', line).strip()


def pattern(expected):
    parts = []
    for line in expected:
        if line.strip() == '...':
            parts.append(r'(?:[^\n]*\n)*')
        else:
            parts.append(r'.*'.join(re.escape(blur(p)) if p.strip() else '' for p in line.split('...')).replace(r'.*', r'[^\n]*') + r'\n')
    return re.compile(''.join(parts) + r'\Z')


def matches(expected, said):
    return pattern(expected).match(''.join(blur(line) + '\n' for line in said)) is not None


def check(command, expected):
    name = command.split()
    until = time.time() + (15 if 'TUTORIAL_SHOW' not in os.environ and SHOWS.match(command) else 0)
    if name[0] == 'cat' and len(name) == 2 and not os.path.exists(os.path.join(home, name[1])) and '$' not in command:
        path = os.path.join(home, name[1])
        if not name[1].endswith('.out') and not name[1].endswith('.txt'):
            with open(path, 'w', encoding='utf-8') as f:
                f.write('\n'.join(expected) + '\n')
            subprocess.run(['chown', user, path], check=True)
    while True:
        said = run(command)
        if matches(expected, said) or time.time() > until:
            return said
        time.sleep(0.5)


def main():
    n, failed = 0, 0
    for command, expected in examples():
        n += 1
        said = check(command, expected)
        if os.environ.get('TUTORIAL_SHOW'):
            print('$ ' + command, *said, sep='\n', flush=True)
            continue
        is_good = matches(expected, said)
        failed += not is_good
        print(f"{'ok' if is_good else 'not ok'} {n} - {command.replace('#', ' ')}")
        if not is_good:
            print(*(f'# expected: {line}' for line in expected), *(f'#      got: {line}' for line in said), sep='\n')
        sys.stdout.flush()
    if not os.environ.get('TUTORIAL_SHOW'):
        print(f'1..{n}')
    return failed > 0 or n == 0


sys.exit(main())
