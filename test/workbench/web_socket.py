"""A WebSocket as a script opens one: the handshake with whatever header fields, then messages."""
import base64
import hashlib
import os
import socket
import struct

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Refused(Exception):
    """The handshake was answered by something else than 101."""


class WebSocket:
    def __init__(self, port, path, headers, timeout=60):
        self.stream = socket.create_connection(("127.0.0.1", port), timeout)
        self.reader = self.stream.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        sent = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": key, **headers}
        self.stream.sendall(("GET %s HTTP/1.1\r\n%s\r\n" % (
            path, "".join("%s: %s\r\n" % one for one in sent.items()))).encode())
        status = self.reader.readline().decode()
        self.headers = {}
        while line := self.reader.readline().decode().strip():
            name, value = line.split(":", 1)
            self.headers[name.lower()] = value.strip()
        if " 101 " not in status:
            self.close()
            raise Refused(status.strip())
        wanted = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest()).decode()
        assert self.headers["sec-websocket-accept"] == wanted, self.headers

    def send(self, payload, kind=None):
        kind = kind or (TEXT if isinstance(payload, str) else BINARY)
        data = payload.encode() if isinstance(payload, str) else payload
        size = len(data)
        head = bytes([0x80 | kind])
        head += bytes([0x80 | size]) if size < 126 else (
            b"\xfe" + struct.pack(">H", size) if size < 65536 else b"\xff" + struct.pack(">Q", size))
        mask = os.urandom(4)
        self.stream.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def read_exactly(self, size):
        data = self.reader.read(size)
        if len(data) < size:
            raise EOFError("the server has gone")
        return data

    def receive(self):
        """The next message: text or bytes. Pings are answered."""
        whole, kind = b"", None
        while True:
            first, second = self.read_exactly(2)
            size = second & 0x7f
            if size == 126:
                size, = struct.unpack(">H", self.read_exactly(2))
            elif size == 127:
                size, = struct.unpack(">Q", self.read_exactly(8))
            data = self.read_exactly(size)
            opcode = first & 0x0f
            if opcode == PING:
                self.send(data, PONG)
            elif opcode == CLOSE:
                raise EOFError("the server has closed: %r" % data)
            elif opcode in (0, TEXT, BINARY):
                whole, kind = whole + data, opcode or kind
                if first & 0x80:
                    return whole.decode() if kind == TEXT else whole

    def close(self):
        self.reader.close()
        self.stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
