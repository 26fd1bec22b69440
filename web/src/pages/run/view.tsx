// One run: its graph with the state of every step, a step's log and error beside it, logs of all steps, parameters.
import { useState } from "preact/hooks";
import type { ViewProps } from "../../app/page";
import { go } from "../../app/router";
import { use_collection } from "../../data/collection";
import { is_over, pipelines_api, spec_of, state_text, STATE_TONE, time_of, use_pipelines, type Run, type Spec, type TaskDetail, type Version } from "../../data/pipelines";
import { resources } from "../../data/resource";
import { Dag } from "../../parts/dag";
import { ask } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { Logs } from "../../parts/logs";
import { Unserved } from "../../parts/pipelines";
import type { Pod } from "../../parts/pod_table";
import { SpecYaml } from "../../parts/spec_yaml";
import { Empty, State, Waiting } from "../../parts/states";
import { StepFacts } from "../../parts/step_facts";
import { Tabs } from "../../parts/tabs";
import { Age, Duration } from "../../parts/time";
import { toast, toast_error } from "../../parts/toast";
import { t } from "../../text/text";
import { Path } from "../pipeline/view";

export default function RunPage({ params: { id } }: ViewProps) {
  const asked = use_pipelines<Run>(`/runs/${id}`, (found) => (is_over(found.state) ? 10_000 : 1500));
  const run = asked.value, reference = run?.pipeline_version_reference;
  const version = use_pipelines<Version>(reference?.pipeline_version_id ? `/pipelines/${reference.pipeline_id}/versions/${reference.pipeline_version_id}` : "", 600_000);
  const pods = use_collection<Pod>(resources.pods, { ns: "", labels: `pipeline/runid=${id}` });
  if (asked.problem?.status === 404 && asked.problem.message.startsWith("Run ")) return <Empty title={t("{name} does not exist (any more)", { name: id })}><a href="/runs">{t("Runs")}</a></Empty>;
  if (asked.problem && !run) return <Unserved problem={asked.problem} />;
  if (!run) return <Waiting />;
  const spec = spec_of(run.pipeline_spec ?? version.value?.pipeline_spec);
  const act = (verb: string, says: string) => pipelines_api(`/runs/${id}:${verb}`, { method: "POST", body: {} }).then(() => { toast(says); asked.again(); }, toast_error);
  const mine = pods.all().sort((a, b) => (String(a.metadata.creationTimestamp) < String(b.metadata.creationTimestamp) ? -1 : 1));
  return (
    <>
      <div class="page-head">
        <div class="grow" style={{ minWidth: "240px" }}><div class="crumbs"><a href="/runs">{t("Runs")}</a>/</div><div class="row wrap"><h1 class="cut">{run.display_name}</h1><State tone={STATE_TONE[run.state ?? ""] ?? "wait"} text={state_text(run.state)} /><span class="sub"><Duration from={run.created_at} to={time_of(run.finished_at)} /></span></div></div>
        <a class="button" href={`/runs/new?clone=${id}`}><Icon name="copy" />{t("Clone")}</a>
        {!is_over(run.state) && <button class="button" onClick={() => ask({ title: t("Stop {name}?", { name: run.display_name }), text: t("Its pods end; what they have made so far stays."), accept: t("Stop"), doing: t("Stopping…"), act: () => pipelines_api(`/runs/${id}:terminate`, { method: "POST", body: {} }).then(asked.again) })}><Icon name="stop" />{t("Stop")}</button>}
        {["FAILED", "CANCELED"].includes(run.state ?? "") && <button class="button" onClick={() => act("retry", t("Failed steps are tried again."))}><Icon name="refresh" />{t("Retry")}</button>}
        {is_over(run.state) && (run.storage_state === "ARCHIVED" ? <button class="button" onClick={() => act("unarchive", t("Taken out of the archive."))}>{t("Restore")}</button> : <button class="button" onClick={() => act("archive", t("Put into the archive."))}><Icon name="folder" />{t("Archive")}</button>)}
        {run.storage_state === "ARCHIVED" && <button class="button danger" onClick={() => ask({ title: t("Delete {name}?", { name: run.display_name }), text: t("Its record is lost; artifacts stay where they are."), accept: t("Delete"), doing: t("Deleting…"), danger: true, act: () => pipelines_api(`/runs/${id}`, { method: "DELETE" }).then(() => go("/runs")) })}><Icon name="trash" />{t("Delete")}</button>}
      </div>
      {run.error?.message && <div class="note fail" role="alert">{run.error.message}</div>}
      <Tabs tabs={[
        { key: "graph", title: "Graph", body: () => <Shape run={run} spec={spec} pods={mine} /> },
        { key: "logs", title: "Logs", body: () => <Logs pods={mine} /> },
        { key: "details", title: "Details", body: () => <Details run={run} /> },
        { key: "yaml", title: "YAML", body: () => <SpecYaml spec={run.pipeline_spec ?? version.value?.pipeline_spec ?? {}} name={run.display_name} /> },
      ]} />
    </>
  );
}

