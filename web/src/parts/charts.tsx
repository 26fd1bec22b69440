// Pictures of classification: the confusion matrix as a field of shades, ROC curves of one or several runs.
import { t } from "../text/text";

export interface Confusion { labels: string[]; rows: number[][] }
export interface Point { threshold: number; recall: number; fall: number }

interface Given { struct?: unknown; list?: unknown }
const inside = (value: unknown): unknown => (value as Given | undefined)?.struct ?? (value as Given | undefined)?.list ?? value;

// What the SDK's log_confusion_matrix leaves in an artifact's metadata.
export function confusion_of(metadata?: Record<string, unknown>): Confusion | null {
  const given = inside(metadata?.confusionMatrix) as { annotationSpecs?: Array<{ displayName?: string }>; rows?: Array<{ row?: number[] }> } | undefined;
  if (!given?.rows?.length) return null;
  const rows = given.rows.map((one) => (one.row ?? []).map(Number));
  return { rows, labels: rows.map((_, at) => given.annotationSpecs?.[at]?.displayName ?? String(at)) };
}

// And log_roc_curve.
export function roc_of(metadata?: Record<string, unknown>): Point[] | null {
  const given = inside(metadata?.confidenceMetrics) as Array<{ confidenceThreshold?: number; recall?: number; falsePositiveRate?: number }> | undefined;
  if (!Array.isArray(given) || !given.length) return null;
  return given.map((one) => ({ threshold: Number(one.confidenceThreshold ?? 0), recall: Number(one.recall ?? 0), fall: Number(one.falsePositiveRate ?? 0) })).sort((a, b) => a.fall - b.fall || a.recall - b.recall);
}

export function ConfusionMatrix({ of }: { of: Confusion }) {
  const most = Math.max(1, ...of.rows.flat());
  return (
    <div style={{ overflow: "auto" }}><table class="confusion"><caption>{t("Rows are what is true, columns what was predicted")}</caption>
      <thead><tr><td />{of.labels.map((label) => <th key={label} scope="col">{label}</th>)}</tr></thead>
      <tbody>{of.rows.map((row, at) => <tr key={at}><th scope="row">{of.labels[at]}</th>{row.map((value, to) => <td key={to} class={value / most > 0.55 ? "deep" : ""} style={{ "--share": `${Math.round((value / most) * 100)}%` } as never} title={`${of.labels[at]} → ${of.labels[to]}: ${value}`}>{value}</td>)}</tr>)}</tbody>
    </table></div>
  );
}

export const CURVE_COLOURS = ["--accent", "--run-fill", "--ember", "--place-fill", "--fail-fill", "--wait-fill", "--done-fill", "--run", "--place", "--fail"];
const SIDE = 240, LEFT = 40, TOP = 10;

export function Roc({ curves }: { curves: Array<{ name: string; points: Point[] }> }) {
  const x = (fall: number) => LEFT + fall * SIDE, y = (recall: number) => TOP + (1 - recall) * SIDE;
  const area = (points: Point[]) => { let sum = 0; for (let at = 1; at < points.length; at++) sum += ((points[at].recall + points[at - 1].recall) / 2) * (points[at].fall - points[at - 1].fall); return sum; };
  return (
    <figure class="roc">
      <svg viewBox={`0 0 ${LEFT + SIDE + 12} ${TOP + SIDE + 40}`} role="img" aria-label={t("ROC curve")}>
        {[0, 0.25, 0.5, 0.75, 1].map((mark) => <g key={mark}><path class="grid" d={`M${x(mark)} ${y(0)}V${y(1)}M${x(0)} ${y(mark)}H${x(1)}`} /><text x={x(mark)} y={y(0) + 15} text-anchor="middle">{mark}</text><text x={LEFT - 6} y={y(mark) + 4} text-anchor="end">{mark}</text></g>)}
        <path class="even" d={`M${x(0)} ${y(0)}L${x(1)} ${y(1)}`} />
        {curves.map((curve, at) => <g key={at} style={{ "--curve": `var(${CURVE_COLOURS[at % CURVE_COLOURS.length]})` } as never}>
          <path class="curve" d={curve.points.map((point, index) => `${index ? "L" : "M"}${x(point.fall).toFixed(1)} ${y(point.recall).toFixed(1)}`).join("")} />
          {curve.points.length <= 40 && curve.points.map((point, index) => <circle key={index} cx={x(point.fall)} cy={y(point.recall)} r="2.5"><title>{`${curve.name} ${t("threshold")} ${point.threshold} · ${t("true positives")} ${point.recall} · ${t("false positives")} ${point.fall}`}</title></circle>)}
        </g>)}
        <text x={x(0.5)} y={y(0) + 33} text-anchor="middle">{t("False positive rate")}</text>
        <text x={-y(0.5)} y={11} text-anchor="middle" transform="rotate(-90)">{t("True positive rate")}</text>
      </svg>
      <figcaption>{curves.map((curve, at) => <span key={at} style={{ "--curve": `var(${CURVE_COLOURS[at % CURVE_COLOURS.length]})` } as never}><i />{curve.name} <span class="faint">{t("area")} {area(curve.points).toFixed(3)}</span></span>)}</figcaption>
    </figure>
  );
}
