// The URL is the state: path to page, query to what the page shows. Links are plain <a> elements.
import { computed, signal } from "@preact/signals";

export const place = signal({ path: location.pathname, query: new URLSearchParams(location.search) });

export interface Match { params: Record<string, string> }

// "/jobs/:kind/:ns/:name": a colon names a segment; a missing slash at the end is forgiven.
export function match_path(pattern: string, path: string): Match | null {
  const wanted = pattern.split("/").filter(Boolean), given = path.split("/").filter(Boolean);
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (let at = 0; at < wanted.length; at++) {
    if (wanted[at][0] === ":") params[wanted[at].slice(1)] = decodeURIComponent(given[at]);
    else if (wanted[at] !== given[at]) return null;
  }
  return { params };
}

// Links of the pipelines SDK and of upstream's page: "#/runs/details/ID", below / or /pipeline/.
const HASH = /^#(\/(?:pipelines?|runs|experiments|recurringruns?|artifacts|compare|archive)(?:\/[^?]*)?(?:\?.*)?)$/;

function read(): void {
  const old = HASH.exec(location.hash);
  if (old && /^\/(pipeline\/?)?$/.test(location.pathname)) history.replaceState(null, "", old[1]);
  place.value = { path: location.pathname, query: new URLSearchParams(location.search) };
}

export function go(url: string, replace = false): void {
  history[replace ? "replaceState" : "pushState"](null, "", url);
  read();
  if (!replace) document.getElementById("content")?.scrollTo(0, 0);
}

export const parameter = (name: string): string => place.value.query.get(name) ?? "";

// Changes parts of the query in place; empty values leave it.
export function set_parameters(changes: Record<string, string>): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) value ? query.set(name, value) : query.delete(name);
  const text = query.toString();
  go(place.value.path + (text ? `?${text}` : ""), true);
}

export const path = computed(() => place.value.path);

// Paths that lead out of the page even though they begin here: user content, and what other programs answer.
const OUTSIDE = /^\/(notebook|tensorboard|pvcviewers?|oauth2|dex|logout|authservice|hekla\/v1)\//;

export function follow_links(): void {
  read();
  addEventListener("popstate", read);
  addEventListener("hashchange", read);
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest?.("a");
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (link.target || link.origin !== location.origin || link.hasAttribute("download") || OUTSIDE.test(link.pathname)) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
