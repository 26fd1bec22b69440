// A new run, once or by a schedule: of a pipeline's version, or like another run; its parameters by their types.
import { useEffect, useMemo, useState } from "preact/hooks";
import { go, parameter } from "../../app/router";
import { pipelines_api, spec_of, use_pipelines, type Experiment, type Parameter, type Pipeline, type RecurringRun, type Run, type Trigger, type Version } from "../../data/pipelines";
import { Check, Field, NumberField, SelectField, TextField } from "../../parts/form";
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
  const clone = parameter("clone"), recurring = parameter("clone_recurring");
  const pipelines = use_pipelines<{ pipelines?: Pipeline[] }>("/pipelines?page_size=200&sort_by=created_at%20desc", "pipelines"), experiments = use_pipelines<{ experiments?: Experiment[] }>("/experiments?page_size=200", "experiments");
  const original = use_pipelines<Run & Partial<RecurringRun>>(clone ? `/runs/${clone}` : recurring ? `/recurringruns/${recurring}` : "");
  const problem = pipelines.problem ?? experiments.problem ?? original.problem;
  if (problem) return <Unserved problem={problem} />;
  if (!pipelines.value || !experiments.value || ((clone || recurring) && !original.value)) return <Waiting />;
  const all = pipelines.value.pipelines ?? [];
  if (!all.length && !original.value?.pipeline_spec) return <Empty title={t("No pipelines yet")}>{t("Compile one with the kfp SDK and upload its YAML.")} <a href="/pipelines/upload">{t("Upload a pipeline")}</a></Empty>;
  return <Form pipelines={all} experiments={experiments.value.experiments ?? []} original={original.value} />;
}

function Form({ pipelines, experiments, original }: { pipelines: Pipeline[]; experiments: Experiment[]; original: (Run & Partial<RecurringRun>) | null }) {
  const [pipeline, set_pipeline] = useState(original?.pipeline_version_reference?.pipeline_id ?? (parameter("pipeline") || pipelines[0]?.pipeline_id || ""));
  const [version, set_version] = useState(original?.pipeline_version_reference?.pipeline_version_id ?? parameter("version"));
  const [experiment, set_experiment] = useState(original?.experiment_id ?? (parameter("experiment") || experiments.find((one) => one.display_name === "Default")?.experiment_id || experiments[0]?.experiment_id || ""));
  const [name, set_name] = useState(original ? t("Clone of {name}", { name: original.display_name }) : ""), [says, set_says] = useState(""), [account, set_account] = useState(original?.service_account ?? ""), [said, set_said] = useState(""), [busy, set_busy] = useState(false);
  const [texts, set_texts] = useState<Record<string, string>>({}), [again, set_again] = useState(parameter("recurring") === "1"), [when, set_when] = useState<When>(() => when_of(original));
  const unclear = again ? when_problem(when) : "";
  const of_its_own = original?.pipeline_spec;
  const versions = use_pipelines<{ pipeline_versions?: Version[] }>(of_its_own ? "" : `/pipelines/${pipeline}/versions?page_size=100&sort_by=created_at%20desc`, "pipelines");
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
      const body = {
        display_name: title, description: says || undefined, experiment_id: experiment || undefined, runtime_config: { parameters: values }, service_account: account || undefined,
        ...(of_its_own ? { pipeline_spec: of_its_own } : { pipeline_version_reference: { pipeline_id: pipeline, pipeline_version_id: chosen?.pipeline_version_id } }),
      };
      if (again) {
        const made = await pipelines_api<RecurringRun>("/recurringruns", { method: "POST", body: { ...body, ...schedule_body(when) } });
        toast(t("The schedule is on."), "run");
        return go(`/recurringruns/details/${made.recurring_run_id}`);
      }
      const run = await pipelines_api<Run>("/runs", { method: "POST", body });
      toast(t("The run has begun."), "run");
      go(`/runs/details/${run.run_id}`);
    } catch (error) { set_said((error as Error).message); } finally { set_busy(false); }
  };
  return (
    <>
      <div class="page-head" style={{ maxWidth: "760px" }}><div><div class="crumbs"><a href={again ? "/recurringruns" : "/runs"}>{again ? t("Recurring runs") : t("Runs")}</a>/</div><h1>{again ? t("New recurring run") : t("New run")}</h1></div><span class="grow" /><div class="segments"><button aria-pressed={!again} onClick={() => set_again(false)}>{t("Once")}</button><button aria-pressed={again} onClick={() => set_again(true)}>{t("By a schedule")}</button></div></div>
      <div class="col" style={{ maxWidth: "760px" }}>
        <section class="card"><div class="body col">
          {of_its_own ? <p class="muted">{t("The same pipeline as the run that is cloned.")}</p> : <div class="grid2"><SelectField label={t("Pipeline")} value={pipeline} set={(to) => { set_pipeline(to); set_version(""); }} options={pipelines.map((one) => ({ value: one.pipeline_id, text: name_of(one) }))} />
            <SelectField label={t("Version")} value={chosen?.pipeline_version_id ?? ""} set={set_version} options={all.map((one) => ({ value: one.pipeline_version_id, text: name_of(one) }))} /></div>}
          <div class="grid2"><TextField label={t("Name")} value={name} set={set_name} placeholder={title} /><SelectField label={t("Experiment")} value={experiment} set={set_experiment} options={[...(experiments.length ? [] : [{ value: "", text: "Default" }]), ...experiments.map((one) => ({ value: one.experiment_id, text: one.display_name }))]} /></div>
          <TextField label={t("Description")} value={says} set={set_says} />
          <TextField label={t("Service account")} value={account} set={set_account} placeholder="pipeline-runner" />
        </div></section>
        {again && <Schedule when={when} set={set_when} problem={unclear} />}
        <section class="card"><div class="head"><h2>{t("Parameters")}</h2></div><div class="body col">
          {parameters.map(([key, one]) => <ParameterField key={key} name={key} rule={one} text={texts[key] ?? ""} set={(text) => set_texts({ ...texts, [key]: text })} />)}
          {!parameters.length && <p class="muted">{t("This pipeline takes none.")}</p>}
        </div></section>
        {said && <div class="note fail" role="alert">{said}</div>}
        <div class="row"><button class="button primary" disabled={busy || !title || !!unclear || (!of_its_own && !chosen)} onClick={start}>{again ? t("Create") : t("Start")}</button><a class="button" href={again ? "/recurringruns" : "/runs"}>{t("Cancel")}</a></div>
      </div>
    </>
  );
}

