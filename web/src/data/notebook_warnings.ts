// The newest warning about each notebook, out of its events.
import { useMemo } from "preact/hooks";
import { event_time, type Event } from "../parts/events";
import { use_collection } from "./collection";
import { resources } from "./resource";
import type { Notebook } from "./workbench";

export function use_notebook_warnings(ns: string): (notebook: Notebook) => string {
  const events = use_collection<Event>(resources.events, { ns, fields: "involvedObject.kind=Notebook" });
  return useMemo(() => {
    const newest = new Map<string, Event>();
    for (const event of events.all()) {
      if (event.type !== "Warning") continue;
      const key = `${event.involvedObject.namespace}/${event.involvedObject.name}`, other = newest.get(key);
      if (!other || event_time(other) < event_time(event)) newest.set(key, event);
    }
    return (notebook: Notebook) => newest.get(`${notebook.metadata.namespace}/${notebook.metadata.name}`)?.message ?? "";
  }, [events.version.value]);
}
