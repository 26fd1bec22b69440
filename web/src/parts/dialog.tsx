// Questions that must be answered before something is lost. An error keeps the dialog open and is shown in it.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../text/text";

interface Question { title: string; text: string; accept: string; doing: string; act: () => Promise<unknown>; danger?: boolean }
const question = signal<Question | null>(null);
export const ask = (asked: Question): void => { question.value = asked; };

export function Dialogs() {
  return question.value ? <Box key={question.value.title} asked={question.value} /> : null;
}

function Box({ asked }: { asked: Question }) {
  const [busy, set_busy] = useState(false);
  const [error, set_error] = useState("");
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement;
    box.current?.querySelector<HTMLButtonElement>("button")?.focus();
    return () => before?.focus?.();
  }, []);
  const close = () => { question.value = null; };
  const accept = async () => {
    set_busy(true);
    set_error("");
    try { await asked.act(); close(); } catch (problem) { set_error((problem as Error).message); set_busy(false); }
  };
  return (
    <div class="cover" onMouseDown={(event) => { if (event.target === event.currentTarget && !busy) close(); }}>
      <div class="dialog" ref={box} role="alertdialog" aria-modal="true" aria-labelledby="question" onKeyDown={(event) => { if (event.key === "Escape" && !busy) close(); }}>
        <div class="head" id="question">{asked.title}</div>
        <div class="body"><p class="muted">{asked.text}</p>{error && <div class="note fail" role="alert">{error}</div>}</div>
        <div class="feet">
          <button class="button" onClick={close} disabled={busy}>{t("Cancel")}</button>
          <button class={`button ${asked.danger ? "danger" : "primary"}`} onClick={accept} disabled={busy}>{busy && <span class="spinner" />}{busy ? asked.doing : asked.accept}</button>
        </div>
      </div>
    </div>
  );
}
