// Experiments: groups of runs. List, new, archive; one with its runs and its schedules.
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../../app/page";
import { go, parameter, path, set_parameters } from "../../app/router";
import { filter_of, pipelines_api, state_text, STATE_TONE, time_of, use_pipelines, type Experiment, type RecurringRun, type Run } from "../../data/pipelines";
import { ask } from "../../parts/dialog";
import { TextField } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { RunTable, run_href, Unserved } from "../../parts/pipelines";
import { Chip, Empty, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { Age } from "../../parts/time";
import { toast, toast_error } from "../../parts/toast";
import { t } from "../../text/text";
import { RecurringTable } from "../recurring_runs/view";

export default function Experiments({ params: { id } }: ViewProps) {
  return id ? <One id={id} /> : <All />;
}
const href = (one: Experiment): string => `/experiments/details/${one.experiment_id}`;

function All() {
  const archived = parameter("show") === "archived" || path.value === "/archive/experiments";
  const asked = use_pipelines<{ experiments?: Experiment[] }>(`/experiments?page_size=200&sort_by=created_at%20desc&filter=${filter_of(["storage_state", archived ? "ARCHIVED" : "AVAILABLE"])}`, "experiments", "runs"), runs = use_pipelines<{ runs?: Run[] }>("/runs?page_size=200&sort_by=created_at%20desc", "runs");
  const [making, set_making] = useState(path.value.endsWith("/new")), [name, set_name] = useState(""), [says, set_says] = useState("");
  const last = useMemo(() => { const out = new Map<string, Run[]>(); for (const run of runs.value?.runs ?? []) { const own = out.get(run.experiment_id) ?? []; if (own.length < 5) out.set(run.experiment_id, [...own, run]); } return out; }, [runs.value]);
  const columns = useMemo((): Column<Experiment>[] => [
    { key: "name", title: "Name", width: "minmax(160px, 1.2fr)", cell: (one) => <a href={href(one)}>{one.display_name}</a>, sort: (one) => one.display_name },
    { key: "says", title: "Description", width: "minmax(140px, 2fr)", cell: (one) => <span class="muted" title={one.description}>{one.description}</span> },
    { key: "runs", title: "Last 5 runs", width: "120px", cell: (one) => <span class="strip">{(last.get(one.experiment_id) ?? []).map((run) => <a key={run.run_id} class={`cell tiny ${STATE_TONE[run.state ?? ""] ?? "wait"}`} style={{ width: "13px", height: "13px" }} href={run_href(run)} title={`${run.display_name} · ${t(state_text(run.state))}`} aria-label={`${run.display_name} · ${t(state_text(run.state))}`} />)}</span> },
    { key: "last", title: "Last run", width: "90px", right: true, cell: (one) => <Age at={time_of(one.last_run_created_at)} />, sort: (one) => Date.parse(one.last_run_created_at ?? "") || 0 },
    { key: "age", title: "Age", width: "80px", right: true, cell: (one) => <Age at={one.created_at} />, sort: (one) => Date.parse(one.created_at) },
  ], [last]);
  const create = () => pipelines_api("/experiments", { method: "POST", body: { display_name: name, description: says || undefined } }).then(() => { toast(t("Experiment {name} is there.", { name }), "run"); set_making(false); set_name(""); asked.again(); }, toast_error);
  return (
    <>
      <div class="page-head"><h1 class="grow">{t("Experiments")}</h1>{asked.value && <><div class="segments"><button aria-pressed={!archived} onClick={() => set_parameters({ show: "" })}>{t("Active")}</button><button aria-pressed={archived} onClick={() => set_parameters({ show: "archived" })}>{t("Archive")}</button></div><button class="button primary" onClick={() => set_making(!making)}><Icon name="plus" />{t("New experiment")}</button></>}</div>
      {making && <section class="card" style={{ maxWidth: "640px" }}><form class="body col" onSubmit={(event) => { event.preventDefault(); if (name) create(); }}><TextField label={t("Name")} value={name} set={set_name} needed /><TextField label={t("Description")} value={says} set={set_says} /><div class="row"><button class="button primary" type="submit" disabled={!name}>{t("Create")}</button><button class="button" type="button" onClick={() => set_making(false)}>{t("Cancel")}</button></div></form></section>}
      {asked.problem && !asked.value ? <Unserved problem={asked.problem} /> : !asked.value ? <Waiting /> : <Table rows={asked.value.experiments ?? []} columns={columns} row_key={(one) => one.experiment_id} href={href} order="-last" name={t("Experiments")} least={640} text={(one) => `${one.display_name} ${one.description ?? ""}`} empty={archived ? <Empty title={t("Nothing is in the archive")} /> : <Empty title={t("No experiments yet")}>{t("They group runs; the first run makes one named Default.")}</Empty>} />}
    </>
  );
}

function One({ id }: { id: string }) {
  const asked = use_pipelines<Experiment>(`/experiments/${id}`, "experiments"), runs = use_pipelines<{ runs?: Run[] }>(`/runs?page_size=200&sort_by=created_at%20desc&experiment_id=${id}`, "runs");
  const recurring = use_pipelines<{ recurringRuns?: RecurringRun[] }>(`/recurringruns?page_size=200&sort_by=created_at%20desc&experiment_id=${id}`, "recurringruns");
  const problem = asked.problem ?? runs.problem;
  if (problem) return problem.status === 404 && problem.message.startsWith("Experiment ") ? <Empty title={t("{name} does not exist (any more)", { name: id })}><a href="/experiments">{t("Experiments")}</a></Empty> : <Unserved problem={problem} />;
  if (!asked.value || !runs.value) return <Waiting />;
  const one = asked.value, archived = one.storage_state === "ARCHIVED";
  const act = (verb: string, says: string) => pipelines_api(`/experiments/${id}:${verb}`, { method: "POST", body: {} }).then(() => toast(says));
  return (
    <>
      <div class="page-head"><div class="grow"><div class="crumbs"><a href="/experiments">{t("Experiments")}</a>/</div><div class="row wrap"><h1>{one.display_name}</h1>{archived && <Chip>{t("Archive")}</Chip>}</div>{one.description && <div class="sub">{one.description}</div>}</div>
        {archived ? <><button class="button" onClick={() => act("unarchive", t("Taken out of the archive.")).catch(toast_error)}>{t("Restore")}</button><button class="button danger" onClick={() => ask({ title: t("Delete {name}?", { name: one.display_name }), text: t("Its runs stay."), accept: t("Delete"), doing: t("Deleting…"), danger: true, act: () => pipelines_api(`/experiments/${id}`, { method: "DELETE" }).then(() => go("/experiments")) })}><Icon name="trash" />{t("Delete")}</button></>
          : <><button class="button" onClick={() => ask({ title: t("Archive {name}?", { name: one.display_name }), text: t("Its runs go into the archive, too, and its schedules are switched off."), accept: t("Archive"), doing: t("Archiving…"), act: () => act("archive", t("Put into the archive.")) })}><Icon name="folder" />{t("Archive")}</button><a class="button primary" href={`/runs/new?experiment=${id}`}><Icon name="play" />{t("New run")}</a></>}</div>
      <Tabs tabs={[
        { key: "runs", title: "Runs", body: () => <RunTable runs={runs.value?.runs ?? []} /> },
        { key: "schedules", title: "Recurring runs", body: () => <RecurringTable rows={recurring.value?.recurringRuns ?? []} /> },
      ]} />
    </>
  );
}
