// One pipeline: the graph of a version, what it takes, its YAML, its versions.
import { useState } from "preact/hooks";
import type { ViewProps } from "../../app/page";
import { parameter, set_parameters } from "../../app/router";
import { filter_of, pipelines_api, spec_of, use_pipelines, type Pipeline, type Run, type Spec, type Version } from "../../data/pipelines";
import { Dag } from "../../parts/dag";
import { ask } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { RunTable, Unserved } from "../../parts/pipelines";
import { SpecYaml } from "../../parts/spec_yaml";
import { StepFacts } from "../../parts/step_facts";
import { Empty, Waiting } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { Age } from "../../parts/time";
import { t } from "../../text/text";

export default function PipelinePage({ params: { id, version } }: ViewProps) {
  const pipeline = use_pipelines<Pipeline>(`/pipelines/${id}`, "pipelines"), versions = use_pipelines<{ pipeline_versions?: Version[] }>(`/pipelines/${id}/versions?page_size=100&sort_by=created_at%20desc`, "pipelines");
  if (pipeline.problem?.status === 404) return <Empty title={t("{name} does not exist (any more)", { name: id })}><a href="/pipelines">{t("Pipelines")}</a></Empty>;
  if (pipeline.problem ?? versions.problem) return <Unserved problem={(pipeline.problem ?? versions.problem)!} />;
  if (!pipeline.value || !versions.value) return <Waiting />;
  const all = versions.value.pipeline_versions ?? [], shown = all.find((one) => one.pipeline_version_id === (parameter("version") || version)) ?? all[0];
  return (
    <>
      <div class="page-head">
        <div class="grow" style={{ minWidth: "240px" }}><div class="crumbs"><a href="/pipelines">{t("Pipelines")}</a>/</div><h1 class="cut">{pipeline.value.display_name ?? pipeline.value.name}</h1>{pipeline.value.description && <div class="sub">{pipeline.value.description}</div>}</div>
        {all.length > 1 && <select class="input" style={{ width: "auto" }} aria-label={t("Version")} value={shown?.pipeline_version_id} onChange={(event) => set_parameters({ version: event.currentTarget.value })}>{all.map((one) => <option key={one.pipeline_version_id} value={one.pipeline_version_id}>{one.display_name ?? one.name}</option>)}</select>}
        <a class="button" href={`/pipelines/upload?pipeline=${id}`}><Icon name="up" />{t("Upload a version")}</a>
        {shown && <a class="button" href={`/runs/new?recurring=1&pipeline=${id}&version=${shown.pipeline_version_id}`}><Icon name="refresh" />{t("By the clock")}</a>}
        <a class="button primary" href={`/runs/new?pipeline=${id}${shown ? `&version=${shown.pipeline_version_id}` : ""}`}><Icon name="play" />{t("Run it")}</a>
      </div>
      {!shown ? <Empty title={t("It has no version yet")}><a href={`/pipelines/upload?pipeline=${id}`}>{t("Upload a version")}</a></Empty> : (
        <Tabs tabs={[
          { key: "graph", title: "Graph", body: () => <Shape key={shown.pipeline_version_id} spec={spec_of(shown.pipeline_spec)} /> },
          { key: "runs", title: "Runs", body: () => <Runs version={shown.pipeline_version_id} /> },
          { key: "versions", title: "Versions", body: () => <section class="card"><div class="body"><table class="conditions"><thead><tr>{["Name", "Description", "Age"].map((head) => <th key={head} scope="col">{t(head)}</th>)}<th /></tr></thead>
            <tbody>{all.map((one) => <tr key={one.pipeline_version_id}><td><a href={`/pipelines/details/${id}?version=${one.pipeline_version_id}`}>{one.display_name ?? one.name}</a></td><td>{one.description}</td><td><Age at={one.created_at} /></td>
              <td style={{ textAlign: "right" }}><button class="button small icon" aria-label={t("Delete {name}", { name: one.display_name ?? one.name ?? "" })} onClick={() => ask({ title: t("Delete {name}?", { name: one.display_name ?? one.name ?? "" }), text: t("Its runs stay."), accept: t("Delete"), doing: t("Deleting…"), danger: true, act: () => pipelines_api(`/pipelines/${id}/versions/${one.pipeline_version_id}`, { method: "DELETE" }) })}><Icon name="trash" size={13} /></button></td></tr>)}</tbody></table></div></section> },
          { key: "yaml", title: "YAML", body: () => <SpecYaml spec={shown.pipeline_spec} name={shown.display_name ?? ""} /> },
        ]} />
      )}
    </>
  );
}

function Runs({ version }: { version: string }) {
  const runs = use_pipelines<{ runs?: Run[] }>(`/runs?page_size=200&sort_by=created_at%20desc&filter=${filter_of(["pipeline_version_id", version])}`, "runs");
  return runs.value ? <RunTable runs={runs.value.runs ?? []} /> : <Waiting />;
}

function Shape({ spec }: { spec: Spec }) {
  const [at, set_at] = useState<string[]>([]), [chosen, choose] = useState("");
  return (
    <div class="beside">
      <div class="col"><Path at={at} go_to={(to) => { set_at(to); choose(""); }} /><Dag spec={spec} at={at} chosen={chosen} choose={choose} open={(name) => { set_at([...at, name]); choose(""); }} /></div>
      <StepFacts spec={spec} at={at} name={chosen} />
    </div>
  );
}

// Where one is in graphs within graphs.
export function Path({ at, go_to }: { at: string[]; go_to: (to: string[]) => void }) {
  if (!at.length) return null;
  return <div class="crumbs"><button class="button plain small" onClick={() => go_to([])}>{t("Whole pipeline")}</button>{at.map((name, index) => <span key={index}>/ <button class="button plain small" disabled={index === at.length - 1} onClick={() => go_to(at.slice(0, index + 1))}>{name}</button></span>)}</div>;
}
