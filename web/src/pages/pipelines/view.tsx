// Pipelines: list, upload, delete.
import { useMemo, useState } from "preact/hooks";
import { go, parameter, path } from "../../app/router";
import { pipelines_api, use_pipelines, type Pipeline } from "../../data/pipelines";
import { ask } from "../../parts/dialog";
import { TextField } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { Unserved } from "../../parts/pipelines";
import { Empty, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { Age } from "../../parts/time";
import { toast } from "../../parts/toast";
import { t } from "../../text/text";

export default function Pipelines() {
  return path.value.endsWith("/upload") ? <Upload /> : <All />;
}
const href = (one: Pipeline): string => `/pipelines/details/${one.pipeline_id}`;
const title_of = (one: Pipeline): string => one.display_name ?? one.name ?? one.pipeline_id;

function All() {
  const { value, problem } = use_pipelines<{ pipelines?: Pipeline[] }>("/pipelines?page_size=200&sort_by=created_at%20desc", "pipelines");
  const columns = useMemo((): Column<Pipeline>[] => [
    { key: "name", title: "Name", width: "minmax(180px, 1.5fr)", cell: (one) => <a href={href(one)}>{title_of(one)}</a>, sort: title_of },
    { key: "says", title: "Description", width: "minmax(160px, 2fr)", cell: (one) => <span class="muted" title={one.description}>{one.description}</span> },
    { key: "age", title: "Age", width: "80px", right: true, cell: (one) => <Age at={one.created_at} />, sort: (one) => Date.parse(one.created_at) },
    { key: "act", title: "", width: "150px", right: true, cell: (one) => <span class="row" style={{ gap: "4px" }}><a class="button small" href={`/runs/new?pipeline=${one.pipeline_id}`}><Icon name="play" size={13} />{t("Run it")}</a>
      <button class="button small icon" aria-label={t("Delete")} title={t("Delete")} onClick={() => ask({ title: t("Delete {name}?", { name: title_of(one) }), text: t("All its versions go; runs stay."), accept: t("Delete"), doing: t("Deleting…"), danger: true, act: () => pipelines_api(`/pipelines/${one.pipeline_id}?cascade=true`, { method: "DELETE" }) })}><Icon name="trash" size={13} /></button></span> },
  ], []);
  return (
    <>
      <div class="page-head"><h1 class="grow">{t("Pipelines")}</h1>{value && <a class="button primary" href="/pipelines/upload"><Icon name="up" />{t("Upload a pipeline")}</a>}</div>
      {problem && !value ? <Unserved problem={problem} /> : !value ? <Waiting /> : <Table rows={value.pipelines ?? []} columns={columns} row_key={(one) => one.pipeline_id} href={href} order="-age" name={t("Pipelines")} least={620} text={(one) => `${title_of(one)} ${one.description ?? ""}`}
        empty={<Empty title={t("No pipelines yet")}>{t("Compile one with the kfp SDK and upload its YAML.")} <a href="/pipelines/upload">{t("Upload a pipeline")}</a></Empty>} />}
    </>
  );
}

// A new pipeline, or with ?pipeline=ID a new version of one.
function Upload() {
  const of = parameter("pipeline");
  const [file, set_file] = useState<File | null>(null), [name, set_name] = useState(""), [says, set_says] = useState(""), [said, set_said] = useState(""), [busy, set_busy] = useState(false), [over, set_over] = useState(false);
  const take = (given?: File | null) => { if (given) { set_file(given); if (!name) set_name(given.name.replace(/\.(ya?ml|zip|tar\.gz|tgz)$/i, "")); } };
  const send = async () => {
    set_busy(true);
    set_said("");
    const body = new FormData();
    body.append("uploadfile", file!, file!.name);
    try {
      const made = await pipelines_api<Pipeline>(of ? "/pipelines/upload_version" : "/pipelines/upload", { method: "POST", body, query: { name, description: says, pipelineid: of || undefined } });
      toast(t("Uploaded."), "run");
      go(href(made));
    } catch (error) { set_said((error as Error).message); } finally { set_busy(false); }
  };
  return (
    <>
      <div class="page-head"><div><div class="crumbs"><a href="/pipelines">{t("Pipelines")}</a>/</div><h1>{of ? t("Upload a version") : t("Upload a pipeline")}</h1></div></div>
      <section class="card" style={{ maxWidth: "640px" }}><div class="body col">
        <label class={`drop${over ? " over" : ""}`} onDragOver={(event) => { event.preventDefault(); set_over(true); }} onDragLeave={() => set_over(false)} onDrop={(event) => { event.preventDefault(); set_over(false); take(event.dataTransfer?.files[0]); }}>
          <input class="sr" type="file" accept=".yaml,.yml,.zip,.gz,.tgz" onChange={(event) => take(event.currentTarget.files?.[0])} />
          <Icon name="up" /> {file ? `${file.name} · ${Math.ceil(file.size / 1024)} KB` : t("Drop the compiled pipeline here (YAML, zip or tar.gz), or click to choose it.")}
        </label>
        <TextField label={t("Name")} value={name} set={set_name} needed />
        <TextField label={t("Description")} value={says} set={set_says} />
        {said && <div class="note fail" role="alert">{said}</div>}
        <div class="row"><button class="button primary" disabled={!file || !name || busy} onClick={send}>{t("Upload")}</button><a class="button" href="/pipelines">{t("Cancel")}</a></div>
      </div></section>
    </>
  );
}
