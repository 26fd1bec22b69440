// Pipelines, runs and experiments as the REST API (v2beta1) has them, asked again when the stream tells of a change.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Tone } from "../parts/states";
import { ApiError, call, with_query, type Call } from "./api";
import { subscribe } from "./stream";

export interface Task {
  componentRef?: { name: string }; dependentTasks?: string[]; taskInfo?: { name?: string };
  inputs?: { parameters?: Record<string, Record<string, unknown>>; artifacts?: Record<string, Record<string, unknown>> };
  triggerPolicy?: { condition?: string; strategy?: string }; parameterIterator?: unknown; artifactIterator?: unknown;
}
export interface Parameter { parameterType?: string; defaultValue?: unknown; isOptional?: boolean; description?: string }
export interface Component {
  dag?: { tasks: Record<string, Task> }; executorLabel?: string;
  inputDefinitions?: { parameters?: Record<string, Parameter>; artifacts?: Record<string, unknown> };
  outputDefinitions?: { parameters?: Record<string, Parameter>; artifacts?: Record<string, unknown> };
}
export interface Spec {
  root?: Component; components?: Record<string, Component>; pipelineInfo?: { name?: string; description?: string };
  deploymentSpec?: { executors?: Record<string, { container?: { image?: string; command?: string[]; args?: string[] }; importer?: unknown }> };
}
export interface Pipeline { pipeline_id: string; display_name?: string; name?: string; description?: string; created_at: string; namespace?: string }
export interface Version { pipeline_id: string; pipeline_version_id: string; display_name?: string; name?: string; description?: string; created_at: string; pipeline_spec: unknown }
export interface Experiment { experiment_id: string; display_name: string; description?: string; created_at: string; last_run_created_at?: string; storage_state?: string }
export interface Artifact { name?: string; type?: { schemaTitle?: string }; uri?: string; metadata?: Record<string, unknown> }
export interface StepData { parameters?: Record<string, unknown>; artifacts?: Record<string, Artifact[]> }
// A step of a run; `reason` is the engine's own word for its state: "cached", "omitted".
export interface Step {
  task_id: string; run_id: string; name: string; type: string; state: string; reason: string; parent_task_id?: string; iteration?: number; inputs?: StepData; outputs?: StepData;
  create_time?: string; start_time?: string; end_time?: string; error?: { message?: string }; cache_fingerprint?: string; pods?: string[];
}
export interface KeptArtifact { artifact_id: string; run_id: string; task_id: string; name: string; type: string; uri: string; metadata: Record<string, unknown>; created_at: string }
export interface Run {
  run_id: string; display_name: string; description?: string; experiment_id: string; state?: string; storage_state?: string; created_at: string; finished_at?: string;
  pipeline_version_reference?: { pipeline_id: string; pipeline_version_id?: string }; pipeline_spec?: unknown; runtime_config?: { parameters?: Record<string, unknown>; pipeline_root?: string };
  error?: { message?: string }; service_account?: string; recurring_run_id?: string; state_history?: Array<{ update_time: string; state: string }>;
}
export interface Trigger {
  cron_schedule?: { cron?: string; start_time?: string; end_time?: string };
  periodic_schedule?: { interval_second?: string | number; start_time?: string; end_time?: string };
}
export interface RecurringRun {
  recurring_run_id: string; display_name: string; description?: string; status?: string; created_at: string; experiment_id?: string; max_concurrency?: string | number; trigger?: Trigger; no_catchup?: boolean;
  pipeline_version_reference?: { pipeline_id: string; pipeline_version_id?: string }; pipeline_spec?: unknown; runtime_config?: { parameters?: Record<string, unknown>; pipeline_root?: string }; service_account?: string; error?: { message?: string };
}

const ROOT = "/apis/v2beta1";
export const pipelines_api = <T>(path: string, options: Call = {}): Promise<T> => call<T>(ROOT + path, options);

// Where the bytes of an artifact are served, where it lies in an object store.
export function artifact_url(uri: string | undefined, query: Record<string, string | number> = {}, what = "get"): string | undefined {
  const found = /^(minio|s3|gs):\/\/([^/]+)\/(.+?)\/?$/.exec(uri ?? "");
  return found ? with_query(`/artifacts/${what}`, { source: found[1] === "gs" ? "gcs" : found[1], bucket: found[2], key: found[3], ...query }) : undefined;
}
export const filter_of = (...predicates: Array<[key: string, value: string]>): string => encodeURIComponent(JSON.stringify({ predicates: predicates.map(([key, string_value]) => ({ key, operation: "EQUALS", string_value })) }));

