// One recurring run: its schedule, its parameters, the runs it has made.
import type { ViewProps } from "../../app/page";
import { go } from "../../app/router";
import { filter_of, time_of, use_pipelines, type Experiment, type Pipeline, type RecurringRun, type Run } from "../../data/pipelines";
import { Icon } from "../../parts/icon";
import { RunTable, schedule_text, Unserved } from "../../parts/pipelines";
import { Empty, State, Waiting } from "../../parts/states";
import { Age } from "../../parts/time";
import { language, t } from "../../text/text";
import { ask_delete, switch_recurring } from "../recurring_runs/view";

const date = (text: string): string => new Date(text).toLocaleString(language.value === "zh" ? "zh-CN" : "en-GB");

export default function RecurringRunPage({ params: { id } }: ViewProps) {
  const asked = use_pipelines<RecurringRun>(`/recurringruns/${id}`, "recurringruns", "experiments"), runs = use_pipelines<{ runs?: Run[] }>(`/runs?page_size=200&sort_by=created_at%20desc&filter=${filter_of(["recurring_run_id", id])}`, "runs");
  const one = asked.value, reference = one?.pipeline_version_reference;
  const experiment = use_pipelines<Experiment>(one?.experiment_id ? `/experiments/${one.experiment_id}` : ""), pipeline = use_pipelines<Pipeline>(reference ? `/pipelines/${reference.pipeline_id}` : "");
  if (asked.problem?.status === 404 && asked.problem.message.includes(id)) return <Empty title={t("{name} does not exist (any more)", { name: id })}><a href="/recurringruns">{t("Recurring runs")}</a></Empty>;
  if (asked.problem && !one) return <Unserved problem={asked.problem} />;
  if (!one) return <Waiting />;
  const off = one.status === "DISABLED", when = one.trigger?.cron_schedule ?? one.trigger?.periodic_schedule, parameters = Object.entries(one.runtime_config?.parameters ?? {});
  return (
    <>
      <div class="page-head"><div class="grow"><div class="crumbs"><a href="/recurringruns">{t("Recurring runs")}</a>/</div><div class="row wrap"><h1>{one.display_name}</h1>{off ? <State tone="none" text="Off" /> : <State tone="run" text="On" />}</div>{one.description && <div class="sub">{one.description}</div>}</div>
        <a class="button" href={`/runs/new?recurring=1&clone_recurring=${id}`}><Icon name="copy" />{t("Clone")}</a>
        <button class="button" onClick={() => switch_recurring(one)}><Icon name={off ? "play" : "stop"} />{off ? t("Switch on") : t("Switch off")}</button>
        <button class="button danger" onClick={() => ask_delete(one, () => go("/recurringruns"))}><Icon name="trash" />{t("Delete")}</button></div>
      {one.error?.message && <div class="note fail" role="alert">{one.error.message}</div>}
      <div class="cards">
        <section class="card"><div class="head"><h2>{t("Schedule")}</h2></div><div class="body"><dl class="facts">
          <dt>{t("When")}</dt><dd class="mono">{schedule_text(one.trigger)}{one.trigger?.cron_schedule && <span class="faint"> UTC</span>}</dd>
          {time_of(when?.start_time) && <><dt>{t("Not before")}</dt><dd>{date(when!.start_time!)}</dd></>}
          {time_of(when?.end_time) && <><dt>{t("Not after")}</dt><dd>{date(when!.end_time!)}</dd></>}
          <dt>{t("At a time")}</dt><dd>{String(one.max_concurrency ?? 1)}</dd>
          <dt>{t("Missed times")}</dt><dd>{one.no_catchup ? t("only the newest is made up for") : t("are made up for")}</dd>
          <dt>{t("Created")}</dt><dd><Age at={one.created_at} /></dd>
        </dl></div></section>
        <section class="card"><div class="head"><h2>{t("What it runs")}</h2></div><div class="body"><dl class="facts">
          <dt>{t("Pipeline")}</dt><dd>{reference ? <a href={`/pipelines/details/${reference.pipeline_id}?version=${reference.pipeline_version_id ?? ""}`}>{pipeline.value?.display_name ?? pipeline.value?.name ?? reference.pipeline_id}</a> : t("sent with the run")}</dd>
          {one.experiment_id && <><dt>{t("Experiment")}</dt><dd><a href={`/experiments/details/${one.experiment_id}`}>{experiment.value?.display_name ?? one.experiment_id}</a></dd></>}
          {parameters.map(([name, value]) => [<dt key={name} class="mono">{name}</dt>, <dd key={`${name}=`} class="mono">{typeof value === "string" ? value : JSON.stringify(value)}</dd>])}
        </dl></div></section>
      </div>
      <RunTable runs={runs.value?.runs ?? []} />
    </>
  );
}
