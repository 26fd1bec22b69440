// A new run: of a pipeline's version, or like another run; its parameters by their types.
import { useEffect, useMemo, useState } from "preact/hooks";
import { go, parameter } from "../../app/router";
import { pipelines_api, spec_of, use_pipelines, type Experiment, type Parameter, type Pipeline, type Run, type Version } from "../../data/pipelines";
import { Field, SelectField, TextField } from "../../parts/form";
import { Unserved } from "../../parts/pipelines";
import { Empty, Waiting } from "../../parts/states";
import { toast } from "../../parts/toast";
import { t } from "../../text/text";

const name_of = (one: { display_name?: string; name?: string }): string => one.display_name ?? one.name ?? "";
const shown = (value: unknown): string => (value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value));

// The typed text as the parameter's type wants it; an error is its problem in words.
function typed(text: string, type = "STRING"): unknown {
  if (type === "STRING") return text;
  if (type === "NUMBER_INTEGER" || type === "NUMBER_DOUBLE") {
    const number = Number(text);
    if (!text.trim() || Number.isNaN(number) || (type === "NUMBER_INTEGER" && !Number.isInteger(number))) throw new Error(t("This is not a number of that kind."));
    return number;
  }
  if (type === "BOOLEAN") return text === "true";
  try { return JSON.parse(text); } catch { throw new Error(t("This is not JSON.")); }
}

export default function NewRun() {
  const clone = parameter("clone");
  const pipelines = use_pipelines<{ pipelines?: Pipeline[] }>("/pipelines?page_size=200&sort_by=created_at%20desc", 60_000), experiments = use_pipelines<{ experiments?: Experiment[] }>("/experiments?page_size=200", 60_000);
  const original = use_pipelines<Run>(clone ? `/runs/${clone}` : "", 600_000);
  const problem = pipelines.problem ?? experiments.problem ?? original.problem;
  if (problem) return <Unserved problem={problem} />;
  if (!pipelines.value || !experiments.value || (clone && !original.value)) return <Waiting />;
  const all = pipelines.value.pipelines ?? [];
  if (!all.length && !original.value?.pipeline_spec) return <Empty title={t("No pipelines yet")}>{t("Compile one with the kfp SDK and upload its YAML.")} <a href="/pipelines/upload">{t("Upload a pipeline")}</a></Empty>;
  return <Form pipelines={all} experiments={experiments.value.experiments ?? []} original={original.value} />;
}

