// Queues as a tree: what each uses, deserves, is promised and may have at most, as bars for each resource.
import { useMemo } from "preact/hooks";
import type { PodGroup, Queue } from "../../../generated/kinds";
import type { ViewProps } from "../../app/page";
import { allocatable, order_resources, type Node } from "../../data/cluster";
import { use_collection } from "../../data/collection";
import { add_amounts, amounts, resource_text, type Amounts } from "../../data/quantity";
import { resources } from "../../data/resource";
import { Conditions } from "../../parts/conditions";
import { Explain } from "../../parts/explain";
import { Meter } from "../../parts/meter";
import { ObjectYaml } from "../../parts/object_yaml";
import { Chip, Empty, Refused, State, Waiting } from "../../parts/states";
import { Table } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { Age } from "../../parts/time";
import { t, tn } from "../../text/text";
import { is_owned, job_columns, job_href, use_jobs } from "../jobs/view";

interface Leaf { queue: Queue; depth: number; used: Amounts; children: number }

// Depth first below root; a queue whose parent does not exist stands at the top.
function tree(queues: Queue[]): Leaf[] {
  const names = new Set(queues.map((one) => one.metadata.name));
  const below = new Map<string, Queue[]>();
  for (const queue of queues) {
    const parent = queue.spec.parent ?? (queue.metadata.name === "root" ? "" : "root");
    const key = names.has(parent) && parent !== queue.metadata.name ? parent : "";
    if (!below.has(key)) below.set(key, []);
    below.get(key)!.push(queue);
  }
  const out: Leaf[] = [];
  const walk = (parent: string, depth: number) => {
    for (const queue of (below.get(parent) ?? []).sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
      if (depth > 16) return;
      out.push({ queue, depth, used: amounts((queue.status as { allocated?: never } | undefined)?.allocated), children: below.get(queue.metadata.name)?.length ?? 0 });
      walk(queue.metadata.name, depth + 1);
    }
  };
  walk("", 0);
  return out;
}

// A share by weight among brothers, where no amount is written down.
function share(queue: Queue, queues: Queue[], total: Amounts, resource: string): { amount: number; by_weight: boolean } {
  const deserved = amounts(queue.spec.deserved as never)[resource];
  if (deserved !== undefined) return { amount: deserved, by_weight: false };
  if (queue.metadata.name === "root") return { amount: total[resource] ?? 0, by_weight: true };
  const brothers = queues.filter((one) => one.metadata.name !== "root" && (one.spec.parent ?? "root") === (queue.spec.parent ?? "root"));
  const weights = brothers.reduce((sum, one) => sum + (one.spec.weight ?? 1), 0);
  return { amount: ((total[resource] ?? 0) * (queue.spec.weight ?? 1)) / Math.max(1, weights), by_weight: true };
}

const queue_state = (queue: Queue): string => String((queue.status as { state?: string } | undefined)?.state ?? "Open");

function Line({ leaf, queues, total, shown, groups }: { leaf: Leaf; queues: Queue[]; total: Amounts; shown: string[]; groups: { run: number; wait: number } }) {
  const { queue, used } = leaf;
  const state = queue_state(queue);
  return (
    <div class="queue" role="row">
      <div style={{ paddingLeft: `${leaf.depth * 18}px`, minWidth: 0 }}>
        <div class="row"><a class="cut" style={{ fontWeight: 600 }} href={`/queues/${queue.metadata.name}`}>{queue.metadata.name}</a>{state !== "Open" && <Chip tone="wait">{t(state)}</Chip>}</div>
        <div class="faint" style={{ fontSize: "12px" }}>{t("weight {n}", { n: queue.spec.weight ?? 1 })}{queue.spec.reclaimable === false && ` · ${t("not reclaimable")}`}</div>
      </div>
      {shown.map((resource) => {
        const own = share(queue, queues, total, resource), cap = amounts(queue.spec.capability as never)[resource], promised = amounts((queue.spec.guarantee as { resource?: never } | undefined)?.resource)[resource];
        const whole = Math.max(total[resource] ?? 0, own.amount, used[resource] ?? 0, cap ?? 0) || 1;
        const text = (amount: number) => resource_text(resource, amount);
        return <Meter key={resource} value={`${text(used[resource] ?? 0)} / ${text(own.amount)}`} whole={whole}
          fills={[{ amount: used[resource] ?? 0, kind: (used[resource] ?? 0) > own.amount * 1.001 ? "over" : "used", title: t("used {amount}", { amount: text(used[resource] ?? 0) }) }]}
          marks={[{ at: own.amount, kind: "deserved", title: t(own.by_weight ? "deserves {amount} by its weight" : "deserves {amount}", { amount: text(own.amount) }) },
            ...(promised ? [{ at: promised, kind: "guarantee" as const, title: t("is promised {amount}", { amount: text(promised) }) }] : []),
            ...(cap ? [{ at: cap, kind: "cap" as const, title: t("may have at most {amount}", { amount: text(cap) }) }] : [])]} />;
      })}
      <div class="nowrap" style={{ textAlign: "right" }}>
        <div><State tone={groups.run ? "run" : "done"} text={t("{n} running", { n: groups.run })} /></div>
        <div><State tone={groups.wait ? "wait" : "done"} text={t("{n} waiting", { n: groups.wait })} /></div>
      </div>
    </div>
  );
}

