// Events of an object and of those that belong to it, newest first.
import { useMemo } from "preact/hooks";
import type { CoreV1Event } from "../../generated/kinds";
import { use_collection } from "../data/collection";
import { resources, uid_of } from "../data/resource";
import { t } from "../text/text";
import { Refused, State, Waiting } from "./states";
import { Table, type Column } from "./table";
import { Age } from "./time";

export type Event = CoreV1Event & { apiVersion: string; kind: string; metadata: { name: string; namespace?: string; uid?: string } };
export const event_time = (event: Event): string =>
  (event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? "") as string;

export const event_columns = (with_object: boolean): Column<Event>[] => [
  { key: "time", title: "Last", width: "90px", cell: (event) => <Age at={event_time(event)} />, sort: (event) => Date.parse(event_time(event)) || 0 },
  { key: "type", title: "Type", width: "100px", cell: (event) => <State tone={event.type === "Warning" ? "fail" : "done"} text={event.type ?? "Normal"} />, sort: (event) => event.type ?? "" },
  { key: "reason", title: "Reason", width: "minmax(110px, 170px)", cell: (event) => <span title={event.reason}>{event.reason}</span>, sort: (event) => event.reason ?? "" },
  ...(with_object ? [{ key: "object", title: "Object", width: "minmax(140px, 1fr)", cell: (event: Event) => <span title={`${event.involvedObject.kind} ${event.involvedObject.namespace ?? ""}/${event.involvedObject.name}`}>{event.involvedObject.kind} <span class="muted">{event.involvedObject.name}</span></span>, sort: (event: Event) => `${event.involvedObject.kind}/${event.involvedObject.name}` }] : []),
  { key: "message", title: "Message", width: "minmax(200px, 4fr)", cell: (event) => <span title={event.message}>{event.message}</span> },
  { key: "count", title: "Count", width: "70px", right: true, cell: (event) => event.series?.count ?? event.count ?? 1, sort: (event) => event.series?.count ?? event.count ?? 1 },
];

export function Events({ ns, belongs, fill = true }: { ns: string; belongs: (event: Event) => boolean; fill?: boolean }) {
  const events = use_collection<Event>(resources.events, { ns });
  const columns = useMemo(() => event_columns(true), []);
  const rows = events.all().filter(belongs);
  if (events.refusal.value) return <Refused refusal={events.refusal.value} />;
  if (!events.loaded.value) return <Waiting />;
  return <Table rows={rows} columns={columns} row_key={uid_of} order="-time" name={t("Events")} fill={fill} empty={t("No events. They are kept for an hour.")}
    text={(event) => `${event.reason} ${event.message} ${event.involvedObject.name}`} id="events" />;
}
