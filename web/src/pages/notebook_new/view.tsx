// The whole form of a new notebook: upstream's fields, defaults from its configuration, sent to its API.
import { useEffect, useMemo, useState } from "preact/hooks";
import { go, parameter } from "../../app/router";
import { call } from "../../data/api";
import { use_collection } from "../../data/collection";
import { resources } from "../../data/resource";
import { home_namespace, session } from "../../data/session";
import { default_label, LABEL, type Claim, type Notebook, type PodDefault } from "../../data/workbench";
import { Check, NumberField, SelectField, TextField } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { Refused, Waiting } from "../../parts/states";
import { toast } from "../../parts/toast";
import { t } from "../../text/text";
import { body_of, first_problem, new_volume, type Config, type NotebookForm, type Volume } from "./form";

const KEPT = "hekla.new-notebook";  // survives a login in between

export default function NewNotebook() {
  const [config, set_config] = useState<Config | null>(null);
  const [problem, set_problem] = useState("");
  useEffect(() => { call<{ config: Config }>("/jupyter/api/config").then((answer) => set_config(answer.config), (error) => set_problem(error.message)); }, []);
  if (problem) return <Refused refusal={{ code: 0, reason: "", message: problem }} />;
  return config ? <Form config={config} /> : <Waiting />;
}

function start_form(config: Config): NotebookForm {
  const kept = sessionStorage.getItem(KEPT);
  const asked = Number(parameter("gpus"));
  const fresh: NotebookForm = {
    name: "", server: "jupyter", image: config.image.value, custom: "", pull: config.imagePullPolicy.value,
    cpu: Number(config.cpu.value), memory: parseFloat(config.memory.value), cpu_limit: null, memory_limit: null,
    gpus: asked ? String(asked) : config.gpus.value.num, vendor: config.gpus.value.vendor || config.gpus.value.vendors[0]?.limitsKey || "",
    workspace: config.workspaceVolume.value ? new_volume("{notebook-name}-workspace", config.workspaceVolume.value.mount, 5) : null,
    data: [], configurations: config.configurations.value, affinity: config.affinityConfig.value, tolerations: config.tolerationGroup.value, shm: config.shm.value,
  };
  return kept ? { ...fresh, ...JSON.parse(kept) } : fresh;
}

