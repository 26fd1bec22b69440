// Times as people say them, with the full time as a tooltip; one clock for the whole page.
import { signal } from "@preact/signals";
import { language } from "../text/text";

export const now = signal(Date.now());
setInterval(() => { if (!document.hidden) now.value = Date.now(); }, 1000);

// "5s", "12m", "3h20m", "4d": as kubectl says it.
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 ? `${minutes}m${seconds % 60}s` : `${minutes}m`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`;
}

const full = (time: number): string => new Date(time).toLocaleString(language.value === "zh" ? "zh-CN" : "en-GB");

export function Age({ at }: { at?: string | null }) {
  if (!at) return <span class="faint">–</span>;
  const time = Date.parse(at);
  return <time dateTime={at} title={full(time)}>{span(now.value - time)}</time>;
}

export function Duration({ from, to }: { from?: string | null; to?: string | null }) {
  if (!from) return <span class="faint">–</span>;
  return <span>{span((to ? Date.parse(to) : now.value) - Date.parse(from))}</span>;
}
