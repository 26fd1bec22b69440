// An artifact as something to look at: metrics, a confusion matrix, ROC curves, HTML in a sandbox, Markdown, tables,
// text; whatever else can be saved.
import { useEffect, useState } from "preact/hooks";
import { artifact_url, type Artifact } from "../data/pipelines";
import { call, send } from "../data/api";
import { t, tn } from "../text/text";
import { confusion_of, ConfusionMatrix, Roc, roc_of } from "./charts";
import { Icon } from "./icon";
import { Markdown } from "./markdown";
import { Chip, Waiting } from "./states";

const PEEK = 64 * 1024, ROWS = 100;
export const kind_of = (artifact: Artifact): string => (artifact.type?.schemaTitle ?? "system.Artifact").replace(/^system\./, "");
const OWN_PICTURE = new Set(["confusionMatrix", "confidenceMetrics", "display_name", "store_session_info"]);
export const scalars_of = (metadata?: Record<string, unknown>): Array<[string, number | string | boolean]> =>
  Object.entries(metadata ?? {}).filter(([key, value]) => !OWN_PICTURE.has(key) && ["number", "string", "boolean"].includes(typeof value)) as never;
export const shown_number = (value: unknown): string => (typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value));
export const is_pictured = (artifact: Artifact): boolean => /Metrics|HTML|Markdown/.test(kind_of(artifact));

// "a,b\n1,2": lines of the same number of cells, quotes as spreadsheets write them.
function table_in(text: string, whole: boolean): string[][] | null {
  const lines = text.split(/\r?\n/);
  if (!whole) lines.pop();
  const rows = lines.filter(Boolean).slice(0, ROWS).map((line) => (line.includes("\t") ? line.split("\t") : [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].slice(0, -1).map((found) => found[1].replace(/^"|"$/g, "").replaceAll('""', '"'))));
  return rows.length > 1 && rows[0].length > 1 && rows.every((row) => row.length === rows[0].length) ? rows : null;
}

export function Cells({ rows }: { rows: string[][] }) {
  return <div style={{ overflow: "auto", maxHeight: "360px" }}><table class="conditions"><thead><tr>{rows[0].map((cell, at) => <th key={at} scope="col">{cell}</th>)}</tr></thead><tbody>{rows.slice(1).map((row, at) => <tr key={at}>{row.map((cell, to) => <td key={to} class="mono">{cell}</td>)}</tr>)}</tbody></table></div>;
}

