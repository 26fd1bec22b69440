// Why something waits, in plain words with numbers: the scheduler's own reasons.
import { useEffect, useState } from "preact/hooks";
import { call, with_query } from "../data/api";
import { t } from "../text/text";
import { Icon } from "./icon";
import { Waiting } from "./states";

interface Finding { code: string; text: string; advice?: string }
interface Explanation { state: string; summary: string; findings: Finding[] }

export function Explain({ kind, ns, name, again }: { kind: "job" | "podgroup" | "pod" | "queue"; ns: string; name: string; again?: unknown }) {
  const [found, set_found] = useState<Explanation | null>(null);
  const [problem, set_problem] = useState("");
  const [asked, set_asked] = useState(0);
  useEffect(() => {
    let wanted = true;
    call<Explanation>(with_query("/hekla/v1/explain", { kind, namespace: ns, name }))
      .then((made) => { if (wanted) { set_found(made); set_problem(""); } }, (error) => { if (wanted) set_problem(error.message); });
    return () => { wanted = false; };
  }, [kind, ns, name, again, asked]);
  if (problem) return <div class="note">{problem}</div>;
  if (!found) return <Waiting />;
  return (
    <div class="card">
      <div class="head"><Icon name="why" /><h2 class="grow">{found.findings.length ? t("Why it waits") : found.summary}</h2>
        <button class="button small" onClick={() => set_asked(asked + 1)}><Icon name="refresh" size={13} />{t("Ask again")}</button></div>
      <div class="body">
        {found.findings.length === 0 && <p class="muted">{t("Nothing stands in its way.")}</p>}
        {found.findings.length > 1 && <p>{found.summary}</p>}
        {found.findings.map((one, at) => (
          <div key={one.code + at} class="finding">
            <span class="mark" aria-hidden="true">{at + 1}</span>
            <div><div>{one.text}</div>{one.advice && <div class="advice">→ {one.advice}</div>}</div>
          </div>
        ))}
      </div>
    </div>
  );
}
