// The graph of a pipeline: tasks in layers from top to bottom, edges for what one needs of another. A task that is a
// graph itself is opened by its button.
import { useMemo } from "preact/hooks";
import { is_over, step_text, step_tone, type Component, type Spec, type Step, type Task } from "../data/pipelines";
import { t, tn } from "../text/text";
import { State } from "./states";

const WIDE = 190, HIGH = 54, GAP_X = 28, GAP_Y = 46;

export interface Placed { name: string; task: Task; component: Component; x: number; y: number; needs: string[] }

function needs_of(task: Task, tasks: Record<string, Task>): string[] {
  const found = new Set(task.dependentTasks ?? []);
  for (const input of [...Object.values(task.inputs?.parameters ?? {}), ...Object.values(task.inputs?.artifacts ?? {})])
    for (const one of Object.values(input)) {
      const producer = (one as { producerTask?: string } | null)?.producerTask;
      if (producer) found.add(producer);
    }
  return [...found].filter((name) => tasks[name]);
}

// Each task one layer below the lowest of those that it needs; within a layer near the middle of what it needs.
export function place_tasks(tasks: Record<string, Task>, components: Record<string, Component>): { placed: Placed[]; width: number; height: number } {
  const needs = new Map(Object.entries(tasks).map(([name, task]) => [name, needs_of(task, tasks)]));
  const layer = new Map<string, number>();
  const depth = (name: string, seen: Set<string>): number => {
    if (layer.has(name)) return layer.get(name)!;
    if (seen.has(name)) return 0;
    seen.add(name);
    const own = Math.max(-1, ...needs.get(name)!.map((one) => depth(one, seen))) + 1;
    layer.set(name, own);
    return own;
  };
  const layers: string[][] = [];
  for (const name of Object.keys(tasks)) (layers[depth(name, new Set())] ??= []).push(name);
  const column = new Map<string, number>();
  const widest = Math.max(1, ...layers.map((row) => row.length));
  const placed: Placed[] = [];
  layers.forEach((row, level) => {
    const middle = (name: string) => { const own = needs.get(name)!; return own.length ? own.reduce((sum, one) => sum + (column.get(one) ?? 0), 0) / own.length : 0; };
    row.sort((a, b) => middle(a) - middle(b));
    const start = ((widest - row.length) * (WIDE + GAP_X)) / 2;
    row.forEach((name, at) => {
      const x = start + at * (WIDE + GAP_X);
      column.set(name, x);
      placed.push({ name, task: tasks[name], component: components[tasks[name].componentRef?.name ?? ""] ?? {}, x, y: level * (HIGH + GAP_Y), needs: needs.get(name)! });
    });
  });
  return { placed, width: widest * (WIDE + GAP_X) - GAP_X, height: layers.length * (HIGH + GAP_Y) - GAP_Y };
}

function kind_of(one: Placed): string {
  if (one.task.parameterIterator || one.task.artifactIterator) return t("loop");
  if (one.task.triggerPolicy?.strategy === "ALL_UPSTREAM_TASKS_COMPLETED") return t("always at the end");
  if (one.task.triggerPolicy?.condition) return t("if");
  if (one.component.dag) { const count = Object.keys(one.component.dag.tasks).length; return tn(count, "{n} step", "{n} steps"); }
  return "";
}

interface Props {
  spec: Spec; at: string[];                        // names of the tasks whose graphs are open, outermost first
  detail?: (name: string) => Step | undefined;
  chosen: string; choose: (name: string) => void; open: (name: string) => void;
}

export function Dag({ spec, at, detail, chosen, choose, open }: Props) {
  const components = spec.components ?? {};
  let dag = spec.root?.dag;
  for (const name of at) dag = components[dag?.tasks[name]?.componentRef?.name ?? ""]?.dag;
  const { placed, width, height } = useMemo(() => place_tasks(dag?.tasks ?? {}, components), [dag]);
  const by_name = new Map(placed.map((one) => [one.name, one]));
  if (!placed.length) return <div class="note">{t("There is nothing in it.")}</div>;
  return (
    <div class="dag"><div class="sheet" style={{ width: `${width}px`, height: `${height}px` }}>
      <svg width={width} height={height} aria-hidden="true">
        {placed.flatMap((one) => one.needs.map((need) => {
          const from = by_name.get(need)!, x1 = from.x + WIDE / 2, y1 = from.y + HIGH, x2 = one.x + WIDE / 2, y2 = one.y;
          return <path key={`${need}>${one.name}`} class={detail && is_over(detail(need)?.state) ? "past" : ""} d={`M${x1} ${y1}C${x1} ${y1 + 26} ${x2} ${y2 - 26} ${x2} ${y2}`} />;
        }))}
      </svg>
      {placed.map((one) => {
        const own = detail?.(one.name), kind = kind_of(one), tone = step_tone(own);
        return (
          <div key={one.name} class={`step ${detail ? tone : ""}${one.name === chosen ? " at" : ""}${one.component.dag ? " nested" : ""}`} style={{ left: `${one.x}px`, top: `${one.y}px`, width: `${WIDE}px`, height: `${HIGH}px` }}>
            <button class="face" aria-pressed={one.name === chosen} onClick={() => choose(one.name)} onDblClick={() => one.component.dag && open(one.name)}>
              <b class="cut" title={one.task.triggerPolicy?.condition}>{one.task.taskInfo?.name || one.name}</b>
              <span class="row">{detail ? <State tone={tone} text={step_text(own)} /> : <span class="muted cut">{one.component.dag ? "" : one.component.executorLabel ?? ""}</span>}{kind && <span class="faint cut" style={{ marginLeft: "auto" }}>{kind}</span>}</span>
            </button>
            {one.component.dag && <button class="open" aria-label={t("Open {name}", { name: one.name })} title={t("Open {name}", { name: one.name })} onClick={() => open(one.name)}>↳</button>}
          </div>
        );
      })}
    </div></div>
  );
}
