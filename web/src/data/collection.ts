// What is watched, as one copy in the page: each (resource, namespace, selector) is subscribed to once, however many
// parts of the page show it, and stays for a few seconds after the last of them has gone.
import { signal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { subscribe, type Change, type Refusal } from "./stream";
import { resource_name, uid_of, type KubeObject, type Resource } from "./resource";

export interface Scope { ns?: string; labels?: string; fields?: string; off?: boolean }

const LINGER_MS = 10_000;
const SLOW_ROWS = 2000, SLOW_MS = 150;  // long lists are shown anew less often than every frame

export class Collection<T extends KubeObject = KubeObject> {
  readonly version: Signal<number> = signal(0);
  readonly loaded: Signal<boolean> = signal(false);
  readonly refusal: Signal<Refusal | null> = signal(null);
  readonly objects = new Map<string, T>();
  private incoming: Map<string, T> | null = null;
  private scheduled = false;
  private users = 0;
  private stop: (() => void) | null = null;
  private timer = 0;

  constructor(private readonly key: string, private readonly resource: Resource, private readonly scope: Scope) {}

  // The objects now; whoever calls this while rendering is rendered again after a change.
  all(): T[] {
    this.version.value;
    return [...this.objects.values()];
  }
  get(ns: string, name: string): T | undefined {
    this.version.value;
    for (const object of this.objects.values())
      if (object.metadata.name === name && (object.metadata.namespace ?? "") === ns) return object;
    return undefined;
  }

  hold(): () => void {
    this.users++;
    clearTimeout(this.timer);
    if (!this.stop) this.begin();
    return () => {
      if (--this.users === 0) this.timer = window.setTimeout(() => this.end(), LINGER_MS);
    };
  }

  private begin(): void {
    this.stop = subscribe(
      { resource: resource_name(this.resource), namespace: this.scope.ns ?? "", labelSelector: this.scope.labels, fieldSelector: this.scope.fields },
      {
        snapshot: (items, first, last) => this.on_snapshot(items as T[], first, last),
        changes: (changes) => this.on_changes(changes),
        refused: (refusal) => { this.refusal.value = refusal; this.loaded.value = true; },
      });
  }
  private end(): void {
    this.stop?.();
    this.stop = null;
    collections.delete(this.key);
  }

  private on_snapshot(items: T[], first: boolean, last: boolean): void {
    if (first) this.incoming = new Map();
    const into = this.incoming ?? this.objects;
    for (const item of items) into.set(uid_of(item), item);
    if (last && this.incoming) {
      this.objects.clear();
      for (const [uid, item] of this.incoming) this.objects.set(uid, item);
      this.incoming = null;
      this.refusal.value = null;
      this.loaded.value = true;
      this.version.value++;
    }
  }
  private on_changes(changes: Change[]): void {
    for (const [type, object] of changes as Array<[string, T]>) {
      if (type === "D") this.objects.delete(uid_of(object));
      else this.objects.set(uid_of(object), object);
    }
    if (this.scheduled) return;
    this.scheduled = true;
    const show = () => { this.scheduled = false; this.version.value++; };
    if (this.objects.size > SLOW_ROWS) setTimeout(show, SLOW_MS);
    else if (document.hidden) setTimeout(show, 250);
    else requestAnimationFrame(show);
  }
}

const collections = new Map<string, Collection>();

export function collection<T extends KubeObject>(resource: Resource, scope: Scope = {}): Collection<T> {
  const key = [resource_name(resource), resource.namespaced ? scope.ns ?? "" : "", scope.labels ?? "", scope.fields ?? ""].join("|");
  let found = collections.get(key);
  if (!found) collections.set(key, found = new Collection(key, resource, resource.namespaced ? scope : { ...scope, ns: "" }));
  return found as unknown as Collection<T>;
}

// The collection, watched for as long as the component is there.
export function use_collection<T extends KubeObject>(resource: Resource, scope: Scope = {}): Collection<T> {
  const held = useMemo(() => collection<T>(resource, scope), [resource, scope.ns, scope.labels, scope.fields]);
  useEffect(() => scope.off ? undefined : held.hold(), [held, scope.off]);
  return held;
}

// One object, by name.
export function use_object<T extends KubeObject>(resource: Resource, ns: string, name: string): Collection<T> {
  return use_collection<T>(resource, { ns, fields: `metadata.name=${name}` });
}
