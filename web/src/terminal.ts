// What a program writes, as it writes it. Not a part of the tree that Preact draws: output comes in
// thousands of pieces, of which only the last ones are kept in the page.

import { AnsiReader, pieceNode } from "./ansi";
import { bytes } from "./format";

// Characters that stand in the page at most, and those that are kept before the cut is made.
export const MOST_SHOWN = 256 * 1024;
const SLACK = 64 * 1024;
const LARGEST_CHUNK = 32 * 1024;
const FRAME_MS = 20;

type Stream = "stdout" | "stderr";

interface Chunk {
  node: HTMLElement;
  length: number;
}

export class Terminal {
  private readers: Record<Stream, AnsiReader> = {
    stdout: new AnsiReader(),
    stderr: new AnsiReader(),
  };
  private waiting: { stream: Stream; text: string }[] = [];
  private waitingLength = 0;
  private chunks: Chunk[] = [];
  private length = 0;
  private hidden = 0;
  private frame = 0;
  private flushed = -Infinity;
  received = 0;

  constructor(
    private readonly body: HTMLElement,
    private readonly note: HTMLElement,
  ) {
    this.clear();
  }

  clear(): void {
    cancelAnimationFrame(this.frame);
    this.readers = { stdout: new AnsiReader(), stderr: new AnsiReader() };
    this.waiting = [];
    this.chunks = [];
    this.frame = this.waitingLength = this.length = this.hidden = this.received = 0;
    this.body.replaceChildren();
    this.note.textContent = "";
    this.note.hidden = true;
  }

  write(stream: Stream, text: string): void {
    this.received += text.length;
    this.waiting.push({ stream, text });
    this.waitingLength += text.length;
    // Nobody looks at a page that is hidden, but its memory is still ours.
    while (this.waitingLength > MOST_SHOWN + SLACK && this.waiting.length > 1) {
      const gone = this.waiting.shift()!.text.length;
      this.waitingLength -= gone;
      this.hidden += gone;
    }
    // The first piece in a while is shown at once, the others together in the next frame.
    if (performance.now() - this.flushed > FRAME_MS && !this.frame) this.flush();
    else if (!this.frame) this.frame = requestAnimationFrame(() => this.flush());
  }

  // Something was written that the server could not send in time.
  skip(count: number): void {
    this.hidden += count;
    this.showNote();
  }

  flush(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.flushed = performance.now();
    const follow = this.body.scrollHeight - this.body.scrollTop - this.body.clientHeight < 40;
    const waiting = this.waiting;
    this.waiting = [];
    this.waitingLength = 0;
    for (const { stream, text } of waiting) this.append(stream, text);
    this.cut();
    this.showNote();
    if (follow) this.body.scrollTop = this.body.scrollHeight;
  }

  // Nothing more comes.
  end(): void {
    this.flush();
    for (const stream of ["stdout", "stderr"] as const) {
      this.waiting.push({ stream, text: this.readers[stream].release() });
    }
    this.flush();
  }

  private append(stream: Stream, text: string): void {
    for (let at = 0; at < text.length; at += LARGEST_CHUNK) {
      const part = text.slice(at, at + LARGEST_CHUNK);
      const last = this.chunks.at(-1);
      let chunk = last && last.length < LARGEST_CHUNK ? last : undefined;
      if (!chunk) {
        chunk = { node: document.createElement("span"), length: 0 };
        this.chunks.push(chunk);
        this.body.append(chunk.node);
      }
      chunk.node.append(
        ...this.readers[stream].read(part).map((piece) => pieceNode(piece, stream)),
      );
      chunk.length += part.length;
      this.length += part.length;
    }
  }

  private cut(): void {
    while (this.length > MOST_SHOWN && this.chunks.length > 1) {
      const first = this.chunks.shift()!;
      first.node.remove();
      this.length -= first.length;
      this.hidden += first.length;
    }
  }

  private showNote(): void {
    this.note.hidden = this.hidden === 0;
    if (this.hidden > 0) {
      this.note.textContent = `${bytes(this.hidden)} of output before this are not shown.`;
    }
  }
}
