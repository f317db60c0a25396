// The colours of terminals. Everything else that a program can tell a terminal is left out.

export interface Style {
  color?: number; // 0 to 15
  background?: number;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  rgb?: string;
}

export interface Piece {
  text: string;
  style: Style;
}

// CSI sequences, OSC sequences, and other escapes, and the beginning of one at the end of a text.
const ESCAPE =
  /\x1b(?:\[([0-?]*)([ -/]*[@-~])|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[0-Z\\^-~]|[ -/]+[0-~])/g;
const OPEN = /\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,4096}\x1b?|[ -/]*)$/;
const LONGEST_OPEN = 4200;

export class AnsiReader {
  private style: Style = {};
  private open = "";

  read(text: string): Piece[] {
    const all = this.open + text;
    this.open = "";
    const pieces: Piece[] = [];
    let end = 0;
    for (const match of all.matchAll(ESCAPE)) {
      this.add(pieces, all.slice(end, match.index));
      if (match[2] === "m" && !/[<-?]/.test(match[1]!)) this.change(match[1]!);
      end = match.index + match[0].length;
    }
    // An escape that is not complete waits for the rest of it.
    const rest = all.slice(end);
    const open = OPEN.exec(rest)?.[0] ?? "";
    this.open = open.length < LONGEST_OPEN ? open : "";
    this.add(pieces, rest.slice(0, rest.length - this.open.length));
    return pieces;
  }

  // Nothing more comes: what has waited is text.
  release(): string {
    const text = this.open.replaceAll("\x1b", "");
    this.open = "";
    return text;
  }

  private add(pieces: Piece[], text: string): void {
    // Control characters have no meaning here; a line that is written over starts anew.
    const plain = text.replace(/\r\n/g, "\n").replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, "");
    if (plain) pieces.push({ text: plain, style: this.style });
  }

  private change(parameters: string): void {
    const codes = parameters.split(/[;:]/).map((code) => Number(code || 0));
    const style: Style = { ...this.style };
    for (let at = 0; at < codes.length; at += 1) {
      const code = codes[at]!;
      if (code === 0) for (const key of Object.keys(style)) delete style[key as keyof Style];
      else if (code === 1) style.bold = true;
      else if (code === 2) style.dim = true;
      else if (code === 3) style.italic = true;
      else if (code === 4) style.underline = true;
      else if (code === 22) style.bold = style.dim = false;
      else if (code === 23) style.italic = false;
      else if (code === 24) style.underline = false;
      else if (code >= 30 && code <= 37) setColor(style, code - 30);
      else if (code >= 90 && code <= 97) setColor(style, code - 82);
      else if (code === 39) setColor(style, undefined);
      else if (code >= 40 && code <= 47) style.background = code - 40;
      else if (code >= 100 && code <= 107) style.background = code - 92;
      else if (code === 49) style.background = undefined;
      else if (code === 38 || code === 48) at = this.extended(style, codes, at);
    }
    this.style = style;
  }

  private extended(style: Style, codes: number[], at: number): number {
    const foreground = codes[at] === 38;
    if (codes[at + 1] === 5) {
      const index = (codes[at + 2] ?? 0) & 255;
      if (!foreground) style.background = index < 16 ? index : undefined;
      else if (index < 16) setColor(style, index);
      else style.rgb = paletteColor(index);
      return at + 2;
    }
    if (codes[at + 1] === 2) {
      const [red, green, blue] = codes.slice(at + 2, at + 5).map((part) => part & 255);
      if (foreground) style.rgb = `rgb(${red ?? 0} ${green ?? 0} ${blue ?? 0})`;
      return at + 4;
    }
    return at;
  }
}

function setColor(style: Style, color: number | undefined): void {
  style.color = color;
  style.rgb = undefined;
}

function paletteColor(index: number): string {
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const level = (part: number) => (part === 0 ? 0 : 55 + part * 40);
  const cube = index - 16;
  const [red, green] = [Math.floor(cube / 36), Math.floor(cube / 6) % 6];
  return `rgb(${level(red)} ${level(green)} ${level(cube % 6)})`;
}

// An element for one piece; plain text needs none.
export function pieceNode(piece: Piece, kind: string): Node {
  const { style } = piece;
  const classes = [
    kind === "stderr" ? "err" : "",
    style.color === undefined ? "" : `c${style.color}`,
    style.background === undefined ? "" : `b${style.background}`,
    style.bold ? "bold" : "",
    style.dim ? "dim" : "",
    style.italic ? "italic" : "",
    style.underline ? "underline" : "",
  ].filter(Boolean);
  if (classes.length === 0 && !style.rgb) return document.createTextNode(piece.text);
  const node = document.createElement("span");
  node.className = classes.join(" ");
  if (style.rgb) node.style.color = style.rgb;
  node.textContent = piece.text;
  return node;
}
