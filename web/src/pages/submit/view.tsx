// Submit: a form for the common cases, or YAML, typed, pasted or dropped as files; the server tries it first.
import { useEffect, useState } from "preact/hooks";
import { go, parameter, set_parameters } from "../../app/router";
import { kube } from "../../data/api";
import { use_collection } from "../../data/collection";
import { job_kinds } from "../../data/jobs";
import { resources, type KubeObject } from "../../data/resource";
import { home_namespace } from "../../data/session";
import { Editor } from "../../parts/editor";
import { Field, NumberField, SelectField, TextField } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { toast } from "../../parts/toast";
import { complete_by_schema } from "../../parts/yaml/schema";
import { t, tn } from "../../text/text";
import { FORMS, KINDS, make_job, type JobForm } from "./make";

interface Said { tone: "run" | "fail"; lines: string[] }

// Finds each object's path by discovery, as kubectl does, and creates it, or applies it where it exists.
async function send_objects(objects: KubeObject[], ns: string, dry: boolean): Promise<string[]> {
  const out: string[] = [];
  for (const object of objects) {
    const root = object.apiVersion.includes("/") ? `/apis/${object.apiVersion}` : `/api/${object.apiVersion}`;
    const found = (await kube<{ resources: Array<{ name: string; kind: string; namespaced: boolean }> }>(root)).resources.find((one) => one.kind === object.kind && !one.name.includes("/"));
    if (!found) throw new Error(t("{kind} of {version} is not served by this cluster.", { kind: object.kind, version: object.apiVersion }));
    const where = object.metadata?.namespace || ns;
    const path = `${root}${found.namespaced ? `/namespaces/${where}` : ""}/${found.name}`;
    const named = object.metadata?.name;
    if (found.namespaced) object.metadata = { ...object.metadata, namespace: where };
    const query = { dryRun: dry ? "All" : undefined, fieldManager: "hekla-page", fieldValidation: "Strict", force: named ? true : undefined };
    const made = named
      ? await kube<KubeObject>(`${path}/${named}`, { method: "PATCH", body: object, content_type: "application/apply-patch+yaml", query })
      : await kube<KubeObject>(path, { method: "POST", body: object, query: { ...query, force: undefined } });
    out.push(`${found.name}/${made.metadata.name}`);
  }
  return out;
}