function Form({ config }: { config: Config }) {
  const [ns, set_ns] = useState(home_namespace.value);
  const [form, set_form] = useState(() => start_form(config));
  const [busy, set_busy] = useState(false);
  const [said, set_said] = useState("");
  const [advanced, set_advanced] = useState(false);
  const notebooks = use_collection<Notebook>(resources.notebooks, { ns });
  const claims = use_collection<Claim>(resources.claims, { ns });
  const defaults = use_collection<PodDefault>(resources.pod_defaults, { ns });
  const classes = use_collection(resources.storage_classes);
  const [vendors, set_vendors] = useState<string[]>([]);
  useEffect(() => { call<{ vendors: string[] }>("/jupyter/api/gpus").then((answer) => set_vendors(answer.vendors), () => undefined); }, []);
  const change = (changes: Partial<NotebookForm>) => { const next = { ...form, ...changes }; set_form(next); sessionStorage.setItem(KEPT, JSON.stringify(next)); };
  const taken = notebooks.all().some((one) => one.metadata.name === form.name);
  const bad = first_problem(form, taken);
  const images = form.server === "jupyter" ? config.image : form.server === "group-one" ? config.imageGroupOne : config.imageGroupTwo;
  const factor = (value: string) => (value === "none" || !value ? null : Number(value));
  const limit = (least: number, by: number | null) => (by ? Math.round(least * by * 10) / 10 : null);
  const body = useMemo(() => body_of(form, ns, config), [form, ns]);
  const launch = async () => {
    set_busy(true);
    set_said("");
    try {
      await call(`/jupyter/api/namespaces/${ns}/notebooks`, { method: "POST", body });
      sessionStorage.removeItem(KEPT);
      toast(t("Notebook created successfully."), "run");
      go("/jupyter/");
    } catch (error) { set_said((error as Error).message); } finally { set_busy(false); }
  };
  const choices = (list: Array<{ key: string; text: string }>) => [{ value: "", text: t("None") }, ...list.map((one) => ({ value: one.key, text: one.text }))];
  return (
    <>
      <div class="page-head"><div class="grow"><div class="crumbs"><a href="/jupyter/">{t("Notebooks")}</a>/</div><h1>{t("New notebook")}</h1></div></div>
      <div class="col" style={{ maxWidth: "860px" }}>
        <section class="card"><div class="body col">
          <div class="grid2"><TextField label={t("Name")} value={form.name} set={(name) => change({ name })} pattern={LABEL} problem={t("Small letters, digits and dashes; a letter first.")} needed taken={taken} /><SelectField label={t("Namespace")} value={ns} set={set_ns} options={[...new Set([ns, ...(session.value?.namespaces ?? []).filter((one) => one.role !== "viewer").map((one) => one.namespace)])]} /></div>
          <div class="tiles" role="radiogroup" aria-label={t("Type")}>
            {([["jupyter", "JupyterLab", "Notebooks, terminals, files", config.image], ["group-one", "Visual Studio Code", "code-server in the browser", config.imageGroupOne], ["group-two", "RStudio", "R and its tidyverse", config.imageGroupTwo]] as const).map(([key, name, says, group]) => (
              <button key={key} class="tile" role="radio" aria-checked={form.server === key} disabled={!group?.options?.length} title={group?.options?.length ? "" : t("No image of this kind is configured.")} onClick={() => change({ server: key, image: group.value })}><b>{name}</b><span>{t(says)}</span></button>
            ))}
          </div>
          <SelectField label={t("Image")} value={form.image} set={(image) => change({ image })} options={images.options.map((value) => ({ value, text: shown_image(value, config) }))} />
          <div class="help">{t(form.server === "jupyter" ? "Kubeflow's Jupyter images are built on this machine the first time, from Python's package index." : "This image comes from its registry, which the nodes must reach.")}</div>
          {config.allowCustomImage && <TextField label={t("Or another image")} value={form.custom} set={(custom) => change({ custom })} placeholder="registry/name:tag" />}
        </div></section>
        <section class="card"><div class="head"><h2>{t("Resources")}</h2></div><div class="body grid2 pairs">
          <NumberField label={t("Minimum CPU")} value={form.cpu} step={0.1} off={config.cpu.readOnly} set={(cpu) => change({ cpu })} />
          <NumberField label={t("Maximum CPU")} off={config.cpu.readOnly} value={form.cpu_limit ?? limit(form.cpu, factor(config.cpu.limitFactor)) ?? 0} step={0.1} set={(cpu_limit) => change({ cpu_limit })} help={t("0: no limit")} />
          <NumberField label={t("Minimum Memory Gi")} value={form.memory} step={0.1} off={config.memory.readOnly} set={(memory) => change({ memory })} />
          <NumberField label={t("Maximum Memory Gi")} off={config.memory.readOnly} value={form.memory_limit ?? limit(form.memory, factor(config.memory.limitFactor)) ?? 0} step={0.1} set={(memory_limit) => change({ memory_limit })} help={t("0: no limit")} />
          <SelectField off={config.gpus.readOnly} label={t("Number of GPUs")} value={form.gpus} set={(gpus) => change({ gpus })} options={[{ value: "none", text: t("None") }, "1", "2", "4", "8"]} />
          {form.gpus !== "none" && <SelectField label={t("GPU Vendor")} value={form.vendor} set={(vendor) => change({ vendor })} options={config.gpus.value.vendors.map((one) => ({ value: one.limitsKey, text: vendors.includes(one.limitsKey) ? one.uiName : t("{vendor} (on no node)", { vendor: one.uiName }) }))} />}
        </div></section>
        <section class="card"><div class="head"><h2 class="grow">{t("Workspace Volume")}</h2>{!form.workspace && !config.workspaceVolume.readOnly && <button class="button small" onClick={() => change({ workspace: new_volume("{notebook-name}-workspace", "/home/jovyan", 5) })}><Icon name="plus" size={13} />{t("Add a volume")}</button>}</div>
          {config.workspaceVolume.readOnly ? <p class="body muted">{t("The administrator has fixed this.")}</p> : form.workspace && <VolumePanel volume={form.workspace} name={form.name} claims={claims.all()} classes={classes.all().map((one) => one.metadata.name)} set={(workspace) => change({ workspace })} drop={() => change({ workspace: null })} />}</section>
        <section class="card"><div class="head"><h2 class="grow">{t("Data Volumes")}</h2><button class="button small" disabled={config.dataVolumes?.readOnly} onClick={() => change({ data: [...form.data, new_volume(`{notebook-name}-datavol-${form.data.length + 1}`, `/home/jovyan/vol-${form.data.length + 1}`, 5)] })}><Icon name="plus" size={13} />{t("Add a volume")}</button></div>
          {form.data.map((volume, at) => <VolumePanel key={at} volume={volume} name={form.name} claims={claims.all()} classes={classes.all().map((one) => one.metadata.name)} set={(next) => change({ data: form.data.map((one, other) => (other === at ? next : one)) })} drop={() => change({ data: form.data.filter((_, other) => other !== at) })} />)}</section>
        <section class="card"><div class="head"><button class="button plain small" aria-expanded={advanced} onClick={() => set_advanced(!advanced)}><Icon name="chevron" size={12} />{t("Advanced Options")}</button></div>
          {advanced && <div class="body col">
            <div class="field"><span class="label">{t("Configurations")}</span>
              {defaults.all().map((one) => { const label = default_label(one); return <Check key={one.metadata.uid} label={one.spec.desc ?? one.metadata.name} value={form.configurations.includes(label)} set={(on) => change({ configurations: on ? [...form.configurations, label] : form.configurations.filter((own) => own !== label) })} />; })}
              {!defaults.all().length && <span class="help">{t("This namespace has none.")}</span>}</div>
            <div class="grid2">
              <SelectField off={config.affinityConfig.readOnly} label={t("Affinity Config")} value={form.affinity} set={(affinity) => change({ affinity })} options={choices(config.affinityConfig.options.map((one) => ({ key: one.configKey, text: one.displayName })))} />
              <SelectField off={config.tolerationGroup.readOnly} label={t("Tolerations Group")} value={form.tolerations} set={(tolerations) => change({ tolerations })} options={choices(config.tolerationGroup.options.map((one) => ({ key: one.groupKey, text: one.displayName })))} />
              <SelectField off={config.imagePullPolicy.readOnly} label={t("Image pull policy")} value={form.pull} set={(pull) => change({ pull })} options={["IfNotPresent", "Always", "Never"]} />
            </div>
            <Check label={t("Enable Shared Memory")} value={form.shm} set={(shm) => change({ shm })} />
          </div>}</section>
        <details class="card"><summary class="head" style={{ cursor: "pointer" }}>{t("What will be sent")}</summary><pre class="body" style={{ margin: 0, overflow: "auto" }}>{JSON.stringify(body, null, 2)}</pre></details>
        {said && <div class="note fail" role="alert">{said}</div>}
        <div class="row"><button class="button primary" disabled={!!bad || busy} title={bad ? t(bad) : ""} onClick={launch}>{busy && <span class="spinner" />}{t("Launch")}</button><a class="button" href="/jupyter/">{t("Cancel")}</a>{bad && <span class="muted">{t(bad)}</span>}</div>
      </div>
    </>
  );
}

