// The one place where HTML of a program becomes a document: in a frame that may do nothing. It has
// an origin of its own, no scripts, no forms, and inherits the policy of the page, by which it
// loads nothing but pictures that are part of it, and has the one style sheet whose digest the
// policy names. The Trusted Types policy below exists for this alone.

import { useLayoutEffect, useRef } from "preact/hooks";

import sheet from "./frame.css?raw";
import { clean } from "./markup";
import { useStore } from "./store";
import { dark } from "./theme";

interface Types {
  createPolicy(
    name: string,
    rules: { createHTML(text: string): string },
  ): {
    createHTML(text: string): string;
  };
}

const types = (window as unknown as { trustedTypes?: Types }).trustedTypes;
const policy = types?.createPolicy("belljar-frame", { createHTML: (text) => text });

export function HtmlFrame({ html, label }: { html: string; label: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const cleaned = clean(html);
  const look = useStore(dark) ? "dark" : "light";
  useLayoutEffect(() => {
    const page =
      `<!doctype html><html class="${look}"><meta charset="utf-8">` +
      `<title>${label}</title><style>${sheet}</style><body>${cleaned.html}`;
    frame.current!.srcdoc = policy ? policy.createHTML(page) : page;
  }, [html, look]);
  const height = Math.min(460, Math.max(90, 26 + cleaned.rows * 28));
  return (
    <div class="html-frame">
      <iframe ref={frame} title={label} sandbox="" height={height} loading="eager" />
      {cleaned.cut && (
        <p class="note">This is only the beginning: there is more of it than a page can show.</p>
      )}
    </div>
  );
}
