// What became of a program: how it ended, what it took, what it showed, what it was refused.

import { useEffect, useMemo, useState } from "preact/hooks";

import { explain, save, saveFrom } from "./api";
import { bytes, count, seconds } from "./format";
import { HtmlFrame } from "./frame";
import { GradeBadge, Message, Meter, StatusBadge } from "./parts";
import type { Denial, Limits, RunResult } from "./runs";

const MOST_TEXT = 20_000;
const MOST_ROWS = 100;
const MOST_COLUMNS = 30;

// Without limits there is nothing to compare with, and a line is enough.
export function ResultHead({ result, limits }: { result: RunResult; limits?: Limits }) {
  const code =
    result.signal !== undefined
      ? `signal ${result.signal}`
      : result.exit_code === null
        ? ""
        : `exit code ${result.exit_code}`;
  return (
    <div class="result-head">
      <p class="result-line">
        <StatusBadge status={result.status} />
        <span>{STATUS_WORDS[result.status] ?? result.status}</span>
        {code && <span class="quiet">{code}</span>}
        {!limits && (
          <span class="took quiet">
            {seconds(result.usage.wall_seconds)}, {bytes(result.usage.memory_peak_bytes)}
          </span>
        )}
        <GradeBadge isolation={result.isolation} />
      </p>
      {limits && <UsageBars result={result} limits={limits} />}
      {result.capped && (
        <p class="note">
          Less was given than asked for:{" "}
          {Object.entries(result.capped)
            .map(([name, one]) => `${name} ${String(one.given)} instead of ${String(one.asked)}`)
            .join(", ")}
          .
        </p>
      )}
    </div>
  );
}

const STATUS_WORDS: Record<string, string> = {
  ok: "ran to its end",
  error: "ended with an error",
  timeout: "ran out of time",
  memory: "ran out of memory",
  processes: "wanted too many processes",
  disk: "filled its disk",
  output: "wrote too much",
  killed: "was killed",
  denied: "was stopped by the sandbox",
  cancelled: "was cancelled",
};

function UsageBars({ result, limits }: { result: RunResult; limits: Limits }) {
  const { usage } = result;
  const most = limits.timeout_seconds;
  return (
    <div class="usage" role="group" aria-label="What it took, against the limits">
      <Meter
        label="Time"
        value={usage.wall_seconds}
        most={most}
        text={`${seconds(usage.wall_seconds)} / ${seconds(most)}`}
      />
      <Meter
        label="CPU"
        value={usage.cpu_seconds}
        most={most * limits.cpu}
        text={seconds(usage.cpu_seconds)}
      />
      <Meter
        label="Memory"
        value={usage.memory_peak_bytes}
        most={limits.memory_bytes}
        text={`${bytes(usage.memory_peak_bytes)} / ${bytes(limits.memory_bytes)}`}
      />
    </div>
  );
}

