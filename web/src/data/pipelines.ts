// Pipelines, runs and experiments as the REST API (v2beta1) has them, asked again while something may change.
import { useEffect, useState } from "preact/hooks";
import type { Tone } from "../parts/states";
import { ApiError, call, type Call } from "./api";

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
export interface TaskDetail { task_id: string; display_name: string; state?: string; create_time?: string; start_time?: string; end_time?: string; error?: { message?: string }; parent_task_id?: string }
export interface Run {
  run_id: string; display_name: string; description?: string; experiment_id: string; state?: string; storage_state?: string; created_at: string; finished_at?: string;
  pipeline_version_reference?: { pipeline_id: string; pipeline_version_id?: string }; pipeline_spec?: unknown; runtime_config?: { parameters?: Record<string, unknown>; pipeline_root?: string };
  error?: { message?: string }; service_account?: string; recurring_run_id?: string; state_history?: Array<{ update_time: string; state: string }>; run_details?: { task_details?: TaskDetail[] };
}
export interface RecurringRun {
  recurring_run_id: string; display_name: string; status?: string; created_at: string; experiment_id?: string; max_concurrency?: string | number;
  trigger?: { cron_schedule?: { cron?: string }; periodic_schedule?: { interval_second?: string | number } };
}

const ROOT = "/apis/v2beta1";
export const pipelines_api = <T>(path: string, options: Call = {}): Promise<T> => call<T>(ROOT + path, options);

// Upstream's zero time means never.
export const time_of = (text?: string): string | undefined => (text && !text.startsWith("1970-01-01") && !text.startsWith("0001-") ? text : undefined);
export const STATE_TONE: Record<string, Tone> = { PENDING: "wait", RUNNING: "run", PAUSED: "wait", CANCELING: "wait", SUCCEEDED: "done", SKIPPED: "none", FAILED: "fail", CANCELED: "none" };
const STATE_TEXT: Record<string, string> = { PENDING: "Pending", RUNNING: "Running", PAUSED: "Paused", CANCELING: "Stopping", SUCCEEDED: "Succeeded", SKIPPED: "Skipped", FAILED: "Failed", CANCELED: "Canceled" };
export const state_text = (state = "PENDING"): string => STATE_TEXT[state] ?? state;
export const is_over = (state?: string): boolean => ["SUCCEEDED", "FAILED", "CANCELED", "SKIPPED"].includes(state ?? "");
export const spec_of = (given: unknown): Spec => ((given as { pipeline_spec?: Spec } | undefined)?.pipeline_spec ?? given ?? {}) as Spec;

export interface Asked<T> { value: T | null; problem: ApiError | null; again: () => void }

// Asks at once, and again after `every` milliseconds for as long as the page is in sight.
export function use_pipelines<T>(path: string, every: number | ((value: T) => number) = 5000): Asked<T> {
  const [value, set_value] = useState<T | null>(null), [problem, set_problem] = useState<ApiError | null>(null), [turn, set_turn] = useState(0);
  useEffect(() => { set_value(null); set_problem(null); }, [path]);
  useEffect(() => {
    if (!path) return;
    let gone = false, timer = 0;
    const look = async () => {
      let wait = 15_000;
      try {
        const found = await pipelines_api<T>(path);
        if (gone) return;
        set_value(found);
        set_problem(null);
        wait = typeof every === "number" ? every : every(found);
      } catch (error) { if (!gone) set_problem(error as ApiError); }
      if (!gone) timer = window.setTimeout(document.hidden ? () => { timer = window.setTimeout(look, 2000); } : look, wait);
    };
    look();
    return () => { gone = true; clearTimeout(timer); };
  }, [path, turn]);
  return { value, problem, again: () => set_turn(turn + 1) };
}
