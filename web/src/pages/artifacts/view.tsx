// Artifacts of all runs; one with what it is, its picture, and where it comes from and went to.
import { useMemo } from "preact/hooks";
import type { ViewProps } from "../../app/page";
import { parameter, set_parameters } from "../../app/router";
import { artifact_url, filter_of, step_path, use_pipelines, type Artifact, type KeptArtifact, type Run, type Step } from "../../data/pipelines";
import { ArtifactPicture, is_pictured, Scalars } from "../../parts/artifact";
import { Icon } from "../../parts/icon";
import { Unserved } from "../../parts/pipelines";
import { Chip, Empty, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { Age } from "../../parts/time";
import { t } from "../../text/text";

export default function Artifacts({ params: { id } }: ViewProps) {
  return id ? <One id={id} /> : <All />;
}
const href = (one: KeptArtifact): string => `/artifacts/${one.artifact_id}`;
const type_of = (one: KeptArtifact): string => one.type.replace(/^system\./, "") || "Artifact";
const step_of = (one: KeptArtifact): string => one.task_id.slice(one.run_id.length + 6);
const TYPES = ["Model", "Dataset", "Metrics", "ClassificationMetrics", "HTML", "Markdown", "Artifact"];

function All() {
  const type = parameter("type");
  const asked = use_pipelines<{ artifacts?: KeptArtifact[]; total_size?: number }>(`/artifacts?page_size=200&sort_by=created_at%20desc${type ? `&filter=${filter_of(["type", `system.${type}`])}` : ""}`, "runs"), runs = use_pipelines<{ runs?: Run[] }>("/runs?page_size=200&sort_by=created_at%20desc", "runs");
  const names = useMemo(() => new Map((runs.value?.runs ?? []).map((run) => [run.run_id, run.display_name])), [runs.value]);
  const columns = useMemo((): Column<KeptArtifact>[] => [
    { key: "name", title: "Name", width: "minmax(120px, 1fr)", cell: (one) => <a href={href(one)}>{one.name}</a>, sort: (one) => one.name },
    { key: "type", title: "Type", width: "150px", cell: (one) => <Chip>{type_of(one)}</Chip>, sort: type_of },
    { key: "step", title: "Step", width: "minmax(120px, 1fr)", cell: (one) => <a href={`/runs/details/${one.run_id}?step=${encodeURIComponent(`root/${step_of(one)}`)}`}>{step_of(one)}</a>, sort: step_of },
    { key: "run", title: "Run", width: "minmax(140px, 1.2fr)", cell: (one) => <a href={`/runs/details/${one.run_id}`}>{names.get(one.run_id) ?? one.run_id.slice(0, 8)}</a>, sort: (one) => names.get(one.run_id) ?? one.run_id },
    { key: "uri", title: "Place", width: "minmax(160px, 2fr)", cell: (one) => <span class="mono faint" title={one.uri}>{one.uri}</span> },
    { key: "age", title: "Age", width: "80px", right: true, cell: (one) => <Age at={one.created_at} />, sort: (one) => Date.parse(one.created_at) },
  ], [names]);
  return (
    <>
      <div class="page-head"><h1 class="grow">{t("Artifacts")}</h1>{asked.value && <select class="input" style={{ width: "auto" }} aria-label={t("Type")} value={type} onChange={(event) => set_parameters({ type: event.currentTarget.value })}><option value="">{t("All types")}</option>{TYPES.map((one) => <option key={one} value={one}>{one}</option>)}</select>}</div>
      {asked.problem && !asked.value ? <Unserved problem={asked.problem} /> : !asked.value ? <Waiting /> : <Table rows={asked.value.artifacts ?? []} columns={columns} row_key={(one) => one.artifact_id} href={href} order="-age" name={t("Artifacts")} least={860} text={(one) => `${one.name} ${one.type} ${one.uri} ${names.get(one.run_id) ?? ""}`}
        empty={<Empty title={t("No artifacts yet")}>{t("Steps of runs make them: data, models, metrics.")}</Empty>} />}
    </>
  );
}

function One({ id }: { id: string }) {
  const asked = use_pipelines<KeptArtifact>(`/artifacts/${id}`), one = asked.value;
  const run = use_pipelines<Run>(one ? `/runs/${one.run_id}` : ""), tasks = use_pipelines<{ tasks?: Step[] }>(one ? `/tasks?run_id=${one.run_id}` : "", one ? `runs/${one.run_id}` : "");
  const siblings = use_pipelines<{ artifacts?: KeptArtifact[] }>(one ? `/artifacts?page_size=200&run_id=${one.run_id}` : "");
  if (asked.problem?.status === 404 && asked.problem.message.startsWith("Artifact ")) return <Empty title={t("{name} does not exist (any more)", { name: id })}><a href="/artifacts">{t("Artifacts")}</a></Empty>;
  if (asked.problem) return <Unserved problem={asked.problem} />;
  if (!one) return <Waiting />;
  const artifact: Artifact = { name: one.name, type: { schemaTitle: one.type }, uri: one.uri, metadata: one.metadata }, url = artifact_url(one.uri);
  return (
    <>
      <div class="page-head"><div class="grow"><div class="crumbs"><a href="/artifacts">{t("Artifacts")}</a>/</div><div class="row wrap"><h1>{one.name}</h1><Chip tone="accent">{type_of(one)}</Chip></div><div class="sub mono wrap-anywhere">{one.uri}</div></div>
        {url && <a class="button" href={url} download target="_blank"><Icon name="down" />{t("Download")}</a>}</div>
      <div class="beside">
        <section class="card"><div class="head"><h2>{t("Preview")}</h2></div><div class="body col"><ArtifactPicture artifact={artifact} /></div></section>
        <div class="col">
          <section class="card"><div class="head"><h2>{t("Facts")}</h2></div><div class="body col"><dl class="facts"><dt>{t("Run")}</dt><dd><a href={`/runs/details/${one.run_id}`}>{run.value?.display_name ?? one.run_id}</a></dd><dt>{t("Made by")}</dt><dd><a href={`/runs/details/${one.run_id}?step=${encodeURIComponent(`root/${step_of(one)}`)}`}>{step_of(one)}</a></dd><dt>{t("Created")}</dt><dd><Age at={one.created_at} /></dd></dl>{!is_pictured(artifact) && <Scalars metadata={one.metadata} />}</div></section>
          <Lineage one={one} steps={tasks.value?.tasks ?? []} siblings={siblings.value?.artifacts ?? []} />
        </div>
      </div>
    </>
  );
}

// What it was made of and what was made with it, within its run.
function Lineage({ one, steps, siblings }: { one: KeptArtifact; steps: Step[]; siblings: KeptArtifact[] }) {
  const maker = steps.find((step) => step.task_id === one.task_id), by_uri = new Map(siblings.map((other) => [other.uri, other]));
  const taken = Object.values(maker?.inputs?.artifacts ?? {}).flat(), users = steps.filter((step) => step.type === "container" && Object.values(step.inputs?.artifacts ?? {}).flat().some((other) => other.uri === one.uri));
  const link = (artifact: Artifact) => { const known = by_uri.get(artifact.uri ?? ""); return known ? <a href={href(known)}>{known.name}</a> : <span title={artifact.uri}>{artifact.name?.split("/").at(-1) || artifact.uri}</span>; };
  return (
    <section class="card"><div class="head"><h2>{t("Lineage")}</h2></div><div class="body"><ol class="lineage">
      {taken.map((artifact, at) => <li key={at} class="thing">{link(artifact)}</li>)}
      {maker && <li class="doing"><a href={`/runs/details/${one.run_id}?step=${encodeURIComponent(step_path(maker))}`}>{maker.name}</a></li>}
      <li class="thing here"><b>{one.name}</b></li>
      {users.map((step) => <li key={step.task_id} class="doing"><a href={`/runs/details/${one.run_id}?step=${encodeURIComponent(step_path(step))}`}>{step_path(step).slice(5)}</a>
        {Object.values(step.outputs?.artifacts ?? {}).flat().length > 0 && <span class="muted"> → {Object.values(step.outputs!.artifacts!).flat().map((artifact, at) => <span key={at}>{at ? ", " : ""}{link(artifact)}</span>)}</span>}</li>)}
    </ol></div></section>
  );
}
