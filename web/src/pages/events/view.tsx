import { useMemo } from "preact/hooks";
import { parameter, set_parameters } from "../../app/router";
import { use_collection } from "../../data/collection";
import { resources, uid_of } from "../../data/resource";
import { namespace } from "../../data/session";
import { event_columns, type Event } from "../../parts/events";
import { Refused, Waiting } from "../../parts/states";
import { Table } from "../../parts/table";
import { t } from "../../text/text";

export default function EventsPage() {
  const events = use_collection<Event>(resources.events, { ns: namespace.value });
  const columns = useMemo(() => event_columns(true), []);
  const only = parameter("type");
  const rows = useMemo(() => events.all().filter((event) => !only || event.type === only), [events.version.value, only]);
  return (
    <>
      <div class="page-head"><h1>{t("Events")}</h1></div>
      {events.refusal.value ? <Refused refusal={events.refusal.value} /> : !events.loaded.value ? <Waiting /> : (
        <Table rows={rows} columns={columns} row_key={uid_of} order="-time" name={t("Events")} least={760} empty={t("No events. They are kept for an hour.")}
          text={(event) => `${event.reason} ${event.message} ${event.involvedObject.kind} ${event.involvedObject.name}`}
          tools={<div class="segments" role="group" aria-label={t("Type")}>{[["", "All"], ["Warning", "Warning"], ["Normal", "Normal"]].map(([key, name]) => <button key={key} aria-pressed={only === key} onClick={() => set_parameters({ type: key })}>{t(name)}</button>)}</div>} />
      )}
    </>
  );
}
