// What a step of a pipeline is: image, command, what goes in and what comes out; without a step, the whole's inputs.
import type { Component, Parameter, Spec, Task } from "../data/pipelines";
import { t } from "../text/text";
import { Chip } from "./states";

function find_task(spec: Spec, at: string[], name: string): { task?: Task; component?: Component } {
  const components = spec.components ?? {};
  let component: Component | undefined = spec.root, task: Task | undefined;
  for (const one of name ? [...at, name] : at) {
    task = component?.dag?.tasks[one];
    component = components[task?.componentRef?.name ?? ""];
  }
  return { task, component };
}

// Where an input comes from, in one line.
function source(input: Record<string, unknown>): string {
  const value = input as { taskOutputParameter?: { producerTask: string; outputParameterKey: string }; taskOutputArtifact?: { producerTask: string; outputArtifactKey: string }; componentInputParameter?: string; componentInputArtifact?: string; runtimeValue?: { constant?: unknown } };
  const made = value.taskOutputParameter ?? value.taskOutputArtifact;
  if (made) return `← ${made.producerTask}.${value.taskOutputParameter?.outputParameterKey ?? value.taskOutputArtifact?.outputArtifactKey}`;
  if (value.runtimeValue) return `= ${JSON.stringify(value.runtimeValue.constant)}`;
  return `← ${value.componentInputParameter ?? value.componentInputArtifact ?? "…"}`;
}

function Names({ title, names }: { title: string; names: Array<[string, Parameter | unknown]> }) {
  if (!names.length) return null;
  return <><dt>{t(title)}</dt><dd>{names.map(([key, one]) => <div key={key}><span class="mono">{key}</span> <span class="faint">{(one as Parameter).parameterType ?? t("artifact")}</span></div>)}</dd></>;
}

// `bare` is without the card around it.
export function StepFacts({ spec, at, name, bare }: { spec: Spec; at: string[]; name: string; bare?: boolean }) {
  const { task, component } = find_task(spec, at, name);
  const container = spec.deploymentSpec?.executors?.[component?.executorLabel ?? ""]?.container;
  const given = Object.entries({ ...task?.inputs?.parameters, ...task?.inputs?.artifacts });
  const inputs = Object.entries({ ...component?.inputDefinitions?.parameters, ...component?.inputDefinitions?.artifacts }), outputs = Object.entries({ ...component?.outputDefinitions?.parameters, ...component?.outputDefinitions?.artifacts });
  const facts = (
    <>
      <dl class="facts">
        {task?.triggerPolicy?.condition && <><dt>{t("Condition")}</dt><dd class="mono">{task.triggerPolicy.condition}</dd></>}
        {container && <><dt>{t("Image")}</dt><dd class="mono wrap-anywhere">{container.image}</dd></>}
        {name ? given.length > 0 && <><dt>{t("Takes")}</dt><dd>{given.map(([key, input]) => <div key={key}><span class="mono">{key}</span> <span class="faint">{source(input)}</span></div>)}</dd></> : <Names title="Inputs" names={inputs} />}
        <Names title={name ? "Makes" : "Outputs"} names={outputs} />
      </dl>
      {container?.command && <Command words={[...container.command, ...(container.args ?? [])]} />}
      {!name && !inputs.length && !outputs.length && <p class="muted">{t("It takes no parameters. Choose a step to see what it is.")}</p>}
    </>
  );
  if (bare) return facts;
  return <section class="card"><div class="head"><h2 class="grow cut">{name || at.at(-1) || t("Whole pipeline")}</h2>{task?.triggerPolicy?.condition && <Chip tone="accent" title={task.triggerPolicy.condition}>{t("if")}</Chip>}</div><div class="body col">{facts}</div></section>;
}

// A component's program is a word of its own, with lines: it is what people want to read of it.
function Command({ words }: { words: string[] }) {
  const program = words.find((word) => word.includes("\n") && /\b(def|import)\b/.test(word));
  return <details><summary class="muted">{t("Command")}</summary><pre class="peek">{program ?? words.map((word) => (/\s/.test(word) ? JSON.stringify(word) : word)).join(" ")}</pre></details>;
}
