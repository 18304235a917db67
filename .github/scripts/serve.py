"""Serves a folder on loopback, at a port that the system chooses and that is printed."""
import http.server
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args):
        super().__init__(*args, directory=sys.argv[1])

    def log_message(self, *_):
        """Prints nothing."""


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
    print(server.server_port)
    server.serve_forever()
