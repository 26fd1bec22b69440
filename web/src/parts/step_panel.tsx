// A step of a run: what went in and came out, when and where it ran, its log, live or kept, and its events.
import { useEffect, useState } from "preact/hooks";
import { call, with_query } from "../data/api";
import { is_over, step_path, step_text, step_tone, time_of, type Spec, type Step, type StepData } from "../data/pipelines";
import { t } from "../text/text";
import { ArtifactRow, is_pictured } from "./artifact";
import { LogOf } from "./logs";
import { State } from "./states";
import { StepFacts } from "./step_facts";
import { Age, Duration } from "./time";

export const log_url = (step: Step, pod: string, follow: boolean): string => with_query("/k8s/pod/logs", { runid: step.run_id, podname: pod, follow: follow || undefined });

function Value({ value }: { value: unknown }) {
  const text = typeof value === "string" ? value : JSON.stringify(value), [all, set_all] = useState(false);
  return <>{all || text.length <= 300 ? text : `${text.slice(0, 300)}…`}{text.length > 300 && <button class="button plain small" onClick={() => set_all(!all)}>{all ? t("Less") : t("All")}</button>}</>;
}

export function DataOf({ title, data, open }: { title: string; data?: StepData; open?: boolean }) {
  const parameters = Object.entries(data?.parameters ?? {}), artifacts = Object.entries(data?.artifacts ?? {}).flatMap(([name, list]) => list.map((one, at) => ({ name: list.length > 1 ? `${name} ${at + 1}` : name, one })));
  return (
    <section class="part"><h3>{t(title)}</h3>
      {parameters.length > 0 && <dl class="facts">{parameters.map(([name, value]) => [<dt key={name} class="mono">{name}</dt>, <dd key={`${name}=`} class="mono"><Value value={value} /></dd>])}</dl>}
      {artifacts.map(({ name, one }) => <ArtifactRow key={`${name}${one.uri}`} name={name} artifact={one} open={open && is_pictured(one)} />)}
      {!parameters.length && !artifacts.length && <p class="muted">{t("None.")}</p>}
    </section>
  );
}

interface Event { metadata: { uid: string }; type?: string; reason?: string; message?: string; count?: number; lastTimestamp?: string; eventTime?: string; firstTimestamp?: string }
function PodEvents({ step, pod }: { step: Step; pod: string }) {
  const [events, set_events] = useState<Event[] | null>(null);
  useEffect(() => {
    let gone = false, timer = 0;
    const look = () => call<{ items: Event[] }>("/k8s/pod/events", { query: { runid: step.run_id, podname: pod } }).then((found) => found.items, () => []).then((items) => { if (!gone) { set_events(items); if (!is_over(step.state)) timer = window.setTimeout(look, 3000); } });
    look();
    return () => { gone = true; clearTimeout(timer); };
  }, [pod, step.state]);
  if (!events) return null;
  if (!events.length) return <p class="muted">{t("No events (any more).")}</p>;
  const at = (event: Event) => event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp ?? "";
  return <table class="conditions"><tbody>{[...events].sort((a, b) => (at(a) < at(b) ? 1 : -1)).map((event) => <tr key={event.metadata.uid}><td class="nowrap"><Age at={at(event)} /></td><td class={event.type === "Warning" ? "warning" : ""}><b>{event.reason}</b>{(event.count ?? 1) > 1 && <span class="faint"> ×{event.count}</span>}<div>{event.message}</div></td></tr>)}</tbody></table>;
}

function Times({ step, pod, choose_pod }: { step: Step; pod?: string; choose_pod: (pod: string) => void }) {
  return (
    <dl class="facts">
      <dt>{t("State")}</dt><dd><State tone={step_tone(step)} text={step_text(step)} /></dd>
      <dt>{t("Created")}</dt><dd>{step.create_time ? <Age at={step.create_time} /> : "–"}</dd>
      {step.start_time && <><dt>{t("Started")}</dt><dd><Age at={step.start_time} /></dd></>}
      {step.start_time && <><dt>{t("Duration")}</dt><dd><Duration from={step.start_time} to={time_of(step.end_time)} /></dd></>}
      {pod && <><dt>{t("Pod")}</dt><dd class="mono">{(step.pods?.length ?? 0) > 1 ? <select class="input" aria-label={t("Attempt")} value={pod} onChange={(event) => choose_pod(event.currentTarget.value)}>{step.pods!.map((one, at) => <option key={one} value={one}>{t("Attempt {n}", { n: at + 1 })} · {one}</option>)}</select> : pod}</dd></>}
      <dt>{t("Path")}</dt><dd class="mono">{step_path(step)}</dd>
      {step.cache_fingerprint && <><dt>{t("Cache key")}</dt><dd class="mono wrap-anywhere">{step.cache_fingerprint.slice(0, 16)}…</dd></>}
    </dl>
  );
}

export function StepPanel({ step, spec, at, name }: { step: Step; spec: Spec; at: string[]; name: string }) {
  const [tab, set_tab] = useState("data"), [attempt, set_attempt] = useState("");
  const pod = step.pods?.includes(attempt) ? attempt : step.pods?.at(-1);
  const tabs = [["data", "Inputs and outputs"], ["details", "Details"], ...(pod ? [["log", "Log"], ["events", "Events"]] : [])];
  const current = tabs.some(([key]) => key === tab) ? tab : "data";
  return (
    <section class="card panel">
      <div class="head"><h2 class="grow cut">{step.iteration !== undefined ? `${name} #${step.iteration}` : name}</h2><State tone={step_tone(step)} text={step_text(step)} />{step.start_time && <span class="muted"><Duration from={step.start_time} to={time_of(step.end_time)} /></span>}</div>
      <div class="tabs inner" role="tablist">{tabs.map(([key, title]) => <button key={key} role="tab" aria-selected={key === current} onClick={() => set_tab(key)}>{t(title)}</button>)}</div>
      <div class="body col" role="tabpanel">
        {step.error?.message && <div class="note fail">{step.error.message}</div>}
        {current === "data" && <><DataOf title="Inputs" data={step.inputs} /><DataOf title="Outputs" data={step.outputs} open />
          {step.reason === "cached" && <p class="muted">{t("It did not run: the cache had its outputs.")}</p>}{step.reason === "skipped" && <p class="muted">{t("It did not run: its condition was false.")}</p>}{step.reason === "omitted" && <p class="muted">{t("It was never begun, because of what happened before it.")}</p>}</>}
        {current === "details" && <><Times step={step} pod={pod} choose_pod={set_attempt} /><StepFacts spec={spec} at={at} name={name} bare /></>}
        {current === "log" && pod && <LogOf key={`${pod}${is_over(step.state)}`} url={log_url(step, pod, !is_over(step.state))} name={pod} tone={step_tone(step)} state={step_text(step)} file={`${pod}.log`} />}
        {current === "events" && pod && <PodEvents step={step} pod={pod} />}
      </div>
    </section>
  );
}
