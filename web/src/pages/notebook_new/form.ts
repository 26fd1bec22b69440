// The form's fields, what is wrong with them, and the body that upstream's API takes.
import { LABEL } from "../../data/workbench";

interface Images { value: string; options: string[]; readOnly?: boolean }
export interface Config {
  allowCustomImage: boolean; hideRegistry: boolean; hideTag: boolean; imagePullPolicy: { value: string; readOnly?: boolean };
  image: Images; imageGroupOne: Images; imageGroupTwo: Images;
  cpu: { value: string; limitFactor: string; readOnly?: boolean }; memory: { value: string; limitFactor: string; readOnly?: boolean };
  gpus: { value: { num: string; vendor: string; vendors: Array<{ limitsKey: string; uiName: string }> }; readOnly?: boolean };
  workspaceVolume: { value: { mount: string } | null; readOnly?: boolean };
  dataVolumes?: { readOnly?: boolean };
  affinityConfig: { value: string; options: Array<{ configKey: string; displayName: string }>; readOnly?: boolean };
  tolerationGroup: { value: string; options: Array<{ groupKey: string; displayName: string }>; readOnly?: boolean };
  shm: { value: boolean; readOnly?: boolean }; configurations: { value: string[]; readOnly?: boolean };
}
export interface Volume { fresh: boolean; name: string; size: number; class: string; mode: string; claim: string; read_only: boolean; mount: string }
export interface NotebookForm {
  name: string; server: "jupyter" | "group-one" | "group-two"; image: string; custom: string; pull: string; cpu: number; memory: number; cpu_limit: number | null; memory_limit: number | null;
  gpus: string; vendor: string; workspace: Volume | null; data: Volume[]; configurations: string[]; affinity: string; tolerations: string; shm: boolean;
}

export const new_volume = (name: string, mount: string, size: number): Volume => ({ fresh: true, name, size, class: "", mode: "ReadWriteOnce", claim: "", read_only: false, mount });

export function first_problem(form: NotebookForm, taken: boolean): string {
  if (!form.name) return "Give it a name";
  if (!LABEL.test(form.name) || form.name.length > 40) return "The name needs small letters, digits and dashes, 40 at most";
  if (taken) return "There is one of that name already.";
  if (!form.custom && !form.image) return "Choose an image";
  if (form.gpus !== "none" && !form.vendor) return "Choose a GPU vendor";
  for (const volume of [...(form.workspace ? [form.workspace] : []), ...form.data]) {
    if (!volume.mount) return "A volume needs a mount path";
    if (!volume.fresh && !volume.claim) return "Choose a volume";
  }
  return "";
}

function volume_body(volume: Volume, name: string): unknown {
  if (!volume.fresh) return { mount: volume.mount, existingSource: { persistentVolumeClaim: { claimName: volume.claim, ...(volume.read_only ? { readOnly: true } : {}) } } };
  return { mount: volume.mount, newPvc: { metadata: { name: volume.name.replace("{notebook-name}", name) }, spec: { accessModes: [volume.mode], resources: { requests: { storage: `${volume.size}Gi` } }, ...(volume.class ? { storageClassName: volume.class } : {}) } } };
}

// What the configuration fixes must not be sent: the server takes its own value.
const FIXED: Partial<Record<keyof Config, string[]>> = {
  imagePullPolicy: ["imagePullPolicy"], cpu: ["cpu", "cpuLimit"], memory: ["memory", "memoryLimit"], gpus: ["gpus"], workspaceVolume: ["workspace"], dataVolumes: ["datavols"],
  affinityConfig: ["affinityConfig"], tolerationGroup: ["tolerationGroup"], shm: ["shm"], configurations: ["configurations"],
};

export function body_of(form: NotebookForm, ns: string, config: Config): Record<string, unknown> {
  const name = form.name, custom = form.custom.trim();
  const factor = (text: string) => (text === "none" || !text ? 0 : Number(text));
  const limit = (own: number | null, least: number, by: number) => own ?? (by ? Math.round(least * by * 10) / 10 : 0);
  const cpu = limit(form.cpu_limit, form.cpu, factor(config.cpu.limitFactor)), memory = limit(form.memory_limit, form.memory, factor(config.memory.limitFactor));
  const body: Record<string, unknown> = {
    name, namespace: ns, image: custom || form.image, customImage: custom, customImageCheck: !!custom, allowCustomImage: config.allowCustomImage, imagePullPolicy: form.pull, serverType: form.server,
    cpu: String(form.cpu), memory: `${form.memory}Gi`, ...(cpu ? { cpuLimit: String(cpu) } : {}), ...(memory ? { memoryLimit: `${memory}Gi` } : {}),
    gpus: form.gpus === "none" ? { num: "none" } : { num: form.gpus, vendor: form.vendor },
    affinityConfig: form.affinity, tolerationGroup: form.tolerations, shm: form.shm, configurations: form.configurations,
    ...(form.workspace ? { workspace: volume_body(form.workspace, name) } : {}), datavols: form.data.map((one) => volume_body(one, name)),
  };
  for (const [key, names] of Object.entries(FIXED)) if ((config[key as keyof Config] as { readOnly?: boolean } | undefined)?.readOnly) for (const field of names) delete body[field];
  return body;
}
