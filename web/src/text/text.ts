// Texts in English and Chinese. The English text is the key; t() reads the language's signal, so whatever shows a
// text is shown again when the language changes. {name} is replaced by the parameter of that name.
import { signal } from "@preact/signals";

export type Language = "en" | "zh";
export const language = signal<Language>(document.documentElement.lang.startsWith("zh") ? "zh" : "en");
const chinese = signal<Record<string, string> | null>(null);

export async function load_texts(): Promise<void> {
  if (language.value === "zh" && !chinese.value) chinese.value = (await import("../../generated/zh")).zh;
}

export async function set_language(to: Language): Promise<void> {
  localStorage.setItem("hekla.language", to);
  document.documentElement.lang = to === "zh" ? "zh-CN" : "en";
  language.value = to;
  await load_texts();
}

type Parameters = Record<string, string | number>;

export function t(text: string, parameters?: Parameters): string {
  const found = language.value === "zh" ? chinese.value?.[text] ?? text : text;
  return parameters ? found.replace(/\{(\w+)\}/g, (whole, name) => String(parameters[name] ?? whole)) : found;
}

// One of two texts by a number that both may name as {n}.
export function tn(n: number, one: string, many: string, parameters?: Parameters): string {
  return t(n === 1 ? one : many, { n, ...parameters });
}

// A text that a page or a kind carries in both languages itself.
export interface Title { en: string; zh: string }
export const title_of = (title: Title): string => title[language.value];
