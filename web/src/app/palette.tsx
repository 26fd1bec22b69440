// Go anywhere by typing: pages, namespaces, and whatever objects the page has already seen.
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { pages } from "../../generated/pages";
import { choose_namespace, session } from "../data/session";
import { Icon } from "../parts/icon";
import { t, title_of } from "../text/text";
import type { Page } from "./page";
import { go } from "./router";

const open = signal(false);
let before: HTMLElement | null = null;
export function open_palette(): void {
  before = document.activeElement as HTMLElement;
  open.value = true;
}
interface Target { text: string; hint: string; icon: string; act: () => void }

function targets(): Target[] {
  const out: Target[] = (pages as Page[]).filter((page) => page.menu).map((page) => ({
    text: title_of(page.title), hint: t("Page"), icon: page.menu!.icon,
    act: () => go(typeof page.path === "string" ? page.path : page.path[0]),
  }));
  out.push({ text: t("New notebook"), hint: t("Action"), icon: "plus", act: () => go("/jupyter/new") });
  out.push({ text: t("Submit a job"), hint: t("Action"), icon: "submit", act: () => go("/submit") });
  for (const one of session.value?.namespaces ?? [])
    out.push({ text: one.namespace, hint: t("Namespace"), icon: "namespace", act: () => choose_namespace(one.namespace) });
  return out;
}

export function Palette() {
  return open.value ? <Box /> : null;
}

function Box() {
  const [typed, set_typed] = useState("");
  const [at, set_at] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => { input.current?.focus(); return () => before?.focus?.(); }, []);
  const all = useMemo(targets, []);
  const shown = all.filter((one) => one.text.toLowerCase().includes(typed.toLowerCase())).slice(0, 40);
  const close = () => { open.value = false; };
  const act = (target?: Target) => { if (target) { before = null; close(); target.act(); } };
  const on_key = (event: KeyboardEvent) => {
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown") set_at(Math.min(at + 1, shown.length - 1));
    else if (event.key === "ArrowUp") set_at(Math.max(at - 1, 0));
    else if (event.key === "Enter") act(shown[at]);
    else return;
    event.preventDefault();
  };
  return (
    <div class="cover" onMouseDown={(event) => { if (event.target === event.currentTarget) close(); }}>
      <div class="dialog palette" role="dialog" aria-modal="true" aria-label={t("Go to…")} onKeyDown={on_key}>
        <input class="input" ref={input} value={typed} placeholder={t("Page, namespace or action")} aria-label={t("Page, namespace or action")}
          onInput={(event) => { set_typed(event.currentTarget.value); set_at(0); }} />
        <div class="list popover" style={{ position: "static", boxShadow: "none", border: 0 }}>
          {shown.map((one, index) => (
            <button key={one.hint + one.text} class={`option${index === at ? " at" : ""}`} onClick={() => act(one)} onMouseMove={() => set_at(index)}>
              <Icon name={one.icon} /><span class="grow cut">{one.text}</span><span class="faint">{one.hint}</span>
            </button>
          ))}
          {!shown.length && <div class="muted" style={{ padding: "10px" }}>{t("Nothing of that name")}</div>}
        </div>
      </div>
    </div>
  );
}
