// A terminal in a document of its own: xterm writes <style> elements, which only this document's policy allows. The
// address says whose: ?ns=&pod=&container=. Speaks v5.channel.k8s.io, as kubectl exec does.
import "@xterm/xterm/css/xterm.css";
import "./terminal.css";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";

const asked = new URLSearchParams(location.search);
const [STDIN, STDOUT, STDERR, STATUS, RESIZE] = [0, 1, 2, 3, 4];
const dark = { background: "#0c1118", foreground: "#d5dde8", cursor: "#7fb0ff", selectionBackground: "#2b4a78" };
const terminal = new Terminal({ fontFamily: "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace", fontSize: 13, theme: dark, scrollback: 5000, cursorBlink: true });
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(document.getElementById("terminal")!);
fit.fit();

function framed(channel: number, bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(bytes.length + 1);
  out[0] = channel;
  out.set(bytes, 1);
  return out;
}
const encoder = new TextEncoder();

function open(): void {
  const path = `/hekla/v1/k8s/api/v1/namespaces/${encodeURIComponent(asked.get("ns") ?? "")}/pods/${encodeURIComponent(asked.get("pod") ?? "")}/exec`;
  const query = new URLSearchParams({ container: asked.get("container") ?? "", stdin: "true", stdout: "true", stderr: "true", tty: "true" });
  for (const word of ["/bin/sh", "-c", "TERM=xterm-256color; export TERM; [ -x /bin/bash ] && exec /bin/bash -il || exec /bin/sh -i"]) query.append("command", word);
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}?${query}`, ["v5.channel.k8s.io", "v4.channel.k8s.io"]);
  socket.binaryType = "arraybuffer";
  const send = (channel: number, text: string) => { if (socket.readyState === WebSocket.OPEN) socket.send(framed(channel, encoder.encode(text))); };
  const size = () => send(RESIZE, JSON.stringify({ Width: terminal.cols, Height: terminal.rows }));
  socket.onopen = () => { size(); terminal.focus(); };
  socket.onmessage = (event) => {
    const bytes = new Uint8Array(event.data as ArrayBuffer);
    if (bytes[0] === STDOUT || bytes[0] === STDERR) terminal.write(bytes.subarray(1));
    else if (bytes[0] === STATUS) status(new TextDecoder().decode(bytes.subarray(1)));
  };
  let failed = "";
  const status = (text: string) => { try { const said = JSON.parse(text); if (said.status !== "Success") failed = said.message; } catch { failed = text; } };
  const input = terminal.onData((text) => send(STDIN, text));
  const resized = terminal.onResize(size);
  socket.onclose = () => {
    input.dispose();
    resized.dispose();
    terminal.write(`\r\n\x1b[90m${failed || "closed"} · Enter opens it again\x1b[0m\r\n`);
    const again = terminal.onData((text) => { if (text === "\r") { again.dispose(); terminal.reset(); open(); } });
  };
}
addEventListener("resize", () => fit.fit());
open();
