# SPDX-License-Identifier: Apache-2.0
"""A proxy in front of the server that authenticates every request as the test
user, because kubectl sends no token without TLS."""
import http.client
import http.server
import threading

from replay.server import TOKEN

HOP = {"connection", "transfer-encoding", "content-length", "host",
       "authorization", "keep-alive"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind)
        try:
            behind.putrequest(self.command, self.path, skip_host=True,
                              skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in HOP:
                    behind.putheader(name, value)
            behind.putheader("Host", "127.0.0.1")
            behind.putheader("Authorization", TOKEN)
            behind.putheader("Content-Length", str(len(body)))
            behind.endheaders(body)
            self.answer(behind.getresponse())
        except OSError:
            self.close_connection = True
        finally:
            behind.close()

    def answer(self, answer):
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP | {"date", "server"}:
                self.send_header(name, value)
        if answer.length is not None:
            self.send_header("Content-Length", str(answer.length))
            self.end_headers()
            self.wfile.write(answer.read())
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            piece = answer.read1(65536)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if not piece:
                return

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

    def log_message(self, *_):
        pass


class Gate(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, behind):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind = behind
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Does not report clients that have disconnected."""

    def close(self):
        self.shutdown()
        self.server_close()
