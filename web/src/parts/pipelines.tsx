// What the pages of pipelines share: a refusal in plain words, the table of runs with what is done to several at once,
// schedules in words.
import { useMemo, useState } from "preact/hooks";
import { go } from "../app/router";
import type { ApiError } from "../data/api";
import { is_over, pipelines_api, state_text, STATE_TONE, time_of, type Run, type Trigger } from "../data/pipelines";
import { t, tn } from "../text/text";
import { ask } from "./dialog";
import { Icon } from "./icon";
import { Empty, Refused, State } from "./states";
import { Table, type Column } from "./table";
import { Age, Duration } from "./time";
import { toast, toast_error } from "./toast";

// A platform without pipelines answers 404, or 501.
export function Unserved({ problem }: { problem: ApiError }) {
  const absent = problem.status === 404 || problem.status === 501;
  return absent ? <Empty title={t("Not served by this platform")}>{t("This part of Kubeflow Pipelines is not there.")}</Empty>
    : <Refused refusal={{ code: problem.status, reason: problem.reason, message: problem.message }} />;
}

export const run_href = (run: Run): string => `/runs/details/${run.run_id}`;
export const act_on_run = (id: string, verb: string, says: string): Promise<void> => pipelines_api(`/runs/${id}:${verb}`, { method: "POST", body: {} }).then(() => toast(says), toast_error);

export function schedule_text(trigger?: Trigger): string {
  const seconds = Number(trigger?.periodic_schedule?.interval_second ?? 0);
  return trigger?.cron_schedule?.cron ?? (seconds ? t("every {time}", { time: seconds % 86400 === 0 ? `${seconds / 86400} d` : seconds % 3600 === 0 ? `${seconds / 3600} h` : seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s` }) : "–");
}

const COMPARED_MAX = 10;

// What can be done to the chosen ones at once.
function Several({ runs, clear }: { runs: Run[]; clear: () => void }) {
  const archived = runs.some((run) => run.storage_state === "ARCHIVED"), over = runs.every((run) => is_over(run.state));
  const all = (verb: string) => Promise.all(runs.map((run) => pipelines_api(`/runs/${run.run_id}${verb === "delete" ? "" : `:${verb}`}`, { method: verb === "delete" ? "DELETE" : "POST", body: verb === "delete" ? undefined : {} }))).then(clear);
  return (
    <>
      <span class="muted">{t("{n} chosen", { n: runs.length })}</span>
      <button class="button small" disabled={runs.length < 2 || runs.length > COMPARED_MAX} title={runs.length > COMPARED_MAX ? t("At most {n} at a time.", { n: COMPARED_MAX }) : undefined} onClick={() => go(`/compare?runlist=${runs.map((run) => run.run_id).join(",")}`)}><Icon name="objects" size={13} />{t("Compare")}</button>
      {archived ? <><button class="button small" onClick={() => all("unarchive").catch(toast_error)}>{t("Restore")}</button>
        <button class="button small danger" onClick={() => ask({ title: tn(runs.length, "Delete {n} run?", "Delete {n} runs?"), text: t("Its record is lost; artifacts stay where they are."), accept: t("Delete"), doing: t("Deleting…"), danger: true, act: () => all("delete") })}><Icon name="trash" size={13} />{t("Delete")}</button></>
        : over ? <button class="button small" onClick={() => all("archive").catch(toast_error)}><Icon name="folder" size={13} />{t("Archive")}</button>
        : <button class="button small" onClick={() => ask({ title: tn(runs.length, "Stop {n} run?", "Stop {n} runs?"), text: t("Its pods end; what they have made so far stays."), accept: t("Stop"), doing: t("Stopping…"), act: () => Promise.all(runs.filter((run) => !is_over(run.state)).map((run) => pipelines_api(`/runs/${run.run_id}:terminate`, { method: "POST", body: {} }))).then(clear) })}><Icon name="stop" size={13} />{t("Stop")}</button>}
    </>
  );
}

export function RunTable({ runs, names, pipelines, id, plain }: { runs: Run[]; names?: Map<string, string>; pipelines?: Map<string, string>; id?: string; plain?: boolean }) {
  const [chosen, set_chosen] = useState<Set<string>>(new Set());
  const columns = useMemo((): Column<Run>[] => [
    ...(plain ? [] : [{ key: "pick", title: "", width: "36px", cell: (run: Run) => <input type="checkbox" aria-label={t("Choose {name}", { name: run.display_name })} checked={chosen.has(run.run_id)} onChange={() => { const next = new Set(chosen); next.delete(run.run_id) || next.add(run.run_id); set_chosen(next); }} /> }]),
    { key: "state", title: "State", width: "120px", cell: (run) => <State tone={STATE_TONE[run.state ?? ""] ?? "wait"} text={state_text(run.state)} title={run.error?.message} />, sort: (run) => run.state ?? "" },
    { key: "name", title: "Name", width: "minmax(180px, 2fr)", cell: (run) => <a href={run_href(run)}>{run.display_name}</a>, sort: (run) => run.display_name },
    ...(names ? [{ key: "experiment", title: "Experiment", width: "minmax(100px, 1fr)", cell: (run: Run) => <a href={`/experiments/details/${run.experiment_id}`}>{names.get(run.experiment_id) ?? ""}</a>, sort: (run: Run) => names.get(run.experiment_id) ?? "" }] : []),
    ...(pipelines ? [{ key: "pipeline", title: "Pipeline", width: "minmax(120px, 1fr)", cell: (run: Run) => { const own = run.pipeline_version_reference?.pipeline_id; return own ? <a href={`/pipelines/details/${own}`}>{pipelines.get(own) ?? own.slice(0, 8)}</a> : <span class="faint">{t("sent with the run")}</span>; } }] : []),
    { key: "time", title: "Duration", width: "90px", right: true, cell: (run) => <Duration from={run.created_at} to={time_of(run.finished_at)} />, sort: (run) => (Date.parse(time_of(run.finished_at) ?? "") || Date.now()) - Date.parse(run.created_at) },
    { key: "age", title: "Started", width: "96px", right: true, cell: (run) => <Age at={run.created_at} />, sort: (run) => Date.parse(run.created_at) },
  ], [names, pipelines, chosen, plain]);
  const picked = runs.filter((run) => chosen.has(run.run_id));
  return <Table rows={runs} columns={columns} row_key={(run) => run.run_id} href={run_href} order="-age" name={t("Runs")} id={id} least={680} text={(run) => `${run.display_name} ${run.state} ${names?.get(run.experiment_id) ?? ""}`}
    tools={picked.length > 0 ? <Several runs={picked} clear={() => set_chosen(new Set())} /> : undefined}
    empty={<Empty title={t("No runs yet")}>{t("Start one here, or with the kfp SDK.")} <a href="/runs/new">{t("New run")}</a></Empty>} />;
}
