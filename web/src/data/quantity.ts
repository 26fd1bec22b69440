// Kubernetes quantities as numbers and as short texts.
const FACTORS: Record<string, number> = {
  n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};

export function quantity(text: unknown): number {
  if (typeof text === "number") return text;
  const match = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([numkMGTPE]|[KMGTPE]i)?$/.exec(String(text ?? ""));
  return match ? Number(match[1]) * FACTORS[match[2] ?? ""] : 0;
}

export const short_number = (value: number): string =>
  value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2).replace(/\.?0+$/, "");

export function short_bytes(bytes: number): string {
  const units = ["B", "Ki", "Mi", "Gi", "Ti", "Pi"];
  let at = 0;
  while (Math.abs(bytes) >= 1024 && at < units.length - 1) { bytes /= 1024; at++; }
  return at === 0 ? `${Math.round(bytes)} B` : `${bytes >= 100 ? Math.round(bytes) : short_number(Math.round(bytes * 10) / 10)} ${units[at]}`;
}

// A quantity of a resource as people say it: cores for cpu, binary units for memory and storage, counts for the rest.
export function resource_text(resource: string, value: number): string {
  if (/memory|storage|hugepages/.test(resource)) return short_bytes(value);
  return short_number(Math.round(value * 1000) / 1000);
}

export type Amounts = Record<string, number>;

export function amounts(list: Record<string, unknown> | undefined): Amounts {
  const out: Amounts = {};
  for (const [name, value] of Object.entries(list ?? {})) out[name] = quantity(value);
  return out;
}

export function add_amounts(into: Amounts, more: Amounts, times = 1): Amounts {
  for (const [name, value] of Object.entries(more)) into[name] = (into[name] ?? 0) + value * times;
  return into;
}