export function Scalars({ metadata }: { metadata?: Record<string, unknown> }) {
  const all = scalars_of(metadata);
  return all.length ? <dl class="facts">{all.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}=`} class="mono">{shown_number(value)}</dd>])}</dl> : null;
}

// The object's text, as far as it is looked at; null while it is on its way.
export function use_peek(uri: string | undefined, off = false): { text: string | null; whole: boolean; missing: boolean } {
  const [state, set_state] = useState<{ text: string | null; whole: boolean; missing: boolean }>({ text: null, whole: true, missing: false });
  const url = off ? undefined : artifact_url(uri, { peek: PEEK });
  useEffect(() => {
    set_state({ text: null, whole: true, missing: false });
    if (!url) return;
    const abort = new AbortController();
    send(url, { signal: abort.signal, accept: "*/*" }).then((answer) => answer.text()).then((text) => set_state({ text, whole: text.length < PEEK, missing: false }), (error) => { if (error.name !== "AbortError") set_state({ text: null, whole: true, missing: true }); });
    return () => abort.abort();
  }, [url]);
  return state;
}

function Files({ uri }: { uri: string }) {
  const [found, set_found] = useState<{ keys: string[]; more: boolean } | null>(null), url = artifact_url(uri, {}, "list")!;
  useEffect(() => { call<{ keys: string[]; more: boolean }>(url).then(set_found, () => set_found({ keys: [], more: false })); }, [url]);
  if (!found) return <Waiting />;
  if (!found.keys.length) return <p class="muted">{t("Nothing was written for it.")}</p>;
  const head = uri.split("/").slice(0, 3).join("/"), below = uri.replace(/\/$/, "").slice(head.length + 1);
  return <ul class="files">{found.keys.map((key) => <li key={key}><a href={artifact_url(`${head}/${key}`)} download target="_blank">{key.slice(below.length + 1)}</a></li>)}{found.more && <li class="muted">…</li>}</ul>;
}

// Reads a file and shows it as what it seems to be.
function Content({ artifact }: { artifact: Artifact }) {
  const { text, whole, missing } = use_peek(artifact.uri), kind = kind_of(artifact);
  if (missing) return <Files uri={artifact.uri!} />;
  if (text === null) return <Waiting />;
  if (kind === "Markdown") return <Markdown text={text} />;
  if (/[\x00-\x08\x0e-\x1f\ufffd]/.test(text.slice(0, 2000))) return <p class="muted">{t("These are bytes, not text: save it to look at it.")}</p>;
  const rows = table_in(text, whole);
  if (rows) return <><Cells rows={rows} />{!whole && <p class="faint">{t("Only the beginning is shown.")}</p>}</>;
  let shown = text;
  if (whole && /^\s*[[{]/.test(text)) try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* it only looks like JSON */ }
  return text ? <><pre class="peek">{shown}</pre>{!whole && <p class="faint">{t("Only the beginning is shown.")}</p>}</> : <p class="muted">{t("It is empty.")}</p>;
}

export function ArtifactPicture({ artifact }: { artifact: Artifact }) {
  const kind = kind_of(artifact), confusion = confusion_of(artifact.metadata), roc = roc_of(artifact.metadata), url = artifact_url(artifact.uri, { view: "html" });
  if (kind === "Metrics" || confusion || roc) return <><Scalars metadata={artifact.metadata} />{confusion && <ConfusionMatrix of={confusion} />}{roc && <Roc curves={[{ name: artifact.name?.split("/").at(-1) ?? "", points: roc }]} />}{!confusion && !roc && !scalars_of(artifact.metadata).length && <p class="muted">{t("No metrics were logged.")}</p>}</>;
  if (kind === "ClassificationMetrics") return <p class="muted">{t("No metrics were logged.")}</p>;
  if (!url) return <p class="muted">{t("It lies outside of this platform's object store.")}</p>;
  if (kind === "HTML") return <iframe class="document" src={url} sandbox="allow-scripts" title={artifact.name ?? "HTML"} />;
  return <Content artifact={artifact} />;
}

// One artifact in a step: its name, where it lies, its picture when it is opened.
export function ArtifactRow({ name, artifact, open: begins_open }: { name: string; artifact: Artifact; open?: boolean }) {
  const [open, set_open] = useState(!!begins_open), url = artifact_url(artifact.uri), extra = scalars_of(artifact.metadata);
  return (
    <div class="artifact">
      <div class="row"><button class="button plain small icon" aria-expanded={open} aria-label={t("Look at {name}", { name })} onClick={() => set_open(!open)}><span style={{ display: "inline-flex", transform: open ? "none" : "rotate(-90deg)" }}><Icon name="chevron" size={13} /></span></button>
        <button class="button plain small name" onClick={() => set_open(!open)}><b class="cut">{name}</b></button><Chip>{kind_of(artifact)}</Chip><span class="grow" />
        {extra.length > 0 && !open && <span class="faint cut">{tn(extra.length, "{n} value", "{n} values")}</span>}
        {url && <a class="button plain small icon" href={url} download target="_blank" aria-label={t("Download {name}", { name })} title={t("Download")}><Icon name="down" size={13} /></a>}</div>
      {open && <div class="col inside"><ArtifactPicture artifact={artifact} />{!is_pictured(artifact) && <Scalars metadata={artifact.metadata} />}<div class="faint mono wrap-anywhere">{artifact.uri}</div></div>}
    </div>
  );
}
