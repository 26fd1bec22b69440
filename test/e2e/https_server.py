"""A small HTTPS server on loopback that answers in JSON: what stands behind Hekla in some tests."""
import http.server
import json
import os
import ssl
import threading


class JsonHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Serves from the start until shutdown(), with tls.crt and tls.key of a directory. With the text of a client CA, only
    those who have a certificate of it."""
    daemon_threads = True

    def __init__(self, handler, directory, client_ca=None):
        super().__init__(("127.0.0.1", 0), handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(directory, "tls.crt"), os.path.join(directory, "tls.key"))
        if client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=client_ca)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Clients that have given up are part of the tests."""