function use_queues() {
  const queues = use_collection<Queue>(resources.queues);
  const nodes = use_collection<Node>(resources.nodes);
  const groups = use_collection<PodGroup>(resources.pod_groups);
  const total = useMemo(() => nodes.all().reduce((sum, node) => add_amounts(sum, allocatable(node)), {} as Amounts), [nodes.version.value]);
  const counted = useMemo(() => {
    const out = new Map<string, { run: number; wait: number }>();
    for (const group of groups.all()) {
      const name = group.spec.queue ?? "default", phase = (group.status as { phase?: string } | undefined)?.phase;
      const own = out.get(name) ?? { run: 0, wait: 0 };
      if (phase === "Running") own.run++;
      else if (phase !== "Completed") own.wait++;
      out.set(name, own);
    }
    return out;
  }, [groups.version.value]);
  return { queues, total, counted };
}

export default function Queues({ params }: ViewProps) {
  const { queues, total, counted } = use_queues();
  const all = queues.all();
  if (queues.refusal.value) return <Refused refusal={queues.refusal.value} />;
  if (!queues.loaded.value) return <Waiting />;
  // There is always a queue: whoever sees none may not see them.
  if (!all.length) return <Refused refusal={{ code: 403, reason: "Forbidden", message: t("Queues are seen by administrators.") }} />;
  const shown = order_resources(all.flatMap((queue) => Object.keys(amounts((queue.status as { allocated?: never } | undefined)?.allocated))).concat("cpu", "memory", ...Object.keys(total).filter((name) => name.includes("/")))).filter((name) => name !== "pods" && name !== "count").slice(0, 4);
  const leaves = tree(all);
  const line = (leaf: Leaf) => <Line key={leaf.queue.metadata.uid} leaf={leaf} queues={all} total={total} shown={shown} groups={counted.get(leaf.queue.metadata.name) ?? { run: 0, wait: 0 }} />;
  if (params.name) {
    const leaf = leaves.find((one) => one.queue.metadata.name === params.name);
    if (!leaf) return <Empty title={t("{name} does not exist (any more)", { name: params.name })}><a href="/queues">{t("All queues")}</a></Empty>;
    return <One leaf={leaf} shown={shown}>{line({ ...leaf, depth: 0 })}</One>;
  }
  return (
    <>
      <div class="page-head"><h1 class="grow">{t("Queues")}</h1><span class="sub">{tn(all.length, "{n} queue", "{n} queues")}</span></div>
      <div class="card" role="table" aria-label={t("Queues")} style={{ "--meters": shown.length, overflowX: "auto" } as never}>
        <div class="queue heads" role="row" style={{ borderBottom: "1px solid var(--line)" }}><span role="columnheader">{t("Queue")}</span>{shown.map((name) => <span key={name} role="columnheader">{name}</span>)}<span role="columnheader" style={{ textAlign: "right" }}>{t("Gangs")}</span></div>
        {leaves.map(line)}
      </div>
      <div class="row wrap faint" style={{ gap: "16px" }}>
        <span class="state run"><i />{t("used")}</span><span class="state wait"><i style={{ background: "var(--wait-fill)" }} />{t("more than it deserves: may be reclaimed")}</span>
        <span>▏{t("deserved")}</span><span style={{ color: "var(--place)" }}>▏{t("promised")}</span><span style={{ color: "var(--fail)" }}>▏{t("at most")}</span>
      </div>
    </>
  );
}

function One({ leaf, shown, children }: { leaf: Leaf; shown: string[]; children: preact.ComponentChildren }) {
  const { queue } = leaf, name = queue.metadata.name;
  const { rows } = use_jobs("");
  const columns = useMemo(() => job_columns(true).filter((column) => column.key !== "queue"), []);
  const mine = useMemo(() => rows.filter((row) => !is_owned(row.job) && (row.kind.queue(row.job) || "default") === name), [rows, name]);
  return (
    <>
      <div class="page-head"><div class="grow"><div class="crumbs"><a href="/queues">{t("Queues")}</a>/</div><div class="row"><h1>{name}</h1><State tone={queue_state(queue) === "Open" ? "run" : "wait"} text={queue_state(queue)} /></div></div></div>
      <Tabs tabs={[
        { key: "overview", title: "Overview", body: () => <>
          <div class="card" style={{ "--meters": shown.length } as never}>{children}</div>
          <Explain kind="queue" ns="" name={name} again={queue.metadata.resourceVersion} />
          <section class="card"><div class="head"><h2>{t("Facts")}</h2></div><div class="body"><dl class="facts">
            <dt>{t("Parent")}</dt><dd>{queue.spec.parent ?? "root"}</dd><dt>{t("Weight")}</dt><dd>{queue.spec.weight ?? 1}</dd>
            <dt>{t("Priority")}</dt><dd>{String((queue.spec as { priority?: number }).priority ?? 0)}</dd>
            <dt>{t("Reclaimable")}</dt><dd>{queue.spec.reclaimable === false ? t("no") : t("yes")}</dd><dt>{t("Created")}</dt><dd><Age at={queue.metadata.creationTimestamp as string} /></dd>
          </dl></div></section>
          {(queue.status as { conditions?: never[] } | undefined)?.conditions && <Conditions list={(queue.status as { conditions?: never[] }).conditions} />}
        </> },
        { key: "jobs", title: "Jobs", body: () => <Table rows={mine} columns={columns} row_key={(row) => row.job.metadata.uid!} href={job_href} order="-age" name={t("Jobs")} text={(row) => `${row.job.metadata.name} ${row.state}`} id="jobs" /> },
        { key: "yaml", title: "YAML", body: () => <ObjectYaml object={queue} resource={resources.queues} /> },
      ]} />
    </>
  );
}
