// Runs of programs: what they are asked for, what they tell while they run, and their results.

import { ask, call, Problem } from "./api";

export interface Limits {
  timeout_seconds: number;
  memory_bytes: number;
  cpu: number;
  processes: number;
  output_bytes: number;
}

export interface Runner {
  language: string;
  title: string;
  aliases: string[];
  version: string;
  usable: boolean;
  reason?: string;
  kind: string;
  limits: Limits;
}

export interface Denial {
  what: string;
  rule: string;
  hint: string;
  source: string;
}

export interface RunFile {
  name: string;
  change?: string;
  size: number;
  mime: string;
  url: string;
}

export interface Usage {
  wall_seconds: number;
  cpu_seconds: number;
  memory_peak_bytes: number;
  disk_written_bytes: number;
  processes_peak: number;
}

export interface RunResult {
  execution_id: string;
  conversation_id?: string;
  session_id?: string;
  session?: { cell: number; state: string; notes: string[] };
  language: string;
  status: string;
  exit_code: number | null;
  signal?: number;
  stdout: string;
  stderr: string;
  stdout_truncated: boolean;
  stderr_truncated: boolean;
  stdout_bytes: number;
  stderr_bytes: number;
  full_output?: string;
  result: unknown;
  result_repr: string | null;
  variables: string[];
  outputs: Record<string, unknown>[];
  outputs_omitted?: number;
  files: RunFile[];
  error?: { type: string; message: string; line?: number; traceback?: string };
  denials: Denial[];
  capped?: Record<string, { asked: unknown; given: unknown }>;
  usage: Usage;
  isolation: { grade: string; tier: string; missing: string[] };
  execution_time: number;
}

export interface Wish {
  code: string;
  language: string;
  timeout?: number;
  memory_limit?: string;
  processes?: number;
  stdin?: string;
  conversation_id?: string;
  session_id?: string;
}

export interface Watcher {
  started(executionId: string): void;
  text(stream: "stdout" | "stderr", text: string): void;
  dropped(bytes: number): void;
}

interface ServerEvent {
  name: string;
  data: string;
}

// Events as they come. A line of an event has no limit here, as each is one piece of output or the
// result, which the server bounds.
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) yield parseEvent(block);
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function parseEvent(block: string): ServerEvent {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
  }
  return { name, data: data.join("\n") };
}

// Ends with the result, or with a Problem that says why there is none.
export async function run(wish: Wish, watcher: Watcher, signal: AbortSignal): Promise<RunResult> {
  const response = await call("/v1/runs", {
    body: wish,
    signal,
    headers: { Accept: "text/event-stream" },
  });
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
    return (await response.json()) as RunResult;
  }
  let result: RunResult | undefined;
  try {
    for await (const event of readEvents(response)) {
      if (event.name === "") continue;
      result ??= take(event, watcher);
    }
  } catch (error) {
    if (signal.aborted || error instanceof Problem) throw error;
    throw new Problem(
      0,
      "The connection broke while the program ran. What it wrote until then is " +
        "shown; whether it ended is not known.",
    );
  }
  if (!result) {
    throw new Problem(
      0,
      "The server went away while the program ran. What it wrote until then is " +
        "shown; whether it ended is not known.",
    );
  }
  return result;
}

function take(event: ServerEvent, watcher: Watcher): RunResult | undefined {
  if (event.data === "") return undefined;
  const data = JSON.parse(event.data) as Record<string, unknown>;
  switch (event.name) {
    case "started":
      watcher.started(String(data.execution_id));
      return undefined;
    case "stdout":
    case "stderr":
      watcher.text(event.name, String(data.text));
      return undefined;
    case "dropped":
      watcher.dropped(Number(data.stdout_bytes) + Number(data.stderr_bytes));
      return undefined;
    case "result":
      return data as unknown as RunResult;
    case "error":
      throw new Problem(Number(data.status), String(data.error));
    default:
      return undefined;
  }
}

export function cancel(executionId: string): Promise<unknown> {
  return ask(`/v1/runs/${encodeURIComponent(executionId)}/cancel`, { method: "POST" });
}

let runners: Promise<Runner[]> | undefined;

export function listRunners(): Promise<Runner[]> {
  runners ??= ask<{ runners: Runner[] }>("/v1/runners").then((told) => told.runners);
  runners.catch(() => {
    runners = undefined;
  });
  return runners;
}
