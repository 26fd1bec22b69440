// Volumes: list with who uses them, new, delete.
import { useMemo, useState } from "preact/hooks";
import { go, path } from "../../app/router";
import { call, kube, remove } from "../../data/api";
import { use_collection } from "../../data/collection";
import { path_of, resources, uid_of } from "../../data/resource";
import { quantity } from "../../data/quantity";
import { home_namespace, is_served, namespace, session } from "../../data/session";
import { claim_status, claims_of, LABEL, type Claim, type Notebook, type Viewer } from "../../data/workbench";
import { ask } from "../../parts/dialog";
import type { Event } from "../../parts/events";
import { NumberField, SelectField, TextField } from "../../parts/form";
import { Icon } from "../../parts/icon";
import type { Pod } from "../../parts/pod_table";
import { Chip, Empty, Refused, State, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { Age } from "../../parts/time";
import { toast, toast_error } from "../../parts/toast";
import { t } from "../../text/text";

export default function Volumes() {
  return path.value.replace(/\/$/, "").endsWith("/new") ? <New /> : <All />;
}
export const volume_href = (claim: Claim): string => `/volumes/volume/details/${claim.metadata.namespace}/${claim.metadata.name}`;
const size_of = (claim: Claim): string => String((claim.status?.capacity as Record<string, string> | undefined)?.storage ?? (claim.spec?.resources?.requests as Record<string, string> | undefined)?.storage ?? "");
const modes = (claim: Claim): string => (claim.spec?.accessModes ?? []).map((mode) => ({ ReadWriteOnce: "RWO", ReadWriteMany: "RWX", ReadOnlyMany: "ROX", ReadWriteOncePod: "RWOP" })[mode as string] ?? mode).join(", ");

function All() {
  const ns = namespace.value;
  const claims = use_collection<Claim>(resources.claims, { ns }), pods = use_collection<Pod>(resources.pods, { ns }), notebooks = use_collection<Notebook>(resources.notebooks, { ns });
  const events = use_collection<Event>(resources.events, { ns, fields: "involvedObject.kind=PersistentVolumeClaim" });
  const browsable = is_served("kubeflow.org/v1alpha1/pvcviewers"), viewers = use_collection<Viewer>(resources.pvc_viewers, { ns, off: !browsable });
  const viewer_of = (claim: Claim) => viewers.all().find((one) => one.spec?.pvc === claim.metadata.name && one.metadata.namespace === claim.metadata.namespace);
  const users = useMemo(() => {
    const out = new Map<string, { pods: Pod[]; notebooks: Notebook[] }>();
    const at = (key: string) => { if (!out.has(key)) out.set(key, { pods: [], notebooks: [] }); return out.get(key)!; };
    for (const pod of pods.all()) if (!["Succeeded", "Failed"].includes(pod.status?.phase ?? "")) for (const claim of claims_of(pod.spec as never)) at(`${pod.metadata.namespace}/${claim}`).pods.push(pod);
    for (const one of notebooks.all()) for (const claim of claims_of(one.spec.template?.spec)) at(`${one.metadata.namespace}/${claim}`).notebooks.push(one);
    return out;
  }, [pods.version.value, notebooks.version.value]);
  const of = (claim: Claim) => users.get(`${claim.metadata.namespace}/${claim.metadata.name}`) ?? { pods: [], notebooks: [] };
  const status = (claim: Claim) => claim_status(claim, events.all().find((event) => event.involvedObject.name === claim.metadata.name && event.involvedObject.namespace === claim.metadata.namespace));
  const columns: Column<Claim>[] = [
    { key: "state", title: "Status", width: "110px", cell: (one) => { const now = status(one); return <State tone={now.tone} text={now.phase === "ready" ? "Bound" : now.phase === "warning" ? "Warning" : now.phase === "terminating" ? "Deleting" : "Waiting"} title={t(now.message)} />; }, sort: (one) => status(one).phase },
    { key: "name", title: "Name", width: "minmax(160px, 1.5fr)", cell: (one) => <a href={volume_href(one)}>{one.metadata.name}</a>, sort: (one) => one.metadata.name },
    ...(ns ? [] : [{ key: "ns", title: "Namespace", width: "minmax(90px, 1fr)", cell: (one: Claim) => <span class="muted">{one.metadata.namespace}</span>, sort: (one: Claim) => one.metadata.namespace ?? "" }]),
    { key: "size", title: "Size", width: "80px", right: true, cell: size_of, sort: (one) => quantity(size_of(one)) },
    { key: "mode", title: "Access Mode", width: "116px", cell: modes, sort: modes },
    { key: "class", title: "Storage Class", width: "minmax(90px, 130px)", cell: (one) => one.spec?.storageClassName ?? "", sort: (one) => one.spec?.storageClassName ?? "" },
    { key: "used", title: "Used by", width: "minmax(140px, 1.5fr)", cell: (one) => <>{of(one).notebooks.map((own) => <Chip key={own.metadata.uid} tone="accent">{own.metadata.name}</Chip>)}{!of(one).notebooks.length && of(one).pods.slice(0, 3).map((own) => <Chip key={own.metadata.uid}>{own.metadata.name}</Chip>)}</> },
    { key: "age", title: "Age", width: "64px", right: true, cell: (one) => <Age at={one.metadata.creationTimestamp as string} />, sort: (one) => Date.parse(String(one.metadata.creationTimestamp)) },
    { key: "act", title: "", width: browsable || session.value?.localVolumes ? "150px" : "60px", right: true, cell: (one) => <span class="row" style={{ gap: "4px" }}>{session.value?.localVolumes ? <a class="button small" href={`${volume_href(one)}?tab=files`}><Icon name="folder" size={13} />{t("Browse")}</a> : browsable && <Browse claim={one} viewer={viewer_of(one)} />}<button class="button small icon" aria-label={t("Delete")} disabled={of(one).pods.length > 0} title={of(one).pods.length ? t("Pods use it: {pods}", { pods: of(one).pods.map((pod) => pod.metadata.name).join(", ") }) : t("Delete")}
      onClick={() => ask({ title: t("Delete {name}?", { name: one.metadata.name }), text: t("Everything on it is lost."), accept: t("Delete"), doing: t("Deleting…"), danger: true, act: () => remove(path_of(resources.claims, one.metadata.namespace, one.metadata.name)) })}><Icon name="trash" size={13} /></button></span> },
  ];
  return (
    <>
      <div class="page-head"><h1 class="grow">{t("Volumes")}</h1><a class="button primary" href="/volumes/new"><Icon name="plus" />{t("New volume")}</a></div>
      {claims.refusal.value ? <Refused refusal={claims.refusal.value} /> : !claims.loaded.value ? <Waiting /> : <Table rows={claims.all()} columns={columns} row_key={uid_of} href={volume_href} order="-age" name={t("Volumes")} least={860}
        text={(one) => `${one.metadata.name} ${one.metadata.namespace} ${one.spec?.storageClassName ?? ""}`} empty={<Empty title={t("No volumes yet")}><a href="/volumes/new">{t("New volume")}</a></Empty>} />}
    </>
  );
}

// Files on a volume are seen through a PVCViewer, which is made when it is asked for and opened when it answers.
function Browse({ claim, viewer }: { claim: Claim; viewer?: Viewer }) {
  const { namespace: ns, name } = claim.metadata, url = viewer?.status?.ready ? viewer.status.url : undefined;
  if (url) return <><a class="button small" href={url} target="_blank" rel="noopener"><Icon name="folder" size={13} />{t("Open files")}</a>
    <button class="button small icon" aria-label={t("Close")} title={t("Close")} onClick={() => call(`/volumes/api/namespaces/${ns}/viewers/${viewer!.metadata.name}`, { method: "DELETE" }).catch(toast_error)}><Icon name="close" size={13} /></button></>;
  return <button class="button small" disabled={!!viewer} onClick={() => call(`/volumes/api/namespaces/${ns}/viewers`, { method: "POST", body: { name } }).catch(toast_error)}>{viewer ? <span class="spinner" /> : <Icon name="folder" size={13} />}{t("Browse")}</button>;
}

function New() {
  const ns = home_namespace.value, classes = use_collection(resources.storage_classes);
  const [name, set_name] = useState(""), [size, set_size] = useState(5), [storage, set_storage] = useState(""), [mode, set_mode] = useState("ReadWriteOnce"), [said, set_said] = useState("");
  const create = async () => {
    try {
      await kube(path_of(resources.claims, ns), { method: "POST", body: { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name, namespace: ns }, spec: { accessModes: [mode], resources: { requests: { storage: `${size}Gi` } }, ...(storage ? { storageClassName: storage } : {}) } } });
      toast(t("Volume {name} is being made.", { name }), "run");
      go("/volumes/");
    } catch (error) { set_said((error as Error).message); }
  };
  return (
    <>
      <div class="page-head"><div><div class="crumbs"><a href="/volumes/">{t("Volumes")}</a>/</div><h1>{t("New volume")}</h1></div></div>
      <section class="card" style={{ maxWidth: "640px" }}><div class="body col">
        <TextField label={t("Name")} value={name} set={set_name} pattern={LABEL} problem={t("Small letters, digits and dashes; a letter first.")} needed />
        <div class="grid2"><NumberField label={t("Size in Gi")} value={size} set={set_size} least={1} />
          <SelectField label={t("Storage Class")} value={storage} set={set_storage} options={[{ value: "", text: t("Default class") }, ...classes.all().map((one) => one.metadata.name)]} />
          <SelectField label={t("Access mode")} value={mode} set={set_mode} options={["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"]} /></div>
        {said && <div class="note fail" role="alert">{said}</div>}
        <div class="row"><button class="button primary" disabled={!LABEL.test(name)} onClick={create}>{t("Create")}</button><a class="button" href="/volumes/">{t("Cancel")}</a></div>
      </div></section>
    </>
  );
}
