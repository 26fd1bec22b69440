// One volume: facts, who mounts it, events, YAML.
import type { ViewProps } from "../../app/page";
import { use_collection, use_object } from "../../data/collection";
import { resources } from "../../data/resource";
import { session } from "../../data/session";
import { claim_status, claims_of, type Claim } from "../../data/workbench";
import { Events } from "../../parts/events";
import { Files } from "../../parts/files";
import { ObjectYaml } from "../../parts/object_yaml";
import { PodTable, type Pod } from "../../parts/pod_table";
import { Empty, Refused, State, Waiting } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { Age } from "../../parts/time";
import { t } from "../../text/text";

export default function VolumePage({ params: { ns, name } }: ViewProps) {
  const claims = use_object<Claim>(resources.claims, ns, name), pods = use_collection<Pod>(resources.pods, { ns });
  const claim = claims.get(ns, name);
  if (claims.refusal.value) return <Refused refusal={claims.refusal.value} />;
  if (!claim) return claims.loaded.value ? <Empty title={t("{name} does not exist (any more)", { name })}><a href="/volumes/">{t("Volumes")}</a></Empty> : <Waiting />;
  const now = claim_status(claim), users = pods.all().filter((pod) => claims_of(pod.spec as never).includes(name));
  return (
    <>
      <div class="page-head"><div class="grow"><div class="crumbs"><a href="/volumes/">{t("Volumes")}</a>/<span>{ns}</span>/</div><div class="row"><h1>{name}</h1><State tone={now.tone} text={now.message} /></div></div></div>
      <Tabs tabs={[
        { key: "overview", title: "Overview", body: () => <>
          <section class="card"><div class="head"><h2>{t("Facts")}</h2></div><div class="body"><dl class="facts">
            <dt>{t("Size")}</dt><dd>{String((claim.status?.capacity as Record<string, string> | undefined)?.storage ?? (claim.spec?.resources?.requests as Record<string, string> | undefined)?.storage ?? "")}</dd>
            <dt>{t("Access mode")}</dt><dd>{claim.spec?.accessModes?.join(", ")}</dd><dt>{t("Storage Class")}</dt><dd>{claim.spec?.storageClassName ?? "–"}</dd>
            <dt>{t("Volume")}</dt><dd class="mono">{claim.spec?.volumeName ?? "–"}</dd><dt>{t("Created")}</dt><dd><Age at={claim.metadata.creationTimestamp as string} /></dd>
          </dl></div></section>
          <h2>{t("Pods that mount it")}</h2><PodTable pods={users} />
        </> },
        { key: "files", title: "Files", body: () => <Files ns={ns} claim={name} />, off: !session.value?.localVolumes },
        { key: "events", title: "Events", body: () => <Events ns={ns} belongs={(event) => event.involvedObject.name === name} /> },
        { key: "yaml", title: "YAML", body: () => <ObjectYaml object={claim} resource={resources.claims} /> },
      ]} />
    </>
  );
}
