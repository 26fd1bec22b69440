// One job of any kind: its gang as a live picture, its pods, logs of all replicas side by side, events, the reason why
// it waits, YAML.
import { useMemo } from "preact/hooks";
import type { CoreV1Pod, KubeObject, PodGroup, VolcanoJob } from "../../../generated/kinds";
import type { ViewProps } from "../../app/page";
import { go } from "../../app/router";
import { kube, merge_patch, remove } from "../../data/api";
import { use_collection, use_object } from "../../data/collection";
import { job_kind, job_tone, members, minimum, type JobKind } from "../../data/jobs";
import { path_of, resources } from "../../data/resource";
import { Conditions } from "../../parts/conditions";
import { ask } from "../../parts/dialog";
import { Events } from "../../parts/events";
import { Explain } from "../../parts/explain";
import { Gang, Machines } from "../../parts/gang";
import { Icon } from "../../parts/icon";
import { Logs } from "../../parts/logs";
import { ObjectYaml } from "../../parts/object_yaml";
import { PodTable } from "../../parts/pod_table";
import { Empty, Refused, State, Waiting } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { Age, Duration } from "../../parts/time";
import { toast, toast_error } from "../../parts/toast";
import { t } from "../../text/text";
import { ended_at } from "../jobs/view";

type Pod = CoreV1Pod & KubeObject;

export default function Job({ params }: ViewProps) {
  const kind = job_kind(params.kind);
  if (!kind) return <Empty title={t("There is no such kind of job")} />;
  return <Known kind={kind} ns={params.ns} name={params.name} />;
}

function Known({ kind, ns, name }: { kind: JobKind; ns: string; name: string }) {
  const jobs = use_object<KubeObject>(kind.resource, ns, name);
  const pods = use_collection<Pod>(resources.pods, { ns, labels: kind.pod_labels(name) });
  const groups = use_collection<PodGroup>(resources.pod_groups, { ns });
  const job = jobs.get(ns, name);
  if (jobs.refusal.value) return <Refused refusal={jobs.refusal.value} />;
  if (!job) return jobs.loaded.value ? <Empty title={t("{name} does not exist (any more)", { name })}><a href="/jobs">{t("All jobs")}</a></Empty> : <Waiting />;
  const mine = pods.all().sort((a, b) => (kind.role_of(a) + String(kind.index_of(a)).padStart(6, "0") < kind.role_of(b) + String(kind.index_of(b)).padStart(6, "0") ? -1 : 1));
  const group = groups.get(ns, kind.group(job)) ?? groups.all().find((one) => one.metadata.ownerReferences?.some((owner) => owner.uid === job.metadata.uid));
  const state = kind.state(job);
  const names = new Set([name, kind.group(job), ...mine.map((pod) => pod.metadata!.name!)]);
  return (
    <>
      <Head kind={kind} job={job} state={state} />
      <Tabs tabs={[
        { key: "overview", title: "Overview", body: () => <Overview kind={kind} job={job} pods={mine} group={group} state={state} /> },
        { key: "pods", title: "Pods", body: () => <PodTable pods={mine} role={kind.role_of} /> },
        { key: "logs", title: "Logs", body: () => <Logs pods={mine} /> },
        { key: "events", title: "Events", body: () => <Events ns={ns} belongs={(event) => names.has(event.involvedObject.name ?? "") || (event.involvedObject.name ?? "").startsWith(`${name}-`)} /> },
        { key: "why", title: "Why is it waiting?", body: () => <Why kind={kind} job={job} group={group} pods={mine} />, off: job_tone(state) !== "wait" && job_tone(state) !== "place" || (!group && !mine.length && kind.key !== "vcjob") },
        { key: "yaml", title: "YAML", body: () => <ObjectYaml object={job} resource={kind.resource} /> },
      ]} />
    </>
  );
}

