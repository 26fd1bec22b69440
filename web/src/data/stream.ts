// The one WebSocket of the tab. Whoever wants data subscribes to a resource or a topic: a snapshot comes first, then
// changes; after a lost connection everything is resumed by cursor, so a list never flickers.
import { signal } from "@preact/signals";

export interface Source {
  resource?: string; namespace?: string; labelSelector?: string; fieldSelector?: string;
  topic?: string; parameters?: Record<string, string>;
}
export interface Refusal { code: number; reason: string; message: string }
export type Change = ["A" | "M" | "D", unknown];
export interface Reader {
  snapshot(items: unknown[], first: boolean, last: boolean): void;
  changes(changes: Change[]): void;
  refused(refusal: Refusal): void;
}
interface Subscription { source: Source; reader: Reader; cursor: string; begun: boolean }

export const connected = signal<"connecting" | "open" | "lost">("connecting");

const subscriptions = new Map<number, Subscription>();
let socket: WebSocket | null = null;
let next_id = 1;
let attempts = 0;

export function subscribe(source: Source, reader: Reader): () => void {
  const id = next_id++;
  const subscription = { source, reader, cursor: "", begun: false };
  subscriptions.set(id, subscription);
  if (!socket) connect();
  else if (socket.readyState === WebSocket.OPEN) ask(id, subscription);
  return () => {
    subscriptions.delete(id);
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ op: "unsubscribe", id }));
  };
}

function ask(id: number, { source, cursor }: Subscription): void {
  socket!.send(JSON.stringify({ op: "subscribe", id, ...source, ...(cursor ? { cursor } : {}) }));
}

function connect(): void {
  const opened = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/hekla/v1/stream`);
  socket = opened;
  opened.onopen = () => {
    attempts = 0;
    connected.value = "open";
    for (const [id, subscription] of subscriptions) ask(id, subscription);
  };
  opened.onmessage = (event) => receive(JSON.parse(event.data));
  opened.onclose = () => {
    if (socket !== opened) return;
    socket = null;
    connected.value = "lost";
    const wait = Math.min(8000, 250 * 2 ** attempts++) * (0.75 + Math.random() / 2);
    setTimeout(() => { if (!socket) connect(); }, wait);
  };
}
// Back at the screen, nobody wants to wait for the next attempt.
addEventListener("online", () => { if (!socket) connect(); });
document.addEventListener("visibilitychange", () => { if (!document.hidden && !socket) connect(); });

interface Message {
  id: number; type: "snapshot" | "changes" | "refused" | "expired"; cursor?: string;
  items?: unknown[]; more?: boolean; changes?: Change[]; code?: number; reason?: string; message?: string;
}

function receive(message: Message): void {
  const subscription = subscriptions.get(message.id);
  if (!subscription) return;
  switch (message.type) {
    case "snapshot":
      subscription.reader.snapshot(message.items ?? [], !subscription.begun, !message.more);
      subscription.begun = !!message.more;
      break;
    case "changes":
      subscription.reader.changes(message.changes ?? []);
      break;
    case "refused":
      subscription.cursor = "";
      subscription.reader.refused({ code: message.code ?? 500, reason: message.reason ?? "", message: message.message ?? "" });
      return;
    case "expired":
      subscription.begun = false;
      break;
  }
  if (message.cursor) subscription.cursor = message.cursor;
}