function Form({ pipelines, experiments, original }: { pipelines: Pipeline[]; experiments: Experiment[]; original: Run | null }) {
  const [pipeline, set_pipeline] = useState(original?.pipeline_version_reference?.pipeline_id ?? (parameter("pipeline") || pipelines[0]?.pipeline_id || ""));
  const [version, set_version] = useState(original?.pipeline_version_reference?.pipeline_version_id ?? parameter("version"));
  const [experiment, set_experiment] = useState(original?.experiment_id ?? (parameter("experiment") || experiments.find((one) => one.display_name === "Default")?.experiment_id || experiments[0]?.experiment_id || ""));
  const [name, set_name] = useState(original ? t("Clone of {name}", { name: original.display_name }) : ""), [says, set_says] = useState(""), [said, set_said] = useState(""), [busy, set_busy] = useState(false);
  const [texts, set_texts] = useState<Record<string, string>>({});
  const of_its_own = original?.pipeline_spec;
  const versions = use_pipelines<{ pipeline_versions?: Version[] }>(of_its_own ? "" : `/pipelines/${pipeline}/versions?page_size=100&sort_by=created_at%20desc`, 60_000);
  const all = versions.value?.pipeline_versions ?? [], chosen = all.find((one) => one.pipeline_version_id === version) ?? all[0];
  const spec = useMemo(() => spec_of(of_its_own ?? chosen?.pipeline_spec), [of_its_own, chosen?.pipeline_version_id]);
  const parameters = Object.entries(spec.root?.inputDefinitions?.parameters ?? {});
  useEffect(() => { set_texts(Object.fromEntries(parameters.map(([key, one]) => [key, shown(original?.runtime_config?.parameters?.[key] ?? one.defaultValue)]))); }, [spec]);
  const title = name || (spec.pipelineInfo?.name ? `${spec.pipelineInfo.name} ${new Date().toISOString().slice(0, 16).replace("T", " ")}` : "");
  const start = async () => {
    set_busy(true);
    set_said("");
    try {
      const values: Record<string, unknown> = {};
      for (const [key, one] of parameters) {
        const text = texts[key] ?? "";
        if (text === shown(one.defaultValue) && (one.defaultValue !== undefined || one.isOptional)) continue;
        try { values[key] = typed(text, one.parameterType); } catch (error) { throw new Error(`${key}: ${(error as Error).message}`); }
      }
      const run = await pipelines_api<Run>("/runs", { method: "POST", body: {
        display_name: title, description: says || undefined, experiment_id: experiment || undefined, runtime_config: { parameters: values },
        ...(of_its_own ? { pipeline_spec: of_its_own } : { pipeline_version_reference: { pipeline_id: pipeline, pipeline_version_id: chosen?.pipeline_version_id } }),
      } });
      toast(t("The run has begun."), "run");
      go(`/runs/details/${run.run_id}`);
    } catch (error) { set_said((error as Error).message); } finally { set_busy(false); }
  };
  return (
    <>
      <div class="page-head"><div><div class="crumbs"><a href="/runs">{t("Runs")}</a>/</div><h1>{t("New run")}</h1></div></div>
      <div class="col" style={{ maxWidth: "760px" }}>
        <section class="card"><div class="body col">
          {of_its_own ? <p class="muted">{t("The same pipeline as the run that is cloned.")}</p> : <div class="grid2"><SelectField label={t("Pipeline")} value={pipeline} set={(to) => { set_pipeline(to); set_version(""); }} options={pipelines.map((one) => ({ value: one.pipeline_id, text: name_of(one) }))} />
            <SelectField label={t("Version")} value={chosen?.pipeline_version_id ?? ""} set={set_version} options={all.map((one) => ({ value: one.pipeline_version_id, text: name_of(one) }))} /></div>}
          <div class="grid2"><TextField label={t("Name")} value={name} set={set_name} placeholder={title} /><SelectField label={t("Experiment")} value={experiment} set={set_experiment} options={[...(experiments.length ? [] : [{ value: "", text: "Default" }]), ...experiments.map((one) => ({ value: one.experiment_id, text: one.display_name }))]} /></div>
          <TextField label={t("Description")} value={says} set={set_says} />
        </div></section>
        <section class="card"><div class="head"><h2>{t("Parameters")}</h2></div><div class="body col">
          {parameters.map(([key, one]) => <ParameterField key={key} name={key} rule={one} text={texts[key] ?? ""} set={(text) => set_texts({ ...texts, [key]: text })} />)}
          {!parameters.length && <p class="muted">{t("This pipeline takes none.")}</p>}
        </div></section>
        {said && <div class="note fail" role="alert">{said}</div>}
        <div class="row"><button class="button primary" disabled={busy || !title || (!of_its_own && !chosen)} onClick={start}>{t("Start")}</button><a class="button" href="/runs">{t("Cancel")}</a></div>
      </div>
    </>
  );
}

function ParameterField({ name, rule, text, set }: { name: string; rule: Parameter; text: string; set: (text: string) => void }) {
  const type = rule.parameterType ?? "STRING", label = rule.defaultValue === undefined && !rule.isOptional ? `${name} *` : name;
  if (type === "BOOLEAN") return <SelectField label={label} value={text || "false"} set={set} options={["true", "false"]} help={rule.description} />;
  let bad: string | undefined;
  if (text && type !== "STRING") try { typed(text, type); } catch (error) { bad = (error as Error).message; }
  return <Field label={`${label}  ·  ${type.toLowerCase()}`} help={rule.description} bad={bad}>
    {type === "LIST" || type === "STRUCT" ? <textarea class="input" rows={3} value={text} onInput={(event) => set(event.currentTarget.value)} /> : <input class="input" value={text} aria-invalid={!!bad} onInput={(event) => set(event.currentTarget.value)} />}
  </Field>;
}
