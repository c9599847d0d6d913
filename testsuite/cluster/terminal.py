# SPDX-License-Identifier: Apache-2.0
"""terminal.py - a person at a terminal, for tests: types, waits for words, resizes, looks.

    from terminal import Terminal
    t = Terminal(["bash"], rows=24, columns=80)
    t.expect(r"\\$ ")
    t.type("echo $((20 + 3))\\n")
    t.expect("23")
    print(t.end())       # the exit status, as a shell has it
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

PATIENCE = 60


class Terminal:
    def __init__(self, command, rows=24, columns=80, keep=None):
        """keep: a program that stays when the command ends, to look at the terminal."""
        self.seen = ""
        self.status = None
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(self.slave, fd)
            os.closerange(3, 64)
            try:
                os.execvp(command[0], command)
            except OSError as e:
                print(e)
            os._exit(127)

    def resize(self, rows, columns):
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def type(self, text):
        data = text.encode()
        while data:
            # what is echoed has to be read, or neither side goes on
            readable, writable, _ = select.select([self.master], [self.master], [], PATIENCE)
            if readable:
                self.read()
            if writable:
                data = data[os.write(self.master, data[:512]):]

    def read(self):
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)

    def expect(self, pattern, patience=PATIENCE):
        """Waits for the words, and forgets what came up to them."""
        end = time.monotonic() + patience
        while True:
            found = re.search(pattern, self.seen)
            if found:
                self.seen = self.seen[found.end():]
                return found.group(0)
            if time.monotonic() > end:
                print("nothing like", repr(pattern), "in", repr(self.seen[-2000:]))
                sys.exit(1)
            if select.select([self.master], [], [], 0.2)[0] and not self.read():
                end = 0

    def wait_until(self, condition, patience=PATIENCE):
        end = time.monotonic() + patience
        while not condition():
            if time.monotonic() > end:
                return False
            if select.select([self.master], [], [], 0.05)[0]:
                self.read()
        return True

    def is_as_before(self):
        return termios.tcgetattr(self.slave)[:4] == self.before[:4]

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def end(self):
        if not self.wait_until(self.has_ended):
            os.kill(self.pid, signal.SIGKILL)
            return "did not end"
        while select.select([self.master], [], [], 0)[0] and self.read():
            pass
        return self.status

    def kill(self, signal_number):
        os.kill(self.pid, signal_number)
