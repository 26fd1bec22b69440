// Recurring runs: by a schedule; switched on and off.
import { useMemo } from "preact/hooks";
import { pipelines_api, use_pipelines, type RecurringRun } from "../../data/pipelines";
import { ask } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { schedule_text, Unserved } from "../../parts/pipelines";
import { Empty, State, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { Age } from "../../parts/time";
import { toast_error } from "../../parts/toast";
import { t } from "../../text/text";

const href = (one: RecurringRun): string => `/recurringruns/details/${one.recurring_run_id}`;
export const switch_recurring = (one: RecurringRun): Promise<unknown> => pipelines_api(`/recurringruns/${one.recurring_run_id}:${one.status === "DISABLED" ? "enable" : "disable"}`, { method: "POST", body: {} }).catch(toast_error);
export const ask_delete = (one: RecurringRun, then: () => void): void => ask({ title: t("Delete {name}?", { name: one.display_name }), text: t("Runs that it has made stay."), accept: t("Delete"), doing: t("Deleting…"), danger: true, act: () => pipelines_api(`/recurringruns/${one.recurring_run_id}`, { method: "DELETE" }).then(then) });

export function RecurringTable({ rows }: { rows: RecurringRun[] }) {
  const columns = useMemo((): Column<RecurringRun>[] => [
    { key: "state", title: "State", width: "110px", cell: (one) => (one.status === "DISABLED" ? <State tone="none" text="Off" /> : <State tone="run" text="On" />), sort: (one) => one.status ?? "" },
    { key: "name", title: "Name", width: "minmax(180px, 2fr)", cell: (one) => <a href={href(one)}>{one.display_name}</a>, sort: (one) => one.display_name },
    { key: "when", title: "Schedule", width: "minmax(140px, 1fr)", cell: (one) => <span class="mono">{schedule_text(one.trigger)}</span>, sort: (one) => schedule_text(one.trigger) },
    { key: "most", title: "At a time", width: "90px", right: true, cell: (one) => String(one.max_concurrency ?? "") },
    { key: "age", title: "Age", width: "80px", right: true, cell: (one) => <Age at={one.created_at} />, sort: (one) => Date.parse(one.created_at) },
    { key: "act", title: "", width: "120px", right: true, cell: (one) => <span class="row" style={{ gap: "4px" }}>
      <button class="button small icon" aria-label={one.status === "DISABLED" ? t("Switch on") : t("Switch off")} title={one.status === "DISABLED" ? t("Switch on") : t("Switch off")} onClick={() => switch_recurring(one)}><Icon name={one.status === "DISABLED" ? "play" : "stop"} size={13} /></button>
      <button class="button small icon" aria-label={t("Delete")} title={t("Delete")} onClick={() => ask_delete(one, () => {})}><Icon name="trash" size={13} /></button></span> },
  ], []);
  return <Table rows={rows} columns={columns} row_key={(one) => one.recurring_run_id} href={href} order="-age" name={t("Recurring runs")} least={680} text={(one) => one.display_name}
    empty={<Empty title={t("No recurring runs yet")}>{t("They start runs by the clock.")} <a href="/runs/new?recurring=1">{t("New recurring run")}</a></Empty>} />;
}

export default function RecurringRuns() {
  const asked = use_pipelines<{ recurringRuns?: RecurringRun[] }>("/recurringruns?page_size=200&sort_by=created_at%20desc", "recurringruns", "experiments");
  return (
    <>
      <div class="page-head"><h1 class="grow">{t("Recurring runs")}</h1>{asked.value && <a class="button primary" href="/runs/new?recurring=1"><Icon name="plus" />{t("New recurring run")}</a>}</div>
      {asked.problem && !asked.value ? <Unserved problem={asked.problem} /> : !asked.value ? <Waiting /> : <RecurringTable rows={asked.value.recurringRuns ?? []} />}
    </>
  );
}
