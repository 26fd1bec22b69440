// One pod: containers, logs, a terminal, events, the reason why it waits, YAML.
import { useState } from "preact/hooks";
import type { CoreV1Container, CoreV1ContainerStatus } from "../../../generated/kinds";
import type { ViewProps } from "../../app/page";
import { go } from "../../app/router";
import { remove } from "../../data/api";
import { use_object } from "../../data/collection";
import { path_of, resources } from "../../data/resource";
import { Conditions } from "../../parts/conditions";
import { ask } from "../../parts/dialog";
import { Events } from "../../parts/events";
import { Explain } from "../../parts/explain";
import { Icon } from "../../parts/icon";
import { Logs } from "../../parts/logs";
import { ObjectYaml } from "../../parts/object_yaml";
import { pod_status, pod_tone, restarts, type Pod } from "../../parts/pod_table";
import { Chip, Empty, Refused, State, Waiting } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { TerminalFrame } from "../../parts/terminal";
import { Age } from "../../parts/time";
import { toast } from "../../parts/toast";
import { t } from "../../text/text";

export default function PodPage({ params: { ns, name } }: ViewProps) {
  const pods = use_object<Pod>(resources.pods, ns, name);
  const pod = pods.get(ns, name);
  if (pods.refusal.value) return <Refused refusal={pods.refusal.value} />;
  if (!pod) return pods.loaded.value ? <Empty title={t("{name} does not exist (any more)", { name })}><a href="/pods">{t("All pods")}</a></Empty> : <Waiting />;
  return (
    <>
      <div class="page-head">
        <div class="grow" style={{ minWidth: "240px" }}>
          <div class="crumbs"><a href="/pods">{t("Pods")}</a>/<span>{ns}</span>/</div>
          <div class="row wrap"><h1 class="cut">{name}</h1><State tone={pod_tone(pod)} text={pod_status(pod)} /></div>
        </div>
        <button class="button danger" onClick={() => ask({
          title: t("Delete {name}?", { name }), text: t("Whoever owns it may make another one."), accept: t("Delete"), doing: t("Deleting…"), danger: true,
          act: async () => { await remove(path_of(resources.pods, ns, name)); toast(t("{name} is being deleted.", { name })); go("/pods"); },
        })}><Icon name="trash" />{t("Delete")}</button>
      </div>
      <Tabs tabs={[
        { key: "overview", title: "Overview", body: () => <Overview pod={pod} /> },
        { key: "logs", title: "Logs", body: () => <Logs pods={[pod]} /> },
        { key: "terminal", title: "Terminal", body: () => <Shell pod={pod} /> },
        { key: "events", title: "Events", body: () => <Events ns={ns} belongs={(event) => event.involvedObject.name === name} /> },
        { key: "why", title: "Why is it waiting?", body: () => <Explain kind="pod" ns={ns} name={name} again={pod.metadata.resourceVersion} />, off: !!pod.spec?.nodeName },
        { key: "yaml", title: "YAML", body: () => <ObjectYaml object={pod} resource={resources.pods} /> },
      ]} />
    </>
  );
}

export function Shell({ pod }: { pod: Pod }) {
  const running = pod.status?.containerStatuses?.filter((one) => one.state?.running).map((one) => one.name) ?? [];
  const [chosen, set_chosen] = useState("");
  const container = running.includes(chosen) ? chosen : running[0];
  if (!container) return <div class="note">{t("No container of this pod is running now.")}</div>;
  return (
    <>
      {running.length > 1 && <div class="tools"><select class="input" style={{ width: "auto" }} aria-label={t("Container")} value={container} onChange={(event) => set_chosen(event.currentTarget.value)}>{running.map((one) => <option key={one}>{one}</option>)}</select></div>}
      <TerminalFrame key={container} ns={pod.metadata.namespace!} pod={pod.metadata.name} container={container} />
    </>
  );
}

function Overview({ pod }: { pod: Pod }) {
  const owner = pod.metadata.ownerReferences?.find((one) => one.controller);
  return (
    <>
      {!pod.spec?.nodeName && pod.status?.phase === "Pending" && <Explain kind="pod" ns={pod.metadata.namespace!} name={pod.metadata.name} again={pod.metadata.resourceVersion} />}
      <div class="cards">
        <section class="card"><div class="head"><h2>{t("Facts")}</h2></div><div class="body"><dl class="facts">
          <dt>{t("Node")}</dt><dd>{pod.spec?.nodeName ? <a href={`/nodes/${pod.spec.nodeName}`}>{pod.spec.nodeName}</a> : "–"}</dd>
          <dt>{t("IP")}</dt><dd class="mono">{pod.status?.podIP ?? "–"}</dd>
          <dt>{t("Created")}</dt><dd><Age at={pod.metadata.creationTimestamp as string} /></dd>
          <dt>{t("Restarts")}</dt><dd>{restarts(pod)}</dd>
          {owner && <><dt>{t("Belongs to")}</dt><dd>{owner.kind} {owner.name}</dd></>}
          <dt>{t("Scheduler")}</dt><dd>{pod.spec?.schedulerName}</dd>
          <dt>{t("Service account")}</dt><dd>{pod.spec?.serviceAccountName}</dd>
          <dt>{t("Labels")}</dt><dd class="row wrap" style={{ gap: "4px" }}>{Object.entries(pod.metadata.labels ?? {}).map(([key, value]) => <Chip key={key} title={`${key}=${value}`}>{key}={value}</Chip>)}</dd>
        </dl></div></section>
        {pod.spec?.containers?.map((one) => <ContainerCard key={one.name} container={one} status={pod.status?.containerStatuses?.find((own) => own.name === one.name)} />)}
      </div>
      <section class="card"><div class="head"><h2>{t("Conditions")}</h2></div><div class="body"><Conditions list={pod.status?.conditions as never} /></div></section>
    </>
  );
}

function ContainerCard({ container, status }: { container: CoreV1Container; status?: CoreV1ContainerStatus }) {
  const state = status?.state;
  const text = state?.running ? "Running" : state?.terminated ? state.terminated.reason ?? "Terminated" : state?.waiting?.reason ?? "Waiting";
  const tone = state?.running ? "run" : state?.terminated ? (state.terminated.exitCode === 0 ? "done" : "fail") : "wait";
  const list = (values?: Record<string, unknown>) => Object.entries(values ?? {}).map(([key, value]) => `${key} ${value}`).join(", ") || "–";
  return (
    <section class="card"><div class="head"><h2 class="grow cut">{container.name}</h2><State tone={tone} text={text} /></div><div class="body"><dl class="facts">
      <dt>{t("Image")}</dt><dd class="mono">{container.image}</dd>
      {container.command && <><dt>{t("Command")}</dt><dd class="mono">{[...container.command, ...(container.args ?? [])].join(" ").slice(0, 400)}</dd></>}
      <dt>{t("Requests")}</dt><dd>{list(container.resources?.requests)}</dd>
      <dt>{t("Limits")}</dt><dd>{list(container.resources?.limits)}</dd>
      {state?.terminated && <><dt>{t("Exit code")}</dt><dd>{state.terminated.exitCode}</dd></>}
      {(state?.waiting?.message || state?.terminated?.message) && <><dt>{t("Message")}</dt><dd>{state?.waiting?.message ?? state?.terminated?.message}</dd></>}
      {container.volumeMounts && <><dt>{t("Mounts")}</dt><dd>{container.volumeMounts.map((mount) => <div key={mount.mountPath} class="mono">{mount.mountPath} <span class="faint">← {mount.name}</span></div>)}</dd></>}
    </dl></div></section>
  );
}
