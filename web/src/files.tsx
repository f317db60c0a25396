// The files of a conversation: what is there, a look at each, and how more come in.

import { useEffect, useState } from "preact/hooks";

import { ask, call, explain, fileAddress, onThisOrigin, Problem, save } from "./api";
import { bytes } from "./format";
import { Message, SureButton } from "./parts";
import { asRows, DataTable, LongText } from "./results";

const PREVIEW_BYTES = 64 * 1024;
const LARGEST_PICTURE = 8 * 1024 * 1024;
const PICTURES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  svg: "image/svg+xml",
};

interface FileEntry {
  path: string;
  size: number;
  modified: string;
}

interface Properties {
  conversation: string;
  version: number; // another one: look again
  changed: Set<string>; // by the last run
}

export function Files({ conversation, version, changed }: Properties) {
  const [files, setFiles] = useState<FileEntry[]>([]);
  const [more, setMore] = useState(false);
  const [opened, setOpened] = useState<FileEntry>();
  const [error, setError] = useState("");
  const [over, setOver] = useState(false);
  const [busy, setBusy] = useState("");

  const load = async () => {
    try {
      const page = await ask<
        { conversations: unknown[] } & { files: FileEntry[]; next_cursor: string | null }
      >(`/v1/conversations/${encodeURIComponent(conversation)}/files?limit=100`);
      setFiles(page.files);
      setMore(page.next_cursor !== null);
    } catch (failure) {
      if (failure instanceof Problem && failure.status === 404) setFiles([]);
      else setError(explain(failure));
    }
  };

  useEffect(() => {
    if (version > 0) void load();
  }, [conversation, version]);

  const upload = async (list: FileList | null) => {
    setError("");
    for (const file of list ?? []) {
      setBusy(`Uploading ${file.name} (${bytes(file.size)})`);
      try {
        await call(fileAddress(conversation, file.name), { method: "PUT", body: file });
      } catch (failure) {
        setError(`${file.name}: ${explain(failure)}`);
      }
    }
    setBusy("");
    await load();
  };

  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void upload(event.dataTransfer?.files ?? null);
  };

  return (
    <section
      class={`files ${over ? "over" : ""}`}
      aria-label="Files"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <div class="files-head">
        <h3>Files</h3>
        <label class="button small">
          Upload
          <input
            type="file"
            multiple
            class="sr"
            onChange={(event) => {
              void upload(event.currentTarget.files);
              event.currentTarget.value = "";
            }}
          />
        </label>
      </div>
      {busy && (
        <p class="note" role="status">
          {busy}
        </p>
      )}
      {error && <Message>{error}</Message>}
      {files.length === 0 && (
        <p class="empty">
          Drop files here. Programs find them in <code>/workspace</code>, and what they write there
          appears here.
        </p>
      )}
      <ul class="file-list">
        {files.map((file) => (
          <FileRow
            key={`${conversation} ${file.path}`}
            file={file}
            conversation={conversation}
            isNew={changed.has(file.path)}
            open={opened?.path === file.path}
            onError={setError}
            onChange={load}
            onOpen={() => setOpened(opened?.path === file.path ? undefined : file)}
          />
        ))}
      </ul>
      {more && <p class="note">Only the first 100 are listed.</p>}
    </section>
  );
}

interface RowProperties {
  file: FileEntry;
  conversation: string;
  isNew: boolean;
  open: boolean;
  onOpen(): void;
  onChange(): Promise<void>;
  onError(text: string): void;
}