function shown_image(image: string, config: Config): string {
  let text = image;
  if (config.hideRegistry) text = text.split("/").slice(-1)[0];
  if (config.hideTag) text = text.replace(/:[^:/]+$/, "");
  return text;
}

function VolumePanel({ volume, name, claims, classes, set, drop }: { volume: Volume; name: string; claims: Claim[]; classes: string[]; set: (volume: Volume) => void; drop: () => void }) {
  const change = (changes: Partial<Volume>) => set({ ...volume, ...changes });
  return (
    <div class="body col" style={{ borderBottom: "1px solid var(--line-soft)" }}>
      <div class="row"><div class="segments"><button aria-pressed={volume.fresh} onClick={() => change({ fresh: true })}>{t("New volume")}</button><button aria-pressed={!volume.fresh} onClick={() => change({ fresh: false, claim: volume.claim || claims[0]?.metadata.name || "" })}>{t("Existing volume")}</button></div><span class="grow" /><button class="button plain small icon" aria-label={t("Remove")} onClick={drop}><Icon name="trash" size={13} /></button></div>
      <div class="grid2">
        {volume.fresh ? <>
          <TextField label={t("Name")} value={volume.name} set={(to) => change({ name: to })} help={volume.name.includes("{") ? volume.name.replace("{notebook-name}", name || "…") : undefined} />
          <NumberField label={t("Size in Gi")} value={volume.size} set={(size) => change({ size })} least={1} />
          <SelectField label={t("Storage Class")} value={volume.class} set={(to) => change({ class: to })} options={[{ value: "", text: t("Default class") }, ...classes]} />
          <SelectField label={t("Access mode")} value={volume.mode} set={(mode) => change({ mode })} options={["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"]} />
        </> : <>
          <SelectField label={t("Volume")} value={volume.claim} set={(claim) => change({ claim })} options={claims.map((one) => one.metadata.name)} />
          <Check label={t("Read only")} value={volume.read_only} set={(read_only) => change({ read_only })} />
        </>}
        <TextField label={t("Mount path")} value={volume.mount} set={(mount) => change({ mount })} needed />
      </div>
    </div>
  );
}
