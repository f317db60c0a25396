// The editor. It lives in a shadow tree, because there CodeMirror's styles are sheets of the tree
// and no <style> elements, which the policy of the page forbids.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";

import { highlighting } from "./languages";

interface Properties {
  code: string; // looked at only once for each revision: from then on the editor has the text
  revision?: number;
  language: string;
  label: string;
  onChange(code: string): void;
  onRun(): void;
}

const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "transparent", fontSize: "13.5px", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--accent)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--active-line)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "none" },
});

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-number)" },
  { tag: [tags.comment, tags.meta], color: "var(--code-comment)", fontStyle: "italic" },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName)],
    color: "var(--code-function)",
  },
  {
    tag: [tags.className, tags.typeName, tags.definition(tags.typeName)],
    color: "var(--code-type)",
  },
]);

// What is typed over a selection would be put in by the browser with the colours of what it
// replaces, as styles that the policy of the page forbids.
const typeOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { main } = view.state.selection;
    const text = event.data;
    if (event.inputType !== "insertText" || !text || main.empty || view.composing) return false;
    const insert = () =>
      view.state.update(view.state.replaceSelection(text), { userEvent: "input" });
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handle) => handle(view, main.from, main.to, text, insert))) {
      view.dispatch(insert());
    }
    event.preventDefault();
    return true;
  },
});

export function Editor({ code, revision, language, label, onChange, onRun }: Properties) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>();
  const mode = useRef(new Compartment());
  const latest = useRef({ onChange, onRun });
  latest.current = { onChange, onRun };

  useEffect(() => {
    const root = place.current!.shadowRoot ?? place.current!.attachShadow({ mode: "open" });
    const run = () => {
      latest.current.onRun();
      return true;
    };
    const made = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: code,
        extensions: [
          Prec.highest(
            keymap.of([
              { key: "Mod-Enter", run },
              { key: "Shift-Enter", run },
            ]),
          ),
          lineNumbers(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          drawSelection(),
          history(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
          typeOver,
          syntaxHighlighting(colors),
          look,
          mode.current.of([]),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);

  useEffect(() => {
    const shown = view.current!;
    if (shown.state.doc.toString() === code) return;
    shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: code } });
  }, [revision]);

  useEffect(() => {
    let wanted = true;
    highlighting(language)
      .then((extension) => {
        if (wanted) view.current?.dispatch({ effects: mode.current.reconfigure(extension) });
      })
      .catch(() => undefined); // without colours, then
    return () => {
      wanted = false;
    };
  }, [language]);

  return <div class="editor" ref={place} />;
}
