// What a thing is doing, in one colour each: waiting, placed, running, done, failed; and the page's own states.
import type { ComponentChildren } from "preact";
import type { Refusal } from "../data/stream";
import { t } from "../text/text";

export type Tone = "wait" | "place" | "run" | "done" | "fail" | "none";

export function State({ tone, text, title }: { tone: Tone; text: string; title?: string }) {
  return <span class={`state ${tone}`} title={title}><i />{t(text)}</span>;
}

export function Waiting({ text }: { text?: string }) {
  return <div class="row muted" role="status" style={{ padding: "20px" }}><span class="spinner" />{text ?? t("Loading…")}</div>;
}

// `line` is the last that a build has said.
export function BuildNote({ line }: { line: string }) {
  return <div class="note" role="status"><div class="row"><span class="spinner" />{t("The environment is being built: once on this machine, later starts take seconds.")}</div><div class="mono muted" style={{ marginTop: "6px" }}>{line}</div></div>;
}

export function Refused({ refusal }: { refusal: Refusal }) {
  const missing = refusal.code === 404;
  return (
    <div class={`note ${missing ? "" : "fail"}`} role="alert">
      {missing ? t("This kind is not installed on this cluster.") : refusal.message || t("The server refused.")}
      {refusal.code === 403 && <div style={{ marginTop: "4px" }}>{t("You may not see this. Choose a namespace of your own, or ask its owner.")}</div>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return <div class="note" style={{ textAlign: "center", padding: "32px 20px" }}><h2 style={{ color: "var(--text)" }}>{title}</h2>{children && <div style={{ marginTop: "6px" }}>{children}</div>}</div>;
}

export function Chip({ children, tone = "", title }: { children: ComponentChildren; tone?: string; title?: string }) {
  return <span class={`chip ${tone}`} title={title}><span class="cut">{children}</span></span>;
}
