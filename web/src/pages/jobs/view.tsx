// Jobs of every kind in one list, with the state of their pods as a bar.
import { useMemo } from "preact/hooks";
import { parameter, set_parameters } from "../../app/router";
import { use_collection } from "../../data/collection";
import { counts, job_kinds, job_tone, type JobKind } from "../../data/jobs";
import { uid_of, type KubeObject } from "../../data/resource";
import { namespace } from "../../data/session";
import { Icon } from "../../parts/icon";
import { Empty, State, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { Age, Duration } from "../../parts/time";
import { t } from "../../text/text";

export interface Row { kind: JobKind; job: KubeObject; state: string; replicas: number }

// Each kind is a subscription of its own; one that is not installed is simply not there.
export function use_jobs(ns: string): { rows: Row[]; loaded: boolean } {
  const lists = job_kinds.map((kind) => use_collection(kind.resource, { ns }));
  const versions = lists.map((list) => list.version.value).join();
  const rows = useMemo(() => lists.flatMap((list, at) => list.all().map((job) => ({
    kind: job_kinds[at], job, state: job_kinds[at].state(job), replicas: job_kinds[at].roles(job).reduce((sum, role) => sum + role.replicas, 0),
  }))), [versions, ns]);
  return { rows, loaded: lists.every((list) => list.loaded.value) };
}
export const is_owned = (job: KubeObject): boolean => !!job.metadata.ownerReferences?.some((owner) => owner.controller);
export const job_href = (row: Row): string => `/jobs/${row.kind.key}/${row.job.metadata.namespace}/${row.job.metadata.name}`;

export function PodBar({ row }: { row: Row }) {
  const all = counts(row.job), whole = Math.max(row.replicas, all.run + all.wait + all.done + all.fail, 1);
  const title = `${t("Running")} ${all.run} · ${t("Waiting")} ${all.wait} · ${t("Succeeded")} ${all.done} · ${t("Failed")} ${all.fail} · ${t("of {n}", { n: whole })}`;
  return (
    <span class="row grow" title={title}>
      <span class="stack" role="img" aria-label={title}>{(["run", "wait", "done", "fail"] as const).map((name) => all[name] ? <i key={name} class={name} style={{ width: `${(100 * all[name]) / whole}%` }} /> : null)}</span>
      <span class="muted nowrap">{all.run + all.done}/{whole}</span>
    </span>
  );
}

export const ended_at = (job: KubeObject): string | undefined => {
  const status = (job as unknown as { status?: Record<string, never> }).status as { completionTime?: string; state?: { phase?: string; lastTransitionTime?: string } } | undefined;
  const phase = status?.state?.phase;
  return status?.completionTime ?? (phase && ["Completed", "Failed", "Terminated", "Aborted"].includes(phase) ? status?.state?.lastTransitionTime : undefined);
};

export const job_columns = (all_namespaces: boolean): Column<Row>[] => [
  { key: "state", title: "State", width: "120px", cell: (row) => <State tone={job_tone(row.state)} text={row.state} />, sort: (row) => row.state },
  { key: "name", title: "Name", width: "minmax(160px, 2fr)", cell: (row) => <a href={job_href(row)} title={row.job.metadata.name}>{row.job.metadata.name}</a>, sort: (row) => row.job.metadata.name },
  ...(all_namespaces ? [{ key: "ns", title: "Namespace", width: "minmax(90px, 1fr)", cell: (row: Row) => <span class="muted">{row.job.metadata.namespace}</span>, sort: (row: Row) => row.job.metadata.namespace ?? "" }] : []),
  { key: "kind", title: "Kind", width: "120px", cell: (row) => row.kind.label, sort: (row) => row.kind.label },
  { key: "queue", title: "Queue", width: "minmax(80px, 140px)", cell: (row) => row.kind.queue(row.job) ? <a href={`/queues/${row.kind.queue(row.job)}`}>{row.kind.queue(row.job)}</a> : <span class="faint">–</span>, sort: (row) => row.kind.queue(row.job) },
  { key: "pods", title: "Pods", width: "minmax(120px, 1fr)", cell: (row) => <PodBar row={row} />, sort: (row) => row.replicas },
  { key: "time", title: "Duration", width: "90px", right: true, cell: (row) => <Duration from={row.job.metadata.creationTimestamp as string} to={ended_at(row.job)} /> },
  { key: "age", title: "Age", width: "70px", right: true, cell: (row) => <Age at={row.job.metadata.creationTimestamp as string} />, sort: (row) => Date.parse(String(row.job.metadata.creationTimestamp)) },
];

const FILTERS: Array<[string, string, (state: string) => boolean]> = [
  ["", "All", () => true], ["wait", "Waiting", (state) => job_tone(state) === "wait"], ["run", "Running", (state) => ["run", "place"].includes(job_tone(state))],
  ["done", "Done", (state) => job_tone(state) === "done"], ["fail", "Failed", (state) => job_tone(state) === "fail"],
];

export default function Jobs() {
  const ns = namespace.value;
  const { rows, loaded } = use_jobs(ns);
  const chosen = FILTERS.find(([key]) => key === parameter("show")) ?? FILTERS[0];
  const owned = parameter("owned") === "1";
  const columns = useMemo(() => job_columns(!ns), [ns]);
  const shown = useMemo(() => rows.filter((row) => chosen[2](row.state) && (owned || !is_owned(row.job))), [rows, chosen, owned]);
  return (
    <>
      <div class="page-head"><h1 class="grow">{t("Jobs")}</h1><a class="button primary" href="/submit"><Icon name="submit" />{t("Submit a job")}</a></div>
      {!loaded && !rows.length ? <Waiting /> : (
        <Table rows={shown} columns={columns} row_key={(row) => uid_of(row.job)} href={job_href} order="-age" name={t("Jobs")} least={760}
          text={(row) => `${row.job.metadata.name} ${row.job.metadata.namespace} ${row.kind.label} ${row.state} ${row.kind.queue(row.job)}`}
          tools={<>
            <div class="segments" role="group" aria-label={t("State")}>{FILTERS.map(([key, name]) => <button key={key} aria-pressed={chosen[0] === key} onClick={() => set_parameters({ show: key })}>{t(name)}</button>)}</div>
            <label class="check"><input type="checkbox" checked={owned} onChange={(event) => set_parameters({ owned: event.currentTarget.checked ? "1" : "" })} />{t("Also jobs that belong to others")}</label>
          </>}
          empty={<Empty title={t("No jobs yet")}>{t("Submit one by a form, drop a YAML file, or use kubectl apply.")} <a href="/submit">{t("Submit a job")}</a></Empty>} />
      )}
    </>
  );
}
