// A program in the fragment of an address, which browsers send to no server.

export interface Snippet {
  code: string;
  language: string;
}

const LONGEST = 64 * 1024;

async function through(
  bytes: Uint8Array,
  stream: CompressionStream | DecompressionStream,
): Promise<Uint8Array> {
  const body = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair);
  const reader = body.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = (await reader.read()) as { done: boolean; value?: Uint8Array };
    if (done) break;
    size += value!.length;
    if (size > LONGEST) {
      await reader.cancel();
      throw new Error("too large");
    }
    parts.push(value!);
  }
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}

export async function encodeSnippet(snippet: Snippet): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify([snippet.language, snippet.code]));
  if (text.length > LONGEST) throw new Error("The program is too long for an address.");
  const packed = await through(text, new CompressionStream("deflate-raw"));
  const letters = Array.from(packed, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

export async function decodeSnippet(text: string): Promise<Snippet | undefined> {
  try {
    const letters = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    const packed = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const plain = await through(packed, new DecompressionStream("deflate-raw"));
    const value: unknown = JSON.parse(new TextDecoder().decode(plain));
    if (!Array.isArray(value) || typeof value[0] !== "string" || typeof value[1] !== "string") {
      return undefined;
    }
    return { language: value[0], code: value[1] };
  } catch {
    return undefined;
  }
}