// A schedule as the form has it.
interface When { by: "period" | "cron"; every: number; unit: number; cron: string; from: string; to: string; most: number; catchup: boolean }
const UNITS = [{ value: "60", text: "minutes" }, { value: "3600", text: "hours" }, { value: "86400", text: "days" }];
const local = (text?: string): string => (text && !text.startsWith("1970") ? new Date(Date.parse(text) - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 16) : "");

function when_of(one: Partial<RecurringRun> | null): When {
  const trigger: Trigger = one?.trigger ?? {}, seconds = Number(trigger.periodic_schedule?.interval_second ?? 3600), unit = seconds % 86400 === 0 ? 86400 : seconds % 3600 === 0 ? 3600 : 60, own = trigger.cron_schedule ?? trigger.periodic_schedule;
  return { by: trigger.cron_schedule ? "cron" : "period", every: Math.max(1, Math.round(seconds / unit)), unit, cron: trigger.cron_schedule?.cron ?? "0 0 3 * * *", from: local(own?.start_time), to: local(own?.end_time), most: Number(one?.max_concurrency ?? 1), catchup: !(one?.no_catchup ?? true) };
}
function when_problem(when: When): string {
  if (when.by === "cron" && !when.cron.startsWith("@") && when.cron.trim().split(/\s+/).length !== 6) return t("Six fields are wanted, seconds first: 0 30 9 * * 1-5 is half past nine on weekdays.");
  return when.from && when.to && when.from >= when.to ? t("The end is not after the beginning.") : "";
}
function schedule_body(when: When): object {
  const span = { start_time: when.from ? new Date(when.from).toISOString() : undefined, end_time: when.to ? new Date(when.to).toISOString() : undefined };
  return { max_concurrency: when.most, no_catchup: !when.catchup, mode: "ENABLE", trigger: when.by === "cron" ? { cron_schedule: { cron: when.cron.trim(), ...span } } : { periodic_schedule: { interval_second: when.every * when.unit, ...span } } };
}
const IDEAS: Array<[string, string]> = [["Every hour", "0 0 * * * *"], ["Every night", "0 0 3 * * *"], ["On weekdays", "0 30 9 * * 1-5"], ["On Sundays", "0 0 4 * * 0"]];

function Schedule({ when, set, problem }: { when: When; set: (when: When) => void; problem: string }) {
  return (
    <section class="card"><div class="head"><h2 class="grow">{t("Schedule")}</h2><div class="segments"><button aria-pressed={when.by === "period"} onClick={() => set({ ...when, by: "period" })}>{t("Every so often")}</button><button aria-pressed={when.by === "cron"} onClick={() => set({ ...when, by: "cron" })}>{t("Cron")}</button></div></div><div class="body col">
      {when.by === "period" ? <div class="grid2"><NumberField label={t("Every")} value={when.every} set={(every) => set({ ...when, every })} least={1} /><SelectField label={t("Unit")} value={String(when.unit)} set={(unit) => set({ ...when, unit: Number(unit) })} options={UNITS.map((one) => ({ value: one.value, text: t(one.text) }))} /></div>
        : <><Field label={t("Cron, in UTC")} help={t("Second, minute, hour, day, month, weekday.")} bad={problem}><input class="input mono" value={when.cron} aria-invalid={!!problem} onInput={(event) => set({ ...when, cron: event.currentTarget.value })} /></Field>
          <div class="row wrap">{IDEAS.map(([text, cron]) => <button key={cron} class="button small" onClick={() => set({ ...when, cron })}>{t(text)}</button>)}</div></>}
      <div class="grid2"><Field label={t("Not before")}><input class="input" type="datetime-local" value={when.from} onInput={(event) => set({ ...when, from: event.currentTarget.value })} /></Field><Field label={t("Not after")} bad={when.by === "period" ? problem : undefined}><input class="input" type="datetime-local" value={when.to} onInput={(event) => set({ ...when, to: event.currentTarget.value })} /></Field></div>
      <div class="grid2"><NumberField label={t("Runs at a time")} value={when.most} set={(most) => set({ ...when, most: Math.min(10, most) })} least={1} /><div style={{ alignSelf: "end" }}><Check label={t("Make up for times that were missed")} value={when.catchup} set={(catchup) => set({ ...when, catchup })} /></div></div>
    </div></section>
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