function FileRow({ file, conversation, isNew, open, onOpen, onChange, onError }: RowProperties) {
  const download = async () => {
    try {
      const signed = await ask<{ url: string }>(
        `/v1/conversations/${encodeURIComponent(conversation)}/files:sign`,
        { body: { path: file.path, expires_in: 600 } },
      );
      const link = document.createElement("a");
      link.href = onThisOrigin(signed.url);
      link.download = file.path.split("/").pop() ?? "file";
      link.click();
    } catch (error) {
      onError(explain(error));
    }
  };
  const remove = async () => {
    try {
      await call(fileAddress(conversation, file.path), { method: "DELETE" });
    } catch (error) {
      onError(explain(error));
    }
    await onChange();
  };
  return (
    <li>
      <div class="file-row">
        <button type="button" class="link file-name" aria-expanded={open} onClick={onOpen}>
          {file.path}
        </button>
        {isNew && <span class="badge calm">new</span>}
        <span class="quiet">{bytes(file.size)}</span>
        <button type="button" class="small" onClick={download}>
          Download
        </button>
        <SureButton label="Delete" sure="Really delete" onSure={remove} />
      </div>
      {open && (
        <Preview key={`${file.path} ${file.modified}`} file={file} conversation={conversation} />
      )}
    </li>
  );
}

type Look = { text: string; csv: boolean } | { picture: string } | { nothing: string };

function Preview({ file, conversation }: { file: FileEntry; conversation: string }) {
  const [look, setLook] = useState<Look>();
  useEffect(() => {
    let url = "";
    load(file, conversation)
      .then((found) => {
        if ("picture" in found) url = found.picture;
        setLook(found);
      })
      .catch((error: unknown) => setLook({ nothing: explain(error) }));
    return () => URL.revokeObjectURL(url);
  }, []);
  if (!look) return <p class="note">Loading…</p>;
  if ("nothing" in look) return <p class="note">{look.nothing}</p>;
  if ("picture" in look) {
    return (
      <img
        class="picture"
        src={look.picture}
        alt={`The file ${file.path}`}
        onError={() => setLook({ nothing: "This is not a picture that can be shown." })}
      />
    );
  }
  const rows = look.csv ? asRows(readCsv(look.text)) : undefined;
  const cut = file.size > PREVIEW_BYTES;
  return (
    <div class="preview">
      {rows ? (
        <DataTable
          rows={{
            ...rows,
            columns: (rows.rows[0] ?? []).map(String),
            rows: rows.rows.slice(1),
            total: cut ? rows.rows.length - 1 : rows.total - 1,
          }}
        />
      ) : (
        <LongText text={look.text} name={file.path} />
      )}
      {cut && (
        <p class="note">
          The first {bytes(PREVIEW_BYTES)} of {bytes(file.size)}.
        </p>
      )}
    </div>
  );
}

async function load(file: FileEntry, conversation: string): Promise<Look> {
  const kind = PICTURES[file.path.split(".").pop()?.toLowerCase() ?? ""];
  const address = fileAddress(conversation, file.path);
  if (kind && file.size <= LARGEST_PICTURE) {
    const content = await (await call(address)).arrayBuffer();
    return { picture: URL.createObjectURL(new Blob([content], { type: kind })) };
  }
  if (file.size === 0) return { nothing: "The file is empty." };
  const response = await call(address, { headers: { Range: `bytes=0-${PREVIEW_BYTES - 1}` } });
  const text = new TextDecoder().decode(await response.arrayBuffer());
  if (text.includes("\0")) return { nothing: "No text and no picture; download it to look at it." };
  return { text, csv: /\.(csv|tsv)$/i.test(file.path) };
}

// As much of it as is whole: fields in quotation marks may hold anything.
export function readCsv(text: string): string[][] {
  const separator = text.slice(0, 1000).includes("\t") ? "\t" : ",";
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let quoted = false;
  for (let at = 0; at < text.length && rows.length <= 101; at += 1) {
    const letter = text[at]!;
    if (quoted) {
      if (letter !== '"') field += letter;
      else if (text[at + 1] === '"') {
        field += '"';
        at += 1;
      } else quoted = false;
    } else if (letter === '"' && field === "") quoted = true;
    else if (letter === separator) {
      row.push(field);
      field = "";
    } else if (letter === "\n") {
      row.push(field.replace(/\r$/, ""));
      rows.push(row);
      row = [];
      field = "";
    } else field += letter;
  }
  if (field !== "" || row.length > 0) rows.push([...row, field]);
  return rows;
}

export function saveText(text: string, name: string): void {
  save(new Blob([text], { type: "text/plain" }), name);
}
