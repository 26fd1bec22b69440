// A table of any length: rows of one height, of which only those in sight are in the document. Filter and order are
// in the URL; arrows move, Enter opens.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, parameter, set_parameters } from "../app/router";
import { t, tn } from "../text/text";

export interface Column<T> {
  key: string;
  title: string;
  width?: string;                                   // of CSS grid; default minmax(0, 1fr)
  cell: (row: T) => ComponentChildren;
  sort?: (row: T) => string | number;
  right?: boolean;
}

interface Props<T> {
  rows: T[];
  columns: Column<T>[];
  row_key: (row: T) => string;
  href?: (row: T) => string | undefined;
  text?: (row: T) => string;                        // what the filter looks at; without it there is no filter
  order?: string;                                   // "-age": the column, "-" for descending
  empty?: ComponentChildren;
  tools?: ComponentChildren;
  fill?: boolean;
  name: string;                                     // for screen readers
  id?: string;                                      // of its parameters in the URL, when a page has two tables
  least?: number;                                   // narrower, it scrolls sideways
}

const ROW = 34, BEYOND = 8;

export function Table<T>(props: Props<T>) {
  const { rows, columns, row_key, href, text, fill = true } = props;
  const prefix = props.id ? `${props.id}.` : "";
  const typed = parameter(`${prefix}q`);
  const order = parameter(`${prefix}sort`) || props.order || "";
  const scroll = useRef<HTMLDivElement>(null);
  const [top, set_top] = useState(0);
  const [height, set_height] = useState(600);
  const [at, set_at] = useState(-1);

  const shown = useMemo(() => {
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length && text ? rows.filter((row) => { const own = text(row).toLowerCase(); return words.every((word) => own.includes(word)); }) : rows.slice();
    const column = columns.find((one) => one.key === order.replace(/^-/, ""));
    if (!column?.sort) return found;
    const by = column.sort, sign = order[0] === "-" ? -1 : 1;
    const keys = new Map(found.map((row) => [row, by(row)]));
    return found.sort((a, b) => {
      const x = keys.get(a)!, y = keys.get(b)!;
      return x === y ? (row_key(a) < row_key(b) ? -1 : 1) : x < y ? -sign : sign;
    });
  }, [rows, typed, order, columns]);

  useLayoutEffect(() => {
    const box = scroll.current!;
    const measure = () => set_height(box.clientHeight);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  useEffect(() => { if (at >= shown.length) set_at(shown.length - 1); }, [shown.length]);

  const first = Math.max(0, Math.floor(top / ROW) - BEYOND);
  const last = Math.min(shown.length, Math.ceil((top + height) / ROW) + BEYOND);
  const grid = columns.map((column) => column.width ?? "minmax(80px, 1fr)").join(" ");

  const on_key = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: Math.floor(height / ROW) - 1, PageUp: 1 - Math.floor(height / ROW) }[event.key];
    if (event.target !== scroll.current) return;
    if (event.key === "Enter" && at >= 0) { const to = href?.(shown[at]); if (to) go(to); return; }
    const to = event.key === "Home" ? 0 : event.key === "End" ? shown.length - 1 : step === undefined ? -1 : Math.max(0, Math.min(shown.length - 1, at + step));
    if (to < 0) return;
    event.preventDefault();
    set_at(to);
    const box = scroll.current!, y = to * ROW;
    if (y < box.scrollTop) box.scrollTop = y;
    else if (y + ROW * 2 > box.scrollTop + box.clientHeight) box.scrollTop = y + ROW * 2 - box.clientHeight;
  };

  const body_height = shown.length * ROW;
  return (
    <>
      {(text || props.tools) && (
        <div class="tools">
          {text && <input class="input search" data-filter type="search" placeholder={t("Filter  ( / )")} aria-label={t("Filter")} value={typed}
            onInput={(event) => set_parameters({ [`${prefix}q`]: event.currentTarget.value })}
            onKeyDown={(event) => { if (event.key === "Escape" || event.key === "ArrowDown") { scroll.current?.focus(); } }} />}
          {props.tools}
          <span class="grow" />
          <span class="faint" aria-live="polite">{typed ? t("{n} of {all}", { n: shown.length, all: rows.length }) : tn(rows.length, "{n} row", "{n} rows")}</span>
        </div>
      )}
      <div class={`table${fill ? " fill" : ""}`} style={{ "--columns": grid, "--least": props.least ? `${props.least}px` : undefined } as never}>
        <div class="scroll" ref={scroll} tabIndex={0} role="table" aria-label={props.name} aria-rowcount={shown.length + 1}
          onScroll={(event) => set_top(event.currentTarget.scrollTop)} onKeyDown={on_key}
          style={fill ? undefined : { maxHeight: "420px" }}>
          <div class="thead" role="row">
            {columns.map((column) => (
              <div key={column.key} role="columnheader" class={`th${column.right ? " right" : ""}`}
                aria-sort={order.replace(/^-/, "") === column.key ? (order[0] === "-" ? "descending" : "ascending") : undefined}>
                {column.sort
                  ? <button onClick={() => set_parameters({ [`${prefix}sort`]: order === column.key ? `-${column.key}` : column.key })}>
                      <span class="cut">{t(column.title)}</span>{order.replace(/^-/, "") === column.key && <span aria-hidden="true">{order[0] === "-" ? "↓" : "↑"}</span>}
                    </button>
                  : column.title && <span class="cut">{t(column.title)}</span>}
              </div>
            ))}
          </div>
          {shown.length === 0
            ? <div class="empty">{rows.length ? t("Nothing fits the filter.") : props.empty ?? t("Nothing here.")}</div>
            : <div role="rowgroup" style={{ position: "relative", height: `${body_height}px`, minWidth: "var(--least, 100%)" }}>
                {shown.slice(first, last).map((row, index) => {
                  const to = href?.(row);
                  return (
                    <div key={row_key(row)} role="row" aria-rowindex={first + index + 2} class={`tr${first + index === at ? " at" : ""}${to ? " link" : ""}`}
                      style={{ top: `${(first + index) * ROW}px` }}
                      onClick={(event) => {
                        set_at(first + index);
                        if (to && !(event.target as Element).closest("a, button, input, select") && !getSelection()?.toString()) go(to);
                      }}>
                      {columns.map((column) => <div key={column.key} role="cell" class={`td${column.right ? " right" : ""}`}>{column.cell(row)}</div>)}
                    </div>
                  );
                })}
              </div>}
        </div>
      </div>
    </>
  );
}
