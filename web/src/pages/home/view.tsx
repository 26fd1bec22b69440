// What is going on: jobs by state, the cluster's room, what waits and for how long, what happened last.
import { useMemo } from "preact/hooks";
import type { PodGroup } from "../../../generated/kinds";
import { allocatable, by_node, is_ready, order_resources, type Node } from "../../data/cluster";
import { use_collection } from "../../data/collection";
import { job_tone } from "../../data/jobs";
import { add_amounts, resource_text, type Amounts } from "../../data/quantity";
import { resources, uid_of } from "../../data/resource";
import { is_served, namespace, session } from "../../data/session";
import { notebook_status, notebook_url, type Notebook } from "../../data/workbench";
import { event_columns, event_time, type Event } from "../../parts/events";
import { Icon } from "../../parts/icon";
import { Meter } from "../../parts/meter";
import type { Pod } from "../../parts/pod_table";
import { Empty, State, Waiting } from "../../parts/states";
import { Table } from "../../parts/table";
import { t } from "../../text/text";
import { is_owned, job_columns, job_href, use_jobs } from "../jobs/view";

export default function Home() {
  const ns = namespace.value;
  const { rows, loaded } = use_jobs(ns);
  const top = useMemo(() => rows.filter((row) => !is_owned(row.job)), [rows]);
  const columns = useMemo(() => job_columns(!ns).filter((column) => !["time", "queue"].includes(column.key)), [ns]);
  const recent = useMemo(() => [...top].sort((a, b) => (String(a.job.metadata.creationTimestamp) < String(b.job.metadata.creationTimestamp) ? 1 : -1)).slice(0, 12), [top]);
  const count = (...tones: string[]) => top.filter((row) => tones.includes(job_tone(row.state))).length;
  if (!session.value?.namespaces.length) return <Welcome />;
  if (!loaded && !rows.length) return <Waiting />;
  return (
    <>
      <div class="page-head">
        <h1 class="grow">{ns || t("All namespaces")}</h1>
        <a class="button" href="/submit"><Icon name="submit" />{t("Submit a job")}</a>
        {is_served("kubeflow.org/v1/notebooks") && <a class="button" href="/jupyter/new"><Icon name="plus" />{t("New notebook")}</a>}
      </div>
      <div class="card numbers">
        <a class="number" href="/jobs?show=run"><b style={{ color: "var(--run)" }}>{count("run", "place")}</b><span>{t("jobs are running")}</span></a>
        <a class="number" href="/jobs?show=wait"><b style={{ color: "var(--wait)" }}>{count("wait")}</b><span>{t("jobs are waiting")}</span></a>
        <a class="number" href="/jobs?show=done"><b>{count("done")}</b><span>{t("jobs are done")}</span></a>
        <a class="number" href="/jobs?show=fail"><b style={{ color: count("fail") ? "var(--fail)" : undefined }}>{count("fail")}</b><span>{t("jobs have failed")}</span></a>
      </div>
      <div class="cards" style={{ gridTemplateColumns: "minmax(0, 2fr) minmax(280px, 1fr)" }}>
        <div class="col" style={{ minWidth: 0 }}>
          <div class="row"><h2 class="grow">{t("Newest jobs")}</h2><a href="/jobs">{t("All jobs")}</a></div>
          {recent.length ? <Table fill={false} rows={recent} columns={columns} row_key={(row) => uid_of(row.job)} href={job_href} order="-age" name={t("Newest jobs")} id="jobs" />
            : <Empty title={t("No jobs yet")}>{t("Submit one by a form, drop a YAML file, or use kubectl apply.")} <a href="/submit">{t("Submit a job")}</a></Empty>}
          <Happened ns={ns} />
        </div>
        <div class="col">{session.value?.clusterAdmin && <Room />}{is_served("kubeflow.org/v1/notebooks") && <RecentNotebooks ns={ns} />}</div>
      </div>
    </>
  );
}

