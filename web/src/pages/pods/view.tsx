import { use_collection } from "../../data/collection";
import { resources } from "../../data/resource";
import { namespace } from "../../data/session";
import { PodTable, type Pod } from "../../parts/pod_table";
import { Refused, Waiting } from "../../parts/states";
import { t } from "../../text/text";

export default function Pods() {
  const pods = use_collection<Pod>(resources.pods, { ns: namespace.value });
  return (
    <>
      <div class="page-head"><h1>{t("Pods")}</h1></div>
      {pods.refusal.value ? <Refused refusal={pods.refusal.value} /> : !pods.loaded.value ? <Waiting /> : <PodTable pods={pods.all()} with_namespace={!namespace.value} />}
    </>
  );
}
