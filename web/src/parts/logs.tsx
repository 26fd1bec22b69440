// Logs as they are written, of one container or of many pods side by side.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CoreV1Pod } from "../../generated/kinds";
import { kubernetes_url, send, with_query } from "../data/api";
import { stage_of } from "../data/jobs";
import { path_of, resources } from "../data/resource";
import { t } from "../text/text";
import { Icon } from "./icon";
import { State, type Tone } from "./states";

const MAX_LINES = 5000, TAIL = 1000;

// Colours and cursor movements of terminals are left out; what a carriage return overwrites, too.
const plain = (line: string): string => line.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "").replace(/^.*\r(?!$)/, "").replace(/\r$/, "");

function log_url(pod: CoreV1Pod, container: string, query: Record<string, string | number | boolean>): string {
  return with_query(kubernetes_url(path_of(resources.pods, pod.metadata!.namespace, pod.metadata!.name!, "log")), { container, ...query });
}

async function follow(url: string, signal: AbortSignal, take: (lines: string[]) => void): Promise<void> {
  const answer = await send(url, { signal, accept: "*/*" });
  const reader = answer.body!.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const text = rest + (value ? decoder.decode(value, { stream: true }) : "");
    const lines = text.split("\n");
    rest = lines.pop()!;
    if (lines.length) take(lines);
    if (done) { if (rest) take([rest]); return; }
  }
}

export function containers_of(pod: CoreV1Pod): string[] {
  return [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])].map((one) => one.name);
}
// The API server answers logs of containers that have begun; before that there is nothing to ask for.
const begun = (pod: CoreV1Pod, container: string): boolean =>
  [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])].some((one) => one.name === container && (one.state?.running || one.state?.terminated || one.lastState?.terminated));

function use_log(pod: CoreV1Pod, container: string, previous: boolean) {
  const lines = useRef<string[]>([]);
  const [, shown] = useState(0);
  const [problem, set_problem] = useState("");
  const ready = begun(pod, container), uid = pod.metadata?.uid;
  useEffect(() => {
    if (!ready) return;
    const abort = new AbortController();
    let scheduled = false;
    lines.current = [];
    set_problem("");
    const take = (more: string[]) => {
      lines.current.push(...more.map(plain));
      if (lines.current.length > MAX_LINES) lines.current.splice(0, lines.current.length - MAX_LINES);
      if (!scheduled) { scheduled = true; requestAnimationFrame(() => { scheduled = false; shown((n) => n + 1); }); }
    };
    follow(log_url(pod, container, { follow: !previous, tailLines: TAIL, previous }), abort.signal, take)
      .catch((error) => { if (error.name !== "AbortError") set_problem(error.message); });
    return () => abort.abort();
  }, [uid, container, previous, ready]);
  return { lines: lines.current, problem, ready };
}

function Lines({ lines, find, at_end }: { lines: string[]; find: string; at_end: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const stick = useRef(true);
  useEffect(() => { if (at_end && stick.current && box.current) box.current.scrollTop = box.current.scrollHeight; });
  const shown = find ? lines.filter((line) => line.toLowerCase().includes(find.toLowerCase())) : lines;
  return (
    <div class="lines" ref={box} tabIndex={0} role="log" onScroll={(event) => { const el = event.currentTarget; stick.current = el.scrollTop + el.clientHeight > el.scrollHeight - 30; }}>
      {shown.join("\n")}
    </div>
  );
}

function LogBox({ pod, container, find, name, previous }: { pod: CoreV1Pod; container: string; find: string; name: string; previous: boolean }) {
  const log = use_log(pod, container, previous);
  return (
    <div class="log">
      <div class="log-head">
        <State tone={stage_of(pod)} text={pod.status?.phase ?? "Pending"} /><span class="grow cut" title={name}>{name}</span>
        <a class="button plain small icon" style={{ color: "inherit" }} href={log_url(pod, container, {})} download={`${pod.metadata!.name}-${container}.log`} target="_blank" aria-label={t("Download")}><Icon name="down" size={13} /></a>
      </div>
      {log.problem ? <div class="lines old">{log.problem}</div>
        : !log.ready ? <div class="lines"><span class="old">{t("Nothing yet: the container has not begun.")}</span></div>
        : <Lines lines={log.lines} find={find} at_end />}
    </div>
  );
}

// A log that is no pod's any more, or that the visitor reads by another right than the pod's: by its address.
export function LogOf({ url, name, tone, state, file, find = "" }: { url: string; name: string; tone: Tone; state: string; file: string; find?: string }) {
  const lines = useRef<string[]>([]), [, shown] = useState(0), [problem, set_problem] = useState(""), [done, set_done] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    let scheduled = false;
    lines.current = [];
    set_done(false);
    set_problem("");
    follow(url, abort.signal, (more) => {
      lines.current.push(...more.map(plain));
      if (lines.current.length > MAX_LINES) lines.current.splice(0, lines.current.length - MAX_LINES);
      if (!scheduled) { scheduled = true; requestAnimationFrame(() => { scheduled = false; shown((n) => n + 1); }); }
    }).then(() => set_done(true), (error) => { if (error.name !== "AbortError") set_problem(error.message); });
    return () => abort.abort();
  }, [url]);
  return (
    <div class="log">
      <div class="log-head"><State tone={tone} text={state} /><span class="grow cut" title={name}>{name}</span>
        <a class="button plain small icon" style={{ color: "inherit" }} href={url.replace("&follow=true", "")} download={file} target="_blank" aria-label={t("Download")}><Icon name="down" size={13} /></a></div>
      {problem ? <div class="lines old">{problem}</div> : done && !lines.current.length ? <div class="lines"><span class="old">{t("It wrote nothing.")}</span></div> : <Lines lines={lines.current} find={find} at_end />}
    </div>
  );
}

