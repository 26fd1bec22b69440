"""A notebook's server as JupyterLab speaks to it, through the gateway: kernels and terminals over WebSocket."""
import json
import time
import uuid

from web_socket import WebSocket

PROTOCOL = "v1.kernel.websocket.jupyter.org"
PARTS = ("header", "parent_header", "metadata", "content")


def packed(channel, message):
    """As the protocol has it: how many offsets, the offsets, then the channel and the message's parts."""
    parts = [channel.encode()] + [json.dumps(message[part]).encode() for part in PARTS]
    offsets = [8 * (2 + len(parts))]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    return b"".join(number.to_bytes(8, "little") for number in [len(offsets), *offsets]) + b"".join(parts)


def unpacked(data):
    count = int.from_bytes(data[:8], "little")
    offsets = [int.from_bytes(data[8 * at:8 * at + 8], "little") for at in range(1, count + 1)]
    parts = [data[offsets[at]:offsets[at + 1]] for at in range(count - 1)]
    return parts[0].decode(), {name: json.loads(part) for name, part in zip(PARTS, parts[1:])}


class Jupyter:
    """What one browser does with one notebook's server."""
    def __init__(self, browser, content, prefix):
        self.browser, self.content, self.prefix = browser, content, prefix
        self.host = content.split("//")[1]

    def cookies(self):
        return self.browser.cookies.get(self.host, {})

    def ask(self, path, method="GET", body=None):
        headers = {"Accept": "application/json", "X-XSRFToken": self.cookies().get("_xsrf", ""),
                   "Content-Type": "application/json"}
        response, text = self.browser.ask(self.content + self.prefix + path, method=method,
                                          body=None if body is None else json.dumps(body), headers=headers)
        assert response.status < 300, (method, path, response.status, text)
        return json.loads(text or "null")

    def socket(self, path, origin=None, protocol=None):
        headers = {"Host": self.host, "Origin": origin or self.content,
                   "Cookie": "; ".join("%s=%s" % one for one in self.cookies().items())}
        if protocol:
            headers["Sec-WebSocket-Protocol"] = protocol
        return WebSocket(self.browser.port, self.prefix + path, headers)

    def open_kernel(self, kernel):
        return self.socket("/api/kernels/%s/channels?session_id=%s" % (kernel, uuid.uuid4().hex), protocol=PROTOCOL)

    def run(self, stream, code, patience=120):
        """What a cell prints. The kernel may be starting."""
        header = {"msg_id": uuid.uuid4().hex, "username": "u", "session": uuid.uuid4().hex,
                  "msg_type": "execute_request", "version": "5.4"}
        stream.send(packed("shell", {"header": header, "parent_header": {}, "metadata": {}, "content": {
            "code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False,
            "stop_on_error": True}}))
        printed, replied, idle, end = "", False, False, time.monotonic() + patience
        while not (replied and idle):
            assert time.monotonic() < end, "the cell did not end: " + printed
            _, message = unpacked(stream.receive())
            if message["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            kind, content = message["header"]["msg_type"], message["content"]
            if kind == "stream":
                printed += content["text"]
            elif kind == "error":
                raise AssertionError("\n".join(content["traceback"]))
            elif kind == "execute_reply":
                replied = True
            elif kind == "status" and content["execution_state"] == "idle":
                idle = True
        return printed

    def type(self, terminal, line, until, patience=60):
        """Types into a terminal and reads until it shows `until`; what it has shown."""
        terminal.send(json.dumps(["stdin", line + "\r"]))
        shown, end = "", time.monotonic() + patience
        while until not in shown:
            assert time.monotonic() < end, "the terminal did not show %r: %r" % (until, shown)
            kind, *rest = json.loads(terminal.receive())
            if kind == "stdout":
                shown += rest[0]
        return shown
