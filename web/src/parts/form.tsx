// Fields of forms: a label, a help, the problem in words.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { t } from "../text/text";

export function Field({ label, help, bad, children }: { label: string; help?: string; bad?: string; children: ComponentChildren }) {
  return <label class="field"><span class="label">{label}</span>{children}{bad ? <span class="bad" role="alert">{bad}</span> : help && <span class="help">{help}</span>}</label>;
}

interface TextProps { label: string; value: string; set: (value: string) => void; help?: string; pattern?: RegExp; problem?: string; needed?: boolean; placeholder?: string; taken?: boolean; list?: string[] }
export function TextField({ label, value, set, help, pattern, problem, needed, placeholder, taken, list }: TextProps) {
  const [left, set_left] = useState(false);
  const id = useId();
  const bad = left && needed && !value ? t("This is needed.") : value && pattern && !pattern.test(value) ? problem : taken ? t("There is one of that name already.") : undefined;
  return <Field label={needed ? `${label} *` : label} help={help} bad={bad}>
    <input class="input" value={value} placeholder={placeholder} aria-invalid={!!bad} aria-required={needed} list={list ? id : undefined} onInput={(event) => set(event.currentTarget.value)} onBlur={() => set_left(true)} />
    {list && <datalist id={id}>{list.map((one) => <option key={one} value={one} />)}</datalist>}
  </Field>;
}

export function NumberField({ label, value, set, least = 0, step = 1, help, off }: { off?: boolean; label: string; value: number; set: (value: number) => void; least?: number; step?: number; help?: string }) {
  return <Field label={label} help={help}><input class="input" type="number" disabled={off} min={least} step={step} value={value} onInput={(event) => set(Math.max(least, Number(event.currentTarget.value)))} /></Field>;
}

type Option = string | { value: string; text: string; off?: boolean };
export function SelectField({ label, value, set, options, help, off }: { off?: boolean; label: string; value: string; set: (value: string) => void; options: Option[]; help?: string }) {
  return <Field label={label} help={help}><select class="input" disabled={off} value={value} onChange={(event) => set(event.currentTarget.value)}>
    {options.map((one) => typeof one === "string" ? <option key={one} value={one}>{one}</option> : <option key={one.value} value={one.value} disabled={one.off}>{one.text}</option>)}
  </select></Field>;
}

export function Check({ label, value, set }: { label: string; value: boolean; set: (value: boolean) => void }) {
  return <label class="check"><input type="checkbox" checked={value} onChange={(event) => set(event.currentTarget.checked)} />{label}</label>;
}
