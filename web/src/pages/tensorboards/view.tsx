// TensorBoards: list, new, connect, delete.
import { useMemo, useState } from "preact/hooks";
import { go, parameter, path } from "../../app/router";
import { call, remove } from "../../data/api";
import { use_collection } from "../../data/collection";
import { path_of, resources, uid_of } from "../../data/resource";
import { home_namespace, namespace } from "../../data/session";
import { board_url, build_of, default_label, LABEL, tensorboard_status, type Claim, type PodDefault, type Tensorboard } from "../../data/workbench";
import { ask } from "../../parts/dialog";
import { Check, SelectField, TextField } from "../../parts/form";
import { Icon } from "../../parts/icon";
import type { Pod } from "../../parts/pod_table";
import { BuildNote, Empty, Refused, State, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { Age } from "../../parts/time";
import { toast } from "../../parts/toast";
import { t } from "../../text/text";

export default function Tensorboards() {
  return path.value.replace(/\/$/, "").endsWith("/new") ? <New /> : <All />;
}

function All() {
  const ns = namespace.value;
  const boards = use_collection<Tensorboard>(resources.tensorboards, { ns });
  const pods = use_collection<Pod>(resources.pods, { ns, labels: "app" });
  const pod_of = (board: Tensorboard) => pods.all().find((pod) => pod.metadata.namespace === board.metadata.namespace && pod.metadata.labels?.app === board.metadata.name);
  const columns = useMemo((): Column<Tensorboard>[] => [
    { key: "state", title: "Status", width: "110px", cell: (one) => { const now = tensorboard_status(one, pod_of(one)); return <State tone={now.tone} text={now.phase === "ready" ? "Ready" : now.building ? "Building" : "Waiting"} title={t(now.message)} />; }, sort: (one) => tensorboard_status(one).phase },
    { key: "name", title: "Name", width: "minmax(140px, 1fr)", cell: (one) => <b style={{ fontWeight: 550 }}>{one.metadata.name}</b>, sort: (one) => one.metadata.name },
    ...(ns ? [] : [{ key: "ns", title: "Namespace", width: "minmax(90px, 1fr)", cell: (one: Tensorboard) => <span class="muted">{one.metadata.namespace}</span>, sort: (one: Tensorboard) => one.metadata.namespace ?? "" }]),
    { key: "path", title: "Logspath", width: "minmax(180px, 2fr)", cell: (one) => <span class="mono" title={one.spec.logspath}>{one.spec.logspath}</span>, sort: (one) => one.spec.logspath },
    { key: "age", title: "Age", width: "64px", cell: (one) => <Age at={one.metadata.creationTimestamp as string} />, sort: (one) => Date.parse(String(one.metadata.creationTimestamp)) },
    { key: "act", title: "", width: "150px", right: true, cell: (one) => <Actions board={one} /> },
  ], [ns, pods.version.value]);
  const rows = useMemo(() => boards.all(), [boards.version.value]);
  const building = rows.map((one) => build_of(pod_of(one))).find(Boolean);
  return (
    <>
      <div class="page-head"><h1 class="grow">TensorBoards</h1>{!boards.refusal.value && <a class="button primary" href="/tensorboards/new"><Icon name="plus" />{t("New TensorBoard")}</a>}</div>
      {building && <BuildNote line={building} />}
      {boards.refusal.value ? <Refused refusal={boards.refusal.value} /> : !boards.loaded.value ? <Waiting /> : <Table rows={rows} columns={columns} row_key={uid_of} order="-age" name="TensorBoards" least={700}
        text={(one) => `${one.metadata.name} ${one.metadata.namespace} ${one.spec.logspath}`} empty={<Empty title={t("No TensorBoards yet")}>{t("Point one at the logs on a volume and watch the curves.")} <a href="/tensorboards/new">{t("New TensorBoard")}</a></Empty>} />}
    </>
  );
}

function Actions({ board }: { board: Tensorboard }) {
  const ready = tensorboard_status(board).phase === "ready", { namespace: ns, name } = board.metadata;
  return <span class="row" style={{ gap: "4px" }}>
    <a class={`button small${ready ? " primary" : ""}`} role="button" href={ready ? board_url(board) : undefined} target="_blank" rel="noopener" aria-disabled={!ready}><Icon name="open" size={13} />{t("Connect")}</a>
    <button class="button small icon" aria-label={t("Delete")} onClick={() => ask({ title: t("Delete {name}?", { name }), text: t("The logs stay where they are."), accept: t("Delete"), doing: t("Deleting…"), danger: true, act: () => remove(path_of(resources.tensorboards, ns, name)) })}><Icon name="trash" size={13} /></button>
  </span>;
}

function New() {
  const ns = home_namespace.value;
  const claims = use_collection<Claim>(resources.claims, { ns }), defaults = use_collection<PodDefault>(resources.pod_defaults, { ns });
  const [configurations, set_configurations] = useState<string[]>([]);
  const [name, set_name] = useState("");
  const [by_claim, set_by_claim] = useState(true);
  const [claim, set_claim] = useState(parameter("claim"));
  const [below, set_below] = useState(parameter("claim") ? parameter("path") : "logs");
  const [link, set_link] = useState("");
  const [said, set_said] = useState("");
  const chosen = claim || claims.all()[0]?.metadata.name || "";
  const logspath = by_claim ? `pvc://${chosen}/${below.replace(/^\/+/, "")}` : link;
  const create = async () => {
    try {
      await call(`/tensorboards/api/namespaces/${ns}/tensorboards`, { method: "POST", body: { name, logspath, configurations } });
      toast(t("TensorBoard {name} is being made.", { name }), "run");
      go("/tensorboards/");
    } catch (error) { set_said((error as Error).message); }
  };
  return (
    <>
      <div class="page-head"><div><div class="crumbs"><a href="/tensorboards/">TensorBoards</a>/</div><h1>{t("New TensorBoard")}</h1></div></div>
      <section class="card" style={{ maxWidth: "640px" }}><div class="body col">
        <TextField label={t("Name")} value={name} set={set_name} pattern={LABEL} problem={t("Small letters, digits and dashes; a letter first.")} needed />
        <div class="segments" style={{ alignSelf: "flex-start" }}><button aria-pressed={by_claim} onClick={() => set_by_claim(true)}>{t("Volume")}</button><button aria-pressed={!by_claim} onClick={() => set_by_claim(false)}>{t("Object store")}</button></div>
        {by_claim ? <div class="grid2"><SelectField label={t("Volume")} value={chosen} set={set_claim} options={claims.all().map((one) => one.metadata.name)} /><TextField label={t("Path on it")} value={below} set={set_below} placeholder="logs" /></div>
          : <TextField label={t("Object store link")} value={link} set={set_link} placeholder="s3://bucket/logs" needed />}
        <div class="muted">{t("Logs are read from")} <code>{logspath}</code></div>
        {defaults.all().length > 0 && <div class="field"><span class="label">{t("Configurations")}</span>{defaults.all().map((one) => { const label = default_label(one); return <Check key={label} label={one.spec.desc ?? one.metadata.name} value={configurations.includes(label)} set={(on) => set_configurations(on ? [...configurations, label] : configurations.filter((own) => own !== label))} />; })}</div>}
        {said && <div class="note fail" role="alert">{said}</div>}
        <div class="row"><button class="button primary" disabled={!LABEL.test(name) || (by_claim ? !chosen : !link)} onClick={create}>{t("Create")}</button><a class="button" href="/tensorboards/">{t("Cancel")}</a></div>
      </div></section>
    </>
  );
}