function Head({ kind, job, state }: { kind: JobKind; job: KubeObject; state: string }) {
  const { namespace: ns, name } = job.metadata;
  const path = path_of(kind.resource, ns, name);
  const ended = ["Completed", "Complete", "Succeeded", "Failed", "Terminated"].includes(state);
  const command = (action: string) => kube(path_of({ group: "bus.volcano.sh", version: "v1alpha1", plural: "commands", kind: "Command", namespaced: true }, ns), {
    method: "POST",
    body: { apiVersion: "bus.volcano.sh/v1alpha1", kind: "Command", metadata: { generateName: `${name}-`, namespace: ns, ownerReferences: [{ apiVersion: job.apiVersion, kind: job.kind, name, uid: job.metadata.uid, controller: true }] }, action, target: { apiVersion: job.apiVersion, kind: job.kind, name, uid: job.metadata.uid, controller: true } },
  }).then(() => toast(t("Asked for: {action}", { action })), toast_error);
  const suspend = (to: boolean) => kind.key === "vcjob" ? command(to ? "AbortJob" : "ResumeJob")
    : merge_patch(path, { spec: kind.key === "job" || kind.key === "jobset" || kind.key === "trainjob" ? { suspend: to } : { runPolicy: { suspend: to } } }).then(() => toast(to ? t("Suspended.") : t("Resumed.")), toast_error);
  const suspended = state === "Suspended" || state === "Aborted";
  return (
    <div class="page-head">
      <div class="grow" style={{ minWidth: "240px" }}>
        <div class="crumbs"><a href="/jobs">{t("Jobs")}</a>/<span>{ns}</span>/</div>
        <div class="row wrap"><h1 class="cut">{name}</h1><State tone={job_tone(state)} text={state} /><span class="sub">{kind.label}</span></div>
      </div>
      {!ended && !suspended && <button class="button" onClick={() => suspend(true)}><Icon name="stop" />{t("Suspend")}</button>}
      {suspended && <button class="button" onClick={() => suspend(false)}><Icon name="play" />{t("Resume")}</button>}
      {kind.key === "vcjob" && <button class="button" onClick={() => command("RestartJob")}><Icon name="refresh" />{t("Restart")}</button>}
      <button class="button danger" onClick={() => ask({
        title: t("Delete {name}?", { name }), text: t("Its pods end, and what they have not written to a volume is lost."), accept: t("Delete"), doing: t("Deleting…"), danger: true,
        act: async () => { await remove(path); toast(t("{name} is being deleted.", { name })); go("/jobs"); },
      })}><Icon name="trash" />{t("Delete")}</button>
    </div>
  );
}

function Overview({ kind, job, pods, group, state }: { kind: JobKind; job: KubeObject; pods: Pod[]; group?: PodGroup; state: string }) {
  const roles = useMemo(() => members(kind, job, pods), [job, pods.map((pod) => pod.metadata!.resourceVersion).join()]);
  const status = (job as unknown as { status?: { conditions?: never[] } }).status;
  const waiting = job_tone(state) === "wait" && state !== "Suspended";
  const images = [...new Set(pods.flatMap((pod) => pod.spec?.containers?.map((one) => one.image ?? "") ?? []))];
  const queue = kind.queue(job) || group?.spec.queue;
  return (
    <>
      {waiting && (group || kind.key === "vcjob") && <Why kind={kind} job={job} group={group} pods={pods} />}
      <Gang roles={roles} minimum={minimum(group, job)} ended={["done", "fail"].includes(job_tone(state))} />
      <Machines roles={roles} />
      <div class="cards">
        <section class="card"><div class="head"><h2>{t("Facts")}</h2></div><div class="body">
          <dl class="facts">
            <dt>{t("Kind")}</dt><dd>{job.apiVersion} {job.kind}</dd>
            {queue && <><dt>{t("Queue")}</dt><dd><a href={`/queues/${queue}`}>{queue}</a></dd></>}
            <dt>{t("Created")}</dt><dd><Age at={job.metadata.creationTimestamp as string} /></dd>
            <dt>{t("Duration")}</dt><dd><Duration from={job.metadata.creationTimestamp as string} to={ended_at(job)} /></dd>
            {group && <><dt>{t("Pod group")}</dt><dd>{group.metadata.name} · {String((group.status as { phase?: string } | undefined)?.phase ?? "")}</dd></>}
            {(job as VolcanoJob).spec.schedulerName && <><dt>{t("Scheduler")}</dt><dd>{(job as VolcanoJob).spec.schedulerName}</dd></>}
            {images.length > 0 && <><dt>{t("Images")}</dt><dd class="mono">{images.join(", ")}</dd></>}
          </dl>
        </div></section>
        <section class="card" style={{ gridColumn: "span 2" }}><div class="head"><h2>{t("Conditions")}</h2></div><div class="body"><Conditions list={status?.conditions as never} /></div></section>
      </div>
      <Events ns={job.metadata.namespace!} fill={false} belongs={(event) => event.involvedObject.name === job.metadata.name || event.involvedObject.name === group?.metadata.name} />
    </>
  );
}

function Why({ kind, job, group, pods }: { kind: JobKind; job: KubeObject; group?: PodGroup; pods: Pod[] }) {
  const ns = job.metadata.namespace!;
  const again = `${job.metadata.resourceVersion}/${group?.metadata.resourceVersion}`;
  if (kind.key === "vcjob") return <Explain kind="job" ns={ns} name={job.metadata.name} again={again} />;
  if (group) return <Explain kind="podgroup" ns={ns} name={group.metadata.name} again={again} />;
  const pod = pods.find((one) => !one.spec?.nodeName) ?? pods[0];
  return pod ? <Explain kind="pod" ns={ns} name={pod.metadata!.name!} again={again} /> : null;
}