export function Denials({ denials }: { denials: Denial[] }) {
  if (denials.length === 0) return null;
  return (
    <section class="denials" aria-label="What was refused">
      <h3>What was refused</h3>
      <ul>
        {denials.slice(0, 50).map((denial, index) => (
          <li key={index}>
            <strong>The program {denial.what}.</strong> <code>{denial.rule}</code>
            <p>{denial.hint}</p>
            {denial.source === "guest" && <p class="note">By the program's own account.</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

// The whole of what was written: out of the server if it has more than the result.
export function OutputDownloads({ result }: { result: RunResult }) {
  const [failed, setFailed] = useState("");
  const fetchWhole = async (stream: "stdout" | "stderr") => {
    setFailed("");
    const name = `${result.execution_id}.${stream}.txt`;
    try {
      if (result.full_output && result[`${stream}_truncated`]) {
        await saveFrom(
          `/v1/runs/${encodeURIComponent(result.execution_id)}/output/${stream}`,
          name,
        );
      } else {
        save(new Blob([result[stream]], { type: "text/plain" }), name);
      }
    } catch (error) {
      setFailed(explain(error));
    }
  };
  const streams = (["stdout", "stderr"] as const).filter((one) => result[`${one}_bytes`] > 0);
  if (streams.length === 0) return null;
  return (
    <p class="downloads">
      {streams.map((stream) => (
        <button type="button" class="small" key={stream} onClick={() => fetchWhole(stream)}>
          Download {stream} ({bytes(result[`${stream}_bytes`])})
        </button>
      ))}
      {failed && <Message>{failed}</Message>}
    </p>
  );
}

export function Values({ result }: { result: RunResult }) {
  const shown = result.outputs.slice(0, 40);
  const repeated = shown.some((one) => one["text/plain"] === result.result_repr);
  return (
    <>
      {result.result_repr !== null && !repeated && (
        <section class="value" aria-label="Value">
          <h3>Value of the last expression</h3>
          <Value value={result.result} text={result.result_repr} />
        </section>
      )}
      {shown.length > 0 && (
        <section class="shown" aria-label="Shown by the program">
          {shown.map((bundle, index) => (
            <Bundle bundle={bundle} key={index} index={index + 1} />
          ))}
        </section>
      )}
      {(result.outputs_omitted ?? 0) > 0 && (
        <p class="note">
          {count(result.outputs_omitted!)} more could not be shown: too many, too large, or not what
          they claimed to be.
        </p>
      )}
    </>
  );
}

function Value({ value, text }: { value: unknown; text: string }) {
  const rows = useMemo(() => asRows(value), [value]);
  if (rows) return <DataTable rows={rows} />;
  return <LongText text={text} name="value.txt" />;
}

function Bundle({ bundle, index }: { bundle: Record<string, unknown>; index: number }) {
  const label = `Output ${index} of the program`;
  const text = typeof bundle["text/plain"] === "string" ? bundle["text/plain"] : "";
  for (const type of ["image/png", "image/jpeg", "image/gif", "image/webp"]) {
    if (typeof bundle[type] === "string") {
      return <Picture type={type} data={bundle[type]} text={text || label} />;
    }
  }
  if (typeof bundle["image/svg+xml"] === "string") {
    return <Picture type="image/svg+xml" data={bundle["image/svg+xml"]} text={text || label} />;
  }
  if (typeof bundle["text/html"] === "string")
    return <HtmlFrame html={bundle["text/html"]} label={label} />;
  if (bundle["application/json"] !== undefined) {
    const rows = asRows(bundle["application/json"]);
    if (rows) return <DataTable rows={rows} />;
    return (
      <LongText text={JSON.stringify(bundle["application/json"], null, 2)} name="value.json" />
    );
  }
  const other = Object.values(bundle).find((one) => typeof one === "string");
  return <LongText text={String(other ?? "")} name="output.txt" />;
}

// Pictures are shown as pictures alone: in an <img> nothing of an SVG runs or loads.
export function Picture({ type, data, text }: { type: string; data: string; text: string }) {
  const [failed, setFailed] = useState(false);
  const url = useMemo(() => {
    try {
      const vector = type === "image/svg+xml";
      const content = vector
        ? [data]
        : [Uint8Array.from(atob(data.replace(/\s/g, "")), (letter) => letter.charCodeAt(0))];
      return URL.createObjectURL(new Blob(content, { type }));
    } catch {
      return "";
    }
  }, [type, data]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  if (failed || !url) return <p class="note">A picture that cannot be shown ({type}).</p>;
  return <img class="picture" src={url} alt={text.slice(0, 200)} onError={() => setFailed(true)} />;
}

export function LongText({ text, name }: { text: string; name: string }) {
  const cut = text.length > MOST_TEXT;
  return (
    <>
      <pre class="text" tabIndex={0}>
        {cut ? `${text.slice(0, MOST_TEXT)}\n…` : text}
      </pre>
      {cut && (
        <p class="note">
          {bytes(text.length)}, of which the beginning is shown.{" "}
          <button
            type="button"
            class="small"
            onClick={() => save(new Blob([text], { type: "text/plain" }), name)}
          >
            Download all
          </button>
        </p>
      )}
    </>
  );
}

export interface Rows {
  columns: string[];
  rows: unknown[][];
  total: number;
}

// A list of objects with members in common, or a list of lists, is a table.
export function asRows(value: unknown): Rows | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const some = value.slice(0, MOST_ROWS) as unknown[];
  if (some.every((row) => Array.isArray(row) && row.length > 0)) {
    const width = Math.min(MOST_COLUMNS, Math.max(...some.map((row) => (row as unknown[]).length)));
    return {
      columns: Array.from({ length: width }, (_, at) => String(at)),
      rows: some.map((row) => (row as unknown[]).slice(0, width)),
      total: value.length,
    };
  }
  if (some.every((row) => row !== null && typeof row === "object" && !Array.isArray(row))) {
    const columns = [...new Set(some.flatMap((row) => Object.keys(row as object)))].slice(
      0,
      MOST_COLUMNS,
    );
    if (columns.length === 0) return undefined;
    return {
      columns,
      total: value.length,
      rows: some.map((row) => columns.map((name) => (row as Record<string, unknown>)[name])),
    };
  }
  return undefined;
}

export function DataTable({ rows }: { rows: Rows }) {
  return (
    <>
      <div class="scroll data" tabIndex={0} role="region" aria-label="Table">
        <table>
          <thead>
            <tr>
              {rows.columns.map((name) => (
                <th scope="col" key={name}>
                  {name.slice(0, 80)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.rows.map((row, index) => (
              <tr key={index}>
                {row.map((cell, at) => (
                  <td key={at}>{cellText(cell)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.total > rows.rows.length && (
        <p class="note">
          The first {count(rows.rows.length)} of {count(rows.total)} rows.
        </p>
      )}
    </>
  );
}

function cellText(cell: unknown): string {
  const text =
    cell === null || cell === undefined
      ? ""
      : typeof cell === "object"
        ? JSON.stringify(cell)
        : String(cell);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
