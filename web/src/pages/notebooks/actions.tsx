// What can be done to a notebook, with upstream's words.
import { merge_patch, remove } from "../../data/api";
import { path_of, resources } from "../../data/resource";
import { notebook_status, notebook_url, STOPPED, type Notebook } from "../../data/workbench";
import { ask } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { toast, toast_error } from "../../parts/toast";
import { t } from "../../text/text";

export function NotebookActions({ notebook, large, deleted }: { notebook: Notebook; large?: boolean; deleted?: () => void }) {
  const { namespace: ns, name } = notebook.metadata, path = path_of(resources.notebooks, ns, name), now = notebook_status(notebook);
  const stop = () => ask({
    title: t("Are you sure you want to stop this notebook server? {name}", { name }), text: t("What is not on a volume is lost; volumes stay."), accept: t("Stop"), doing: t("Stopping…"),
    act: () => merge_patch(path, { metadata: { annotations: { [STOPPED]: new Date().toISOString().replace(/\.\d+/, "") } } }).then(() => toast(t("Stopping Notebook server '{name}'...", { name }))),
  });
  const start = () => merge_patch(path, { metadata: { annotations: { [STOPPED]: null } } }).then(() => toast(t("Starting Notebook server '{name}'...", { name })), toast_error);
  const gone = () => ask({
    title: t("Are you sure you want to delete this notebook server? {name}", { name }), text: t("What is not on a volume is lost; volumes stay."), accept: t("Delete"), doing: t("Deleting…"), danger: true,
    act: async () => { await remove(path, "Foreground"); toast(t("{ns}/{name}: Delete request was sent.", { ns: ns!, name })); deleted?.(); },
  });
  const size = large ? "" : " small";
  return (
    <span class="row" style={{ gap: "4px" }}>
      <a class={`button${size}${now.phase === "ready" ? " primary" : ""}`} href={now.phase === "ready" ? notebook_url(notebook) : undefined} target="_blank" rel="noopener" aria-disabled={now.phase !== "ready"} role="button" title={now.phase === "ready" ? "" : t(now.message)}><Icon name="open" size={13} />{t("Connect")}</a>
      {now.phase === "stopped" ? <button class={`button${size} icon`} onClick={start} aria-label={t("Start")} title={t("Start")}><Icon name="play" size={13} /></button>
        : <button class={`button${size} icon`} onClick={stop} disabled={now.phase === "terminating"} aria-label={t("Stop")} title={t("Stop")}><Icon name="stop" size={13} /></button>}
      <button class={`button${size} icon`} onClick={gone} disabled={now.phase === "terminating"} aria-label={t("Delete")} title={t("Delete")}><Icon name="trash" size={13} /></button>
    </span>
  );
}