export default function Submit() {
  const by_form = parameter("by") !== "yaml";
  const [text, set_text] = useState("");
  const [form, set_form] = useState<JobForm>({ ...FORMS[0].form, name: "" });
  const [said, set_said] = useState<Said | null>(null);
  const [busy, set_busy] = useState(false);
  const [over, set_over] = useState(false);
  const ns = home_namespace.value;

  useEffect(() => { if (by_form) import("../../parts/yaml/yaml").then(({ to_yaml }) => set_text(to_yaml(make_job(form, ns)))); }, [form, ns, by_form]);

  const submit = async (dry: boolean) => {
    set_busy(true);
    set_said(null);
    try {
      const { from_yaml } = await import("../../parts/yaml/yaml");
      const objects = by_form ? [make_job(form, ns) as KubeObject] : from_yaml(text);
      if (!objects.length) throw new Error(t("There is nothing to submit."));
      await send_objects(structuredClone(objects), ns, true);
      if (dry) { set_said({ tone: "run", lines: [tn(objects.length, "The server accepts it. Nothing was written.", "The server accepts all {n}. Nothing was written.")] }); return; }
      const made = await send_objects(objects, ns, false);
      toast(t("Submitted: {what}", { what: made.join(", ") }), "run");
      const job = objects.find((one) => job_kinds.some((kind) => kind.resource.kind === one.kind && one.apiVersion.startsWith(kind.resource.group)));
      const kind = job && job_kinds.find((one) => one.resource.kind === job.kind && job.apiVersion.startsWith(one.resource.group));
      if (kind && job?.metadata.name) go(`/jobs/${kind.key}/${job.metadata.namespace ?? ns}/${job.metadata.name}`);
      else set_said({ tone: "run", lines: made });
    } catch (error) { set_said({ tone: "fail", lines: [(error as Error).message] }); } finally { set_busy(false); }
  };
  const drop = async (files: FileList | null) => {
    set_over(false);
    if (!files?.length) return;
    const texts = await Promise.all([...files].map((file) => file.text()));
    set_text(texts.join("\n---\n"));
    set_parameters({ by: "yaml" });
  };
  return (
    <>
      <div class="page-head">
        <h1>{t("Submit")}</h1><span class="sub grow">{t("into {ns}", { ns })}</span>
        <div class="segments" role="group" aria-label={t("How")}>
          <button aria-pressed={by_form} onClick={() => set_parameters({ by: "" })}>{t("Form")}</button>
          <button aria-pressed={!by_form} onClick={() => set_parameters({ by: "yaml" })}>YAML</button>
        </div>
      </div>
      <div class="cards" style={{ gridTemplateColumns: by_form ? "minmax(300px, 1fr) minmax(320px, 1fr)" : "1fr", flex: 1, alignItems: "stretch" }}
        onDragOver={(event) => { event.preventDefault(); set_over(true); }} onDragLeave={() => set_over(false)} onDrop={(event) => { event.preventDefault(); drop(event.dataTransfer?.files ?? null); }}>
        {by_form && <Form form={form} set={set_form} />}
        <div class="col" style={{ minHeight: "420px" }}>
          <label class={`drop${over ? " over" : ""}`}>
            <input type="file" class="sr" multiple accept=".yaml,.yml,.json" onChange={(event) => drop(event.currentTarget.files)} />
            <Icon name="submit" /> {t("Drop YAML files here, or click to choose some.")}
          </label>
          <Editor text={text} on_change={set_text} read_only={by_form} complete={complete_by_schema} on_save={() => submit(true)} label={t("What will be sent")} key={String(by_form)} />
        </div>
      </div>
      {said && <div class={`note ${said.tone}`} role="alert">{said.lines.map((line) => <div key={line}>{line}</div>)}</div>}
      <div class="row"><span class="grow" />
        <button class="button" disabled={busy} onClick={() => submit(true)}>{t("Try it (dry run)")}</button>
        <button class="button primary" disabled={busy || (by_form && !form.name)} title={by_form && !form.name ? t("Give it a name") : undefined} onClick={() => submit(false)}>{busy && <span class="spinner" />}{t("Submit")}</button>
      </div>
    </>
  );
}

function Form({ form, set }: { form: JobForm; set: (form: JobForm) => void }) {
  const queues = use_collection(resources.queues);
  const change = (changes: Partial<JobForm>) => set({ ...form, ...changes });
  return (
    <section class="card"><div class="body col">
      <div class="tiles" role="radiogroup" aria-label={t("Kind")}>
        {FORMS.map((one) => (
          <button key={one.key} class="tile" role="radio" aria-checked={form.kind === one.form.kind} onClick={() => set({ ...one.form, name: form.name, queue: form.queue })}><b>{KINDS[one.form.kind].label}</b><span>{t(one.says)}</span></button>
        ))}
      </div>
      <TextField label={t("Name")} value={form.name} set={(name) => change({ name })} pattern={/^[a-z]([-a-z0-9]*[a-z0-9])?$/} problem={t("Small letters, digits and dashes; a letter first.")} needed />
      <TextField label={t("Image")} value={form.image} set={(image) => change({ image })} needed />
      <Field label={t("Command")} help={t("Runs by /bin/sh -c")}><textarea class="input" rows={4} value={form.command} onInput={(event) => change({ command: event.currentTarget.value })} /></Field>
      <div class="grid2">
        {KINDS[form.kind].roles.map((role, at) => <NumberField key={role} label={t("Replicas of {role}", { role })} value={form.replicas[at] ?? 1} set={(n) => change({ replicas: Object.assign([...form.replicas], { [at]: n }) })} least={role === "Master" || role === "Launcher" ? 1 : 0} />)}
        <TextField label={t("CPUs of a pod")} value={form.cpu} set={(cpu) => change({ cpu })} />
        <TextField label={t("Memory of a pod")} value={form.memory} set={(memory) => change({ memory })} />
        <TextField label={t("GPUs of a pod (nvidia.com/gpu)")} value={form.gpu} set={(gpu) => change({ gpu })} />
        <SelectField label={t("Queue")} value={form.queue} set={(queue) => change({ queue })} options={queues.all().map((one) => one.metadata.name).filter((name) => name !== "root").sort()} />
      </div>
      <label class="check"><input type="checkbox" checked={form.gang} onChange={(event) => change({ gang: event.currentTarget.checked })} />{t("Place all pods together, or none")}</label>
    </div></section>
  );
}
