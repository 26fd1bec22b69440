// Runs: those that are there, or those that were put into the archive.
import { useMemo } from "preact/hooks";
import { parameter, set_parameters } from "../../app/router";
import { is_over, use_pipelines, type Experiment, type Pipeline, type Run } from "../../data/pipelines";
import { Icon } from "../../parts/icon";
import { RunTable, Unserved } from "../../parts/pipelines";
import { Waiting } from "../../parts/states";
import { t } from "../../text/text";

export const stored = (state: string): string => encodeURIComponent(JSON.stringify({ predicates: [{ key: "storage_state", operation: "EQUALS", string_value: state }] }));

export default function Runs() {
  const archived = parameter("show") === "archived";
  const runs = use_pipelines<{ runs?: Run[]; total_size?: number }>(`/runs?page_size=200&sort_by=created_at%20desc&filter=${stored(archived ? "ARCHIVED" : "AVAILABLE")}`, (found) => (found.runs?.some((run) => !is_over(run.state)) ? 2000 : 6000));
  const experiments = use_pipelines<{ experiments?: Experiment[] }>("/experiments?page_size=200", 30_000), pipelines = use_pipelines<{ pipelines?: Pipeline[] }>("/pipelines?page_size=200", 30_000);
  const names = useMemo(() => new Map((experiments.value?.experiments ?? []).map((one) => [one.experiment_id, one.display_name])), [experiments.value]);
  const known = useMemo(() => new Map((pipelines.value?.pipelines ?? []).map((one) => [one.pipeline_id, one.display_name ?? one.name ?? ""])), [pipelines.value]);
  return (
    <>
      <div class="page-head"><h1 class="grow">{t("Runs")}</h1>
        {runs.value && <><div class="segments"><button aria-pressed={!archived} onClick={() => set_parameters({ show: "" })}>{t("Active")}</button><button aria-pressed={archived} onClick={() => set_parameters({ show: "archived" })}>{t("Archive")}</button></div>
        <a class="button primary" href="/runs/new"><Icon name="play" />{t("New run")}</a></>}</div>
      {runs.problem && !runs.value ? <Unserved problem={runs.problem} /> : !runs.value ? <Waiting /> : <RunTable runs={runs.value.runs ?? []} names={names} pipelines={known} />}
    </>
  );
}
