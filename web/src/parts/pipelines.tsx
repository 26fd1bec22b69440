// What the pages of pipelines share: a refusal in plain words, and the table of runs.
import { useMemo } from "preact/hooks";
import type { ApiError } from "../data/api";
import { state_text, STATE_TONE, time_of, type Run } from "../data/pipelines";
import { t } from "../text/text";
import { Empty, Refused, State } from "./states";
import { Table, type Column } from "./table";
import { Age, Duration } from "./time";

// A platform without pipelines answers 404, or 501.
export function Unserved({ problem }: { problem: ApiError }) {
  const absent = problem.status === 404 || problem.status === 501;
  return absent ? <Empty title={t("Not served by this platform")}>{t("This part of Kubeflow Pipelines is not there.")}</Empty>
    : <Refused refusal={{ code: problem.status, reason: problem.reason, message: problem.message }} />;
}

export const run_href = (run: Run): string => `/runs/details/${run.run_id}`;

export function RunTable({ runs, names, pipelines, id }: { runs: Run[]; names?: Map<string, string>; pipelines?: Map<string, string>; id?: string }) {
  const columns = useMemo((): Column<Run>[] => [
    { key: "state", title: "State", width: "120px", cell: (run) => <State tone={STATE_TONE[run.state ?? ""] ?? "wait"} text={state_text(run.state)} title={run.error?.message} />, sort: (run) => run.state ?? "" },
    { key: "name", title: "Name", width: "minmax(180px, 2fr)", cell: (run) => <a href={run_href(run)}>{run.display_name}</a>, sort: (run) => run.display_name },
    ...(names ? [{ key: "experiment", title: "Experiment", width: "minmax(100px, 1fr)", cell: (run: Run) => <a href={`/experiments/details/${run.experiment_id}`}>{names.get(run.experiment_id) ?? ""}</a>, sort: (run: Run) => names.get(run.experiment_id) ?? "" }] : []),
    ...(pipelines ? [{ key: "pipeline", title: "Pipeline", width: "minmax(120px, 1fr)", cell: (run: Run) => { const own = run.pipeline_version_reference?.pipeline_id; return own ? <a href={`/pipelines/details/${own}`}>{pipelines.get(own) ?? own.slice(0, 8)}</a> : <span class="faint">{t("sent with the run")}</span>; } }] : []),
    { key: "time", title: "Duration", width: "90px", right: true, cell: (run) => <Duration from={run.created_at} to={time_of(run.finished_at)} /> },
    { key: "age", title: "Started", width: "96px", right: true, cell: (run) => <Age at={run.created_at} />, sort: (run) => Date.parse(run.created_at) },
  ], [names, pipelines]);
  return <Table rows={runs} columns={columns} row_key={(run) => run.run_id} href={run_href} order="-age" name={t("Runs")} id={id} least={680} text={(run) => `${run.display_name} ${run.state} ${names?.get(run.experiment_id) ?? ""}`}
    empty={<Empty title={t("No runs yet")}>{t("Start one here, or with the kfp SDK.")} <a href="/runs/new">{t("New run")}</a></Empty>} />;
}
