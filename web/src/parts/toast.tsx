// Short messages at the corner; errors stay until they are closed.
import { signal } from "@preact/signals";
import { t } from "../text/text";
import { Icon } from "./icon";

interface Toast { id: number; kind: "info" | "run" | "fail"; text: string }
const toasts = signal<Toast[]>([]);
let next = 1;

export function toast(text: string, kind: Toast["kind"] = "info"): void {
  const id = next++;
  toasts.value = [...toasts.value.slice(-4), { id, kind, text }];
  if (kind !== "fail") setTimeout(() => close(id), 5000);
}
export const toast_error = (error: unknown): void => toast((error as Error).message ?? String(error), "fail");
const close = (id: number) => { toasts.value = toasts.value.filter((one) => one.id !== id); };

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((one) => (
        <div key={one.id} class={`toast ${one.kind}`}>
          <span class="grow">{one.text}</span>
          <button class="button plain small icon" aria-label={t("Close")} onClick={() => close(one.id)}><Icon name="close" size={12} /></button>
        </div>
      ))}
    </div>
  );
}
