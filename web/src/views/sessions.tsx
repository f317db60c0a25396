// Cells on a live interpreter, which keeps its variables: run, look at, undo, fork.

import { useEffect, useRef, useState } from "preact/hooks";

import { ask, explain } from "../api";
import { Editor } from "../editor";
import { seconds } from "../format";
import { Badge, Message, SureButton } from "../parts";
import { Outcome, useRun } from "../runner";
import { listRunners, type Runner, type RunResult } from "../runs";

const MOST_NOTES = 20;

interface Session {
  session_id: string;
  language: string;
  cells: number;
  busy: boolean;
  idle_seconds: number;
  expires_in_seconds: number;
  checkpoints: boolean;
  forked_from?: string;
  diff?: { variables: Changes; files: Changes };
}

interface Changes {
  added: string[];
  changed: string[];
  removed: string[];
}

interface Cell {
  key: number;
  code: string;
  number?: number; // by which the session counts its last run
  state?: string; // what became of that run: "kept", "rolled_back", "lost", or "undone"
}

// What the session can go back over, a run of a cell each; a cell may have more of them.
interface Step {
  key: number; // of the cell
  variables: string[]; // there were after it
}

interface Notebook {
  session: Session;
  cells: Cell[];
  history: Step[];
}

let keys = 0;
const newCell = (code = ""): Cell => ({ key: (keys += 1), code });
// The cells that made a session what it is, as the cells of another one.
function copyOf({ cells, history }: Notebook): Pick<Notebook, "cells" | "history"> {
  const copies = new Map(
    cells
      .filter((one) => history.some((step) => step.key === one.key))
      .map((one) => [one.key, { ...newCell(one.code), number: one.number, state: "kept" }]),
  );
  return {
    cells: [...copies.values(), newCell()],
    history: history.map((step) => ({ ...step, key: copies.get(step.key)!.key })),
  };
}

const address = (id: string) => `/v1/sessions/${encodeURIComponent(id)}`;

export function Sessions() {
  const [notebooks, setNotebooks] = useState<Notebook[]>([]);
  const [current, setCurrent] = useState("");
  const [runners, setRunners] = useState<Runner[]>([]);
  const [language, setLanguage] = useState("python");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [ready, setReady] = useState(false);

  useEffect(() => {
    listRunners()
      .then(setRunners)
      .catch((error: unknown) => setProblem(explain(error)));
    ask<{ sessions: Session[] }>("/v1/sessions?limit=50")
      .then((page) => {
        const found = page.sessions.map((session) => ({
          session,
          cells: [newCell()],
          history: [],
        }));
        // One that was begun in the meantime stays.
        setNotebooks((begun) => {
          const known = new Set(begun.map((one) => one.session.session_id));
          return [...found.filter((one) => !known.has(one.session.session_id)), ...begun];
        });
        setCurrent((now) => now || (page.sessions[0]?.session_id ?? ""));
        setReady(true);
      })
      .catch((error: unknown) => setProblem(explain(error)));
  }, []);

  const add = (notebook: Notebook) => {
    setNotebooks((before) => [...before, notebook]);
    setCurrent(notebook.session.session_id);
  };
  const attempt = async (action: () => Promise<void>) => {
    setProblem("");
    setBusy(true);
    await action().catch((error: unknown) => setProblem(explain(error)));
    setBusy(false);
  };
  const begin = () =>
    attempt(async () => {
      const session = await ask<Session>("/v1/sessions", { body: { language } });
      add({ session, cells: [newCell()], history: [] });
    });
  const fork = (from: Notebook) =>
    attempt(async () => {
      const session = await ask<Session>(`${address(from.session.session_id)}/fork`, {
        method: "POST",
      });
      add({ session, ...copyOf(from) });
    });
  const end = (notebook: Notebook) =>
    attempt(async () => {
      const id = notebook.session.session_id;
      await ask(address(id), { method: "DELETE" });
      setNotebooks((before) => before.filter((one) => one.session.session_id !== id));
      setCurrent((now) => (now === id ? "" : now));
    });
  const update = (id: string, change: (before: Notebook) => Notebook) =>
    setNotebooks((before) =>
      before.map((one) => (one.session.session_id === id ? change(one) : one)),
    );

  const shown = notebooks.find((one) => one.session.session_id === current) ?? notebooks[0];
  return (
    <main class="sessions" id="main" data-ready={ready ? "yes" : "no"}>
      <div class="view-head">
        <h1>Sessions</h1>
        <label class="field">
          <span class="sr">Language of a new session</span>
          <select value={language} onChange={(event) => setLanguage(event.currentTarget.value)}>
            {runners
              .filter((one) => one.usable)
              .map((one) => (
                <option key={one.language} value={one.language}>
                  {one.title}
                </option>
              ))}
          </select>
        </label>
        <button type="button" class="primary" disabled={busy} onClick={begin}>
          New session
        </button>
      </div>
      {problem && <Message>{problem}</Message>}
      {notebooks.length === 0 && (
        <p class="empty big">
          A session keeps an interpreter with its variables between cells. Every cell can be undone,
          and a session can be forked into two that go different ways.
        </p>
      )}
      {notebooks.length > 0 && (
        <div class="tabs" role="tablist" aria-label="Sessions">
          {notebooks.map(({ session }, index) => (
            <button
              type="button"
              role="tab"
              key={session.session_id}
              id={`tab-${session.session_id}`}
              aria-selected={session === shown?.session}
              aria-controls="notebook"
              onClick={() => setCurrent(session.session_id)}
            >
              {session.language} {index + 1}
              {session.forked_from && <span class="quiet"> fork</span>}
            </button>
          ))}
        </div>
      )}
      {notebooks.map((notebook) => (
        <div
          key={notebook.session.session_id}
          hidden={notebook !== shown}
          role="tabpanel"
          id={notebook === shown ? "notebook" : undefined}
          aria-labelledby={`tab-${notebook.session.session_id}`}
        >
          <Pages
            notebook={notebook}
            onFork={() => fork(notebook)}
            onEnd={() => end(notebook)}
            onChange={(change) => update(notebook.session.session_id, change)}
          />
        </div>
      ))}
    </main>
  );
}

