// Who is here, which namespaces are theirs, which one is chosen.
import { computed, signal } from "@preact/signals";
import { call } from "./api";

export interface Membership { namespace: string; role: "owner" | "contributor" | "viewer" | "admin" }
export interface Session {
  user: string;
  clusterAdmin: boolean;
  namespaces: Membership[];
  version: string;
  logoutUrl: string;
  sharesOrigin: boolean;     // with notebooks and TensorBoards: opened by an address that has no second one
  localVolumes?: boolean;    // their files can be seen here
  warnings: string[];        // to be shown until they are mended
  resources: string[];       // "kubeflow.org/v1/notebooks": what the API serves
}

export const session = signal<Session | null>(null);
export const namespace = signal("");  // "" is all of them
export const is_served = (name: string): boolean => session.value?.resources.includes(name) ?? true;

const remembered = () => `/centraldashboard/selectedNamespace/.${session.value?.user ?? ""}`;  // upstream's key

export async function load_session(): Promise<void> {
  // The front door answers nobody who came with a token: that is no reason to go to the login.
  const [found, door] = await Promise.all([call<Session>("/hekla/v1/session"), fetch("/hekla/session").then((answer) => (answer.ok ? answer.json() : null), () => null)]);
  if (door?.defaultPassword && (found.clusterAdmin || found.user === "user@example.com")) found.warnings = [...found.warnings, "The first account still has the password that everybody knows. Change it: hekla user passwd user@example.com"];
  if (found.sharesOrigin) found.warnings = [...found.warnings, "By this address notebooks and TensorBoards open only in namespaces where you alone work: they share the page's origin. Opened as http://localhost (kubectl port-forward, ssh -L) they have their own."];
  session.value = found;
  const names = found.namespaces.map((one) => one.namespace);
  const asked = new URLSearchParams(location.search).get("ns");
  const last = localStorage.getItem(remembered());
  const owned = found.namespaces.find((one) => one.role === "owner")?.namespace;
  if (asked && names.includes(asked)) namespace.value = asked;
  else if (last !== null && (last === "" || names.includes(last))) namespace.value = last;
  else namespace.value = owned ?? (found.clusterAdmin ? "" : names[0] ?? "");
}

export function choose_namespace(to: string): void {
  localStorage.setItem(remembered(), to);
  namespace.value = to;
}

// For forms, which need one: the chosen namespace, else the visitor's own, else the first.
export const home_namespace = computed(() => {
  if (namespace.value) return namespace.value;
  const mine = session.value?.namespaces ?? [];
  return (mine.find((one) => one.role === "owner") ?? mine.find((one) => one.namespace === "default") ?? mine[0])?.namespace ?? "default";
});
