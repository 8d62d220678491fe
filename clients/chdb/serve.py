"""A current ClickHouse (chdb) behind the part of ClickHouse's HTTP interface that `looptax fleet send` uses.

usage: serve.py PORT FOLDER

It runs one statement at a time, and has no accounts. `cargo lab fleet-engines` starts it, only on 127.0.0.1.
"""

import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from chdb import session

LOCK = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        parameters = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        query = parameters.get("query", [""])[0]
        statement = f"{query}\n{body.decode()}" if query else body.decode()
        try:
            with LOCK:
                for database in parameters.get("database", []):
                    SESSION.query(f"USE {database}")
                # chdb gets the output format as an argument; FORMAT in the statement is the format of the rows in it.
                answer = SESSION.query(statement, "TabSeparated").bytes()
            self.answer(200, bytes(answer or b""), None)
        except Exception as error:
            code = re.search(r"Code: (\d+)", str(error))
            self.answer(500, str(error).encode(), code.group(1) if code else "1")

    def answer(self, status, body, code):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if code:
            self.send_header("X-ClickHouse-Exception-Code", code)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    SESSION = session.Session(sys.argv[2])
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print("ready", flush=True)
    server.serve_forever()
