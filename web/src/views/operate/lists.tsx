// What is alive: runs, sessions and conversations of everybody.

import { useState } from "preact/hooks";

import { ask, explain } from "../../api";
import { bytes, count, seconds, time } from "../../format";
import { Message, StatusBadge, SureButton, Table, usePolled } from "../../parts";

const EVERY = 2000;

export interface RunView {
  execution_id: string;
  state: string;
  language: string;
  status?: string;
  created_at: string;
  started_at?: string;
  ended_at?: string;
  principal: string;
  conversation_id?: string;
  session_id?: string;
  usage?: { wall_seconds: number; cpu_seconds: number; memory_peak_bytes: number };
  denials?: number;
  code_sha256?: string;
  grade?: string;
}

const who = (principal: string) => (principal === "" ? "(no name)" : principal);

export function Runs() {
  const [state, setState] = useState("running");
  const [problem, setProblem] = useState("");
  const runs = usePolled(
    () => ask<{ runs: RunView[] }>(`/v1/admin/runs?state=${state}&limit=100`),
    EVERY,
    [state],
  );
  const kill = async (id: string) => {
    setProblem("");
    await ask(`/v1/admin/runs/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(
      (error: unknown) => setProblem(explain(error)),
    );
    runs.again();
  };
  return (
    <>
      <div class="toolbar">
        <label class="field">
          Runs that are{" "}
          <select value={state} onChange={(event) => setState(event.currentTarget.value)}>
            <option value="running">running</option>
            <option value="queued">waiting</option>
            <option value="ended">over</option>
          </select>
        </label>
      </div>
      {(problem || runs.error) && <Message>{problem || runs.error}</Message>}
      <Table
        caption="Runs"
        rows={runs.value?.runs ?? []}
        empty="No such runs."
        id={(row) => row.execution_id}
        columns={[
          {
            title: "Run",
            cell: (row) => <code title={row.execution_id}>{row.execution_id.slice(0, 13)}</code>,
          },
          { title: "Whose", cell: (row) => who(row.principal) },
          { title: "Language", cell: (row) => row.language },
          { title: "State", cell: (row) => <StatusBadge status={row.status ?? row.state} /> },
          { title: "Began", cell: (row) => time(row.started_at ?? row.created_at) },
          {
            title: "Took",
            kind: "number",
            cell: (row) => (row.usage ? seconds(row.usage.wall_seconds) : ""),
          },
          {
            title: "Memory",
            kind: "number",
            cell: (row) => (row.usage ? bytes(row.usage.memory_peak_bytes) : ""),
          },
          {
            title: "Action",
            kind: "action",
            cell: (row) =>
              row.state === "ended" ? null : (
                <SureButton label="Kill" sure="Really kill" onSure={() => kill(row.execution_id)} />
              ),
          },
        ]}
      />
    </>
  );
}

interface SessionRow {
  session_id: string;
  principal: string;
  language: string;
  cells: number;
  busy: boolean;
  idle_seconds: number;
  expires_in_seconds: number;
}

export function LiveSessions() {
  const [problem, setProblem] = useState("");
  const sessions = usePolled(() => ask<{ sessions: SessionRow[] }>("/v1/admin/sessions"), EVERY);
  const end = async (id: string) => {
    setProblem("");
    await ask(`/v1/admin/sessions/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(
      (error: unknown) => setProblem(explain(error)),
    );
    sessions.again();
  };
  return (
    <>
      {(problem || sessions.error) && <Message>{problem || sessions.error}</Message>}
      <Table
        caption="Sessions"
        rows={(sessions.value?.sessions ?? []).slice(0, 200)}
        empty="No session lives now."
        id={(row) => row.session_id}
        columns={[
          {
            title: "Session",
            cell: (row) => <code title={row.session_id}>{row.session_id.slice(0, 13)}</code>,
          },
          { title: "Whose", cell: (row) => who(row.principal) },
          { title: "Language", cell: (row) => row.language },
          { title: "Cells", kind: "number", cell: (row) => count(row.cells) },
          {
            title: "State",
            cell: (row) => <StatusBadge status={row.busy ? "running" : "ready"} />,
          },
          { title: "Idle", kind: "number", cell: (row) => seconds(row.idle_seconds) },
          { title: "Ends in", kind: "number", cell: (row) => seconds(row.expires_in_seconds) },
          {
            title: "Action",
            kind: "action",
            cell: (row) => (
              <SureButton label="Kill" sure="Really kill" onSure={() => end(row.session_id)} />
            ),
          },
        ]}
      />
    </>
  );
}

interface ConversationRow {
  principal: string;
  conversation_id: string;
  bytes: number;
  files: number;
  last_used: string;
}

export function Conversations() {
  const [cursors, setCursors] = useState<string[]>([""]);
  const cursor = cursors.at(-1)!;
  const page = usePolled(
    () =>
      ask<{ conversations: ConversationRow[]; next_cursor: string | null }>(
        `/v1/admin/conversations?limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`,
      ),
    10_000,
    [cursor],
  );
  const rows = page.value?.conversations ?? [];
  const next = page.value?.next_cursor;
  return (
    <>
      {page.error && <Message>{page.error}</Message>}
      <p class="note">
        {count(rows.length)} on this page, {bytes(rows.reduce((sum, row) => sum + row.bytes, 0))}.
      </p>
      <Table
        caption="Conversations"
        rows={rows}
        empty="There are none."
        columns={[
          { title: "Conversation", cell: (row) => <span class="name">{row.conversation_id}</span> },
          { title: "Whose", cell: (row) => who(row.principal) },
          { title: "Size", kind: "number", cell: (row) => bytes(row.bytes) },
          { title: "Files", kind: "number", cell: (row) => count(row.files) },
          { title: "Last used", cell: (row) => time(row.last_used) },
        ]}
      />
      <p class="pages">
        {cursors.length > 1 && (
          <button type="button" class="small" onClick={() => setCursors(cursors.slice(0, -1))}>
            Back
          </button>
        )}
        {next && (
          <button type="button" class="small" onClick={() => setCursors([...cursors, next])}>
            More
          </button>
        )}
      </p>
    </>
  );
}