interface PagesProperties {
  notebook: Notebook;
  onFork(): Promise<void>;
  onEnd(): Promise<void>;
  onChange(change: (before: Notebook) => Notebook): void;
}

function Pages({ notebook, onFork, onEnd, onChange }: PagesProperties) {
  const { session, cells, history } = notebook;
  const variables = history.at(-1)?.variables ?? [];
  const [problem, setProblem] = useState("");

  const ended = async ({ key }: Cell, result: RunResult) => {
    const { cell: number, state } = result.session ?? {};
    onChange((before) => ({
      ...before,
      history:
        state === "kept"
          ? [...before.history, { key, variables: result.variables }]
          : before.history,
      cells: [
        ...before.cells.map((one) => (one.key === key ? { ...one, number, state } : one)),
        ...(before.cells.at(-1)?.key === key ? [newCell()] : []),
      ],
    }));
    await refresh();
  };
  const refresh = async () => {
    try {
      const now = await ask<Session>(address(session.session_id));
      onChange((before) => ({ ...before, session: now }));
    } catch (error) {
      setProblem(explain(error));
    }
  };
  const undo = async () => {
    setProblem("");
    try {
      const now = await ask<Session>(`${address(session.session_id)}/undo`, { body: { cells: 1 } });
      onChange((before) => {
        const last = before.history.at(-1)?.key;
        return {
          ...before,
          session: now,
          history: before.history.slice(0, -1),
          cells: before.cells.map((one) => (one.key === last ? { ...one, state: "undone" } : one)),
        };
      });
    } catch (error) {
      setProblem(explain(error));
    }
  };
  const lastRun = (cell: Cell) => history.map((step) => step.key).lastIndexOf(cell.key);
  return (
    <div class="notebook">
      <div class="cells">
        <div class="toolbar">
          <button
            type="button"
            onClick={undo}
            disabled={history.length === 0 || !session.checkpoints}
          >
            Undo last cell
          </button>
          <button type="button" onClick={onFork} disabled={!session.checkpoints}>
            Fork
          </button>
          <SureButton label="End session" sure="Really end it" onSure={onEnd} />
          <span class="quiet">{session.session_id}</span>
        </div>
        {problem && <Message>{problem}</Message>}
        {cells.map((cell) => (
          <CellView
            key={cell.key}
            cell={cell}
            session={session}
            back={lastRun(cell) < 0 ? 0 : history.length - lastRun(cell)}
            onCode={(code) =>
              onChange((before) => ({
                ...before,
                cells: before.cells.map((one) => (one.key === cell.key ? { ...one, code } : one)),
              }))
            }
            onEnded={(result) => ended(cell, result)}
          />
        ))}
      </div>
      <aside class="card variables" aria-label="Variables">
        <h2>Variables</h2>
        {variables.length === 0 ? (
          <p class="empty">None yet.</p>
        ) : (
          <ul>
            {variables.slice(0, 500).map((name) => (
              <li key={name}>
                <code>{name}</code>
              </li>
            ))}
          </ul>
        )}
        <p class="note">
          {session.cells} run so far; ends after {seconds(session.expires_in_seconds)} without a
          cell.{!session.checkpoints && " Cells of this session cannot be undone."}
        </p>
      </aside>
    </div>
  );
}