// A loop's iterations are graphs of their own: "root/for-loop-1/0".
function Shape({ run, spec, pods }: { run: Run; spec: Spec; pods: Pod[] }) {
  const [at, set_at] = useState<string[]>([]), [chosen, choose] = useState(""), [turns, set_turns] = useState<Record<string, string>>({});
  const details = new Map((run.run_details?.task_details ?? []).map((one) => [one.task_id.slice(run.run_id.length + 1), one]));
  const iterations = (path: string) => [...details.keys()].filter((key) => key.startsWith(`${path}/`) && /^\d+$/.test(key.slice(path.length + 1))).map((key) => key.slice(path.length + 1)).sort((a, b) => Number(a) - Number(b));
  let where = "root";
  for (const name of at) {
    where += `/${name}`;
    const own = iterations(where);
    if (own.length) where += `/${own.includes(turns[name]) ? turns[name] : own[0]}`;
  }
  const last = at.at(-1), of_loop = last ? iterations(where.replace(/\/\d+$/, "")) : [];
  const detail = (name: string): TaskDetail | undefined => details.get(`${where}/${name}`);
  const own = chosen ? detail(chosen) : undefined;
  const pod = chosen ? pods.filter((one) => one.metadata.annotations?.["hekla.io/pipeline-node"] === `${where}/${chosen}`).at(-1) : undefined;
  const move = (to: string[]) => { set_at(to); choose(""); };
  return (
    <div class="beside">
      <div class="col"><Path at={at} go_to={move} />
        {of_loop.length > 1 && <div class="row wrap"><span class="muted">{t("Iteration")}</span><div class="segments">{of_loop.map((turn) => <button key={turn} aria-pressed={where.endsWith(`/${turn}`)} onClick={() => set_turns({ ...turns, [last!]: turn })}>{turn}</button>)}</div></div>}
        <Dag spec={spec} at={at} detail={detail} chosen={chosen} choose={choose} open={(name) => move([...at, name])} /></div>
      <div class="col">
        <StepFacts spec={spec} at={at} name={chosen}>
          {own && <><div class="row"><State tone={STATE_TONE[own.state ?? ""] ?? "wait"} text={state_text(own.state)} /><span class="grow" />{own.start_time && <span class="muted"><Duration from={own.start_time} to={own.end_time ?? (is_over(own.state) ? own.start_time : undefined)} /></span>}</div>
            {own.error?.message && <div class="note fail">{own.error.message}</div>}
            {pod && <div>{t("Pod")} <a href={`/pods/${pod.metadata.namespace}/${pod.metadata.name}`}>{pod.metadata.name}</a></div>}
            {own.state === "SKIPPED" && !pod && <p class="muted">{t("It did not run: its condition was false, or its result was in the cache.")}</p>}</>}
        </StepFacts>
        {pod && <Logs key={pod.metadata.uid} pods={[pod]} />}
      </div>
    </div>
  );
}

function Details({ run }: { run: Run }) {
  const parameters = Object.entries(run.runtime_config?.parameters ?? {});
  return (
    <div class="cards">
      <section class="card"><div class="head"><h2>{t("Facts")}</h2></div><div class="body"><dl class="facts">
        <dt>ID</dt><dd class="mono">{run.run_id}</dd>
        {run.description && <><dt>{t("Description")}</dt><dd>{run.description}</dd></>}
        <dt>{t("Experiment")}</dt><dd><a href={`/experiments/details/${run.experiment_id}`}>{run.experiment_id}</a></dd>
        {run.pipeline_version_reference && <><dt>{t("Pipeline")}</dt><dd><a href={`/pipelines/details/${run.pipeline_version_reference.pipeline_id}?version=${run.pipeline_version_reference.pipeline_version_id ?? ""}`}>{run.pipeline_version_reference.pipeline_id}</a></dd></>}
        <dt>{t("Created")}</dt><dd><Age at={run.created_at} /></dd>
        {run.service_account && <><dt>{t("Service account")}</dt><dd>{run.service_account}</dd></>}
      </dl></div></section>
      <section class="card"><div class="head"><h2>{t("Parameters")}</h2></div><div class="body">{parameters.length ? <dl class="facts">{parameters.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}=`} class="mono">{typeof value === "string" ? value : JSON.stringify(value)}</dd>])}</dl> : <p class="muted">{t("The pipeline's own defaults.")}</p>}</div></section>
      <section class="card"><div class="head"><h2>{t("States")}</h2></div><div class="body"><table class="conditions"><tbody>{(run.state_history ?? []).map((one, at) => <tr key={at}><td><State tone={STATE_TONE[one.state] ?? "wait"} text={state_text(one.state)} /></td><td><Age at={one.update_time} /></td></tr>)}</tbody></table></div></section>
    </div>
  );
}
