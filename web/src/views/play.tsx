// Try a program.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { explain } from "../api";
import { Editor } from "../editor";
import { EXAMPLES } from "../examples";
import { Files } from "../files";
import { bytes, seconds } from "../format";
import { copyText, Message } from "../parts";
import { Outcome, useRun } from "../runner";
import { listRunners, type Limits, type Runner } from "../runs";
import { may } from "../session";
import { decodeSnippet, encodeSnippet } from "../snippet";

const KEPT = "belljar.play";

interface Draft {
  code: string;
  language: string;
}

interface Wanted {
  timeout: string;
  memory: string;
  processes: string;
  stdin: string;
}

function readDraft(): Draft {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "") as Draft;
    if (typeof kept.code === "string" && typeof kept.language === "string") return kept;
  } catch {
    // nothing is kept, or nothing of ours
  }
  return { code: EXAMPLES[0]!.code, language: EXAMPLES[0]!.language };
}

// Of what a page has over plain HTTP, too.
function newName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(4));
  return `web-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

function ownConversation(): string {
  const key = "belljar.conversation";
  const kept = sessionStorage.getItem(key) ?? newName();
  sessionStorage.setItem(key, kept);
  return kept;
}

export function Play({ snippet }: { snippet: string }) {
  const [draft, setDraft] = useState<Draft>(readDraft);
  const [revision, setRevision] = useState(0);
  const [runners, setRunners] = useState<Runner[]>([]);
  const [wanted, setWanted] = useState<Wanted>({
    timeout: "",
    memory: "",
    processes: "",
    stdin: "",
  });
  const [conversation, setConversation] = useState(ownConversation);
  const [keeps, setKeeps] = useState(() => may("files:write"));
  const [about, setAbout] = useState("");
  const [problem, setProblem] = useState("");
  const [version, setVersion] = useState(0);
  const running = useRun();
  const busy = running.phase === "starting" || running.phase === "running";

  useEffect(() => {
    listRunners()
      .then(setRunners)
      .catch((error: unknown) => setProblem(explain(error)));
  }, []);

  useEffect(() => {
    if (!snippet) return;
    decodeSnippet(snippet).then((found) => {
      if (found) replace(found);
      else setProblem("The address holds a program that cannot be read.");
      history.replaceState(null, "", "#/play");
    });
  }, [snippet]);

  const change = (next: Draft) => {
    setDraft(next);
    sessionStorage.setItem(KEPT, JSON.stringify(next));
  };

  const replace = (next: Draft) => {
    change(next);
    setRevision((count) => count + 1);
  };

  const runner = runners.find((one) => one.language === draft.language);
  const limits = useMemo(() => limitsOf(runner, wanted), [runner, wanted]);

  const start = async () => {
    if (busy) return;
    setProblem("");
    const result = await running.start({
      code: draft.code,
      language: draft.language,
      ...(wanted.timeout ? { timeout: Number(wanted.timeout) } : {}),
      ...(wanted.memory ? { memory_limit: wanted.memory } : {}),
      ...(wanted.processes ? { processes: Number(wanted.processes) } : {}),
      ...(wanted.stdin ? { stdin: wanted.stdin } : {}),
      ...(keeps && conversation ? { conversation_id: conversation } : {}),
    });
    if (result) setVersion((count) => count + 1); // else there may be no such conversation
  };

  const pick = (title: string) => {
    const example = EXAMPLES.find((one) => one.title === title);
    if (!example) return;
    replace({ code: example.code, language: example.language });
    setAbout(example.about ?? "");
  };

  const changed = useMemo(
    () =>
      new Set(
        (running.result?.files ?? [])
          .filter((one) => one.change !== "deleted")
          .map((one) => one.name),
      ),
    [running.result],
  );

  return (
    <main class="play" id="main">
      <h1 class="sr">Playground</h1>
      <section class="card write" aria-label="Program">
        <div class="toolbar">
          <label class="field">
            <span class="sr">Language</span>
            <select
              value={draft.language}
              name="language"
              onChange={(event) => change({ ...draft, language: event.currentTarget.value })}
            >
              {runners.length === 0 && <option value={draft.language}>{draft.language}</option>}
              {runners.map((one) => (
                <option
                  key={one.language}
                  value={one.language}
                  disabled={!one.usable}
                  title={one.reason}
                >
                  {one.title} {one.version}
                  {one.usable ? "" : " (not here)"}
                </option>
              ))}
            </select>
          </label>
          <label class="field">
            <span class="sr">Example</span>
            <select
              value=""
              name="example"
              onChange={(event) => {
                pick(event.currentTarget.value);
                event.currentTarget.value = "";
              }}
            >
              <option value="">Examples…</option>
              {EXAMPLES.filter(
                (one) =>
                  runners.length === 0 ||
                  runners.some((known) => known.usable && known.language === one.language),
              ).map((one) => (
                <option key={one.title}>{one.title}</option>
              ))}
            </select>
          </label>
          <ShareButton draft={draft} onProblem={setProblem} />
          <span class="grow" />
          {busy ? (
            <button type="button" class="stop" onClick={running.stop}>
              Cancel
            </button>
          ) : (
            <button type="button" class="primary" onClick={start}>
              Run <kbd>Ctrl ↵</kbd>
            </button>
          )}
        </div>
        {about && <Message kind="calm">{about}</Message>}
        <Editor
          code={draft.code}
          revision={revision}
          language={draft.language}
          label="Program text"
          onChange={(code) => change({ ...draft, code })}
          onRun={start}
        />
        <p class="hint">Escape, then Tab leaves the editor.</p>
        <LimitsForm wanted={wanted} onChange={setWanted} runner={runner} />
        <div class="keep">
          <label>
            <input
              type="checkbox"
              checked={keeps}
              disabled={!may("files:write")}
              onChange={(event) => setKeeps(event.currentTarget.checked)}
            />{" "}
            Keep files in
          </label>
          <ConversationField chosen={conversation} disabled={!keeps} onChoose={setConversation} />
        </div>
      </section>
      <section class="card read" aria-label="Outcome">
        {problem && <Message>{problem}</Message>}
        {running.phase === "idle" && (
          <p class="empty big">What the program writes, shows and leaves behind appears here.</p>
        )}
        <Outcome running={running} limits={limits} />
        {keeps && conversation && (
          <Files conversation={conversation} version={version} changed={changed} />
        )}
      </section>
    </main>
  );
}

function limitsOf(runner: Runner | undefined, wanted: Wanted): Limits | undefined {
  if (!runner) return undefined;
  const memory = /^(\d+)\s*([kmg]?)/i.exec(wanted.memory);
  const factor =
    { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }[memory?.[2]?.toLowerCase() ?? ""] ?? 1;
  return {
    ...runner.limits,
    ...(Number(wanted.timeout) > 0 ? { timeout_seconds: Number(wanted.timeout) } : {}),
    ...(memory ? { memory_bytes: Number(memory[1]) * factor } : {}),
  };
}

// A name counts once it is whole, as its files are asked for then; until then the page may be drawn
// anew without taking away what was typed.
function ConversationField({
  chosen,
  disabled,
  onChoose,
}: {
  chosen: string;
  disabled: boolean;
  onChoose(name: string): void;
}) {
  const [typed, setTyped] = useState(chosen);
  return (
    <input
      aria-label="Conversation"
      value={typed}
      disabled={disabled}
      maxLength={200}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={(event) => onChoose(event.currentTarget.value)}
    />
  );
}

function ShareButton({ draft, onProblem }: { draft: Draft; onProblem(text: string): void }) {
  const [said, say] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const [link, setLink] = useState("");
  const share = async () => {
    try {
      const made = `${location.origin}/#/play/${await encodeSnippet(draft)}`;
      setLink(made);
      say((await copyText(made)) ? "Link copied" : "Copy the link");
      setTimeout(() => say(""), 2500);
    } catch (error) {
      onProblem(explain(error));
    }
  };
  return (
    <>
      <button type="button" onClick={share}>
        {said || "Share"}
      </button>
      {link && (
        <input
          class="link-field"
          ref={field}
          readOnly
          value={link}
          aria-label="Link to this program"
          onFocus={(event) => event.currentTarget.select()}
        />
      )}
    </>
  );
}

function LimitsForm({
  wanted,
  onChange,
  runner,
}: {
  wanted: Wanted;
  onChange(next: Wanted): void;
  runner?: Runner;
}) {
  const usual = runner?.limits;
  const field = (name: keyof Wanted, label: string, hint: string) => (
    <label class="field tall">
      {label}
      <input
        name={name}
        value={wanted[name]}
        placeholder={hint}
        inputMode={name === "memory" ? "text" : "decimal"}
        onInput={(event) => onChange({ ...wanted, [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <details class="limits">
      <summary>Limits and input</summary>
      <div class="limit-fields">
        {field("timeout", "Time in seconds", usual ? seconds(usual.timeout_seconds) : "")}
        {field("memory", "Memory", usual ? bytes(usual.memory_bytes) : "256m")}
        {field("processes", "Processes", usual ? String(usual.processes) : "")}
      </div>
      <label class="field tall">
        Standard input
        <textarea
          rows={2}
          value={wanted.stdin}
          onInput={(event) => onChange({ ...wanted, stdin: event.currentTarget.value })}
        />
      </label>
    </details>
  );
}
