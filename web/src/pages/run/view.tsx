// One run: its graph with the state of every step, beside it what a step took and made, its log and its events; logs of
// all steps; parameters.
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../../app/page";
import { go, parameter, set_parameters } from "../../app/router";
import { is_over, pipelines_api, spec_of, state_text, STATE_TONE, step_path, step_text, step_tone, time_of, use_pipelines, type Experiment, type Pipeline, type Run, type Spec, type Step, type Version } from "../../data/pipelines";
import { Dag } from "../../parts/dag";
import { ask } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { LogOf } from "../../parts/logs";
import { act_on_run, Unserved } from "../../parts/pipelines";
import { SpecYaml } from "../../parts/spec_yaml";
import { Empty, State, Waiting } from "../../parts/states";
import { DataOf, log_url, StepPanel } from "../../parts/step_panel";
import { StepFacts } from "../../parts/step_facts";
import { Tabs } from "../../parts/tabs";
import { Age, Duration } from "../../parts/time";
import { t } from "../../text/text";
import { Path } from "../pipeline/view";

export default function RunPage({ params: { id } }: ViewProps) {
  const asked = use_pipelines<Run>(`/runs/${id}`, `runs/${id}`, "runs"), tasks = use_pipelines<{ tasks?: Step[] }>(`/tasks?run_id=${id}`, `runs/${id}`);
  const run = asked.value, reference = run?.pipeline_version_reference;
  const version = use_pipelines<Version>(reference?.pipeline_version_id ? `/pipelines/${reference.pipeline_id}/versions/${reference.pipeline_version_id}` : "");
  const spec = useMemo(() => spec_of(run?.pipeline_spec ?? version.value?.pipeline_spec), [run?.run_id, version.value]);
  if (asked.problem?.status === 404 && asked.problem.message.startsWith("Run ")) return <Empty title={t("{name} does not exist (any more)", { name: id })}><a href="/runs">{t("Runs")}</a></Empty>;
  if (asked.problem && !run) return <Unserved problem={asked.problem} />;
  if (!run) return <Waiting />;
  const steps = tasks.value?.tasks ?? [], archived = run.storage_state === "ARCHIVED";
  const done = steps.filter((step) => step.type === "container" && is_over(step.state)).length, all = steps.filter((step) => step.type === "container").length;
  return (
    <>
      <div class="page-head">
        <div class="grow" style={{ minWidth: "240px" }}><div class="crumbs"><a href="/runs">{t("Runs")}</a>/</div><div class="row wrap"><h1 class="cut">{run.display_name}</h1><State tone={STATE_TONE[run.state ?? ""] ?? "wait"} text={state_text(run.state)} /><span class="sub"><Duration from={run.created_at} to={time_of(run.finished_at)} />{all > 1 && <> · {t("{done} of {all} steps", { done, all })}</>}</span></div></div>
        <a class="button" href={`/runs/new?clone=${id}`}><Icon name="copy" />{t("Clone")}</a>
        {!is_over(run.state) && <button class="button" onClick={() => ask({ title: t("Stop {name}?", { name: run.display_name }), text: t("Its pods end; what they have made so far stays."), accept: t("Stop"), doing: t("Stopping…"), act: () => pipelines_api(`/runs/${id}:terminate`, { method: "POST", body: {} }).then(asked.again) })}><Icon name="stop" />{t("Stop")}</button>}
        {["FAILED", "CANCELED"].includes(run.state ?? "") && <button class="button" onClick={() => act_on_run(id, "retry", t("Failed steps are tried again."))}><Icon name="refresh" />{t("Retry")}</button>}
        {is_over(run.state) && (archived ? <button class="button" onClick={() => act_on_run(id, "unarchive", t("Taken out of the archive."))}>{t("Restore")}</button> : <button class="button" onClick={() => act_on_run(id, "archive", t("Put into the archive."))}><Icon name="folder" />{t("Archive")}</button>)}
        {archived && <button class="button danger" onClick={() => ask({ title: t("Delete {name}?", { name: run.display_name }), text: t("Its record is lost; artifacts stay where they are."), accept: t("Delete"), doing: t("Deleting…"), danger: true, act: () => pipelines_api(`/runs/${id}`, { method: "DELETE" }).then(() => go("/runs")) })}><Icon name="trash" />{t("Delete")}</button>}
      </div>
      {run.error?.message && <div class="note fail" role="alert">{run.error.message}</div>}
      <Tabs tabs={[
        { key: "graph", title: "Graph", body: () => <Shape run={run} spec={spec} steps={steps} /> },
        { key: "logs", title: "Logs", body: () => <AllLogs steps={steps} /> },
        { key: "details", title: "Details", body: () => <Details run={run} /> },
        { key: "yaml", title: "YAML", body: () => <SpecYaml spec={run.pipeline_spec ?? version.value?.pipeline_spec ?? {}} name={run.display_name} /> },
      ]} />
    </>
  );
}

