// CodeMirror with YAML, in the page's own colours.
import { autocompletion, closeBrackets, completionKeymap, type CompletionContext } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Suggestion } from "./schema";

export interface EditorOptions {
  read_only: boolean;
  label: string;
  change: (text: string) => void;
  save: () => void;
  complete: (text: string, at: number) => Promise<Suggestion[]>;
}

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "12.5px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--faint)", border: "none", borderRight: "1px solid var(--line-soft)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--hover) 70%, transparent)" }, ".cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": { backgroundColor: "var(--selected) !important" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", border: "1px solid var(--line)", borderRadius: "6px", color: "var(--text)", boxShadow: "var(--shadow)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--selected)", color: "var(--text)" },
  ".cm-completionInfo": { maxWidth: "340px", padding: "8px 10px" }, ".cm-completionDetail": { color: "var(--faint)" },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)" }, ".cm-searchMatch": { backgroundColor: "var(--wait-soft)" },
});
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.content], color: "var(--text)" }, { tag: tags.quote, color: "var(--run)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--place)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.meta, tags.punctuation, tags.separator], color: "var(--muted)" },
]);

export function open_editor(root: ShadowRoot, text: string, options: EditorOptions) {
  const complete = async (context: CompletionContext) => {
    const word = context.matchBefore(/[\w./-]*/);
    if (!word || (word.from === word.to && !context.explicit)) return null;
    const found = await options.complete(context.state.doc.toString(), context.pos);
    return found.length ? { from: word.from, options: found.map((one) => ({ label: one.label, detail: one.type, info: one.description || undefined, apply: one.apply, boost: one.required ? 10 : 0, type: "property" })) } : null;
  };
  const view = new EditorView({
    root, parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        look, syntaxHighlighting(colours), yaml(), lineNumbers(), foldGutter(), history(), bracketMatching(), closeBrackets(), indentOnInput(), indentUnit.of("  "), highlightActiveLine(), highlightSelectionMatches(),
        autocompletion({ override: [complete], icons: false, activateOnTyping: true }),
        keymap.of([{ key: "Mod-s", run: () => { options.save(); return true; } }, ...completionKeymap, ...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
        EditorState.readOnly.of(options.read_only), EditorView.contentAttributes.of({ "aria-label": options.label }),
        EditorView.updateListener.of((update) => { if (update.docChanged) options.change(update.state.doc.toString()); }),
      ],
    }),
  });
  const style = new CSSStyleSheet();
  style.replaceSync(":host { display: flex; flex: 1; min-height: 0; } .cm-editor { flex: 1; min-width: 0; }");
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, style];
  return {
    set(now: string) { if (now !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: now } }); },
    end() { view.destroy(); },
  };
}
