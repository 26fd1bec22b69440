// Runs side by side: their parameters, metrics, confusion matrices, ROC curves in one picture, documents.
import { useEffect, useMemo, useState } from "preact/hooks";
import { parameter } from "../../app/router";
import { ApiError } from "../../data/api";
import { pipelines_api, state_text, STATE_TONE, step_path, time_of, type Artifact, type Run, type Step } from "../../data/pipelines";
import { ArtifactPicture, kind_of, scalars_of, shown_number } from "../../parts/artifact";
import { confusion_of, ConfusionMatrix, Roc, roc_of } from "../../parts/charts";
import { run_href, Unserved } from "../../parts/pipelines";
import { Empty, State, Waiting } from "../../parts/states";
import { Duration } from "../../parts/time";
import { t } from "../../text/text";

interface Compared { run: Run; steps: Step[]; made: Array<{ name: string; artifact: Artifact }> }

async function look_at(id: string): Promise<Compared> {
  const [run, tasks] = await Promise.all([pipelines_api<Run>(`/runs/${id}`), pipelines_api<{ tasks?: Step[] }>(`/tasks?run_id=${id}`)]);
  const steps = tasks.tasks ?? [];
  const made = steps.filter((step) => step.type === "container").flatMap((step) => Object.entries(step.outputs?.artifacts ?? {}).flatMap(([name, list]) => list.map((artifact) => ({ name: `${step_path(step).slice(5)}.${name}`, artifact }))));
  return { run, steps, made };
}
// Parameters as the run took them, defaults included.
const parameters_of = ({ run, steps }: Compared): Record<string, unknown> => steps.find((step) => step_path(step) === "root")?.inputs?.parameters ?? run.runtime_config?.parameters ?? {};
const text = (value: unknown): string => (value === undefined ? "" : typeof value === "string" ? value : typeof value === "number" ? shown_number(value) : JSON.stringify(value));

export default function Compare() {
  const ids = parameter("runlist").split(",").filter(Boolean).slice(0, 10), [all, set_all] = useState<Compared[] | null>(null), [problem, set_problem] = useState<ApiError | null>(null);
  useEffect(() => { set_all(null); Promise.all(ids.map(look_at)).then(set_all, set_problem); }, [ids.join()]);
  if (!ids.length) return <Empty title={t("No runs to compare")}><a href="/runs">{t("Choose some in the list of runs.")}</a></Empty>;
  if (problem) return <Unserved problem={problem} />;
  if (!all) return <Waiting />;
  return <Sheet all={all} />;
}

function Sheet({ all }: { all: Compared[] }) {
  const [same, set_same] = useState(true);
  const metrics = useMemo(() => all.map(({ made }) => Object.fromEntries(made.filter(({ artifact }) => /Metrics$/.test(kind_of(artifact))).flatMap(({ name, artifact }) => scalars_of(artifact.metadata).map(([key, value]) => [`${name.split(".")[0]} · ${key}`, value])))), [all]);
  const curves = all.flatMap(({ run, made }) => made.flatMap(({ artifact }) => { const points = roc_of(artifact.metadata); return points ? [{ name: run.display_name, points }] : []; }));
  const pictured = all.map(({ made }) => made.filter(({ artifact }) => confusion_of(artifact.metadata) || /^(HTML|Markdown)$/.test(kind_of(artifact))));
  return (
    <>
      <div class="page-head"><div class="grow"><div class="crumbs"><a href="/runs">{t("Runs")}</a>/</div><h1>{t("Compare runs")}</h1></div><label class="check"><input type="checkbox" checked={!same} onChange={(event) => set_same(!event.currentTarget.checked)} />{t("Only what differs")}</label></div>
      <section class="card"><div class="body tight" style={{ overflow: "auto" }}><table class="conditions compare"><thead><tr><td />{all.map(({ run }) => <th key={run.run_id} scope="col"><a href={run_href(run)}>{run.display_name}</a><div><State tone={STATE_TONE[run.state ?? ""] ?? "wait"} text={state_text(run.state)} /> <span class="faint"><Duration from={run.created_at} to={time_of(run.finished_at)} /></span></div></th>)}</tr></thead>
        <Rows title={t("Parameters")} all={all.map(parameters_of)} same={same} /><Rows title={t("Metrics")} all={metrics} same={same} numbers /></table></div></section>
      {curves.length > 0 && <section class="card"><div class="head"><h2>{t("ROC curves")}</h2></div><div class="body"><Roc curves={curves} /></div></section>}
      {pictured.some((list) => list.length) && <div class="sides" style={{ gridTemplateColumns: `repeat(${Math.min(all.length, 3)}, minmax(0, 1fr))` }}>{all.map(({ run }, at) => (
        <section key={run.run_id} class="card"><div class="head"><h2 class="cut">{run.display_name}</h2></div><div class="body col">{pictured[at].map(({ name, artifact }) => { const matrix = confusion_of(artifact.metadata); return <div key={name} class="col"><h3>{name}</h3>{matrix ? <ConfusionMatrix of={matrix} /> : <ArtifactPicture artifact={artifact} />}</div>; })}{!pictured[at].length && <p class="muted">{t("None.")}</p>}</div></section>))}</div>}
    </>
  );
}

// One line for each name that some run has; where they differ the line stands out, and the best number of a metric, too.
function Rows({ title, all, same, numbers }: { title: string; all: Array<Record<string, unknown>>; same: boolean; numbers?: boolean }) {
  const names = [...new Set(all.flatMap((one) => Object.keys(one)))];
  const rows = names.map((name) => ({ name, values: all.map((one) => one[name]) })).map((row) => ({ ...row, differs: new Set(row.values.map(text)).size > 1 })).filter((row) => same || row.differs);
  return (
    <tbody><tr class="part"><th scope="rowgroup" colSpan={all.length + 1}>{title}</th></tr>
      {rows.map(({ name, values, differs }) => { const most = numbers && differs ? Math.max(...values.filter((one): one is number => typeof one === "number")) : NaN; return <tr key={name} class={differs ? "differs" : ""}><th scope="row" class="mono">{name}</th>{values.map((value, at) => <td key={at} class="mono">{value === most ? <b>{text(value)}</b> : text(value)}</td>)}</tr>; })}
      {!rows.length && <tr><td colSpan={all.length + 1} class="muted">{names.length ? t("All are the same.") : t("None.")}</td></tr>}</tbody>
  );
}
