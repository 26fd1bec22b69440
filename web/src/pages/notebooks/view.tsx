import { useMemo } from "preact/hooks";
import { use_collection } from "../../data/collection";
import { use_notebook_warnings } from "../../data/notebook_warnings";
import { quantity } from "../../data/quantity";
import { resources, uid_of } from "../../data/resource";
import { namespace } from "../../data/session";
import { notebook_status, server_type, short_image, type Notebook } from "../../data/workbench";
import { Icon } from "../../parts/icon";
import { BuildNote, Empty, Refused, State, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { Age } from "../../parts/time";
import { t } from "../../text/text";
import { NotebookActions } from "./actions";

const first = (notebook: Notebook) => notebook.spec.template?.spec?.containers?.[0];
const gpus = (notebook: Notebook): number => Object.entries(first(notebook)?.resources?.limits ?? {}).reduce((sum, [name, value]) => (name.includes("/") ? sum + Number(value) : sum), 0);
export const details = (notebook: Notebook): string => `/jupyter/notebook/details/${notebook.metadata.namespace}/${notebook.metadata.name}`;
const SHORT: Record<string, string> = { ready: "Running", waiting: "Waiting", warning: "Warning", stopped: "Stopped", terminating: "Deleting", unavailable: "Waiting" };

export default function Notebooks() {
  const ns = namespace.value;
  const notebooks = use_collection<Notebook>(resources.notebooks, { ns }), warning = use_notebook_warnings(ns);
  const columns = useMemo((): Column<Notebook>[] => [
    { key: "state", title: "Status", width: "100px", cell: (one) => { const now = notebook_status(one, warning(one)); return <State tone={now.tone} text={now.building ? "Building" : SHORT[now.phase]} title={t(now.message)} />; }, sort: (one) => notebook_status(one, warning(one)).phase },
    { key: "name", title: "Name", width: "minmax(120px, 1.4fr)", cell: (one) => <a href={details(one)}>{one.metadata.name}</a>, sort: (one) => one.metadata.name },
    ...(ns ? [] : [{ key: "ns", title: "Namespace", width: "minmax(104px, 1fr)", cell: (one: Notebook) => <span class="muted">{one.metadata.namespace}</span>, sort: (one: Notebook) => one.metadata.namespace ?? "" }]),
    { key: "type", title: "Type", width: "92px", cell: server_type, sort: server_type },
    { key: "age", title: "Age", width: "64px", cell: (one) => <Age at={one.metadata.creationTimestamp as string} />, sort: (one) => Date.parse(String(one.metadata.creationTimestamp)) },
    { key: "last", title: "Last activity", width: "108px", cell: (one) => <Age at={one.metadata.annotations?.["notebooks.kubeflow.org/last-activity"]} />, sort: (one) => Date.parse(one.metadata.annotations?.["notebooks.kubeflow.org/last-activity"] ?? "") || 0 },
    { key: "image", title: "Image", width: "minmax(120px, 1.2fr)", cell: (one) => <span class="muted" title={first(one)?.image}>{short_image(first(one)?.image)}</span>, sort: (one) => short_image(first(one)?.image) },
    { key: "gpu", title: "GPUs", width: "58px", right: true, cell: gpus, sort: gpus },
    { key: "cpu", title: "CPUs", width: "58px", right: true, cell: (one) => first(one)?.resources?.requests?.cpu ?? "", sort: (one) => quantity(first(one)?.resources?.requests?.cpu) },
    { key: "memory", title: "Memory", width: "76px", right: true, cell: (one) => first(one)?.resources?.requests?.memory ?? "", sort: (one) => quantity(first(one)?.resources?.requests?.memory) },
    { key: "act", title: "", width: "176px", right: true, cell: (one) => <NotebookActions notebook={one} /> },
  ], [ns, warning]);
  const rows = useMemo(() => notebooks.all(), [notebooks.version.value]);
  const building = rows.map((one) => notebook_status(one)).find((now) => now.building);
  return (
    <>
      <div class="page-head"><h1 class="grow">{t("Notebooks")}</h1>{!notebooks.refusal.value && <a class="button primary" href="/jupyter/new"><Icon name="plus" />{t("New Notebook")}</a>}</div>
      {building && <BuildNote line={building.message} />}
      {notebooks.refusal.value ? <Refused refusal={notebooks.refusal.value} /> : !notebooks.loaded.value ? <Waiting /> : (
        <Table rows={rows} columns={columns} row_key={uid_of} href={details} order="-age" name={t("Notebooks")} least={1020}
          text={(one) => `${one.metadata.name} ${one.metadata.namespace} ${server_type(one)} ${first(one)?.image}`}
          empty={<Empty title={t("No notebooks yet")}>{t("JupyterLab in a tab, on your own volume, in seconds.")} <a href="/jupyter/new">{t("New Notebook")}</a></Empty>} />
      )}
    </>
  );
}
