// A gang as a live picture: one cell for each replica, in the lane of its stage, moving as it goes on; below it the
// machines with what they hold.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { CoreV1Pod } from "../../generated/kinds";
import type { Member, Stage } from "../data/jobs";
import { t, tn } from "../text/text";

const LANES: Array<[Stage[], string]> = [
  [["none", "wait"], "Waiting"], [["place"], "Placed"], [["run"], "Running"], [["done", "fail"], "Ended"],
];
const MANY = 120;  // more cells than this are drawn small

export const pod_link = (pod: CoreV1Pod): string => `/pods/${pod.metadata!.namespace}/${pod.metadata!.name}`;

function cell_title(member: Member): string {
  const pod = member.pod;
  if (!pod) return t("{role} {index}: not made yet", { role: member.role, index: member.index });
  return `${pod.metadata!.name} · ${pod.status?.phase ?? ""}${pod.spec?.nodeName ? ` · ${pod.spec.nodeName}` : ""}`;
}

function Cell({ member, tiny }: { member: Member; tiny: boolean }) {
  const name = `cell ${member.stage}${tiny ? " tiny" : ""}`, key = `${member.role}/${member.index}`;
  return member.pod
    ? <a class={name} data-cell={key} href={pod_link(member.pod)} title={cell_title(member)} aria-label={cell_title(member)}>{member.index}</a>
    : <span class={name} data-cell={key} title={cell_title(member)} role="img" aria-label={cell_title(member)}>{member.index}</span>;
}

// Cells that have changed their lane glide there (first, last, invert, play).
function use_glide() {
  const box = useRef<HTMLDivElement>(null);
  const before = useRef(new Map<string, DOMRect>());
  useLayoutEffect(() => {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const after = new Map<string, DOMRect>();
    for (const cell of box.current?.querySelectorAll<HTMLElement>("[data-cell]") ?? []) {
      const key = cell.dataset.cell!, now = cell.getBoundingClientRect(), was = before.current.get(key);
      after.set(key, now);
      if (calm || !was || (Math.abs(was.x - now.x) < 2 && Math.abs(was.y - now.y) < 2) || after.size > 400) continue;
      cell.animate([{ transform: `translate(${was.x - now.x}px, ${was.y - now.y}px)` }, { transform: "none" }], { duration: 420, easing: "cubic-bezier(.2, .8, .2, 1)" });
    }
    before.current = after;
  });
  return box;
}

// Of a job that has ended, replicas without a pod are not waiting for one any more.
export function Gang({ roles: given, minimum, ended }: { roles: Map<string, Member[]>; minimum: number; ended: boolean }) {
  const box = use_glide();
  const roles = new Map([...given].map(([role, row]) => [role, ended ? row.filter((one) => one.pod) : row] as const));
  const all = [...roles.values()].flat();
  const count = (stages: Stage[]) => all.filter((one) => stages.includes(one.stage)).length;
  const up = count(["place", "run", "done"]);
  const tiny = all.length > MANY;
  return (
    <div class="card gang" ref={box}>
      <div class="lanes">
        <div class="lane-head"><span>{t("Role")}</span></div>
        {LANES.map(([stages, name]) => <div key={name} class="lane-head"><span>{t(name)}</span><b>{count(stages)}</b></div>)}
        {[...roles].map(([role, row]) => [
          <div key={role} class="role">{role}<small>{tn(row.length, "{n} replica", "{n} replicas")}</small></div>,
          ...LANES.map(([stages, name]) => (
            <div key={`${role}/${name}`} class="lane">
              {row.filter((one) => stages.includes(one.stage)).map((one) => <Cell key={one.index} member={one} tiny={tiny} />)}
            </div>
          )),
        ])}
      </div>
      <div class="foot">
        {minimum > 1 && !ended && <span>{t("All or none: {n} must be placed together; {up} of {all} are.", { n: minimum, up, all: all.length })}</span>}
        <span class="state wait"><i />{t("Waiting")}</span><span class="state place"><i />{t("Placed")}</span><span class="state run"><i />{t("Running")}</span>
        <span class="state done"><i />{t("Succeeded")}</span><span class="state fail"><i />{t("Failed")}</span>
      </div>
    </div>
  );
}

export function Machines({ roles }: { roles: Map<string, Member[]> }) {
  const nodes = new Map<string, Member[]>();
  for (const member of [...roles.values()].flat()) {
    const node = member.pod?.spec?.nodeName;
    if (!node) continue;
    if (!nodes.has(node)) nodes.set(node, []);
    nodes.get(node)!.push(member);
  }
  if (!nodes.size) return null;
  return (
    <section class="col" style={{ gap: "8px" }}>
      <h3>{t("Where")}</h3>
      <div class="machines">
        {[...nodes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([node, row]) => (
          <div key={node} class="machine">
            <a class="cut" href={`/nodes/${node}`}>{node}</a>
            <div class="cells">{row.map((one) => <Cell key={`${one.role}/${one.index}`} member={one} tiny={row.length > 40} />)}</div>
          </div>
        ))}
      </div>
    </section>
  );
}