interface CellProperties {
  cell: Cell;
  session: Session;
  back: number; // how many steps ago it ran; 0: the session knows of no run
  onCode(code: string): void;
  onEnded(result: RunResult): Promise<void>;
}

function CellView({ cell, session, back, onCode, onEnded }: CellProperties) {
  const running = useRun();
  const [diff, setDiff] = useState<Session["diff"]>();
  const [problem, setProblem] = useState("");
  const code = useRef(cell.code);
  code.current = cell.code;
  const busy = running.phase === "starting" || running.phase === "running";

  const start = async () => {
    if (busy) return;
    setDiff(undefined);
    const result = await running.start({
      code: code.current,
      language: session.language,
      session_id: session.session_id,
    });
    if (result) await onEnded(result);
  };
  const compare = async () => {
    setProblem("");
    try {
      setDiff((await ask<Session>(`${address(session.session_id)}/diff?cells=${back}`)).diff);
    } catch (error) {
      setProblem(explain(error));
    }
  };
  return (
    <article
      class={`card cell ${cell.state === "undone" ? "undone" : ""}`}
      aria-label={cell.number ? `Cell ${cell.number}` : "New cell"}
    >
      <div class="cell-head">
        <span class="cell-number">{cell.number ? `[${cell.number}]` : "[ ]"}</span>
        {cell.state && cell.state !== "kept" && (
          <Badge kind={cell.state === "undone" ? "calm" : "bad"}>
            {cell.state.replace("_", " ")}
          </Badge>
        )}
        <span class="grow" />
        {back > 0 && (
          <button type="button" class="small" onClick={compare}>
            Diff
          </button>
        )}
        {busy ? (
          <button type="button" class="small stop" onClick={running.stop}>
            Cancel
          </button>
        ) : (
          <button type="button" class="small primary" onClick={start}>
            Run cell
          </button>
        )}
      </div>
      <Editor
        code={cell.code}
        language={session.language}
        label="Text of the cell"
        onChange={onCode}
        onRun={start}
      />
      {problem && <Message>{problem}</Message>}
      {diff && <Diff diff={diff} />}
      <Outcome running={running} />
      {running.result?.session?.notes.slice(0, MOST_NOTES).map((note) => (
        <p class="note" key={note}>
          {note}
        </p>
      ))}
    </article>
  );
}

function Diff({ diff }: { diff: NonNullable<Session["diff"]> }) {
  const parts = (["variables", "files"] as const).flatMap((kind) =>
    (["added", "changed", "removed"] as const).flatMap((change) =>
      diff[kind][change].slice(0, 200).map((name) => ({ kind, change, name })),
    ),
  );
  const signs = { added: "+", changed: "~", removed: "−" };
  return (
    <div class="diff" role="group" aria-label="What has changed since before this cell">
      {parts.length === 0 && <p class="note">Nothing has changed since before this cell.</p>}
      <ul>
        {parts.map(({ kind, change, name }) => (
          <li class={change} key={`${kind} ${name}`}>
            <span aria-hidden="true">{signs[change]}</span>
            <span class="sr">{change}</span> <code>{name}</code>
            <span class="quiet"> {kind === "files" ? "file" : "variable"}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
