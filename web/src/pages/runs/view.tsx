// Runs: those that are there, or those that were put into the archive.
import { useMemo } from "preact/hooks";
import { parameter, path, set_parameters } from "../../app/router";
import { filter_of, use_pipelines, type Experiment, type Pipeline, type Run } from "../../data/pipelines";
import { Icon } from "../../parts/icon";
import { RunTable, Unserved } from "../../parts/pipelines";
import { Waiting } from "../../parts/states";
import { t } from "../../text/text";

export default function Runs() {
  const archived = parameter("show") === "archived" || path.value === "/archive/runs";
  const runs = use_pipelines<{ runs?: Run[]; total_size?: number }>(`/runs?page_size=200&sort_by=created_at%20desc&filter=${filter_of(["storage_state", archived ? "ARCHIVED" : "AVAILABLE"])}`, "runs");
  const experiments = use_pipelines<{ experiments?: Experiment[] }>("/experiments?page_size=200", "experiments"), pipelines = use_pipelines<{ pipelines?: Pipeline[] }>("/pipelines?page_size=200", "pipelines");
  const names = useMemo(() => new Map((experiments.value?.experiments ?? []).map((one) => [one.experiment_id, one.display_name])), [experiments.value]);
  const known = useMemo(() => new Map((pipelines.value?.pipelines ?? []).map((one) => [one.pipeline_id, one.display_name ?? one.name ?? ""])), [pipelines.value]);
  const beyond = (runs.value?.total_size ?? 0) - (runs.value?.runs?.length ?? 0);
  return (
    <>
      <div class="page-head"><h1 class="grow">{t("Runs")}</h1>
        {runs.value && <><div class="segments"><button aria-pressed={!archived} onClick={() => set_parameters({ show: "" })}>{t("Active")}</button><button aria-pressed={archived} onClick={() => set_parameters({ show: "archived" })}>{t("Archive")}</button></div>
        <a class="button primary" href="/runs/new"><Icon name="play" />{t("New run")}</a></>}</div>
      {runs.problem && !runs.value ? <Unserved problem={runs.problem} /> : !runs.value ? <Waiting /> : <RunTable key={String(archived)} runs={runs.value.runs ?? []} names={names} pipelines={known} />}
      {beyond > 0 && <div class="faint">{t("The newest 200; {n} older ones are not shown.", { n: beyond })}</div>}
    </>
  );
}
