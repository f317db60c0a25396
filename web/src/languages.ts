// Highlighting of the languages that there are, each loaded when it is used first.

import { StreamLanguage, type StreamParser } from "@codemirror/language";
import type { Extension } from "@codemirror/state";

type Loader = () => Promise<Extension>;

async function legacy(mode: Promise<StreamParser<unknown>>): Promise<Extension> {
  return StreamLanguage.define(await mode);
}

const LOADERS: Record<string, Loader> = {
  python: async () => (await import("@codemirror/lang-python")).python(),
  javascript: async () => (await import("@codemirror/lang-javascript")).javascript(),
  typescript: async () =>
    (await import("@codemirror/lang-javascript")).javascript({ typescript: true }),
  c: async () => (await import("@codemirror/lang-cpp")).cpp(),
  cpp: async () => (await import("@codemirror/lang-cpp")).cpp(),
  php: async () => (await import("@codemirror/lang-php")).php(),
  bash: () => legacy(import("@codemirror/legacy-modes/mode/shell").then((one) => one.shell)),
  sh: () => legacy(import("@codemirror/legacy-modes/mode/shell").then((one) => one.shell)),
  ruby: () => legacy(import("@codemirror/legacy-modes/mode/ruby").then((one) => one.ruby)),
  lua: () => legacy(import("@codemirror/legacy-modes/mode/lua").then((one) => one.lua)),
  perl: () => legacy(import("@codemirror/legacy-modes/mode/perl").then((one) => one.perl)),
  r: () => legacy(import("@codemirror/legacy-modes/mode/r").then((one) => one.r)),
};

export async function highlighting(language: string): Promise<Extension> {
  return LOADERS[language]?.() ?? [];
}
