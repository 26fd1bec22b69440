// Files on a volume: go into directories, download, upload by dropping, delete.
import { useEffect, useMemo, useState } from "preact/hooks";
import { parameter, place, set_parameters } from "../app/router";
import { call, send, type ApiError } from "../data/api";
import { is_served } from "../data/session";
import { short_bytes } from "../data/quantity";
import { t } from "../text/text";
import { ask } from "./dialog";
import { Check } from "./form";
import { Icon } from "./icon";
import { Empty, Refused, Waiting } from "./states";
import { Table, type Column } from "./table";
import { Age } from "./time";
import { toast, toast_error } from "./toast";

interface Entry { name: string; type: "dir" | "file" | "link" | "other"; size: number; modified: string }
interface Listing { entries: Entry[]; more: boolean; unnamed: number; readOnly: boolean }
const LARGEST = 64 * 1024 * 1024;

export function Files({ ns, claim }: { ns: string; claim: string }) {
  const at = parameter("path"), [listing, set_listing] = useState<Listing | null>(null), [problem, set_problem] = useState<ApiError | null>(null), [turn, set_turn] = useState(0), [over, set_over] = useState(false), [all, set_all] = useState(false);
  const url = (path: string) => `/hekla/v1/files/${encodeURIComponent(ns)}/${encodeURIComponent(claim)}${path.split("/").filter(Boolean).map((part) => `/${encodeURIComponent(part)}`).join("")}`;
  const below = (name: string) => (at ? `${at}/${name}` : name);
  useEffect(() => {
    let wanted = true;
    set_problem(null);
    call<Listing>(url(at)).then((found) => { if (wanted) set_listing(found); }, (error) => { if (wanted) { set_listing(null); set_problem(error); } });
    return () => { wanted = false; };
  }, [ns, claim, at, turn]);
  const again = () => set_turn((before) => before + 1);
  const upload = async (files: Iterable<File>) => {
    for (const file of files) {
      if (file.size > LARGEST) { toast(t("{name} is larger than 64 MiB: copy it from a notebook's terminal.", { name: file.name }), "fail"); continue; }
      try { await send(url(below(file.name)), { method: "PUT", body: file, content_type: "application/octet-stream" }); } catch (error) { toast_error(error); }
    }
    again();
  };
  const columns = useMemo((): Column<Entry>[] => [
    { key: "name", title: "Name", width: "minmax(220px, 3fr)", cell: (one) => <><Icon name={one.type === "dir" ? "folder" : "file"} />{one.type === "dir" || one.type === "link" ? <a href={`${place.value.path}?tab=files&path=${encodeURIComponent(below(one.name))}`}>{one.name}</a> : one.type === "file" ? <a href={url(below(one.name))} download={one.name} target="_blank" rel="noopener">{one.name}</a> : <span class="faint">{one.name}</span>}</>, sort: (one) => `${one.type === "dir" ? 0 : 1}${one.name}` },
    { key: "size", title: "Size", width: "110px", right: true, cell: (one) => (one.type === "file" ? short_bytes(one.size) : ""), sort: (one) => one.size },
    { key: "time", title: "Changed", width: "110px", right: true, cell: (one) => <Age at={one.modified} />, sort: (one) => Date.parse(one.modified) },
    { key: "act", title: "", width: "64px", right: true, cell: (one) => (listing?.readOnly ? null : <button class="button small icon" aria-label={t("Delete {name}?", { name: one.name })} title={t("Delete")} onClick={() => ask({ title: t("Delete {name}?", { name: one.name }), text: one.type === "dir" ? t("Only an empty directory can be deleted here.") : t("It cannot be brought back."), accept: t("Delete"), doing: t("Deleting…"), danger: true, act: () => send(url(below(one.name)), { method: "DELETE" }).then(again) })}><Icon name="trash" size={13} /></button>) },
  ], [at, listing?.readOnly, ns, claim]);
  const rows = useMemo(() => listing?.entries.filter((one) => all || !one.name.startsWith(".")) ?? [], [listing, all]);
  const parts = at.split("/").filter(Boolean);
  return (
    <div class={`col grow${over ? " drop over" : ""}`} style={{ minHeight: 0 }} onDragOver={(event) => { if (!listing?.readOnly) { event.preventDefault(); set_over(true); } }} onDragLeave={() => set_over(false)} onDrop={(event) => { event.preventDefault(); set_over(false); if (event.dataTransfer) upload(event.dataTransfer.files); }}>
      <div class="row wrap">
        <div class="crumbs grow"><button class="button plain small" onClick={() => set_parameters({ path: "" })}><Icon name="volumes" />{claim}</button>{parts.map((part, index) => <span key={index}>/ <button class="button plain small" onClick={() => set_parameters({ path: parts.slice(0, index + 1).join("/") })}>{part}</button></span>)}</div>
        {listing?.entries.some((one) => one.name.startsWith(".")) && <Check label={t("Hidden files")} value={all} set={set_all} />}
        {listing && is_served("tensorboard.kubeflow.org/v1alpha1/tensorboards") && <a class="button small" href={`/tensorboards/new?claim=${encodeURIComponent(claim)}&path=${encodeURIComponent(at)}`}><Icon name="tensorboards" size={13} />{t("TensorBoard here")}</a>}
        {listing && !listing.readOnly && <label class="button small"><Icon name="up" size={13} />{t("Upload")}<input class="sr" type="file" multiple onChange={(event) => { const input = event.currentTarget; upload([...(input.files ?? [])]).then(() => { input.value = ""; }); }} /></label>}
        <button class="button small icon" aria-label={t("Refresh")} title={t("Refresh")} onClick={again}><Icon name="refresh" size={13} /></button>
      </div>
      {problem ? (problem.status === 404 ? <Empty title={t("Nothing to see")}>{problem.message}</Empty> : <Refused refusal={{ code: problem.status, reason: problem.reason, message: problem.message }} />)
        : !listing ? <Waiting /> : <>
          {listing.readOnly && <div class="note">{t("This volume was made by hand: its files are only read here.")}</div>}
          {(listing.more || listing.unnamed > 0) && <div class="note wait">{t("There are more files here than are shown.")}</div>}
          <Table rows={rows} columns={columns} row_key={(one) => one.name} order="name" name={t("Files")} id="files" text={(one) => one.name} empty={listing.readOnly ? t("It is empty.") : t("It is empty. Drop files here.")} />
        </>}
    </div>
  );
}
