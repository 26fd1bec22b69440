// The machines: what they have, what is asked of them, what is really used, their devices one by one.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../../app/page";
import { kube, merge_patch } from "../../data/api";
import { allocatable, by_node, is_device, is_ready, order_resources, type Node } from "../../data/cluster";
import { use_collection } from "../../data/collection";
import { amounts, resource_text, type Amounts } from "../../data/quantity";
import { path_of, resources, uid_of } from "../../data/resource";
import { Conditions } from "../../parts/conditions";
import { Events } from "../../parts/events";
import { Meter } from "../../parts/meter";
import { ObjectYaml } from "../../parts/object_yaml";
import { PodTable, type Pod } from "../../parts/pod_table";
import { Chip, Empty, Refused, State, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { Age } from "../../parts/time";
import { toast, toast_error } from "../../parts/toast";
import { t } from "../../text/text";

interface Row { node: Node; has: Amounts; asked: Amounts; used?: Amounts; pods: Pod[] }

// What is really used comes from metrics.k8s.io, every 15 seconds; where nobody serves it, bars show requests alone.
function use_usage(): Map<string, Amounts> {
  const [usage, set_usage] = useState(new Map<string, Amounts>());
  useEffect(() => {
    let gone = false, timer = 0;
    const look = () => kube<{ items: Array<{ metadata: { name: string }; usage: Record<string, string> }> }>("/apis/metrics.k8s.io/v1beta1/nodes")
      .then((list) => { if (!gone) { set_usage(new Map(list.items.map((one) => [one.metadata.name, amounts(one.usage)]))); timer = window.setTimeout(look, 15_000); } }, () => undefined);
    look();
    return () => { gone = true; clearTimeout(timer); };
  }, []);
  return usage;
}

function Amount({ row, resource, thin = true }: { row: Row; resource: string; thin?: boolean }) {
  const has = row.has[resource] ?? 0, asked = row.asked[resource] ?? 0, used = row.used?.[resource];
  if (!has) return <span class="faint">–</span>;
  return <div class="grow"><Meter thin={thin} whole={has} value={`${resource_text(resource, asked)} / ${resource_text(resource, has)}`} label={used === undefined ? "" : t("used {amount}", { amount: resource_text(resource, used) })}
    fills={[{ amount: asked, kind: "request", title: t("asked for {amount}", { amount: resource_text(resource, asked) }) }]}
    marks={used === undefined ? [] : [{ at: used, kind: "deserved", title: t("used {amount}", { amount: resource_text(resource, used) }) }]} /></div>;
}

// Devices are few and dear: one cell each, filled when a pod has it.
function Devices({ row, resource }: { row: Row; resource: string }) {
  const has = row.has[resource] ?? 0, asked = Math.round(row.asked[resource] ?? 0);
  if (!has) return <span class="faint">–</span>;
  if (has > 16) return <Amount row={row} resource={resource} />;
  return <span class="strip" title={t("{n} of {all} are in use", { n: asked, all: has })}>{Array.from({ length: has }, (_, at) => <span key={at} class={`cell tiny ${at < asked ? "run" : "none"}`} />)}<span class="muted" style={{ marginLeft: "6px" }}>{asked}/{has}</span></span>;
}

function use_rows(): { rows: Row[]; nodes: ReturnType<typeof use_collection<Node>> } {
  const nodes = use_collection<Node>(resources.nodes);
  const pods = use_collection<Pod>(resources.pods);
  const usage = use_usage();
  const rows = useMemo(() => {
    const held = by_node(pods.all());
    return nodes.all().map((node) => ({ node, has: allocatable(node), asked: held.get(node.metadata.name)?.requests ?? {}, used: usage.get(node.metadata.name), pods: held.get(node.metadata.name)?.pods ?? [] }));
  }, [nodes.version.value, pods.version.value, usage]);
  return { rows, nodes };
}

function node_state(node: Node) {
  return !is_ready(node) ? <State tone="fail" text="NotReady" /> : node.spec?.unschedulable ? <State tone="wait" text="Cordoned" /> : <State tone="run" text="Ready" />;
}

export default function Nodes({ params }: ViewProps) {
  const { rows, nodes } = use_rows();
  const devices = order_resources(rows.flatMap((row) => Object.keys(row.has).filter((name) => is_device(name) && row.has[name] > 0)));
  const columns = useMemo((): Column<Row>[] => [
    { key: "state", title: "State", width: "110px", cell: (row) => node_state(row.node), sort: (row) => (is_ready(row.node) ? 1 : 0) },
    { key: "name", title: "Name", width: "minmax(140px, 1.2fr)", cell: (row) => <a href={`/nodes/${row.node.metadata.name}`}>{row.node.metadata.name}</a>, sort: (row) => row.node.metadata.name },
    { key: "cpu", title: "CPU", width: "minmax(140px, 1fr)", cell: (row) => <Amount row={row} resource="cpu" />, sort: (row) => (row.asked.cpu ?? 0) / (row.has.cpu || 1) },
    { key: "memory", title: "Memory", width: "minmax(150px, 1fr)", cell: (row) => <Amount row={row} resource="memory" />, sort: (row) => (row.asked.memory ?? 0) / (row.has.memory || 1) },
    ...devices.map((name): Column<Row> => ({ key: name, title: name, width: "minmax(120px, 1fr)", cell: (row) => <Devices row={row} resource={name} />, sort: (row) => row.asked[name] ?? 0 })),
    { key: "pods", title: "Pods", width: "70px", right: true, cell: (row) => row.pods.length, sort: (row) => row.pods.length },
    { key: "age", title: "Age", width: "70px", right: true, cell: (row) => <Age at={row.node.metadata.creationTimestamp as string} />, sort: (row) => Date.parse(String(row.node.metadata.creationTimestamp)) },
  ], [devices.join()]);
  if (nodes.refusal.value) return <Refused refusal={nodes.refusal.value} />;
  if (!nodes.loaded.value) return <Waiting />;
  if (params.name) {
    const row = rows.find((one) => one.node.metadata.name === params.name);
    return row ? <One row={row} /> : <Empty title={t("{name} does not exist (any more)", { name: params.name })} />;
  }
  return (
    <>
      <div class="page-head"><h1>{t("Nodes and devices")}</h1></div>
      <Table rows={rows} columns={columns} row_key={(row) => uid_of(row.node)} href={(row) => `/nodes/${row.node.metadata.name}`} order="name" name={t("Nodes")} text={(row) => `${row.node.metadata.name} ${Object.entries(row.node.metadata.labels ?? {}).join(" ")}`} least={760} />
    </>
  );
}

function One({ row }: { row: Row }) {
  const { node } = row, name = node.metadata.name, info = node.status?.nodeInfo;
  const cordon = (to: boolean) => merge_patch(path_of(resources.nodes, "", name), { spec: { unschedulable: to || null } }).then(() => toast(to ? t("No new pods will come here.") : t("New pods may come again.")), toast_error);
  return (
    <>
      <div class="page-head"><div class="grow"><div class="crumbs"><a href="/nodes">{t("Nodes and devices")}</a>/</div><div class="row"><h1>{name}</h1>{node_state(node)}</div></div>
        <button class="button" onClick={() => cordon(!node.spec?.unschedulable)}>{node.spec?.unschedulable ? t("Uncordon") : t("Cordon")}</button></div>
      <Tabs tabs={[
        { key: "overview", title: "Overview", body: () => <>
          <div class="cards">
            <section class="card"><div class="head"><h2>{t("Resources")}</h2></div><div class="body col">{order_resources(Object.keys(row.has)).filter((resource) => row.has[resource] > 0).map((resource) => <div key={resource}><h3>{resource}</h3><Amount row={row} resource={resource} thin={false} /></div>)}</div></section>
            <section class="card"><div class="head"><h2>{t("Facts")}</h2></div><div class="body"><dl class="facts">
              <dt>{t("System")}</dt><dd>{info?.osImage} · {info?.kernelVersion}</dd><dt>{t("Runtime")}</dt><dd>{info?.containerRuntimeVersion}</dd>
              <dt>{t("Addresses")}</dt><dd class="mono">{node.status?.addresses?.map((one) => one.address).join(", ")}</dd>
              <dt>{t("Taints")}</dt><dd>{node.spec?.taints?.map((one) => `${one.key}=${one.value ?? ""}:${one.effect}`).join(", ") || "–"}</dd>
              <dt>{t("Labels")}</dt><dd class="row wrap" style={{ gap: "4px" }}>{Object.entries(node.metadata.labels ?? {}).map(([key, value]) => <Chip key={key} title={`${key}=${value}`}>{key}={value}</Chip>)}</dd>
            </dl></div></section>
          </div>
          <section class="card"><div class="head"><h2>{t("Conditions")}</h2></div><div class="body"><Conditions list={node.status?.conditions as never} /></div></section>
        </> },
        { key: "pods", title: "Pods", body: () => <PodTable pods={row.pods} with_namespace /> },
        { key: "events", title: "Events", body: () => <Events ns="" belongs={(event) => event.involvedObject.kind === "Node" && event.involvedObject.name === name} /> },
        { key: "yaml", title: "YAML", body: () => <ObjectYaml object={node} resource={resources.nodes} /> },
      ]} />
    </>
  );
}
