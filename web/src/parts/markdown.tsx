// Markdown as people write it in a step: headings, lists, tables, quotes, code, emphasis, links. Made into elements, so
// that nothing in it can be more than text; pictures and raw HTML are shown as they were typed.
import type { ComponentChildren, JSX } from "preact";

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|__(.+?)__|\*([^*\s][^*]*)\*|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/;

function inline(text: string): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  for (let rest = text; rest;) {
    const found = INLINE.exec(rest);
    if (!found) { out.push(rest); break; }
    if (found.index) out.push(rest.slice(0, found.index));
    if (found[2]) out.push(<code>{found[2]}</code>);
    else if (found[3] ?? found[4]) out.push(<b>{inline(found[3] ?? found[4])}</b>);
    else if (found[5]) out.push(<em>{inline(found[5])}</em>);
    else out.push(<a href={found[7]} target="_blank" rel="noreferrer">{inline(found[6])}</a>);
    rest = rest.slice(found.index + found[0].length);
  }
  return out;
}

const cells = (line: string): string[] => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
const LIST = /^\s*(?:[-*+]|\d+[.)])\s+/;

function block(lines: string[], key: number): JSX.Element {
  const first = lines[0], head = /^(#{1,6})\s+(.*?)\s*#*$/.exec(first);
  if (head) return head[1].length === 1 ? <h1 key={key}>{inline(head[2])}</h1> : head[1].length === 2 ? <h2 key={key}>{inline(head[2])}</h2> : <h3 key={key}>{inline(head[2])}</h3>;
  if (/^(```|~~~)/.test(first)) return <pre key={key}>{lines.slice(1, /^(```|~~~)/.test(lines.at(-1)!) && lines.length > 1 ? -1 : undefined).join("\n")}</pre>;
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(first)) return <hr key={key} />;
  if (lines.length > 1 && first.includes("|") && /^[\s|:-]+$/.test(lines[1])) return (
    <table key={key} class="conditions"><thead><tr>{cells(first).map((cell, at) => <th key={at} scope="col">{inline(cell)}</th>)}</tr></thead>
      <tbody>{lines.slice(2).map((line, row) => <tr key={row}>{cells(line).map((cell, at) => <td key={at}>{inline(cell)}</td>)}</tr>)}</tbody></table>);
  if (LIST.test(first)) {
    const items: string[] = [];
    for (const line of lines) LIST.test(line) ? items.push(line.replace(LIST, "")) : items.push(`${items.pop()} ${line.trim()}`);
    const all = items.map((item, at) => <li key={at}>{inline(item)}</li>);
    return /^\s*\d/.test(first) ? <ol key={key}>{all}</ol> : <ul key={key}>{all}</ul>;
  }
  if (first.startsWith(">")) return <blockquote key={key}>{inline(lines.map((line) => line.replace(/^>\s?/, "")).join(" "))}</blockquote>;
  return <p key={key}>{inline(lines.join(" "))}</p>;
}

function blocks(text: string): string[][] {
  const out: string[][] = [];
  let open: string[] | null = null, fence = "";
  for (const line of text.replace(/\r/g, "").split("\n")) {
    if (fence) { open!.push(line); if (line.startsWith(fence)) { fence = ""; open = null; } continue; }
    const fenced = /^(```|~~~)/.exec(line);
    const alone = fenced || /^#{1,6}\s/.test(line) || (LIST.test(line) && !(open && LIST.test(open[0])));
    if (!line.trim()) { open = null; continue; }
    if (!open || alone) out.push(open = []);
    open.push(line);
    if (fenced) fence = fenced[1];
    else if (/^#{1,6}\s/.test(line)) open = null;
  }
  return out;
}

export function Markdown({ text }: { text: string }) {
  return <div class="markdown">{blocks(text).map(block)}</div>;
}