const SIDE_BY_SIDE = 12;

// Every pod's first container, or the chosen one's: in columns, so that replicas can be compared.
export function Logs({ pods }: { pods: CoreV1Pod[] }) {
  const [find, set_find] = useState("");
  const [container, set_container] = useState("");
  const [previous, set_previous] = useState(false);
  const [chosen, set_chosen] = useState<string[] | null>(null);
  const names = useMemo(() => [...new Set(pods.flatMap(containers_of))], [pods.map((pod) => pod.metadata!.uid).join()]);
  const shown = pods.filter((pod, at) => chosen ? chosen.includes(pod.metadata!.uid!) : at < SIDE_BY_SIDE);
  const columns = shown.length <= 1 ? 1 : shown.length <= 4 ? 2 : 3;
  const toggle = (uid: string) => {
    const now = chosen ?? shown.map((pod) => pod.metadata!.uid!);
    set_chosen(now.includes(uid) ? now.filter((one) => one !== uid) : [...now, uid].slice(-SIDE_BY_SIDE));
  };
  if (!pods.length) return <div class="note">{t("No pods, no logs.")}</div>;
  return (
    <>
      <div class="tools">
        <input class="input search" type="search" data-filter placeholder={t("Only lines with…")} aria-label={t("Only lines with…")} value={find} onInput={(event) => set_find(event.currentTarget.value)} />
        {names.length > 1 && (
          <select class="input" style={{ width: "auto" }} aria-label={t("Container")} value={container} onChange={(event) => set_container(event.currentTarget.value)}>
            <option value="">{t("First container")}</option>{names.map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
        )}
        <label class="check"><input type="checkbox" checked={previous} onChange={(event) => set_previous(event.currentTarget.checked)} />{t("Before the last restart")}</label>
        <span class="grow" />
        {pods.length > 1 && <span class="row wrap" style={{ gap: "4px" }}>{pods.slice(0, 60).map((pod) => (
          <button key={pod.metadata!.uid} class={`chip ${shown.includes(pod) ? "accent" : ""}`} style={{ border: 0, cursor: "pointer" }} aria-pressed={shown.includes(pod)} onClick={() => toggle(pod.metadata!.uid!)}>{short_pod(pod, pods)}</button>
        ))}</span>}
      </div>
      <div class="logs" style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}>
        {shown.map((pod) => {
          const own = containers_of(pod);
          const of = container && own.includes(container) ? container : own[0];
          return <LogBox key={`${pod.metadata!.uid}/${of}`} pod={pod} container={of} find={find} previous={previous} name={own.length > 1 ? `${pod.metadata!.name} · ${of}` : pod.metadata!.name!} />;
        })}
      </div>
    </>
  );
}

// A pod's name without what all of them begin with.
function short_pod(pod: CoreV1Pod, pods: CoreV1Pod[]): string {
  const names = pods.map((one) => one.metadata!.name!);
  let at = 0;
  while (at < names[0].length && names.every((name) => name[at] === names[0][at])) at++;
  return pod.metadata!.name!.slice(names[0].lastIndexOf("-", at - 1) + 1) || pod.metadata!.name!;
}