// For whoever has just logged in and has nothing yet.
function Welcome() {
  return (
    <section class="card" style={{ maxWidth: "640px", margin: "6vh auto 0" }}><div class="body col" style={{ padding: "28px" }}>
      <h1>{t("Welcome, {user}", { user: session.value?.user.split("@")[0] ?? "" })}</h1>
      {is_served("kubeflow.org/v1/profiles") ? <><p class="muted">{t("Notebooks, volumes and runs live in a namespace. You have none yet.")}</p><div><a class="button primary" href="/manage-users"><Icon name="plus" />{t("A namespace of your own")}</a></div></>
        : <p class="muted">{t("You have no namespace yet. Ask an administrator for one: a RoleBinding in a namespace is enough.")}</p>}
    </div></section>
  );
}

function Happened({ ns }: { ns: string }) {
  const events = use_collection<Event>(resources.events, { ns });
  const columns = useMemo(() => event_columns(true).filter((column) => column.key !== "count"), []);
  const rows = useMemo(() => events.all().sort((a, b) => (event_time(a) < event_time(b) ? 1 : -1)).slice(0, 30), [events.version.value]);
  return <><div class="row"><h2 class="grow">{t("What happened last")}</h2><a href="/events">{t("All events")}</a></div>
    <Table fill={false} rows={rows} columns={columns} row_key={uid_of} order="-time" name={t("Events")} id="events" empty={t("No events. They are kept for an hour.")} /></>;
}

function RecentNotebooks({ ns }: { ns: string }) {
  const notebooks = use_collection<Notebook>(resources.notebooks, { ns });
  const newest = notebooks.all().sort((a, b) => (String(a.metadata.creationTimestamp) < String(b.metadata.creationTimestamp) ? 1 : -1)).slice(0, 5);
  return (
    <div class="card">
      <div class="head"><h2 class="grow">{t("Notebooks")}</h2><a href="/jupyter/">{t("All notebooks")}</a></div>
      <div class="body col">
        {newest.map((one) => { const now = notebook_status(one); return (
          <div key={one.metadata.uid} class="row"><State tone={now.tone} text="" title={t(now.message)} /><a class="grow cut" href={`/jupyter/notebook/details/${one.metadata.namespace}/${one.metadata.name}`}>{one.metadata.name}</a>
            {now.phase === "ready" ? <a class="button small" href={notebook_url(one)} target="_blank" rel="noopener"><Icon name="open" size={13} />{t("Connect")}</a> : <span class="muted cut" style={{ maxWidth: "180px" }} title={t(now.message)}>{now.phase === "stopped" ? t("Stopped") : t("Waiting")}</span>}</div>
        ); })}
        {!newest.length && <div class="muted">{notebooks.refusal.value ? notebooks.refusal.value.message : t("No notebooks yet")} <a href="/jupyter/new">{t("New notebook")}</a></div>}
      </div>
    </div>
  );
}

function Room() {
  const nodes = use_collection<Node>(resources.nodes), pods = use_collection<Pod>(resources.pods), groups = use_collection<PodGroup>(resources.pod_groups);
  const total = nodes.all().reduce((sum, node) => add_amounts(sum, allocatable(node)), {} as Amounts);
  const held = useMemo(() => by_node(pods.all()), [pods.version.value]);
  const asked = [...held.values()].reduce((sum, one) => add_amounts(sum, one.requests), {} as Amounts);
  const waiting = groups.all().filter((group) => ["Pending", "Inqueue"].includes(String((group.status as { phase?: string } | undefined)?.phase)));
  const ready = nodes.all().filter(is_ready).length;
  return (
    <div class="card">
      <div class="head"><h2 class="grow">{t("The cluster")}</h2><a href="/nodes">{t("{n} of {all} nodes are ready", { n: ready, all: nodes.all().length })}</a></div>
      <div class="body col">
        {order_resources(Object.keys(total)).filter((name) => total[name] > 0).map((name) => (
          <Meter key={name} label={name} whole={total[name]} value={`${resource_text(name, asked[name] ?? 0)} / ${resource_text(name, total[name])}`} fills={[{ amount: asked[name] ?? 0, kind: "request", title: t("asked for {amount}", { amount: resource_text(name, asked[name] ?? 0) }) }]} />
        ))}
        <div class="row"><span class="muted grow">{t("Gangs that wait for room")}</span><b>{waiting.length}</b></div>
      </div>
    </div>
  );
}