// A loop's iterations are graphs of their own: "root/for-loop-1/0". The chosen step is in the URL, so that a link leads to it.
function Shape({ run, spec, steps }: { run: Run; spec: Spec; steps: Step[] }) {
  const chosen_path = parameter("step"), by_path = useMemo(() => new Map(steps.map((one) => [step_path(one), one])), [steps]);
  const [turns, set_turns] = useState<Record<string, string>>({});
  // The URL has the path without iterations' numbers where they are the first, with them where they were chosen.
  const [at, set_at] = useState<string[]>(() => chosen_path.split("/").slice(1, -1).filter((part) => !/^\d+$/.test(part)));
  const iterations = (path: string) => [...by_path.keys()].filter((key) => key.startsWith(`${path}/`) && /^\d+$/.test(key.slice(path.length + 1))).map((key) => key.slice(path.length + 1)).sort((a, b) => Number(a) - Number(b));
  const wanted = chosen_path.split("/");
  let where = "root";
  for (const name of at) {
    where += `/${name}`;
    const own = iterations(where), linked = wanted[where.split("/").length];
    if (own.length) where += `/${own.includes(turns[name]) ? turns[name] : own.includes(linked) ? linked : own[0]}`;
  }
  const last = at.at(-1), loop = where.replace(/\/\d+$/, ""), of_loop = last ? iterations(loop) : [];
  const chosen = chosen_path.startsWith(`${where}/`) && !chosen_path.slice(where.length + 1).includes("/") ? chosen_path.slice(where.length + 1) : "";
  const own = chosen ? by_path.get(`${where}/${chosen}`) : undefined, group = by_path.get(where);
  const choose = (name: string) => set_parameters({ step: name && name !== chosen ? `${where}/${name}` : "" });
  const move = (to: string[]) => { set_at(to); set_parameters({ step: "" }); };
  return (
    <div class="beside wide">
      <div class="col"><Path at={at} go_to={move} />
        {of_loop.length > 1 && <div class="row wrap"><span class="muted">{t("Iteration")}</span><div class="segments wrap">{of_loop.slice(0, 60).map((turn) => <button key={turn} class={`turn ${step_tone(by_path.get(`${loop}/${turn}`))}`} title={t(step_text(by_path.get(`${loop}/${turn}`)))} aria-pressed={where.endsWith(`/${turn}`)} onClick={() => { set_turns({ ...turns, [last!]: turn }); set_parameters({ step: "" }); }}>{turn}</button>)}</div></div>}
        <Dag spec={spec} at={at} detail={(name) => by_path.get(`${where}/${name}`)} chosen={chosen} choose={choose} open={(name) => move([...at, name])} /></div>
      {own ? <StepPanel key={own.task_id} step={own} spec={spec} at={at} name={chosen} /> : chosen ? <StepFacts spec={spec} at={at} name={chosen} />
        : <section class="card panel"><div class="head"><h2 class="grow cut">{last ?? t("The run")}</h2></div><div class="body col">
          <DataOf title="Inputs" data={group?.inputs ?? (at.length ? undefined : { parameters: run.runtime_config?.parameters })} /><DataOf title="Outputs" data={group?.outputs} open />
          <p class="muted">{t("Choose a step to see what it took and made, its log and its events.")}</p></div></section>}
    </div>
  );
}

