// A bar of an amount against a whole, with marks for what is promised and what is the most.
interface Mark { at: number; kind: "deserved" | "guarantee" | "cap"; title: string }
interface Props {
  label?: string; value?: string; whole: number; thin?: boolean;
  fills: Array<{ amount: number; kind: "used" | "request" | "over" | "asked"; title?: string }>;
  marks?: Mark[];
}

export function Meter({ label, value, whole, fills, marks = [], thin }: Props) {
  const percent = (amount: number) => `${whole > 0 ? Math.max(0, Math.min(100, (100 * amount) / whole)) : 0}%`;
  const title = [...fills.map((one) => one.title), ...marks.map((one) => one.title)].filter(Boolean).join("\n");
  return (
    <div class={`meter${thin ? " thin" : ""}`} title={title}>
      {(label || value) && <div class="legend"><span class="muted cut">{label}</span><span class="nowrap" style={{ marginLeft: "auto" }}>{value}</span></div>}
      <div class="track" role="img" aria-label={`${label ?? ""} ${value ?? ""} ${title}`}>
        {fills.map((one) => <div key={one.kind} class={`fill ${one.kind}`} style={{ width: percent(one.amount) }} />)}
        {marks.filter((mark) => mark.at > 0 && mark.at < whole * 1.0001).map((mark) => <div key={mark.kind} class={`mark ${mark.kind}`} style={{ left: `min(${percent(mark.at)}, calc(100% - 2px))` }} />)}
      </div>
    </div>
  );
}
