// One notebook: what it has, logs, events, a terminal, YAML.
import type { ViewProps } from "../../app/page";
import { go } from "../../app/router";
import { use_collection, use_object } from "../../data/collection";
import { use_notebook_warnings } from "../../data/notebook_warnings";
import { resources } from "../../data/resource";
import { claims_of, notebook_status, server_type, type Notebook } from "../../data/workbench";
import { Conditions } from "../../parts/conditions";
import { Events } from "../../parts/events";
import { Explain } from "../../parts/explain";
import { Logs } from "../../parts/logs";
import { ObjectYaml } from "../../parts/object_yaml";
import type { Pod } from "../../parts/pod_table";
import { BuildNote, Chip, Empty, Refused, State, Waiting } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { Age } from "../../parts/time";
import { t } from "../../text/text";
import { NotebookActions } from "../notebooks/actions";
import { Shell } from "../pod/view";

export default function NotebookPage({ params: { ns, name } }: ViewProps) {
  const notebooks = use_object<Notebook>(resources.notebooks, ns, name);
  const pods = use_collection<Pod>(resources.pods, { ns, labels: `notebook-name=${name}` });
  const notebook = notebooks.get(ns, name), warning = use_notebook_warnings(ns);
  if (notebooks.refusal.value) return <Refused refusal={notebooks.refusal.value} />;
  if (!notebook) return notebooks.loaded.value ? <Empty title={t("{name} does not exist (any more)", { name })}><a href="/jupyter/">{t("All notebooks")}</a></Empty> : <Waiting />;
  const now = notebook_status(notebook, warning(notebook)), pod = pods.all()[0], container = notebook.spec.template?.spec?.containers?.[0];
  return (
    <>
      <div class="page-head">
        <div class="grow" style={{ minWidth: "240px" }}><div class="crumbs"><a href="/jupyter/">{t("Notebooks")}</a>/<span>{ns}</span>/</div>
          <div class="row wrap"><h1 class="cut">{name}</h1><State tone={now.tone} text={now.building ? "Building" : now.message.length <= 60 ? now.message : now.phase === "warning" ? "Warning" : "Waiting"} title={now.message} /></div></div>
        <NotebookActions notebook={notebook} large deleted={() => go("/jupyter/")} />
      </div>
      <Tabs tabs={[
        { key: "overview", title: "Overview", body: () => <>
          {now.phase === "warning" && <div class="note fail" role="alert">{now.message}</div>}
          {now.building && <BuildNote line={now.message} />}
          {pod && !pod.spec?.nodeName && <Explain kind="pod" ns={ns} name={pod.metadata.name} again={pod.metadata.resourceVersion} />}
          <div class="cards">
            <section class="card"><div class="head"><h2>{t("Facts")}</h2></div><div class="body"><dl class="facts">
              <dt>{t("Type")}</dt><dd>{server_type(notebook)}</dd><dt>{t("Image")}</dt><dd class="mono">{container?.image}</dd>
              <dt>{t("Volumes")}</dt><dd>{claims_of(notebook.spec.template?.spec).map((claim) => <div key={claim}><a href={`/volumes/volume/details/${ns}/${claim}`}>{claim}</a></div>)}</dd>
              <dt>{t("Shared memory")}</dt><dd>{notebook.spec.template?.spec?.volumes?.some((one) => one.emptyDir?.medium === "Memory") ? t("yes") : t("no")}</dd>
              <dt>{t("Creator")}</dt><dd>{notebook.metadata.annotations?.["notebooks.kubeflow.org/creator"] ?? "–"}</dd>
              <dt>{t("Created")}</dt><dd><Age at={notebook.metadata.creationTimestamp as string} /></dd>
              <dt>{t("Last activity")}</dt><dd><Age at={notebook.metadata.annotations?.["notebooks.kubeflow.org/last-activity"]} /></dd>
            </dl></div></section>
            <section class="card"><div class="head"><h2>{t("Resources")}</h2></div><div class="body"><dl class="facts">
              <dt>{t("Minimum CPU")}</dt><dd>{container?.resources?.requests?.cpu ?? "–"}</dd><dt>{t("Maximum CPU")}</dt><dd>{container?.resources?.limits?.cpu ?? "–"}</dd>
              <dt>{t("Minimum memory")}</dt><dd>{container?.resources?.requests?.memory ?? "–"}</dd><dt>{t("Maximum memory")}</dt><dd>{container?.resources?.limits?.memory ?? "–"}</dd>
              {Object.entries(container?.resources?.limits ?? {}).filter(([key]) => key.includes("/")).map(([key, value]) => [<dt key={key}>{key}</dt>, <dd key={`${key}=`}>{value}</dd>])}
              <dt>{t("Configurations")}</dt><dd class="row wrap">{Object.entries(notebook.metadata.labels ?? {}).filter(([key, value]) => key !== "app" && value === "true").map(([key]) => <Chip key={key}>{key}</Chip>)}</dd>
            </dl></div></section>
          </div>
          <section class="card"><div class="head"><h2>{t("Conditions")}</h2></div><div class="body"><Conditions list={notebook.status?.conditions} /></div></section>
        </> },
        { key: "logs", title: "Logs", body: () => pod ? <Logs pods={[pod]} /> : <div class="note">{t("No logs were found for this Notebook.")}</div> },
        { key: "events", title: "Events", body: () => <Events ns={ns} belongs={(event) => [name, `${name}-0`, ...claims_of(notebook.spec.template?.spec)].includes(event.involvedObject.name ?? "")} /> },
        { key: "terminal", title: "Terminal", body: () => pod ? <Shell pod={pod} /> : <div class="note">{t("No container of this pod is running now.")}</div> },
        { key: "yaml", title: "YAML", body: () => <ObjectYaml object={notebook} resource={resources.notebooks} /> },
        { key: "pod", title: "Pod's YAML", body: () => pod ? <ObjectYaml object={pod} resource={resources.pods} /> : null, off: !pod },
      ]} />
    </>
  );
}