const SIDE_BY_SIDE = 6;
function AllLogs({ steps }: { steps: Step[] }) {
  const begun = steps.filter((step) => step.pods?.length).sort((a, b) => ((a.start_time ?? a.create_time ?? "") < (b.start_time ?? b.create_time ?? "") ? -1 : 1));
  const [chosen, set_chosen] = useState<string[] | null>(null), [find, set_find] = useState("");
  const shown = begun.filter((step, at) => (chosen ? chosen.includes(step.task_id) : at < SIDE_BY_SIDE));
  const toggle = (id: string) => { const now = chosen ?? shown.map((step) => step.task_id); set_chosen(now.includes(id) ? now.filter((one) => one !== id) : [...now, id].slice(-12)); };
  if (!begun.length) return <div class="note">{t("No step has begun.")}</div>;
  return (
    <>
      <div class="tools"><input class="input search" type="search" data-filter placeholder={t("Only lines with…")} aria-label={t("Only lines with…")} value={find} onInput={(event) => set_find(event.currentTarget.value)} /><span class="grow" />
        {begun.length > 1 && <span class="row wrap" style={{ gap: "4px" }}>{begun.slice(0, 60).map((step) => <button key={step.task_id} class={`chip ${shown.includes(step) ? "accent" : ""}`} style={{ border: 0, cursor: "pointer" }} aria-pressed={shown.includes(step)} onClick={() => toggle(step.task_id)}>{step_path(step).slice(5)}</button>)}</span>}</div>
      <div class="logs" style={{ gridTemplateColumns: `repeat(${shown.length > 1 ? 2 : 1}, minmax(0, 1fr))` }}>
        {shown.map((step) => <LogOf key={`${step.pods!.at(-1)}${is_over(step.state)}`} url={log_url(step, step.pods!.at(-1)!, !is_over(step.state))} name={step_path(step).slice(5)} tone={step_tone(step)} state={step_text(step)} file={`${step.pods!.at(-1)}.log`} find={find} />)}
      </div>
    </>
  );
}

function Details({ run }: { run: Run }) {
  const parameters = Object.entries(run.runtime_config?.parameters ?? {}), reference = run.pipeline_version_reference;
  const experiment = use_pipelines<Experiment>(`/experiments/${run.experiment_id}`), pipeline = use_pipelines<Pipeline>(reference ? `/pipelines/${reference.pipeline_id}` : "");
  return (
    <div class="cards">
      <section class="card"><div class="head"><h2>{t("Facts")}</h2></div><div class="body"><dl class="facts">
        <dt>ID</dt><dd class="mono">{run.run_id}</dd>
        {run.description && <><dt>{t("Description")}</dt><dd>{run.description}</dd></>}
        <dt>{t("Experiment")}</dt><dd><a href={`/experiments/details/${run.experiment_id}`}>{experiment.value?.display_name ?? run.experiment_id}</a></dd>
        {reference && <><dt>{t("Pipeline")}</dt><dd><a href={`/pipelines/details/${reference.pipeline_id}?version=${reference.pipeline_version_id ?? ""}`}>{pipeline.value?.display_name ?? pipeline.value?.name ?? reference.pipeline_id}</a></dd></>}
        {run.recurring_run_id && <><dt>{t("Recurring run")}</dt><dd><a href={`/recurringruns/details/${run.recurring_run_id}`}>{run.recurring_run_id}</a></dd></>}
        <dt>{t("Created")}</dt><dd><Age at={run.created_at} /></dd>
        {time_of(run.finished_at) && <><dt>{t("Finished")}</dt><dd><Age at={run.finished_at} /></dd></>}
        {run.service_account && <><dt>{t("Service account")}</dt><dd>{run.service_account}</dd></>}
        {run.runtime_config?.pipeline_root && <><dt>{t("Artifacts below")}</dt><dd class="mono wrap-anywhere">{run.runtime_config.pipeline_root}</dd></>}
      </dl></div></section>
      <section class="card"><div class="head"><h2>{t("Parameters")}</h2></div><div class="body">{parameters.length ? <dl class="facts">{parameters.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}=`} class="mono">{typeof value === "string" ? value : JSON.stringify(value)}</dd>])}</dl> : <p class="muted">{t("The pipeline's own defaults.")}</p>}</div></section>
      <section class="card"><div class="head"><h2>{t("States")}</h2></div><div class="body"><table class="conditions"><tbody>{(run.state_history ?? []).map((one, at) => <tr key={at}><td><State tone={STATE_TONE[one.state] ?? "wait"} text={state_text(one.state)} /></td><td><Age at={one.update_time} /></td></tr>)}</tbody></table></div></section>
    </div>
  );
}
