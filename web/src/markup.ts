// HTML that a program made, cut down to what has no power: known tags with known attributes. This
// is for looks and for a quiet console alone. What makes it harmless is the frame that it is shown
// in, which has neither scripts nor our origin (frame.tsx).

const TAGS = new Set(
  (
    "a abbr article b blockquote br caption center code col colgroup dd del details " +
    "div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd " +
    "li main mark ol p pre q s samp section small span strike strong sub summary sup table " +
    "tbody td tfoot th thead time tr u ul var"
  ).split(" "),
);
const ATTRIBUTES = new Set(
  "align valign colspan rowspan scope title dir lang alt width height span ".trim().split(" "),
);
// Their content is no text to be shown.
const SILENT = new Set(
  (
    "script style title textarea template iframe noscript noembed noframes xmp " +
    "object svg math select audio video head plaintext"
  ).split(" "),
);
const VOID = new Set(["br", "hr", "img", "col"]);
// None of them looks twice at what it has refused, as programs may write megabytes of beginnings: a
// tag has no "<" outside of quotes, a comment may reach to the end, a name is whole or none.
const TAG = new RegExp(
  /<(\/?)([a-zA-Z][^\s/<>'"]*)(?![^\s/<>'"])((?:[^'"<>]|"[^"]*"|'[^']*')*)>/.source +
    /|<!--[\s\S]*?(?:-->|$)|<[!?][^>]*(?:>|$)/.source,
  "g",
);
const ATTRIBUTE = /(?<![^\s=/"'>])([^\s=/"'>]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)/g;
const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/;
const COLOR = /(?:^|[;\s])background(?:-color)?\s*:\s*(#[0-9a-fA-F]{3,6}|[a-z]{3,20})\s*(?:;|$)/;
const ALIGN = /(?:^|[;\s])text-align\s*:\s*(left|right|center)\b/;

export const MOST_TAGS = 40_000;
export const MOST_CHARACTERS = 2 * 1024 * 1024;

export interface Cleaned {
  html: string;
  cut: boolean; // there was more of it than a page can bear
  rows: number;
}

export function clean(source: string): Cleaned {
  const text = source.slice(0, MOST_CHARACTERS);
  const made: string[] = [];
  let end = 0;
  let tags = 0;
  let rows = 0;
  TAG.lastIndex = 0;
  for (let match = TAG.exec(text); match; match = TAG.exec(text)) {
    made.push(escapeText(text.slice(end, match.index)));
    end = match.index + match[0].length;
    const name = (match[2] ?? "").toLowerCase();
    if (SILENT.has(name) && !match[1]) {
      end = behind(text, name, end);
      TAG.lastIndex = end;
    } else if (TAGS.has(name)) {
      tags += 1;
      if (name === "tr" && !match[1]) rows += 1;
      if (tags > MOST_TAGS) return { html: made.join(""), cut: true, rows };
      made.push(match[1] ? closing(name) : `<${name}${attributes(name, match[3] ?? "")}>`);
    }
  }
  made.push(escapeText(text.slice(end)));
  return { html: made.join(""), cut: source.length > text.length, rows };
}

function closing(name: string): string {
  return VOID.has(name) ? "" : `</${name}>`;
}

function behind(text: string, name: string, from: number): number {
  const close = new RegExp(`</${name}`, "gi");
  close.lastIndex = from;
  const found = close.exec(text);
  const end = found ? text.indexOf(">", found.index) : -1;
  return end < 0 ? text.length : end + 1;
}

function attributes(tag: string, text: string): string {
  const made: string[] = [];
  for (const match of text.matchAll(ATTRIBUTE)) {
    const name = match[1]!.toLowerCase();
    const value = match[2]!.replace(/^(["'])([\s\S]*)\1$/, "$2");
    if (ATTRIBUTES.has(name)) made.push(attribute(name, value));
    if (name === "src" && tag === "img" && PICTURE.test(value)) made.push(attribute(name, value));
    if (name === "color" && tag === "font") made.push(attribute(name, value));
    if (name === "bgcolor") made.push(attribute(name, value));
    if (name === "style") {
      const color = COLOR.exec(value)?.[1];
      if (color && /^t[dhr]$/.test(tag)) made.push(attribute("bgcolor", color));
      const align = ALIGN.exec(value)?.[1];
      if (align) made.push(attribute("align", align));
    }
  }
  return made.join("");
}

function attribute(name: string, value: string): string {
  return ` ${name}="${escapeText(value).replace(/"/g, "&quot;")}"`;
}

// Entities stay what they are.
function escapeText(text: string): string {
  return text.replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