// Upstream's zero time means never.
export const time_of = (text?: string): string | undefined => (text && !text.startsWith("1970-01-01") && !text.startsWith("0001-") ? text : undefined);
export const STATE_TONE: Record<string, Tone> = { PENDING: "wait", RUNNING: "run", PAUSED: "wait", CANCELING: "wait", SUCCEEDED: "done", SKIPPED: "none", FAILED: "fail", CANCELED: "none" };
const STATE_TEXT: Record<string, string> = { PENDING: "Pending", RUNNING: "Running", PAUSED: "Paused", CANCELING: "Stopping", SUCCEEDED: "Succeeded", SKIPPED: "Skipped", FAILED: "Failed", CANCELED: "Canceled" };
export const state_text = (state = "PENDING"): string => STATE_TEXT[state] ?? state;
// A step says more than its state: what the API calls SKIPPED has several reasons.
export const step_text = (step?: Step): string => (!step || step.reason === "waiting" ? "Waiting" : step.reason === "cached" ? "Cached" : step.reason === "omitted" ? "Not reached" : step.reason === "backoff" ? "Tries again" : state_text(step.state));
export const step_tone = (step?: Step): Tone => (!step || step.reason === "waiting" ? "none" : step.reason === "cached" ? "done" : STATE_TONE[step.state] ?? "none");
// The path of a step in its run: "root/for-loop-1/0/train".
export const step_path = (step: Step): string => step.task_id.slice(step.run_id.length + 1);
export const is_over = (state?: string): boolean => ["SUCCEEDED", "FAILED", "CANCELED", "SKIPPED"].includes(state ?? "");
export const spec_of = (given: unknown): Spec => ((given as { pipeline_spec?: Spec } | undefined)?.pipeline_spec ?? given ?? {}) as Spec;

export interface Asked<T> { value: T | null; problem: ApiError | null; again: () => void }

// Who wants to hear of what: "runs" and "experiments" are lists, "runs/ID" is one run.
interface Listener { about: string[]; ring: () => void }
const listeners = new Set<Listener>();
let end_topic: (() => void) | null = null;
const untold = signal(false);  // the topic is refused: ask from time to time instead

function listen(listener: Listener): () => void {
  listeners.add(listener);
  end_topic ??= subscribe({ topic: "runs" }, {
    snapshot: () => { untold.value = false; for (const one of listeners) one.ring(); },
    changes: (changes) => {
      const names = new Set(changes.map(([, item]) => (item as { uid: string }).uid));
      for (const one of listeners) if (one.about.some((name) => names.has(name))) one.ring();
    },
    refused: () => { untold.value = true; },
  });
  return () => {
    listeners.delete(listener);
    if (!listeners.size) { end_topic?.(); end_topic = null; }
  };
}

const LEAST_MS = 250, UNTOLD_MS = 5000;

// Asks at once, and again when what it is about has changed; nobody is asked twice at a time.
export function use_pipelines<T>(path: string, ...about: string[]): Asked<T> {
  const [value, set_value] = useState<T | null>(null), [problem, set_problem] = useState<ApiError | null>(null), [turn, set_turn] = useState(0);
  useEffect(() => { set_value(null); set_problem(null); }, [path]);
  useEffect(() => {
    if (!path) return;
    let gone = false, timer = 0, last = 0, busy = false, wanted = false;
    const look = async () => {
      timer = 0;
      busy = true;
      wanted = false;
      last = Date.now();
      try {
        const found = await pipelines_api<T>(path);
        if (!gone) { set_value(found ?? ({} as T)); set_problem(null); }
      } catch (error) { if (!gone) set_problem(error as ApiError); }
      busy = false;
      if (wanted && !gone) ring();
    };
    const ring = () => {
      if (busy) wanted = true;
      else if (!timer) timer = window.setTimeout(look, Math.max(0, last + LEAST_MS - Date.now()));
    };
    look();
    const end = about.length ? listen({ about, ring }) : undefined;
    const poll = about.length ? window.setInterval(() => { if (untold.value && !document.hidden) ring(); }, UNTOLD_MS) : 0;
    return () => { gone = true; clearTimeout(timer); clearInterval(poll); end?.(); };
  }, [path, turn, about.join()]);
  return { value, problem, again: () => set_turn(turn + 1) };
}
