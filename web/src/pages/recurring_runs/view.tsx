// Recurring runs: by a schedule; switched on and off.
import { useMemo } from "preact/hooks";
import { pipelines_api, use_pipelines, type RecurringRun } from "../../data/pipelines";
import { ask } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { Unserved } from "../../parts/pipelines";
import { Empty, State, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { Age } from "../../parts/time";
import { toast_error } from "../../parts/toast";
import { t } from "../../text/text";

function schedule(one: RecurringRun): string {
  const seconds = Number(one.trigger?.periodic_schedule?.interval_second ?? 0);
  return one.trigger?.cron_schedule?.cron ?? (seconds ? t("every {time}", { time: seconds % 3600 === 0 ? `${seconds / 3600} h` : seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s` }) : "–");
}

export default function RecurringRuns() {
  const asked = use_pipelines<{ recurringRuns?: RecurringRun[] }>("/recurringruns?page_size=200&sort_by=created_at%20desc", 10_000);
  const columns = useMemo((): Column<RecurringRun>[] => {
    const act = (one: RecurringRun, verb: string) => pipelines_api(`/recurringruns/${one.recurring_run_id}:${verb}`, { method: "POST", body: {} }).then(asked.again, toast_error);
    return [
      { key: "state", title: "State", width: "110px", cell: (one) => (one.status === "DISABLED" ? <State tone="none" text="Off" /> : <State tone="run" text="On" />), sort: (one) => one.status ?? "" },
      { key: "name", title: "Name", width: "minmax(180px, 2fr)", cell: (one) => one.display_name, sort: (one) => one.display_name },
      { key: "when", title: "Schedule", width: "minmax(140px, 1fr)", cell: (one) => <span class="mono">{schedule(one)}</span>, sort: schedule },
      { key: "most", title: "At a time", width: "90px", right: true, cell: (one) => String(one.max_concurrency ?? "") },
      { key: "age", title: "Age", width: "80px", right: true, cell: (one) => <Age at={one.created_at} />, sort: (one) => Date.parse(one.created_at) },
      { key: "act", title: "", width: "120px", right: true, cell: (one) => <span class="row" style={{ gap: "4px" }}>
        <button class="button small icon" aria-label={one.status === "DISABLED" ? t("Switch on") : t("Switch off")} title={one.status === "DISABLED" ? t("Switch on") : t("Switch off")} onClick={() => act(one, one.status === "DISABLED" ? "enable" : "disable")}><Icon name={one.status === "DISABLED" ? "play" : "stop"} size={13} /></button>
        <button class="button small icon" aria-label={t("Delete")} title={t("Delete")} onClick={() => ask({ title: t("Delete {name}?", { name: one.display_name }), text: t("Runs that it has made stay."), accept: t("Delete"), doing: t("Deleting…"), danger: true, act: () => pipelines_api(`/recurringruns/${one.recurring_run_id}`, { method: "DELETE" }).then(asked.again) })}><Icon name="trash" size={13} /></button></span> },
    ];
  }, [asked.again]);
  return (
    <>
      <div class="page-head"><h1>{t("Recurring runs")}</h1></div>
      {asked.problem && !asked.value ? <Unserved problem={asked.problem} /> : !asked.value ? <Waiting /> : <Table rows={asked.value.recurringRuns ?? []} columns={columns} row_key={(one) => one.recurring_run_id} order="-age" name={t("Recurring runs")} least={680} text={(one) => one.display_name}
        empty={<Empty title={t("No recurring runs yet")}>{t("Make one with the kfp SDK: create_recurring_run.")}</Empty>} />}
    </>
  );
}
